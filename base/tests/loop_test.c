/* The loop on real time. The tests judge conditions, not durations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"

struct probe {
    struct timer timer;
    struct loop *loop;
    int64_t fired_mono_ms;
    bool is_last;
};

static int setup(void **state)
{
    *state = loop_new();
    return 0;
}

static int teardown(void **state)
{
    loop_free(*state);
    return 0;
}

static void on_fire(struct timer *timer)
{
    struct probe *p = CONTAINER_OF(timer, struct probe, timer);

    p->fired_mono_ms = clock_mono_ms();
    if (p->is_last)
        loop_stop(p->loop);
}

static void arm(struct probe *p, struct loop *l, int64_t delay_ms, bool is_last)
{
    *p = (struct probe){.loop = l, .is_last = is_last};
    timer_init(&p->timer, on_fire);
    timer_arm(&l->timers, &p->timer, delay_ms);
}

static void timers_fire_and_never_early(void **state)
{
    struct loop *l = *state;
    struct probe later, sooner, at_once;
    int64_t start_mono_ms;

    loop_touch(l);
    start_mono_ms = timers_now(&l->timers);
    arm(&later, l, 20, true);
    arm(&sooner, l, 5, false);
    arm(&at_once, l, 0, false);
    loop_run(l);
    assert_true(at_once.fired_mono_ms >= start_mono_ms);
    assert_true(sooner.fired_mono_ms >= start_mono_ms + 5);
    assert_true(later.fired_mono_ms >= start_mono_ms + 20);
}

static void a_loop_can_run_again_after_it_was_stopped(void **state)
{
    struct loop *l = *state;
    struct probe p;

    for (int i = 0; i < 2; i++) {
        arm(&p, l, 0, true);
        loop_run(l);
        assert_true(p.fired_mono_ms > 0);
    }
}

static void an_alarm_for_a_disarmed_timer_does_no_harm(void **state)
{
    struct loop *l = *state;
    struct probe gone, last;

    arm(&gone, l, 1, true);
    arm(&last, l, 10, true);
    timer_disarm(&l->timers, &gone.timer);
    loop_run(l);
    assert_int_equal(gone.fired_mono_ms, 0);
    assert_true(last.fired_mono_ms > 0);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct probe *p = arg;

    loop_touch(p->loop);
    arm(p, p->loop, 0, true);
}

static void a_descriptor_can_arm_a_timer_while_no_other_is_armed(void **state)
{
    struct loop *l = *state;
    struct probe p = {.loop = l};
    struct event *readable;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    readable = event_new(l->base, fds[0], EV_READ, on_readable, &p);
    assert_non_null(readable);
    event_add(readable, NULL);
    assert_int_equal(write(fds[1], "x", 1), 1);
    loop_run(l);
    assert_true(p.fired_mono_ms > 0);
    event_free(readable);
    close(fds[0]);
    close(fds[1]);
}

static void touching_never_sets_the_time_back(void **state)
{
    struct loop *l = *state;
    int64_t ahead_mono_ms = clock_mono_ms() + 1000000;

    l->timers.now_mono_ms = ahead_mono_ms;
    loop_touch(l);
    assert_true(timers_now(&l->timers) == ahead_mono_ms);
}

static void a_late_turn_is_noticed(void **state)
{
    struct loop *l = *state;
    struct probe p;

    /* As if the loop had been held up for 50 ms after this was armed. */
    l->timers.now_mono_ms = clock_mono_ms() - 50;
    arm(&p, l, 0, true);
    loop_run(l);
    assert_true(l->stall_max_ms >= 50);
    assert_int_equal(l->stall_count, 1);
    assert_true(l->stall_total_ms >= 50);
}

static const char *log_of_a_turn_that_is_late_by(struct loop *l, int64_t ms)
{
    static char text[512];
    char path[] = "/tmp/dueq-loop-XXXXXX";
    struct log_options options = {.modules = "", .level = LEVEL_WARN, .file = path};
    struct probe p;
    int fd = mkstemp(path);

    assert_int_equal(log_configure(&options), STATUS_OK);
    l->timers.now_mono_ms = clock_mono_ms() - ms;
    arm(&p, l, 0, true);
    loop_run(l);
    options.file = NULL;
    assert_int_equal(log_configure(&options), STATUS_OK);
    text[pread(fd, text, sizeof(text) - 1, 0)] = '\0';
    close(fd);
    unlink(path);
    return text;
}

static void a_process_that_stood_still_says_so(void **state)
{
    assert_non_null(strstr(log_of_a_turn_that_is_late_by(*state, 3000000), "stalled for 300"));
}

static void on_stall(void *arg)
{
    struct loop *l = arg;

    assert_true(clock_mono_ms() - timers_now(&l->timers) < 1500);
    l->on_stall = NULL;
}

static void the_owner_of_a_loop_hears_that_it_stood_still(void **state)
{
    struct loop *l = *state;

    l->on_stall = on_stall;
    l->arg = l;
    log_of_a_turn_that_is_late_by(l, 3000);
    assert_null(l->on_stall); /* it was called */
}

static void a_turn_that_is_a_little_late_says_nothing(void **state)
{
    struct loop *l = *state;
    const char *said = log_of_a_turn_that_is_late_by(l, LOOP_STALL_TOLD_MS / 10);

    assert_true((*said != '\0') == (l->stall_max_ms >= LOOP_STALL_TOLD_MS));
}

/* ---- a crowd ---- */

#define CROWD     500
#define BEFORE    (3 * CROWD) /* libevent asks the kernel for few events at first */
#define ALL       (6 * CROWD)
#define EACH_US   200
#define FIRES_MIN 10 /* in the 300 ms at least that half of ALL take */

/* Descriptors that are always ready, and take their time each. */
struct crowd {
    struct loop *loop;
    struct event *ready[CROWD];
    unsigned served, fired;
    struct timer timer;
    struct event *other; /* of a descriptor that becomes ready when BEFORE are served */
    int fd, other_fd;
};

/* The crowd is not served for ever: a test then fails by what it counts. */
static void on_one_of_many(evutil_socket_t fd, short what, void *arg)
{
    struct crowd *c = arg;
    int64_t until_us = clock_mono_us() + EACH_US;

    loop_touch(c->loop);
    if (++c->served == BEFORE) {
        timer_arm(&c->loop->timers, &c->timer, 1);
        assert_int_equal(eventfd_write(c->other_fd, 1), 0);
    }
    while (clock_mono_us() < until_us)
        ;
    if (c->served >= ALL)
        loop_stop(c->loop);
}

static void on_other(evutil_socket_t fd, short what, void *arg)
{
    loop_stop(((struct crowd *)arg)->loop);
}

static void crowd_init(struct crowd *c, struct loop *l, void (*on_timer)(struct timer *timer))
{
    *c = (struct crowd){.loop = l, .fd = eventfd(1, 0), .other_fd = eventfd(0, 0)};
    timer_init(&c->timer, on_timer);
    c->other = event_new(l->base, c->other_fd, EV_READ, on_other, c);
    for (unsigned i = 0; i < CROWD; i++) {
        c->ready[i] = event_new(l->base, dup(c->fd), EV_READ | EV_PERSIST, on_one_of_many, c);
        assert_non_null(c->ready[i]);
        event_add(c->ready[i], NULL);
    }
}

static void crowd_fini(struct crowd *c)
{
    for (unsigned i = 0; i < CROWD; i++) {
        close(event_get_fd(c->ready[i]));
        event_free(c->ready[i]);
    }
    event_free(c->other);
    close(c->other_fd);
    close(c->fd);
    timer_disarm(&c->loop->timers, &c->timer);
}

static void stop_crowd(struct timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct crowd, timer)->loop);
}

static void a_timer_does_not_wait_for_all_that_are_ready(void **state)
{
    struct crowd c;

    crowd_init(&c, *state, stop_crowd);
    loop_run(c.loop);
    assert_in_range(c.served, BEFORE, BEFORE + CROWD / 2);
    crowd_fini(&c);
}

/* Stops also a loop that serves nothing else. */
static void fire_again(struct timer *timer)
{
    struct crowd *c = CONTAINER_OF(timer, struct crowd, timer);

    if (++c->fired >= 10 * ALL)
        loop_stop(c->loop);
    timer_arm(&c->loop->timers, timer, 0);
}

static void a_timer_that_is_always_due_takes_turns_with_descriptors(void **state)
{
    struct crowd c;

    crowd_init(&c, *state, fire_again);
    loop_run(c.loop);
    assert_int_equal(c.served, ALL);
    assert_in_range(c.fired, FIRES_MIN, ALL);
    crowd_fini(&c);
}

static void ignore(struct timer *timer)
{
}

static void a_descriptor_can_come_first(void **state)
{
    struct crowd c;

    crowd_init(&c, *state, ignore);
    loop_serve_first(c.other);
    event_add(c.other, NULL);
    loop_run(c.loop);
    assert_in_range(c.served, BEFORE, BEFORE + CROWD / 2);
    crowd_fini(&c);
}

/* ---- the end of a turn ---- */

struct at_end {
    struct turn_end end;
    struct loop *loop;
    struct at_end *asks; /* for this one, when it runs */
    unsigned runs, nth;
};

static unsigned ends_run;

static void on_end(struct turn_end *end)
{
    struct at_end *a = CONTAINER_OF(end, struct at_end, end);

    a->runs++;
    a->nth = ++ends_run;
    if (a->asks)
        turn_end_ask(&a->asks->end, a->loop);
    a->asks = NULL;
}

static void at_end_init(struct at_end *a, struct loop *l, enum turn_phase phase)
{
    *a = (struct at_end){.loop = l};
    turn_end_init(&a->end, phase, on_end);
}

static void what_is_sent_goes_before_what_is_written(void **state)
{
    struct loop *l = *state;
    struct at_end write, send, late;

    ends_run = 0;
    at_end_init(&write, l, TURN_WRITE);
    at_end_init(&send, l, TURN_SEND);
    at_end_init(&late, l, TURN_SEND);
    turn_end_ask(&write.end, l);
    turn_end_ask(&send.end, l);
    turn_end_ask(&send.end, l); /* harmless */
    write.asks = &late;
    late.asks = &write;
    event_base_loop(l->base, EVLOOP_NONBLOCK);
    assert_int_equal(send.runs, 1);
    assert_int_equal(send.nth, 1);
    assert_int_equal(late.nth, 3);
    assert_int_equal(write.runs, 2);
    assert_int_equal(write.nth, 4);
}

static void what_is_cancelled_does_not_run(void **state)
{
    struct loop *l = *state;
    struct at_end a, b;

    at_end_init(&a, l, TURN_WRITE);
    at_end_init(&b, l, TURN_WRITE);
    turn_end_cancel(&a.end); /* harmless */
    turn_end_ask(&a.end, l);
    turn_end_ask(&b.end, l);
    turn_end_cancel(&a.end);
    event_base_loop(l->base, EVLOOP_NONBLOCK);
    assert_int_equal(a.runs, 0);
    assert_int_equal(b.runs, 1);
}

#define ON_A_NEW_LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_NEW_LOOP(timers_fire_and_never_early),
        ON_A_NEW_LOOP(a_loop_can_run_again_after_it_was_stopped),
        ON_A_NEW_LOOP(an_alarm_for_a_disarmed_timer_does_no_harm),
        ON_A_NEW_LOOP(a_descriptor_can_arm_a_timer_while_no_other_is_armed),
        ON_A_NEW_LOOP(touching_never_sets_the_time_back),
        ON_A_NEW_LOOP(a_late_turn_is_noticed),
        ON_A_NEW_LOOP(a_process_that_stood_still_says_so),
        ON_A_NEW_LOOP(the_owner_of_a_loop_hears_that_it_stood_still),
        ON_A_NEW_LOOP(a_turn_that_is_a_little_late_says_nothing),
        ON_A_NEW_LOOP(a_timer_does_not_wait_for_all_that_are_ready),
        ON_A_NEW_LOOP(a_timer_that_is_always_due_takes_turns_with_descriptors),
        ON_A_NEW_LOOP(a_descriptor_can_come_first),
        ON_A_NEW_LOOP(what_is_sent_goes_before_what_is_written),
        ON_A_NEW_LOOP(what_is_cancelled_does_not_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
