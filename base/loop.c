#include "base/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/timerfd.h>

#include <event2/event.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"

#define STALL_MS 10
#define TURN_MS  5 /* of descriptors; libevent's clock adds up to 4 */

/* libevent serves a lower number first. */
enum priority { FIRST, USUAL, PRIORITIES };

/* A timer that is due already runs when the descriptors that are ready have been served, or
 * when the alarm interrupts them: an alarm at once would let timers that are always due, such
 * as those of handshakes, keep the descriptors waiting. The kernel's timer is set only when its
 * time has changed: a system call less in most turns. */
static void set_alarm(struct loop *l, int64_t now_mono_ms)
{
    static const struct timeval next_turn = {0, 0};
    int64_t due_mono_ms = l->timers.heap[1]->due_mono_ms;
    struct itimerspec at;

    if (due_mono_ms <= now_mono_ms) {
        evtimer_add(l->soon, &next_turn);
        due_mono_ms = now_mono_ms + TURN_MS;
    }
    if (due_mono_ms == l->alarm_mono_ms)
        return;
    at = (struct itimerspec){
        .it_value = {.tv_sec = due_mono_ms / 1000, .tv_nsec = due_mono_ms % 1000 * 1000000}};
    timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    l->alarm_mono_ms = due_mono_ms;
}

static void on_sooner(struct timers *timers)
{
    set_alarm(CONTAINER_OF(timers, struct loop, timers), clock_mono_ms());
}

static void note_stall(struct loop *l, int64_t now_mono_ms)
{
    int64_t late_ms = 0;

    if (l->timers.count)
        late_ms = now_mono_ms - l->timers.heap[1]->due_mono_ms;
    if (late_ms > l->stall_max_ms)
        l->stall_max_ms = late_ms;
    if (late_ms > STALL_MS) {
        l->stall_count++;
        l->stall_total_ms += late_ms;
    }
    if (late_ms < LOOP_STALL_TOLD_MS)
        return;
    LOG_WARN("loop",
             "stalled for %lld ms: this process, or the machine, stood still or had no "
             "processor",
             (long long)late_ms);
    loop_touch(l);
    if (l->on_stall)
        l->on_stall(l->arg);
}

static void run_timers(struct loop *l)
{
    int64_t now_mono_ms = clock_mono_ms();

    note_stall(l, now_mono_ms);
    if (timers_run(&l->timers, now_mono_ms) >= 0)
        set_alarm(l, now_mono_ms);
}

static void on_soon(evutil_socket_t fd, short what, void *arg)
{
    run_timers(arg);
}

static void on_alarm(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;

    l->alarm_mono_ms = 0; /* timer_fd fires once */
    run_timers(l);
}

/* ---- the end of a turn ---- */

/* What runs may ask for more, of an earlier phase, too. */
static void on_end_of_turn(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    unsigned phase = 0;

    while (phase < TURN_PHASES) {
        struct list *link = list_pop(&l->ends[phase]);

        phase = link ? 0 : phase + 1;
        if (link) {
            struct turn_end *end = CONTAINER_OF(link, struct turn_end, link);

            end->run(end);
        }
    }
}

void turn_end_init(struct turn_end *end, enum turn_phase phase,
                   void (*run)(struct turn_end *end))
{
    *end = (struct turn_end){.phase = phase, .run = run};
    list_init(&end->link);
}

void turn_end_ask(struct turn_end *end, struct loop *l)
{
    if (list_is_linked(&end->link))
        return;
    list_append(&l->ends[end->phase], &end->link);
    event_active(l->end, EV_TIMEOUT, 0);
}

void turn_end_cancel(struct turn_end *end)
{
    list_remove(&end->link);
}

/* ---- the loop ---- */

static void on_libevent_log(int severity, const char *message)
{
    static const enum log_level levels[] = {LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR};

    if (severity >= 0 && severity < 4)
        LOG_AT(levels[severity], "libevent", "%s", message);
}

/* Thousands of descriptors may be ready at once. After TURN_MS of those of usual priority
 * libevent asks the kernel again, so that the alarm is noticed. */
static struct event_base *new_base(void)
{
    static const struct timeval turn = {0, 1000 * TURN_MS};
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config && event_config_set_max_dispatch_interval(config, &turn, -1, USUAL) == 0)
        base = event_base_new_with_config(config);
    if (!base || event_base_priority_init(base, PRIORITIES) != 0)
        abort();
    event_config_free(config);
    return base;
}

struct loop *loop_new(void)
{
    struct loop *l = must(calloc(1, sizeof(*l)));

    event_set_log_callback(on_libevent_log);
    signal(SIGPIPE, SIG_IGN); /* a lost peer is an error of write, not our end */
    l->base = new_base();
    /* libevent's own timers are late by up to the resolution of the coarse clock, 4 ms. */
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->timer_fd < 0)
        abort();
    timers_init(&l->timers, clock_mono_ms());
    l->timers.on_sooner = on_sooner;
    /* Edge-triggered: timer_fd need not be read. */
    l->alarm = event_new(l->base, l->timer_fd, EV_READ | EV_PERSIST | EV_ET, on_alarm, l);
    l->soon = evtimer_new(l->base, on_soon, l);
    l->end = evtimer_new(l->base, on_end_of_turn, l);
    if (!l->alarm || !l->soon || !l->end)
        abort();
    for (unsigned i = 0; i < TURN_PHASES; i++)
        list_init(&l->ends[i]);
    loop_serve_first(l->alarm);
    event_add(l->alarm, NULL);
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    event_free(l->alarm);
    event_free(l->soon);
    event_free(l->end);
    close(l->timer_fd);
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

void loop_serve_first(struct event *event)
{
    event_priority_set(event, FIRST);
}

void loop_touch(struct loop *l)
{
    int64_t now_mono_ms = clock_mono_ms();

    if (now_mono_ms > l->timers.now_mono_ms)
        l->timers.now_mono_ms = now_mono_ms;
}
