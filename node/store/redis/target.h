/* Where a link connects to: an address, or a name that is looked up for each attempt without
 * stalling the loop (base/resolve.h). Of a name with several addresses the attempts take turns.
 */
#ifndef DUEQ_NODE_STORE_REDIS_TARGET_H
#define DUEQ_NODE_STORE_REDIS_TARGET_H

#include <stdbool.h>

#include "base/loop.h"
#include "base/resolve.h"
#include "node/store/redis/address.h"

struct redis_target {
    struct redis_address address; /* host "": not known yet */
    struct resolve names;
    unsigned turn;   /* of the name's addresses: the attempts so far */
    bool is_looking; /* somebody waits for on_found */

    /* Never from inside a call. `address` is numeric; NULL: there is none, and why. */
    void (*on_found)(struct redis_target *t, const struct redis_address *address,
                     const char *why);
};

void redis_target_init(struct redis_target *t, struct loop *loop,
                       const struct redis_address *address,
                       void (*on_found)(struct redis_target *t,
                                        const struct redis_address *address, const char *why));
void redis_target_fini(struct redis_target *t);

bool redis_target_is_known(const struct redis_target *t);

/* Is it another one than before? Then nothing is looked up any more. */
bool redis_target_set(struct redis_target *t, const struct redis_address *address);

/* What it can connect to now; or NULL, and on_found comes later. */
const struct redis_address *redis_target_look(struct redis_target *t);

/* For good. False: nothing was looked up; else the loop must turn RESOLVE_FAREWELL_TURNS times.
 */
bool redis_target_cancel(struct redis_target *t);

/* Nobody waits for on_found. What is looked up is left to finish, for the next attempt. */
void redis_target_stop_looking(struct redis_target *t);

#endif
