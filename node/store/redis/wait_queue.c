#include "node/store/redis/wait_queue.h"

#include <assert.h>

#include "base/list.h"

/* ---- who waits ---- */

struct redis_held *redis_hold_first(struct redis_hold *h)
{
    struct list *link = list_first(&h->list);

    return link ? CONTAINER_OF(link, struct redis_held, link) : NULL;
}

/* Taking the first entry leaves the timer as it is: it fires too soon then, and finds nothing.
 * Of two that came back the second's time may end first: it ends with the first. */
static void watch(struct redis_hold *h)
{
    const struct redis_held *first = redis_hold_first(h);

    if (first && !timer_is_armed(&h->timer))
        timer_arm(h->timers, &h->timer, first->until_mono_ms - timers_now(h->timers));
}

static void on_hold_timer(struct timer *timer)
{
    struct redis_hold *h = CONTAINER_OF(timer, struct redis_hold, timer);
    const struct redis_held *first;

    while ((first = redis_hold_first(h)) && first->until_mono_ms <= timers_now(h->timers))
        h->on_expired(h, redis_hold_take(h));
    watch(h);
}

void redis_hold_init(struct redis_hold *h, struct timers *timers, uint64_t *gauge,
                     void (*on_expired)(struct redis_hold *h, struct redis_held *held))
{
    *h = (struct redis_hold){.timers = timers, .on_expired = on_expired};
    h->gauge = gauge;
    list_init(&h->list);
    h->back = &h->list;
    timer_init(&h->timer, on_hold_timer);
}

void redis_hold_fini(struct redis_hold *h)
{
    assert(redis_hold_is_empty(h));
    timer_disarm(h->timers, &h->timer);
}

static void set_time(struct redis_hold *h, struct redis_held *held, int64_t ms)
{
    if (held->until_mono_ms == 0)
        held->until_mono_ms = timers_now(h->timers) + ms;
}

/* Else new entries would wait as long as those before them. */
void redis_hold_limit(struct redis_hold *h, int64_t ms)
{
    int64_t latest_mono_ms = timers_now(h->timers) + ms;

    LIST_EACH (link, &h->list) {
        struct redis_held *held = CONTAINER_OF(link, struct redis_held, link);

        if (held->until_mono_ms > latest_mono_ms)
            held->until_mono_ms = latest_mono_ms;
    }
    timer_disarm(h->timers, &h->timer);
    watch(h);
}

void redis_hold_add(struct redis_hold *h, struct redis_held *held, int64_t ms)
{
    set_time(h, held, ms);
    list_append(&h->list, &held->link);
    ++*h->gauge;
    watch(h);
}

static bool is_before(const struct redis_hold *h, const struct list *link,
                      const struct redis_held *held)
{
    return link != &h->list &&
           CONTAINER_OF(link, struct redis_held, link)->number < held->number;
}

/* The last entry before this one, or the head. Most come back in order, and go behind the one
 * that was put back last. */
static struct list *last_before(struct redis_hold *h, const struct redis_held *held)
{
    struct list *at = is_before(h, h->back, held) ? h->back : &h->list;

    while (is_before(h, at->next, held))
        at = at->next;
    return at;
}

void redis_hold_put_back(struct redis_hold *h, struct redis_held *held, int64_t ms)
{
    struct list *before = last_before(h, held);

    set_time(h, held, ms);
    list_prepend(before, &held->link);
    h->back = &held->link;
    ++*h->gauge;
    if (before == &h->list)
        timer_disarm(h->timers, &h->timer);
    watch(h);
}

void redis_hold_remove(struct redis_hold *h, struct redis_held *held)
{
    if (h->back == &held->link)
        h->back = held->link.prev;
    list_remove(&held->link);
    --*h->gauge;
}

struct redis_held *redis_hold_take(struct redis_hold *h)
{
    struct redis_held *first = redis_hold_first(h);

    if (first)
        redis_hold_remove(h, first);
    return first;
}

bool redis_hold_is_empty(const struct redis_hold *h)
{
    return list_is_empty(&h->list);
}

/* ---- what is sent again ---- */

/* A missing job means OK: only this consumer could acknowledge it. Where the id lives, it may
 * be a new job by now. */
static enum status acked_again(enum status status)
{
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status == STATUS_NOT_OWNER || status == STATUS_NOT_RESERVED)
        return STATUS_UNKNOWN;
    return status;
}

/* The first try may have happened, and a later change of somebody else be what is in the way.
 */
static enum status identified_again(enum status status)
{
    if (status == STATUS_WRONG_STATE || status == STATUS_DUPLICATE ||
        status == STATUS_TOO_MANY_IDENTITIES)
        return STATUS_UNKNOWN;
    return status;
}

enum status redis_retried_status(enum op_verb verb, enum status status)
{
    if (verb == OP_IDENTIFY)
        return identified_again(status);
    return verb == OP_ACK ? acked_again(status) : status;
}
