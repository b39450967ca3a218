/* A beanstalkd server on a real socket, the engine and the memory store, for the tests of this
 * folder; with client_fixture.h, which has the rest.
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_TESTS_SERVER_FIXTURE_H
#define DUEQ_PROTOCOL_BEANSTALKD_TESTS_SERVER_FIXTURE_H

#include "base/buf.h"
#include "base/loop.h"
#include "node/queue/queue.h"
#include "node/store/memory/store.h"
#include "protocol/beanstalkd/beanstalkd.h"
#include "protocol/conn/tests/client_fixture.h"

#define BODY_MAX 1024
#define IDS_MAX  10

struct fixture {
    struct loop *loop;
    struct memory_store *ms;
    struct queue *queue;
    struct port *port;
    struct tls *tls; /* see client_fixture.h */
    struct beanstalkd_options options;
    uint16_t number; /* of the port */
    bool is_port_stopping, is_port_stopped, is_queue_stopped;
    uint64_t ids[IDS_MAX]; /* of `talk`; 0: not seen yet */
};

/* cmocka's set-up and tear-down; the tear-down fails when something does not end. */
int fixture_up(void **state);
int fixture_down(void **state);

void fixture_stop_port(struct fixture *f); /* begins; is_port_stopped tells the end */
void fixture_pass(struct fixture *f, int64_t ms);

/* What has come, and was not expected yet, is kept. */
struct talker {
    struct client c;
    struct buf in;
};

struct talker *dial(struct fixture *f);
void hang_up(struct talker *t); /* closes, and frees */

/* Says `what`. In both, `$1` to `$9` are ids of jobs: the first reply that has one says what it
 * is. Lines end with '\n' in the tests, and with CR LF on the wire; those of data with '|', and
 * LF alone. */
void tell(struct talker *t, const char *what);
void hear(struct talker *t, const char *reply);
void talk(struct talker *t, const char *what, const char *reply);

/* The server has ended the connection, and nothing came before. */
void hear_end(struct talker *t);

/* Nothing comes. */
void hear_nothing(struct talker *t);

/* A push of another dialect. */
void push_and_await(struct fixture *f, struct op *op);

/* The value of a line "key: value" of the data that `what` brings; borrowed until the next. */
const char *ask(struct talker *t, const char *what, const char *key);

#endif
