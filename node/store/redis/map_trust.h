/* Which maps of a Redis Cluster are believed? Pure.
 *
 * A node that was cut off from the others answers as well as any, with an old map. It gives
 * itself away: its state is not "ok" when it cannot see most masters, and its epoch is not that
 * of the others, who have raised it with a failover. (A replica that was cut off may have
 * raised its own in vain; it is not "ok", though.) So a map is believed that is as good as the
 * last one: "ok" before the epoch. After REDIS_MAP_DOUBT_MS without one any is believed: the
 * Redis Cluster is down as a whole, or was made anew.
 */
#ifndef DUEQ_NODE_STORE_REDIS_MAP_TRUST_H
#define DUEQ_NODE_STORE_REDIS_MAP_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#define REDIS_MAP_DOUBT_MS 10000

struct redis_map_origin {
    bool is_ok;    /* cluster_state */
    int64_t epoch; /* cluster_current_epoch */
};

/* All zero at first. */
struct redis_map_trust {
    bool has_any;
    struct redis_map_origin last; /* that was believed */
    int64_t last_mono_ms;
};

/* Is the map of such a node believed? Then it is the last one. */
static inline bool redis_map_trust(struct redis_map_trust *t, struct redis_map_origin origin,
                                   int64_t now_mono_ms)
{
    bool is_better = origin.is_ok && !t->last.is_ok;
    bool is_as_good = origin.is_ok == t->last.is_ok && origin.epoch >= t->last.epoch;

    if (t->has_any && !is_better && !is_as_good &&
        now_mono_ms - t->last_mono_ms < REDIS_MAP_DOUBT_MS)
        return false;
    *t = (struct redis_map_trust){true, origin, now_mono_ms};
    return true;
}

#endif
