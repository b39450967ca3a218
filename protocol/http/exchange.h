/* One request and its reply: what a handler gets, and how it answers.
 *
 * A handler answers exactly once, at once or later, with one of the exchange_reply calls. After
 * the answer the exchange, and everything borrowed from it, is gone.
 *
 * A handler that answers later keeps its state with exchange_keep(), and sets `on_cancel_wait`
 * where its waiting can be cut short. When the client leaves before, the handler must still
 * answer; the reply goes nowhere.
 */
#ifndef DUEQ_PROTOCOL_HTTP_EXCHANGE_H
#define DUEQ_PROTOCOL_HTTP_EXCHANGE_H

#include <stdint.h>

#include "base/buf.h"
#include "protocol/http/errors.h"
#include "protocol/http/http.h"
#include "protocol/http/message.h"

#define EXCHANGE_TOPIC_MAX      200
#define EXCHANGE_DELIVERIES_MAX 2 /* of one reply */

struct delivery;
struct identity;
struct queue;

/* By what a request was known. */
enum exchange_proof { EXCHANGE_NOTHING, EXCHANGE_TOKEN, EXCHANGE_CERTIFICATE, EXCHANGE_PORT };

struct exchange {
    struct http *http;
    void *arg;                 /* of http_new(), for the handlers */
    const struct route *route; /* NULL: it has none */
    struct head head;

    /* Segments of the path, by the route's names: unescaped, not checked otherwise. The handler
     * may change them, and the body. {topics} is in `topic`, too: no topic has a ',' in it. */
    struct bytes topic;
    struct bytes id;
    struct bytes namespace;
    struct bytes query[EXCHANGE_QUERY_MAX]; /* see exchange_query_text() */
    struct bytes body;                      /* all of it; empty: none came */

    int64_t count; /* of jobs that it changed, for the audit log; the handler's word, or
                    * HTTP_ERROR_NO_COUNT */

    struct identity *who; /* whom the request acts as; NULL: nobody that is known */
    /* What the request may do without an identity: all, on any topic, that is for these roles.
     * 0: it needs one. */
    unsigned granted;
    enum exchange_proof proof;
    void *handler; /* see exchange_keep() */

    /* Wait no longer: the client has left or ended its side, or the node is stopping. Called
     * once at most, from the loop; may answer. NULL: there is no waiting. */
    void (*on_cancel_wait)(struct exchange *x);

    /* The client is gone for certain: nobody will read the reply. Called in place of
     * on_cancel_wait, for a handler that goes on where the client has only ended its side. May
     * be NULL. */
    void (*on_gone)(struct exchange *x);

    /* exchange.c's own */
    void *before;      /* the memory of the handler's step before */
    struct buf fields; /* the reply's, so far */
    int code;          /* of the reply */
    const char *error; /* its word; NULL: it is none */
    struct delivery *deliveries[EXCHANGE_DELIVERIES_MAX]; /* what the reply carries */
    unsigned delivery_count;
    char request_id[REQUEST_ID_MAX + 1]; /* X-Request-Id: the client's, or ours */
};

/* Memory for the state of a handler that answers later: `handler` from now on, not zeroed.
 * Freed with the exchange, or by the next call but one: a handler that asks for one thing after
 * the other may borrow from the step before. Never NULL. */
void *exchange_keep(struct exchange *x, size_t bytes);

/* ---- the query: exchange.c ---- */

/* Names that are not in the route's list, or given twice, were refused before; or ignored, as
 * the app wants it. */

/* The value, unescaped; a '+' stands for itself. `at` is NULL: it was not given. */
struct bytes exchange_query_text(const struct exchange *x, const char *name);

/* A whole number from `min` to `max`, or `fallback` when it was not given. False: not such a
 * number; that was answered, and the exchange is gone. */
bool exchange_query_int(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t fallback, int64_t *out);

/* ---- answering: exchange.c ---- */

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body);

/* The same, with the app's content type; exchange_reply_buf() ends `body`. */
void exchange_reply_body(struct exchange *x, int code, struct bytes body);
void exchange_reply_buf(struct exchange *x, int code, struct buf *body);

/* 204 */
void exchange_reply_nothing(struct exchange *x);

/* {"status": word} */
void exchange_reply_status(struct exchange *x, int code, const char *word);

/* An error as the app writes it, with the row's text or a text of its own, in which bytes that
 * are not UTF-8 are replaced. */
void exchange_reply_error(struct exchange *x, enum http_error error);
void exchange_reply_error_text(struct exchange *x, enum http_error error, const char *format,
                               ...) __attribute__((format(printf, 3, 4)));

/* The same, and how many were done before. */
void exchange_reply_error_count(struct exchange *x, enum http_error error, const char *text,
                                uint64_t count);

/* As http_error_of() maps it; not for STATUS_OK. */
void exchange_reply_status_error(struct exchange *x, enum status status);

/* ---- before the reply ---- */

/* `name` and `value` are fit for a header. */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

/* The reply will carry the jobs of `d`, too: delivered when the client's kernel has
 * acknowledged the reply, returned when that can no longer happen. Takes `d` over. */
void exchange_carry(struct exchange *x, struct delivery *d);

/* The node is stopping: requests in work are finished, new ones refused. */
bool exchange_is_stopping(const struct exchange *x);

/* The server's. */
struct queue *exchange_queue(const struct exchange *x);

/* Writes the topic that a path with {namespace} means by `name`, the path's {topic} or one of
 * its {topics}; "": it is longer than a topic may be. */
struct bytes exchange_topic(const struct exchange *x, struct bytes name,
                            char room[EXCHANGE_TOPIC_MAX]);

/* The client, for people: "http 127.0.0.1:40712". Lives until the reply. */
struct bytes exchange_client(struct exchange *x);

/* The client's address, as peer.h counts clients. Lives until the reply. */
struct bytes exchange_address(const struct exchange *x);

/* For acknowledgements by an id alone (queue_ack_by_id()): the client's connection as a holder
 * of jobs, and its address as the group of all from there. */
uint64_t exchange_holder(const struct exchange *x);
uint64_t exchange_group(const struct exchange *x);

/* ---- whom the request acts as: admit.c ---- */

/* For handlers of what depends on it: may the client do what is for any of these roles? Is it
 * for this topic? The route's own roles, and the topics in the path, were asked for before. */
bool exchange_may(const struct exchange *x, unsigned roles);
bool exchange_has_topic(const struct exchange *x, struct bytes topic);

/* The same for topics that stand in a query or a body: one, or several with commas between.
 * False: the client may not have one of them, which was answered. */
bool exchange_is_for_topics(struct exchange *x, struct bytes topics);

/* May a request that has waited still have what it asked for? False: its identity is gone, has
 * changed or is over or is no longer the port's, or the node knows identities by now. */
bool exchange_may_go_on(const struct exchange *x);

/* From method and path to handler, by the app's table. Private to http/. */

/* NO_PATH, or METHOD: not this method on this path. The parameters in the path are put into
 * `x`, still escaped. */
enum http_error route_find(struct exchange *x);

/* For a path without a route, not empty: is there one without the '/' at the path's end? */
bool route_is_there_without_slash(const struct http_app *app, struct bytes path);

/* Adds the methods of a path, as they stand in an Allow header. */
void route_print_allowed(const struct http_app *app, struct bytes path, struct buf *to);

/* Unescapes path and query, and gives the exchange to its handler; or answers with an error and
 * counts the request as refused. */
void route_take(struct exchange *x);

#endif
