/* Clients of a server on a real socket, for the tests of a protocol's folder.
 *
 * Everything runs in one thread: whoever waits turns the loop. Time passes only when a test
 * says so, and a millisecond each time that something awaited is not there yet. A folder's
 * `struct fixture` has the server and its `loop`, which is of ahead.h.
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_CONN_TESTS_CLIENT_FIXTURE_H
#define DUEQ_PROTOCOL_CONN_TESTS_CLIENT_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/loop.h"
#include "protocol/conn/tests/ahead.h"

struct fixture;
struct port;
struct tls;
struct tls_peer;

/* ---- TLS ----
 *
 * With DUEQ_TEST_TLS in the environment all clients speak TLS, and nothing else is different:
 * so a folder's tests are run twice. */

/* Makes the port of the fixture's server speak TLS, then. What it returns, perhaps NULL, is the
 * fixture's to tls_free(), behind the port. */
struct tls *serve_as_asked(struct port *port, struct loop *loop);

/* Skips a test of clients that are not accepted, or not served: they cannot even shake hands.
 */
void only_for_plain_clients(void);

/* For a server to listen on, at a port of the system's choice. What it sends waits in it soon:
 * its connections inherit small buffers. */
int listen_on_loopback(uint16_t *port);

/* ---- time ---- */

void turn_loop(struct loop *loop);
void pass_time(struct loop *loop, int64_t ms);

/* Turns the fixture's loop until the expression is true; fails after some seconds. */
#define AWAIT(f, expression)                                                                   \
    do {                                                                                       \
        for (struct patience p_ = patience_start((f)->loop); !(expression); patience_try(&p_)) \
            ;                                                                                  \
    } while (0)

struct patience {
    struct loop *loop;
    int64_t until_mono_ms;
};

struct patience patience_start(struct loop *loop);
void patience_try(struct patience *p);

/* ---- clients ---- */

struct client {
    struct fixture *f; /* whose it is */
    struct loop *loop;
    int fd;
    struct tls_peer *tls; /* NULL: it speaks plain */
};

/* What clients send in front of everything, also of TLS: as a proxy does. */
extern struct bytes dial_header;

/* Connected, perhaps not accepted yet; from 127.0.0.`host`, or from 127.0.0.1. */
struct client dial_from(struct fixture *f, struct loop *loop, uint16_t port, unsigned host);
struct client dial_loopback(struct fixture *f, struct loop *loop, uint16_t port);

void leave(struct client *c);       /* closes */
void reset(struct client *c);       /* without a goodbye */
void end_sending(struct client *c); /* half */
void say_goodbye(struct client *c); /* the same; over TLS in its words alone */
void say(struct client *c, const char *text);
void say_bytes(struct client *c, struct bytes bytes);

/* What one recv() gives; 0: the end, without a reset. */
size_t receive_piece(struct client *c, char *at, size_t room);
/* Nothing comes until the server is at rest. */
void expect_silence(struct client *c);
/* The server closes, without a reset, and nothing comes before. */
void expect_end(struct client *c);

#endif
