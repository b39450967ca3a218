/* The jobs are counted anew after a rollback of the store.
 * itests/features/store/test_redis_rollback.py checks the log line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/fixtures/census_fixture.h"

static void fall_back(void)
{
    const struct store_events *events = &memory_store_port(f.ms)->events;

    events->on_rollback(events->arg);
}

static void jobs_are_counted_anew_however_fresh_the_last_census_is(void **state)
{
    struct asked before = {0}, a = {0};

    push(&f, "t", "1", 0, 0);
    ask_and_turn(&before);
    assert_int_equal(walks(), 1);
    push(&f, "t", "2", 0, 0);
    fall_back();
    fixture_turn(&f);
    assert_int_equal(walks(), 2);
    ask_and_turn(&a); /* and whoever asks then shares that one */
    assert_int_equal(walks(), 2);
    assert_int_equal(a.census.total.ready, 2);
}

static void who_asks_meanwhile_is_not_told_what_was_before(void **state)
{
    struct asked before = {0}, a = {0};

    ask_and_turn(&before);
    push(&f, "t", "1", 0, 0);
    fall_back();
    ask_and_turn(&a);
    assert_int_equal(a.census.total.ready, 1);
    assert_int_equal(walks(), 2);
}

/* It may have counted some buckets before. */
static void a_walk_that_is_under_way_is_not_the_count(void **state)
{
    struct asked a = {0};

    push(&f, "t", "1", 0, 0);
    memory_store_hold(f.ms);
    ask(&a, 60000);
    fixture_turn(&f);
    assert_int_equal(walks(), 1);
    fall_back();
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(walks(), 2);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_OK);
    assert_int_equal(a.census.total.ready, 1);
}

static void nobody_is_told_of_a_walk_that_began_before(void **state)
{
    struct asked a = {0}, b = {0};
    unsigned long of_a_walk;

    ask_and_turn(&b);
    of_a_walk = pages();
    fixture_advance(&f, FRESH_MS + 1);
    memory_store_hold(f.ms);
    ask(&a, 60000);
    fixture_turn(&f);
    fall_back();
    memory_store_let_go(f.ms, (unsigned)of_a_walk);
    fixture_turn(&f);
    assert_int_equal(a.done, 0);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(a.done, 1);
}

/* What it counts was there before the second. */
static void a_second_fall_while_it_counts_is_counted_too(void **state)
{
    memory_store_hold(f.ms);
    fall_back();
    fixture_turn(&f);
    fall_back();
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(walks(), 2);
    fall_back();
    fixture_turn(&f);
    assert_int_equal(walks(), 3);
}

/* The tear-down waits until all have ended. */
static void an_end_of_the_engine_ends_the_count(void **state)
{
    fall_back();
    fixture_stop(&f);
}

#define COUNTED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COUNTED(jobs_are_counted_anew_however_fresh_the_last_census_is),
        COUNTED(who_asks_meanwhile_is_not_told_what_was_before),
        COUNTED(a_walk_that_is_under_way_is_not_the_count),
        COUNTED(nobody_is_told_of_a_walk_that_began_before),
        COUNTED(a_second_fall_while_it_counts_is_counted_too),
        COUNTED(an_end_of_the_engine_ends_the_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
