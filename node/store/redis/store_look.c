/* What is told of a store on Redis, and of each master. */
#include "node/store/redis/store_private.h"

#include "node/store/redis/cluster_map.h"
#include "node/store/redis/follow.h"
#include "node/store/redis/wakeups.h"
#include "node/store/redis/weakness.h"

struct store *redis_store_port(struct redis_store *s)
{
    return &s->port;
}

const struct redis_store_stats *redis_store_stats(const struct redis_store *s)
{
    return &s->stats;
}

const char *redis_store_address(const struct redis_store *s)
{
    return s->follow ? redis_follow_text(s->follow) : s->options.address;
}

/* ---- lanes ---- */

unsigned redis_store_lanes(const struct redis_store *s)
{
    unsigned count = 0;

    LIST_EACH (link, &s->lanes)
        count++;
    return count;
}

static const char *why_not(const struct redis_lane *l)
{
    const char *why = redis_link_why(l->link);

    if (l->is_fit)
        return l->is_leaving ? l->leaves_for : "";
    return *why ? why : "it is being connected to";
}

void redis_store_lane(const struct redis_store *s, unsigned i, struct redis_lane_stats *to)
{
    struct list *link = s->lanes.next;
    const struct redis_lane *l;

    while (i-- > 0)
        link = link->next;
    l = redis_store_lane_of(link);
    *to = (struct redis_lane_stats){
        .address = l->name,
        .state = redis_lane_word(l),
        .why = why_not(l),
        .is_up = l->is_fit && !l->is_leaving,
        .buckets = redis_route_count(&s->route, l),
        .in_flight = l->in_flight,
        .breaker = l->gate.breaker.state,
    };
}

/* ---- why not ---- */

const char *redis_store_bucket_why(const struct redis_store *s, unsigned bucket,
                                   const char **address)
{
    const struct redis_bucket *b = &s->route.buckets[bucket];

    if (redis_bucket_is_reached(b))
        return NULL;
    *address = b->lane ? b->lane->name : "";
    if (!b->lane)
        return "no master has its slot";
    if (b->lane->is_fit)
        return *b->trouble ? b->trouble : "it has just come to this master";
    if (b->lane->is_ready && !s->route.is_ours)
        return "the master of the key 'meta' is missing";
    return why_not(b->lane);
}

/* Of the first bucket: all are missing. */
static const char *why_nothing_is_reached(const struct redis_store *s)
{
    const char *address;

    if (s->map && *redis_cluster_map_why(s->map))
        return redis_cluster_map_why(s->map);
    if (s->map)
        return list_is_empty(&s->lanes) ? "" : redis_store_bucket_why(s, 0, &address);
    return redis_link_why(redis_store_lane_of(s->lanes.next)->link);
}

const char *redis_store_why(const struct redis_store *s)
{
    if (s->stats.state == REDIS_STORE_UP)
        return "";
    return s->route.reached > 0 ? redis_wakeups_why(s->wakeups) : why_nothing_is_reached(s);
}

/* One that takes writes is enough: only what is with the others stands still. */
const char *redis_store_refuses_writes(const struct redis_store *s)
{
    const char *why = NULL;

    LIST_EACH (link, &s->lanes) {
        const struct redis_lane *l = redis_store_lane_of(link);
        const char *lane_why = NULL;

        for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
            if ((l->weak >> w & 1) && weakness_stops_writes((enum weakness)w))
                lane_why = weakness_what((enum weakness)w);
        if (l->is_fit && !lane_why)
            return NULL;
        if (l->is_fit)
            why = lane_why;
    }
    return why;
}
