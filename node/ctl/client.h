/* HTTP, one request at a time, on a connection that is kept. libcurl does the work: it tries
 * all addresses of a name, speaks TLS to a proxy in front of a node, and says how far a request
 * got.
 *
 * A request that changes something is sent once: it is never repeated behind the caller's back,
 * and from its first byte on a missing answer means "it may have happened".
 */
#ifndef DUEQ_NODE_CTL_CLIENT_H
#define DUEQ_NODE_CTL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

struct client;

enum client_outcome {
    CLIENT_ANSWERED, /* whatever the answer says */
    CLIENT_NOT_SENT, /* no connection: the node has seen nothing */
    CLIENT_LOST,     /* sent, at least in part, and not answered */
};

struct client_request {
    const char *method;
    const char *path;   /* with its query, encoded */
    struct bytes body;  /* empty: none */
    bool is_write;      /* changes something: never sent twice */
    int64_t connect_ms; /* time for the connection, */
    int64_t answer_ms;  /* and for everything */
};

struct client_reply {
    enum client_outcome outcome;
    int code;              /* of an answer */
    int64_t retry_after_s; /* 0: the answer says nothing of it */
    struct buf body;
    char why[256]; /* no answer: the reason */
};

/* NULL when `url` is none: http, https or nothing in front, a path perhaps, no query. */
struct client *client_new(const char *url);
void client_free(struct client *client);

/* The node's URL for messages: without a password. */
const char *client_where(const struct client *client);

/* `reply` is initialized here; client_reply_fini() ends it. */
void client_call(struct client *client, const struct client_request *request,
                 struct client_reply *reply);
void client_reply_fini(struct client_reply *reply);

#endif
