/* An HTTP server on a real socket, the engine and the memory store, for the tests of this
 * folder; with client_fixture.h, which has the rest.
 * Include after cmocka's headers. */
#ifndef DUEQ_PROTOCOL_HTTP_TESTS_SERVER_FIXTURE_H
#define DUEQ_PROTOCOL_HTTP_TESTS_SERVER_FIXTURE_H

#include "base/buf.h"
#include "base/loop.h"
#include "node/queue/queue.h"
#include "node/store/memory/store.h"
#include "protocol/conn/tests/client_fixture.h"
#include "protocol/access/registry.h"
#include "protocol/api/api.h"
#include "protocol/http/http.h"

#define JOB_BODY_MAX 100000

struct fixture {
    struct loop *loop;
    struct memory_store *ms;
    struct queue *queue;
    struct http *http;
    struct tls *tls;             /* see client_fixture.h */
    struct http_options options; /* at most 3 connections */
    struct access *access;       /* the registry's; a test may put it into the options */
    struct registry registry;
    struct api api;
    struct http_app app; /* the API's, perhaps with handlers of the test's; or the test's */
    struct route *own_routes; /* the fixture's */
    uint16_t port;
    const char *why_not_ready;
    bool is_stopping;
    bool is_stopped;
    bool is_queue_stopped;
    struct buf reply;
};

/* cmocka's set-up and tear-down; the tear-down fails when something does not end. */
int fixture_up(void **state);

/* With handlers of the test's own in the places of some of the API's. */
struct stand_in {
    void (*of)(struct exchange *x);
    void (*handle)(struct exchange *x);
};
int fixture_up_with(void **state, const struct stand_in *stand_ins, unsigned count);

/* Another dialect's server, with the argument for its handlers; ids are indexed. */
int fixture_up_app(void **state, const struct http_app *app, void *arg);
int fixture_down(void **state);

/* Begins; is_stopped tells the end. */
void fixture_stop(struct fixture *f);

void fixture_turn(struct fixture *f);
void fixture_pass(struct fixture *f, int64_t ms);

struct client connect_client(struct fixture *f);
struct client connect_from(struct fixture *f, unsigned host); /* 127.0.0.`host` */
struct client dial(struct fixture *f);                        /* the same, not accepted yet */

/* At most so many bytes more in `reply`. False: the end. */
bool receive_some(struct client *c, size_t most);
/* The next reply, as long as it says it is, without what follows. */
const char *receive(struct client *c);
/* Everything until the server closes, without a reset. */
const char *receive_all(struct client *c);

/* A connection of its own, and all that comes on it. */
const char *ask(struct fixture *f, const char *text);

/* ---- identities ---- */

/* The port's clients act as "shop" of this line, until fixture_shut_out(). */
struct access *fixture_let_in(struct fixture *f, const char *line);
void fixture_shut_out(struct fixture *f, struct access *known);

/* Adds the line of an identity, with this token. */
void add_identity(struct buf *text, const char *line, const char *token);

/* ---- requests with bodies, and the bodies of replies ---- */

/* A request on a connection that goes on. `body` may be NULL. */
void send_call(struct client *c, const char *method, const char *path, const char *body);

/* A request on a connection of its own, and its reply, borrowed until the next one. */
const char *call(struct fixture *f, const char *method, const char *path, const char *body);

/* The JSON of a reply. */
const char *json_of(const char *reply);

/* This code; and exactly this JSON, or one that begins so, too. */
void assert_code(const char *reply, int code);
void assert_reply_starts(const char *reply, int code, const char *start);
void assert_reply(const char *reply, int code, const char *json);

void assert_starts(const char *text, const char *start);
void assert_has(const char *text, const char *part);

#define GET_LIVE "GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n"
#define CLOSE    "Connection: close\r\n\r\n"

#endif
