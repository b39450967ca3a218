/* A connection that wants TLS, and the client at its other end, in virtual time. */
#ifndef DUEQ_PROTOCOL_CONN_TESTS_TLS_FIXTURE_H
#define DUEQ_PROTOCOL_CONN_TESTS_TLS_FIXTURE_H

#include "base/tests/unit.h"

#include "protocol/conn/tests/ahead.h"
#include "protocol/conn/tests/tls_peer.h"
#include "protocol/conn/tls_session.h"

#define LIMIT_MS    1000 /* for a handshake */
#define PATIENCE_MS 10000

/* A protocol that answers each byte of input with itself, at once; `is_mute`: with nothing. */
struct fixture {
    struct loop *loop;
    struct connection_kind kind;
    uint64_t handshakes, failures, shed;
    bool is_mute;
    int version; /* that clients speak who meet it; 0: the newest */
    struct buf heard;
};

/* A connection and the client at its other end. */
struct pair {
    struct fixture *f;
    struct connection connection;
    struct tls_peer *peer; /* NULL: it speaks plain */
    int fd;
    bool is_closed;
};

/* TLS is required, and no client is asked for a certificate. */
int set_up(void **state);
int tear_down(void **state);

#define tls_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

void turn(struct fixture *f);
void pass(struct fixture *f, int64_t ms); /* virtual time */

/* Turns the loop; virtual time stands still. */
#define AWAIT(f, expression)                                                   \
    do {                                                                       \
        for (int64_t until_ = clock_mono_ms() + PATIENCE_MS; !(expression);) { \
            if (clock_mono_ms() > until_)                                      \
                fail_msg("waited in vain: %s", #expression);                   \
            turn(f);                                                           \
        }                                                                      \
    } while (0)

/* A client has connected; the first is still to speak TLS. */
void join(struct pair *p, struct fixture *f);
void join_plain(struct pair *p, struct fixture *f);
void open_pair(struct pair *p); /* the handshake is over */

/* The end: of our making, or waited for. */
void leave(struct pair *p);
void expect_closed(struct pair *p);

/* What the client sends, and gets. */
void say(struct pair *p, const char *at, size_t len);
void say_raw(struct pair *p, const void *at, size_t len); /* without TLS */
void expect(struct pair *p, const char *at, size_t len);
void echo(struct pair *p, const char *text);

#endif
