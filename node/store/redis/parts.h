/* A store on Redis from inside. parts.c: the parts put together, and what they tell.
 * store_cluster.c: the lanes, where there are several. store.c: the port, its beginning and
 * end, and its reports.
 *
 * The headers of the parts (lane.h, route.h, requests.h) declare what each tells its store: the
 * functions redis_store_on_...().
 */
#ifndef DUEQ_NODE_STORE_REDIS_PARTS_H
#define DUEQ_NODE_STORE_REDIS_PARTS_H

#include <stdbool.h>

#include "base/list.h"
#include "node/store/redis/lane.h"
#include "node/store/redis/options.h"
#include "node/store/redis/requests.h"
#include "node/store/redis/route.h"
#include "node/store/redis/throttle.h"
#include "node/store/redis/wire/address.h"
#include "node/store/store.h"

struct redis_store {
    struct store port;
    struct redis_store_options options;
    struct loop *loop;
    struct redis_marks *marks;
    struct redis_route route;
    struct list lanes; /* oldest first */
    struct redis_requests *requests;
    struct redis_wakeups *wakeups;
    struct redis_follow *follow;   /* of the one lane; NULL: the map names the lanes */
    struct redis_cluster_map *map; /* NULL: there is one lane */
    struct redis_lane
        *named[REDIS_MARKS_BUCKETS_MAX]; /* by the map, or by MOVED since; or NULL */
    unsigned char
        told[REDIS_MARKS_BUCKETS_MAX]; /* by MOVED: how many maps may still contradict */
    unsigned lanes_made;
    bool is_looking;    /* for a master to subscribe at: none was ready */
    struct timer sweep; /* lanes that have stopped go */
    struct redis_store_stats stats;
    struct redis_state_log state_log;
    char up_at[REDIS_ADDRESS_CHARS];                   /* the Redis that was up last */
    bool is_reported_reached[REDIS_MARKS_BUCKETS_MAX]; /* to the port's owner; while it is up */
    bool has_rolled_back; /* Redis rolled back, and the port's owner is not told yet */
    bool is_refused;      /* on_refused was called; not again before a handshake is done */
    bool is_stopping;
    bool is_ending;         /* nothing is on its way any more: the parts stop */
    unsigned parts_running; /* while stopping: on_stopped is called when all have stopped */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

/* Makes all parts, starts none. BAD_CONFIG: the address is none, and nothing is made. */
enum status redis_store_make_parts(struct redis_store *s) MUST_CHECK;

static inline struct redis_lane *redis_store_lane_of(struct list *link)
{
    return CONTAINER_OF(link, struct redis_lane, link_of_all);
}

/* ---- parts.c ---- */

/* Not started. */
struct redis_lane *redis_store_make_lane(struct redis_store *s,
                                         const struct redis_address *address);

/* One of the parts that a stop waits for has stopped. */
void redis_store_part_stopped(void *arg);

/* ---- store_cluster.c ---- */

enum status redis_store_make_map(struct redis_store *s) MUST_CHECK;
void redis_store_free_lanes(struct redis_store *s); /* all have stopped */

/* The wake-ups ask where to subscribe. */
void redis_store_look_for_wakeups(void *arg);

#endif
