/* Answers that say: not here (doc/redis-cluster.md). None of them has run, or not to its end
 * and without a trace, so the request goes again; one that is never sent again ends
 * UNAVAILABLE, and whoever sent it finds the route mended.
 *
 * ASK, too, is waited out where the bucket is. Behind ASKING the new master would run a script
 * that looks at a key which is not among its KEYS as if there were no such key, while it is
 * still at the old one.
 */
#include "node/store/redis/requests_private.h"
#include "node/store/redis/slots.h"

/* Where the bucket has gone by another lane meanwhile, this is no news. */
static void mend(struct request *r, enum redis_redirect redirect,
                 const struct redis_address *to, const char *error)
{
    struct redis_requests *q = r->queue;
    unsigned bucket = r->op->bucket;

    if (q->route->buckets[bucket].lane != r->lane)
        return;
    if (redirect == REDIS_MOVED && !redis_address_equal(to, redis_lane_address(r->lane))) {
        q->redirects.on_moved(q->redirects.arg, bucket, to);
        return;
    }
    redis_route_pause(q->route, bucket, redirect, to, error);
    if (redirect == REDIS_MOVED || redirect == REDIS_DOWN)
        q->redirects.on_lost(q->redirects.arg, bucket);
}

static void count(struct redis_store_stats *stats, enum redis_redirect redirect)
{
    stats->moved += redirect == REDIS_MOVED;
    stats->asked += redirect == REDIS_ASK;
    stats->try_again += redirect == REDIS_TRY_AGAIN;
    stats->down += redirect == REDIS_DOWN;
}

bool request_redirect(struct request *r, const char *error)
{
    struct redis_requests *q = r->queue;
    enum redis_redirect redirect;
    struct redis_address to;

    if (!q->redirects.on_moved)
        return false;
    redirect = redis_redirect_read(error, redis_lane_address(r->lane), &to);
    if (redirect == REDIS_NOT_REDIRECTED)
        return false;
    count(q->stats, redirect);
    mend(r, redirect, &to, error);
    if (!request_hold_again(r))
        request_fail(r, request_unsent(r, STATUS_UNAVAILABLE));
    return true;
}
