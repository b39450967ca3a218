#include "node/store/redis/wait_queue.h"

#include <assert.h>

#include "base/list.h"
#include "base/log.h"

static void say_opened(const struct redis_gate *g)
{
    const char *why = redis_link_why(g->link);

    LOG_ERROR("redis",
              "Redis answers no requests (%s): the circuit breaker opens. New ones are refused "
              "at once until it does; those that wait already wait on",
              *why ? why : "and says nothing");
}

static void say_tried(const struct redis_gate *g)
{
    LOG_INFO("redis", "Redis is back: the circuit breaker tries it with %u requests",
             g->breaker.probes);
}

static void say_closed(const struct redis_gate *g)
{
    LOG_INFO("redis", "the circuit breaker is closed again, after %lld ms",
             (long long)(g->breaker.since_mono_ms - g->tripped_mono_ms));
}

/* Logs a change of state, and shows it in the stats. */
static void note(struct redis_gate *g)
{
    static void (*const say[BREAKER_STATES])(const struct redis_gate *g) = {
        [BREAKER_OPEN] = say_opened,
        [BREAKER_HALF_OPEN] = say_tried,
        [BREAKER_CLOSED] = say_closed,
    };

    if (g->said == g->breaker.state)
        return;
    if (g->said == BREAKER_CLOSED) {
        g->tripped_mono_ms = g->breaker.since_mono_ms;
        g->stats->breaker_trips++;
    }
    g->said = g->breaker.state;
    g->events.on_turned(g->events.arg);
    say[g->breaker.state](g);
}

/* Requests may have been given up, so that none waits any more. */
static void look(struct redis_gate *g)
{
    int64_t now = timers_now(g->timers);
    bool must_try = g->events.is_idle(g->events.arg) && breaker_try(&g->breaker, now);
    int64_t again_mono_ms;

    if (!g->events.is_waited_for(g->events.arg))
        breaker_idle(&g->breaker);
    again_mono_ms = breaker_look(&g->breaker, now);

    note(g);
    if (again_mono_ms >= 0 &&
        (!timer_is_armed(&g->timer) || g->timer.due_mono_ms > again_mono_ms))
        timer_arm(g->timers, &g->timer, again_mono_ms - now);
    if (must_try)
        g->events.on_try(g->events.arg);
}

static void on_timer(struct timer *timer)
{
    look(CONTAINER_OF(timer, struct redis_gate, timer));
}

void redis_gate_init(struct redis_gate *g, const struct redis_store_options *options,
                     struct redis_store_stats *stats, const struct redis_link *link,
                     struct timers *timers, const struct redis_gate_events *events)
{
    *g = (struct redis_gate){.events = *events, .stats = stats, .link = link, .timers = timers};
    breaker_init(&g->breaker, options->breaker_after_ms, options->breaker_failures,
                 options->breaker_probes);
    timer_init(&g->timer, on_timer);
}

void redis_gate_reload(struct redis_gate *g, const struct redis_store_options *options)
{
    g->breaker.after_ms = options->breaker_after_ms;
    g->breaker.failures = options->breaker_failures;
    g->breaker.probes = options->breaker_probes ? options->breaker_probes : 1;
    timer_disarm(g->timers, &g->timer);
    look(g);
}

void redis_gate_fini(struct redis_gate *g)
{
    timer_disarm(g->timers, &g->timer);
}

/* An armed timer is left alone: where answers have come since, it fires too soon and is armed
 * again. So it costs nothing while all goes well. */
void redis_gate_asked(struct redis_gate *g)
{
    breaker_asked(&g->breaker, timers_now(g->timers));
    if (!timer_is_armed(&g->timer))
        look(g);
}

void redis_gate_answered(struct redis_gate *g)
{
    breaker_answered(&g->breaker, timers_now(g->timers));
    note(g);
}

void redis_gate_fit(struct redis_gate *g)
{
    breaker_connected(&g->breaker, timers_now(g->timers));
    note(g);
}

void redis_gate_lost(struct redis_gate *g, bool is_late)
{
    breaker_lost(&g->breaker, is_late, timers_now(g->timers));
    look(g);
}

bool redis_gate_passes(const struct redis_gate *g, unsigned in_flight)
{
    return breaker_passes(&g->breaker, in_flight);
}

bool redis_gate_refuses(const struct redis_gate *g)
{
    return breaker_refuses(&g->breaker);
}

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

/* Most entries come back in order: the place is mostly behind the last one put back. */
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

enum status redis_retried_status(enum op_verb verb, enum status status)
{
    return verb == OP_ACK ? acked_again(status) : status;
}
