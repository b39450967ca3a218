#include "node/store/redis/gate.h"

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
             g->breaker.trials);
}

static void say_closed(const struct redis_gate *g)
{
    LOG_INFO("redis", "the circuit breaker is closed again, after %lld ms",
             (long long)(g->breaker.since_mono_ms - g->tripped_mono_ms));
}

/* What has changed is said and shown. */
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

/* Who asked may have given up, and left nobody who waits. */
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
                 options->breaker_trials);
    timer_init(&g->timer, on_timer);
}

void redis_gate_reload(struct redis_gate *g, const struct redis_store_options *options)
{
    g->breaker.after_ms = options->breaker_after_ms;
    g->breaker.failures = options->breaker_failures;
    g->breaker.trials = options->breaker_trials ? options->breaker_trials : 1;
    timer_disarm(g->timers, &g->timer);
    look(g);
}

void redis_gate_fini(struct redis_gate *g)
{
    timer_disarm(g->timers, &g->timer);
}

/* The timer that is armed already fires too soon where answers have come since: then it is
 * armed again. So it costs nothing while all goes well. */
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
    breaker_fit(&g->breaker, timers_now(g->timers));
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
