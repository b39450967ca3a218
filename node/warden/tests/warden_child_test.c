#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>

#include "base/list.h"
#include "base/log.h"
#include "node/warden/child.h"

/* A child whose processes are numbers. */
struct fake {
    struct child child;
    pid_t next_pid; /* -1: the system has none */
    int sent;       /* the last signal, 0: none */
};

static pid_t fake_spawn(struct child *c)
{
    struct fake *f = CONTAINER_OF(c, struct fake, child);

    errno = EAGAIN;
    return f->next_pid < 0 ? -1 : f->next_pid++;
}

static void fake_send(struct child *c, int number)
{
    struct fake *f = CONTAINER_OF(c, struct fake, child);

    assert_true(c->pid > 0);
    f->sent = number;
}

static const struct child_ops ops = {fake_spawn, fake_send};

static struct fake fake(void)
{
    return (struct fake){
        .child = {.name = "fake",
                  .ops = &ops,
                  .stop_timeout_ms = 1000,
                  .silence_max_ms = 500,
                  .backoff_max_ms = 5000},
        .next_pid = 10,
    };
}

/* Started at 0 and working since 1. */
static struct fake working(void)
{
    struct fake f = fake();

    child_start(&f.child, 0);
    child_heard(&f.child, true, 1);
    return f;
}

static void starts_and_works(void **state)
{
    struct fake f = fake();

    child_start(&f.child, 0);
    assert_int_equal(f.child.state, CHILD_STARTING);
    assert_int_equal(f.child.pid, 10);
    child_heard(&f.child, false, 5);
    assert_int_equal(f.child.state, CHILD_STARTING);
    child_heard(&f.child, true, 6);
    assert_int_equal(f.child.state, CHILD_UP);
    assert_int_equal(child_tick(&f.child, 6), 500);
}

static void starts_anew_after_an_exit_and_a_delay(void **state)
{
    struct fake f = working();

    child_exited(&f.child, "test", 100);
    assert_int_equal(f.child.state, CHILD_BACKOFF);
    assert_int_equal(f.child.pid, 0);
    assert_int_equal(child_tick(&f.child, 100), CHILD_BACKOFF_FIRST_MS);
    assert_int_equal(f.child.state, CHILD_BACKOFF);
    child_tick(&f.child, 100 + CHILD_BACKOFF_FIRST_MS);
    assert_int_equal(f.child.state, CHILD_STARTING);
    assert_int_equal(f.child.pid, 11);
}

static void delays_grow_and_end_at_the_maximum(void **state)
{
    assert_int_equal(child_backoff_ms(1, 5000), 10);
    assert_int_equal(child_backoff_ms(2, 5000), 20);
    assert_int_equal(child_backoff_ms(3, 5000), 40);
    assert_int_equal(child_backoff_ms(10, 5000), 5000);
    assert_int_equal(child_backoff_ms(4000000000U, 5000), 5000);
    assert_int_equal(child_backoff_ms(1, 3), 3);
}

static void a_steady_time_makes_the_delays_short_again(void **state)
{
    struct fake f = working();
    int64_t now = 1;

    for (unsigned i = 1; i <= 5; i++) {
        child_exited(&f.child, "test", ++now);
        now += child_tick(&f.child, now);
        child_tick(&f.child, now);
        child_heard(&f.child, true, now);
        assert_int_equal(f.child.exits, i);
    }
    now += CHILD_STEADY_MS;
    child_heard(&f.child, true, now);
    child_exited(&f.child, "test", now);
    assert_int_equal(f.child.exits, 1);
}

static void a_system_without_processes_is_asked_again(void **state)
{
    struct fake f = fake();

    f.next_pid = -1;
    child_start(&f.child, 0);
    assert_int_equal(f.child.state, CHILD_BACKOFF);
    assert_int_equal(child_tick(&f.child, CHILD_BACKOFF_FIRST_MS), 2 * CHILD_BACKOFF_FIRST_MS);
    f.next_pid = 20;
    child_tick(&f.child, 100);
    assert_int_equal(f.child.state, CHILD_STARTING);
    assert_int_equal(f.child.pid, 20);
}

static void silence_kills_it_and_it_starts_anew(void **state)
{
    struct fake f = working();

    child_heard(&f.child, true, 400);
    child_tick(&f.child, 899);
    assert_int_equal(f.child.state, CHILD_UP);
    assert_int_equal(child_tick(&f.child, 900), -1);
    assert_int_equal(f.child.state, CHILD_KILLED);
    assert_int_equal(f.sent, SIGKILL);
    child_exited(&f.child, "test", 901);
    assert_int_equal(f.child.state, CHILD_BACKOFF);
}

static void a_caller_that_stood_still_gives_it_its_time_anew(void **state)
{
    struct fake f = working();

    child_heard(&f.child, true, 400);
    child_begin_anew(&f.child, 5000);
    child_tick(&f.child, 5499);
    assert_int_equal(f.child.state, CHILD_UP);
    assert_int_equal(f.child.lived_mono_ms, 400); /* what the log tells */
    child_tick(&f.child, 5500);
    assert_int_equal(f.child.state, CHILD_KILLED);
}

static void one_that_never_works_is_killed_as_well(void **state)
{
    struct fake f = fake();

    child_start(&f.child, 0);
    child_tick(&f.child, 500);
    assert_int_equal(f.child.state, CHILD_KILLED);
}

static void one_that_hangs_is_killed_sooner_where_that_is_asked_for(void **state)
{
    struct fake f = working();

    f.child.hang_by_mono_ms = 300;
    assert_int_equal(child_tick(&f.child, 299), 1);
    child_tick(&f.child, 300);
    assert_int_equal(f.child.state, CHILD_KILLED);
    child_exited(&f.child, "killed", 300);
    child_tick(&f.child, 400);
    child_tick(&f.child, 401);
    assert_int_equal(f.child.state, CHILD_STARTING); /* the next one has its own time */
    f = working();
    f.child.hang_by_mono_ms = 900; /* not later */
    child_tick(&f.child, 501);
    assert_int_equal(f.child.state, CHILD_KILLED);
}

static void one_that_may_be_silent_is_left_alone(void **state)
{
    struct fake f = fake();

    f.child.silence_max_ms = 0;
    child_start(&f.child, 0);
    assert_int_equal(child_tick(&f.child, INT64_C(1) << 40), -1);
    assert_int_equal(f.child.state, CHILD_STARTING);
}

static void stops_in_order(void **state)
{
    struct fake f = working();

    child_stop(&f.child, "test", 10);
    assert_int_equal(f.child.state, CHILD_STOPPING);
    assert_int_equal(f.sent, SIGTERM);
    assert_int_equal(child_tick(&f.child, 10), 1000);
    child_exited(&f.child, "test", 20);
    assert_int_equal(f.child.state, CHILD_IDLE);
    assert_int_equal(child_tick(&f.child, 10000), -1);
}

static void a_stop_without_a_process_is_immediate(void **state)
{
    struct fake f = working();

    child_exited(&f.child, "test", 10);
    child_stop(&f.child, "test", 11);
    assert_int_equal(f.child.state, CHILD_IDLE);
    child_stop(&f.child, "test", 12);
    assert_int_equal(f.child.state, CHILD_IDLE);
    assert_int_equal(f.sent, 0);
}

static void one_that_does_not_stop_is_killed(void **state)
{
    struct fake f = working();

    child_stop(&f.child, "test", 10);
    child_tick(&f.child, 1010);
    assert_int_equal(f.child.state, CHILD_KILLED);
    assert_int_equal(f.sent, SIGKILL);
    child_exited(&f.child, "test", 1011);
    assert_int_equal(f.child.state, CHILD_IDLE);
}

static void kill_ends_only_what_is_being_stopped(void **state)
{
    struct fake f = working();

    child_kill(&f.child, "test", 5);
    assert_int_equal(f.child.state, CHILD_UP);
    child_stop(&f.child, "test", 10);
    child_kill(&f.child, "test", 11);
    assert_int_equal(f.child.state, CHILD_KILLED);
}

static void a_stop_while_it_is_being_killed_ends_it(void **state)
{
    struct fake f = working();

    child_tick(&f.child, 501);
    assert_int_equal(f.child.state, CHILD_KILLED);
    child_stop(&f.child, "test", 502);
    assert_int_equal(f.sent, SIGKILL);
    child_exited(&f.child, "test", 503);
    assert_int_equal(f.child.state, CHILD_IDLE);
}

static void only_what_worked_must_end_well(void **state)
{
    struct fake up = working(), starting = fake();

    child_start(&starting.child, 0);
    child_stop(&up.child, "test", 10);
    child_stop(&starting.child, "test", 10);
    assert_true(up.child.was_up_at_stop);
    assert_false(starting.child.was_up_at_stop);
    child_stop(&up.child, "test", 11);
    assert_true(up.child.was_up_at_stop);
}

static int quiet(void **state)
{
    struct log_options options = {.level = LEVEL_ERROR, .modules = "warden=error"};

    return log_configure(&options) == STATUS_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_and_works),
        cmocka_unit_test(starts_anew_after_an_exit_and_a_delay),
        cmocka_unit_test(delays_grow_and_end_at_the_maximum),
        cmocka_unit_test(a_steady_time_makes_the_delays_short_again),
        cmocka_unit_test(a_system_without_processes_is_asked_again),
        cmocka_unit_test(silence_kills_it_and_it_starts_anew),
        cmocka_unit_test(one_that_never_works_is_killed_as_well),
        cmocka_unit_test(a_caller_that_stood_still_gives_it_its_time_anew),
        cmocka_unit_test(one_that_hangs_is_killed_sooner_where_that_is_asked_for),
        cmocka_unit_test(one_that_may_be_silent_is_left_alone),
        cmocka_unit_test(stops_in_order),
        cmocka_unit_test(a_stop_without_a_process_is_immediate),
        cmocka_unit_test(one_that_does_not_stop_is_killed),
        cmocka_unit_test(kill_ends_only_what_is_being_stopped),
        cmocka_unit_test(a_stop_while_it_is_being_killed_ends_it),
        cmocka_unit_test(only_what_worked_must_end_well),
    };

    return cmocka_run_group_tests(tests, quiet, NULL);
}
