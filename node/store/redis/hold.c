#include "node/store/redis/hold.h"

#include <assert.h>

struct redis_held *redis_hold_first(struct redis_hold *h)
{
    struct list *link = list_first(&h->list);

    return link ? CONTAINER_OF(link, struct redis_held, link) : NULL;
}

/* Taking the first one leaves the timer as it is: it fires too soon then, and finds nothing. Of
 * two that came back the second's time may end first: he goes with the other. */
static void watch(struct redis_hold *h)
{
    const struct redis_held *first = redis_hold_first(h);

    if (first && !timer_is_armed(&h->timer))
        timer_arm(h->timers, &h->timer, first->until_mono_ms - timers_now(h->timers));
}

static void on_timer(struct timer *timer)
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
    timer_init(&h->timer, on_timer);
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

/* Else those that come now would wait as long as who stands before them. */
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

/* They come back in order, but for a few: mostly it is behind the last one. */
static struct list *place_of(struct redis_hold *h, const struct redis_held *held)
{
    struct list *place = is_before(h, h->back, held) ? h->back : &h->list;

    while (is_before(h, place->next, held))
        place = place->next;
    return place;
}

void redis_hold_put_back(struct redis_hold *h, struct redis_held *held, int64_t ms)
{
    struct list *place = place_of(h, held);

    set_time(h, held, ms);
    list_prepend(place, &held->link);
    h->back = &held->link;
    ++*h->gauge;
    if (place == &h->list)
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
