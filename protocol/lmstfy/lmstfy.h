/* lmstfy's HTTP API, so that its clients work unchanged: two apps for the HTTP server, a port
 * each. doc/lmstfy.md is the contract, with what differs from the original, and why.
 *
 *   lmstfy         /api/..., what producers and consumers ask
 *   lmstfy_admin   /token/..., /info and the rest, what operators ask
 *
 * A namespace and a queue are the topic "namespace/queue": other dialects see the same jobs.
 * The consumer chooses the TTR; `tries` is the job's max_tries; what has no tries left, or no
 * time, is among the topic's dead jobs, which are lmstfy's dead letters. A job that the store
 * has numbered goes by a ULID that is computed from its number, and stored nowhere.
 *
 * An acknowledgement brings an id and no lease. Whose it is, the node remembers: see
 * queue_ack_by_id(). A job that nobody holds is cancelled by it, as lmstfy does; one that
 * somebody else holds stays as it is.
 *
 * Tokens are those of identities (protocol/access). The admin port makes, lists and revokes
 * the identities of a namespace in Redis.
 *
 *   app.c      the tables of paths, and how errors read
 *   jobs.c     publish, consume, acknowledge, peek
 *   queues.c   sizes, purges, dead letters
 *   admin.c    the admin port
 *   codec.c    ids, names, options, attributes, bulk bodies, replies; pure
 */
#ifndef DUEQ_PROTOCOL_LMSTFY_LMSTFY_H
#define DUEQ_PROTOCOL_LMSTFY_LMSTFY_H

#include "protocol/http/http.h"

struct registry;

/* For http_new(), without an argument; and with a struct lmstfy. */
extern const struct http_app lmstfy_app, lmstfy_admin_app;

struct lmstfy {
    struct registry *registry;
    void (*metrics)(struct exchange *x); /* a handler of the node's metrics, */
    void *metrics_arg;                   /* with this as its app's argument */
};

#endif
