#include "base/loop.h"

#include <signal.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#define STALL_MS 10

static void set_alarm(struct loop *l, int64_t delay_ms)
{
    struct timeval tv = {.tv_sec = delay_ms / 1000, .tv_usec = (delay_ms % 1000) * 1000};

    evtimer_add(l->alarm, &tv);
}

static void on_sooner(struct timers *timers)
{
    struct loop *l = CONTAINER_OF(timers, struct loop, timers);
    int64_t delay_ms = timers->heap[1]->due_mono_ms - clock_mono_ms();

    set_alarm(l, delay_ms > 0 ? delay_ms : 0);
}

static void note_stall(struct loop *l, int64_t now_mono_ms)
{
    int64_t late_ms = 0;

    if (l->timers.count)
        late_ms = now_mono_ms - l->timers.heap[1]->due_mono_ms;
    if (late_ms > l->stall_max_ms)
        l->stall_max_ms = late_ms;
    if (late_ms > STALL_MS)
        l->stall_count++;
}

static void on_alarm(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    int64_t now_mono_ms = clock_mono_ms();
    int64_t delay_ms;

    note_stall(l, now_mono_ms);
    delay_ms = timers_run(&l->timers, now_mono_ms);
    if (delay_ms >= 0)
        set_alarm(l, delay_ms);
}

static void on_libevent_log(int severity, const char *message)
{
    static const enum log_level levels[] = {LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR};

    if (severity >= 0 && severity < 4)
        LOG_AT(levels[severity], "libevent", "%s", message);
}

struct loop *loop_new(void)
{
    struct loop *l = calloc(1, sizeof(*l));
    struct event_config *config = event_config_new();

    if (!l || !config)
        abort();
    event_set_log_callback(on_libevent_log);
    signal(SIGPIPE, SIG_IGN); /* a lost peer is an error of write, not our end */
    /* Without it timers are late by up to the resolution of the coarse clock, 4 ms. */
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    l->base = event_base_new_with_config(config);
    event_config_free(config);
    timers_init(&l->timers, clock_mono_ms());
    l->timers.on_sooner = on_sooner;
    l->alarm = l->base ? evtimer_new(l->base, on_alarm, l) : NULL;
    if (!l->alarm)
        abort();
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    event_free(l->alarm);
    event_base_free(l->base);
    timers_fini(&l->timers);
    free(l);
}

void loop_run(struct loop *l)
{
    event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_stop(struct loop *l)
{
    event_base_loopbreak(l->base);
}

void loop_touch(struct loop *l)
{
    int64_t now_mono_ms = clock_mono_ms();

    if (now_mono_ms > l->timers.now_mono_ms)
        l->timers.now_mono_ms = now_mono_ms;
}
