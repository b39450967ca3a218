/* Who is the master, when Sentinels do not agree? Pure.
 *
 * A failover raises the epoch of the master's configuration. So a higher epoch than the one
 * that was last believed is believed at once, from whomever it comes; the same epoch and master
 * of course; and anything else only where more than half of all Sentinels say the same: they
 * were set up anew. One that was cut off together with the old master, and is all that can be
 * reached now, is not believed.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SENTINEL_VIEW_H
#define DUEQ_NODE_STORE_REDIS_SENTINEL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/redis/sentinel.h"

struct sentinel_word {
    struct redis_address master; /* host "": it has said nothing */
    int64_t epoch;
};

/* All zero at first, but for `count`. */
struct redis_sentinel_view {
    unsigned count;                                 /* of all Sentinels there are */
    struct sentinel_word said[REDIS_SENTINELS_MAX]; /* last, by each that can be reached */
    struct sentinel_word believed;
};

/* Sentinel number `who` says this. Is it to be believed? */
bool redis_sentinel_view_hear(struct redis_sentinel_view *v, unsigned who,
                              const struct sentinel_word *word);

/* It cannot be reached any more, or has no answer. */
void redis_sentinel_view_forget(struct redis_sentinel_view *v, unsigned who);

#endif
