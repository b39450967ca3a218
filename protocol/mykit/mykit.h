/* The mykit port: mykit-delay's REST routes for its clients. The contract is doc/mykit.md.
 *
 *   app.c     the table of paths; push, delete, finish, a pop, health
 *   clear.c   clearAll: all jobs of all topics that the client is for
 *   codec.c   a job as clients send it, and the replies; pure
 *
 * mykit-delay has one Redis hash of all jobs, by id. Here an id is one of its topic, and the
 * index of ids finds the topic: a push of an id that lives in another topic cancels it there
 * first.
 */
#ifndef DUEQ_PROTOCOL_MYKIT_MYKIT_H
#define DUEQ_PROTOCOL_MYKIT_MYKIT_H

#include "protocol/http/http.h"

/* For http_new(), with a struct mykit_options as its argument. */
extern const struct http_app mykit_app;

struct mykit_options {
    bool clear_all;      /* /clearAll is served */
    int64_t pop_wait_ms; /* /get/topic waits so long for a job */
    bool is_cluster;     /* all nodes move what is due, and not one leader */
    const char *prefix;  /* of the keys in Redis */
    /* NULL: ready. Else why not. Both are called from requests, in the loop, with `arg`. */
    const char *(*why_not_ready)(void *arg);
    bool (*is_master)(void *arg);
    void *arg;
};

/* The handler of /clearAll. Private to mykit/. */
void mykit_clear(struct exchange *x);

#endif
