/* For tests of the peer link: real sockets on loopback, one loop that waiting functions turn,
 * and another side played by hand, which can send anything. Include after cmocka's headers.
 *
 * A test of the link is run twice, as a group for each way to speak: see peer_groups(). */
#ifndef DUEQ_HA_PEER_TESTS_PEER_FIXTURE_H
#define DUEQ_HA_PEER_TESTS_PEER_FIXTURE_H

#include <sys/types.h>

#include "base/loop.h"
#include "ha/peer/conn.h"

#define SECRET  "sixteen letters!"
#define CLUSTER "main"

/* Turns the loop until the expression is true; fails after some seconds. */
#define AWAIT(loop, expression)                   \
    do {                                          \
        for (int left_ = 20000; !(expression);) { \
            assert_true(left_-- > 0);             \
            peer_turn(loop);                      \
        }                                         \
    } while (0)

/* Turns the loop for an event, or a millisecond. */
void peer_turn(struct loop *loop);

/* Frees it when the lookups have gone that were under way (base/resolve.h). */
void peer_loop_free(struct loop *loop);

/* Listening on a port of the system's choice; `address` becomes "127.0.0.1:PORT". */
int peer_listen(char address[PEER_ADDR_MAX + 1]);

struct coord_credentials peer_credentials(int64_t session);

/* The callbacks of the port's user. */
struct peer_notes {
    unsigned deaths;
    char dead_name[PEER_NAME_MAX + 1];
    struct coord_credentials dead;
    unsigned questions;
    bool promises; /* the answer of on_question */
    struct peer_question question;
    unsigned promised;
    uint64_t promised_seq;
};

void peer_note(struct peers *port, struct peer_notes *notes);

/* ---- both ways ---- */

/* Runs the tests with nodes and hands that speak plain text, as nodes of the version before,
 * and again with ones that speak TLS. Returns what main() shall. */
#define peer_groups(tests) peer_run_groups(tests, sizeof(tests) / sizeof(*(tests)))
int peer_run_groups(const struct CMUnitTest *tests, size_t count);

/* From now on; with anything but OFF the hands speak TLS by SECRET. */
void peer_speak(enum peer_tls_mode mode);

/* The options of a node that speaks so. */
struct peer_options;
struct peer_options peer_options_of(const char *node, const char *secret);

/* The same for a test that needs a part of the link only. The keys are the fixture's. */
struct peer_self peer_self_of(struct loop *loop, struct peers *port, const char *node);

/* ---- a side that is played by hand ---- */

/* The loop of the nodes that the hands speak to. */
void hand_use(struct loop *loop);

/* A connection to `address`; -1: refused. */
int hand_dial(const char *address);

/* The next connection from the node under test. */
int hand_accept(struct loop *loop, int listen_fd);

void hand_say(int fd, const struct peer_message *m);
void hand_say_text(int fd, const char *text);

/* Says as much as the other side takes for now. False: it has hung up. */
bool hand_try(int fd, struct bytes bytes);

/* The next message; false when the connection has ended. */
bool hand_hear(struct loop *loop, int fd, struct peer_message *m);

/* Closes by a reset instead of an end of file. */
void hand_reset(int fd);

/* The whole handshake, as either side. False: refused; `last` says why. */
bool hand_join(struct loop *loop, int fd, const char *node, uint64_t incarnation,
               const char *secret, struct peer_message *last);
void hand_let_in(struct loop *loop, int fd, const char *node, uint64_t incarnation,
                 const char *secret);

/* ---- another process ---- */

/* Runs a whole peer link as `node` in a process of its own, which has told `session` and waits
 * to be killed. With `says_bye` it says good-bye when it gets SIGTERM, and exits. */
pid_t peer_process(const char *node, int listen_fd, int64_t session, bool says_bye);
void peer_kill(pid_t pid, int number); /* and waits for its end */

#endif
