#include "node/app_private.h"

#include "base/list.h"
#include "base/log.h"

/* The time to stop in has three parts. After the first, what waits for a store that is away is
 * refused (at once where it has never been up); after the second, what it has not answered ends
 * as unknown. The third is for telling the clients. */
#define PARTS 3

/* Of the time to stop in, for vip.hook: the warden kills who takes it all. */
#define HOOK_PERCENT 90

static void enter(struct app *a, enum app_phase phase);

static void on_lead_stopped(void *arg)
{
    app_tell_session(arg); /* none, if ZooKeeper has confirmed its end; else the warden tries */
    enter(arg, APP_STOP_VIP);
}

static void on_vip_gone(void *arg)
{
    enter(arg, APP_STOP_CLIENTS);
}

static void on_clients_stopped(void *arg)
{
    struct app *a = arg;

    if (--a->clients_left == 0)
        enter(a, APP_STOP_QUEUE);
}

static void stop_clients(struct app *a)
{
    a->clients_left = !!a->gmq + !!a->http;
    if (a->gmq)
        gmq_stop(a->gmq, on_clients_stopped, a);
    if (a->http)
        http_stop(a->http, on_clients_stopped, a);
    if (!a->gmq && !a->http)
        enter(a, APP_STOP_QUEUE);
}

static void on_queue_stopped(void *arg)
{
    enter(arg, APP_STOP_STORE);
}

static void on_store_stopped(void *arg)
{
    struct app *a = arg;

    a->is_store_stopped = true;
    if (a->phase == APP_STOP_STORE)
        enter(a, APP_STOP_HOOK);
}

static void on_hook_ended(void *arg)
{
    enter(arg, APP_STOPPED);
}

static void stop_hook(struct app *a)
{
    int64_t left_ms = a->stop_by_mono_ms - timers_now(&a->loop->timers);

    timer_disarm(&a->loop->timers, &a->patience);
    vip_app_finish(a->vip, left_ms, on_hook_ended, a);
}

static void stop_store(struct app *a)
{
    if (!a->is_store_stopping)
        redis_store_stop(a->store, on_store_stopped, a);
    a->is_store_stopping = true;
}

/* Whatever the store keeps from its end is ended, and with it the steps before STOP_STORE. */
static void on_patience_over(struct timer *timer)
{
    struct app *a = CONTAINER_OF(timer, struct app, patience);
    const struct redis_store_stats *stats = redis_store_stats(a->store);

    if (a->is_store_stopping) {
        if (stats->in_flight)
            LOG_WARN("app", "the store has not answered %llu operations: they end as unknown",
                     (unsigned long long)stats->in_flight);
        redis_store_hurry(a->store);
        return;
    }
    if (stats->held)
        LOG_INFO("app", "%llu operations wait for the store: they are refused now",
                 (unsigned long long)stats->held);
    stop_store(a);
    timer_arm(&a->loop->timers, timer, a->options->stop_timeout_ms / PARTS);
}

static void enter(struct app *a, enum app_phase phase)
{
    static const char *const names[] = {"RUN",        "STOP_LEAD",  "STOP_VIP",  "STOP_CLIENTS",
                                        "STOP_QUEUE", "STOP_STORE", "STOP_HOOK", "STOPPED"};

    LOG_DEBUG("app", "%s -> %s", names[a->phase], names[phase]);
    a->phase = phase;
    switch (phase) {
    case APP_RUN:
        break;
    case APP_STOP_LEAD:
        a->has_successor = ha_app_has_successor(a->ha);
        ha_app_stop(a->ha, on_lead_stopped, a);
        break;
    case APP_STOP_VIP:
        vip_app_stop(a->vip, a->has_successor, on_vip_gone, a);
        break;
    case APP_STOP_CLIENTS:
        stop_clients(a);
        break;
    case APP_STOP_QUEUE:
        queue_stop(a->queue, on_queue_stopped, a);
        break;
    case APP_STOP_STORE:
        stop_store(a);
        if (a->is_store_stopped)
            enter(a, APP_STOP_HOOK);
        break;
    case APP_STOP_HOOK:
        stop_hook(a);
        break;
    case APP_STOPPED:
        loop_stop(a->loop);
        break;
    }
}

void app_stop(struct app *a, const char *reason, int exit_code)
{
    if (a->phase != APP_RUN)
        return;
    LOG_AT(exit_code ? LEVEL_ERROR : LEVEL_INFO, "app", "stopping: %s", reason);
    a->exit_code = exit_code;
    timer_disarm(&a->loop->timers, &a->waiting);
    a->stop_by_mono_ms =
        timers_now(&a->loop->timers) + a->options->stop_timeout_ms * HOOK_PERCENT / 100;
    timer_init(&a->patience, on_patience_over);
    timer_arm(&a->loop->timers, &a->patience,
              a->has_been_up ? a->options->stop_timeout_ms / PARTS : 0);
    enter(a, APP_STOP_LEAD);
}
