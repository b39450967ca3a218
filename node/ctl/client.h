/* HTTP, one request at a time, on a connection that is kept. libcurl does the work: it tries
 * all addresses of a name, speaks TLS to a node or to a proxy in front of one, and says how far
 * a request got.
 *
 * A request that changes something is sent once: it is never repeated behind the caller's back,
 * and from its first byte on a missing answer means "it may have happened".
 */
#ifndef DUEQ_NODE_CTL_CLIENT_H
#define DUEQ_NODE_CTL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "node/ctl/ctl.h"

struct client;

/* `url`: http, https or nothing in front, a path perhaps, no query; or "unix:" and the path of
 * a node's socket. NULL: it is no such URL. */
struct client *client_new(const char *url);
void client_free(struct client *client);

/* The first of these good URLs at which a node listens and lets us in; the first request finds
 * out. Ends with NULL; borrowed. */
struct client *client_new_nearest(const char *const *urls);

/* The node's URL for messages: without a password. */
const char *client_where(const struct client *client);
bool client_is_socket(const struct client *client);
bool client_is_secure(const struct client *client); /* https */

/* The first line of the file is the token of all requests that follow; others must not be able
 * to read it. Once: later calls do nothing. NULL: all is well, else why not. */
const char *client_read_token(struct client *client, const char *path);

/* A request on its way, and what came of it. */
struct transfer {
    const char *method;
    const char *path;
    const char *body;      /* JSON; "": none */
    int64_t wait_ms;       /* the node may take so long before it answers */
    bool is_write;         /* anything that is not repeatable */
    bool is_sent;          /* a connection was there, and the request was given to it */
    bool is_answered;      /* whatever the answer says */
    int code;              /* of the answer */
    int64_t retry_after_s; /* 0: the answer says nothing of it */
    struct buf reply;      /* the caller's */
    char why[256];         /* no answer: the reason */
};

/* Sends it by ctl's client, and waits for the answer. */
void client_run(const struct ctl *ctl, struct transfer *t);

#endif
