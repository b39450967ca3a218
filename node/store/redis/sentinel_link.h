/* One Sentinel: a connection that asks it who the master is, and one that listens for
 * `+switch-master`, because a subscribed connection cannot ask. Both keep coming back; nothing
 * is sent on one that listens, so it is taken for dead when the one that asks is lost.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SENTINEL_LINK_H
#define DUEQ_NODE_STORE_REDIS_SENTINEL_LINK_H

#include <stdbool.h>

#include "node/store/redis/link.h"
#include "node/store/redis/sentinel_view.h"
#include "node/store/redis/why.h"

/* What it is told by its owner, and tells him. Never from inside a call. */
struct sentinel_link_events {
    void (*on_word)(void *arg, unsigned number, const struct sentinel_word *word);
    void (*on_silence)(void *arg, unsigned number); /* why: in the link */
    void (*on_switch)(void *arg);                   /* of our master */
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_sentinel_link {
    struct sentinel_link_events events;
    unsigned number;
    const char *master; /* its name */
    struct loop *loop;
    struct redis_link *asking;
    struct redis_link *listening;
    struct redis_call about;   /* SENTINEL MASTER: the epoch, or what is wrong */
    struct redis_call address; /* SENTINEL GET-MASTER-ADDR-BY-NAME */
    struct sentinel_word word; /* what is answered so far */
    bool is_awaited;           /* on_word or on_silence will come */
    unsigned running;          /* of the two links; while stopping */

    struct redis_why why; /* it has no answer; "": it has */
    bool is_lasting;      /* that is so until somebody changes something */
    char name[REDIS_ADDRESS_CHARS + 32];
};

/* `options` is borrowed for this call, but for its texts. */
void redis_sentinel_link_init(struct redis_sentinel_link *l, struct loop *loop, unsigned number,
                              const struct redis_sentinel_options *options,
                              const struct sentinel_link_events *events);
void redis_sentinel_link_fini(struct redis_sentinel_link *l);

void redis_sentinel_link_start(struct redis_sentinel_link *l);
void redis_sentinel_link_stop(struct redis_sentinel_link *l);

/* Nothing, where it is asked already, or cannot be reached. */
void redis_sentinel_link_ask(struct redis_sentinel_link *l);

/* What on_word has told is of use: if the connection is lost, the next one comes at once. */
void redis_sentinel_link_settled(struct redis_sentinel_link *l);

/* Asks on a new connection: what is listed may be a name of several. */
void redis_sentinel_link_renew(struct redis_sentinel_link *l);

#endif
