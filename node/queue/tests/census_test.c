/* All jobs counted: calls that begin a walk, that share one, and that are rejected; and the
 * count after a rollback of the store. */
#include "node/queue/tests/fixtures/census_fixture.h"

static void those_who_come_meanwhile_share_one_walk(void **state)
{
    struct asked a = {0}, b = {0};

    memory_store_hold(f.ms);
    ask(&a, 1000);
    ask(&b, 1000);
    fixture_turn(&f);
    assert_int_equal(memory_store_in_flight(f.ms), 1);
    fixture_unhold(&f);
    assert_int_equal(a.status, STATUS_OK);
    assert_int_equal(b.status, STATUS_OK);
    assert_int_equal(a.done + b.done, 2);
    assert_int_equal(walks(), 1);
}

static void a_fresh_census_is_used_again_and_an_old_one_is_not(void **state)
{
    struct asked a = {0}, b = {0}, c = {0};

    ask_and_turn(&a);
    push(&f, "t", "1", 0, 0);
    fixture_advance(&f, FRESH_MS);
    ask_and_turn(&b);
    assert_int_equal(b.census.age_ms, FRESH_MS);
    assert_int_equal(b.census.total.ready, 0);
    assert_int_equal(walks(), 1);
    fixture_advance(&f, 1);
    ask_and_turn(&c);
    assert_int_equal(c.census.age_ms, 0);
    assert_int_equal(c.census.total.ready, 1);
    assert_int_equal(walks(), 2);
}

static void patience_ends_and_the_walk_goes_on(void **state)
{
    struct asked a = {0}, b = {0};

    memory_store_hold(f.ms);
    ask(&a, 1000);
    fixture_advance(&f, 999);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_UNAVAILABLE);
    assert_false(a.has_census);
    fixture_unhold(&f);
    ask_and_turn(&b);
    assert_int_equal(b.status, STATUS_OK);
    assert_int_equal(walks(), 1);
}

static void without_a_store_there_is_the_last_one_at_once(void **state)
{
    struct asked a = {0}, b = {0}, c = {0};

    push(&f, "t", "1", 0, 0);
    fixture_take_down(&f);
    ask_and_turn(&a);
    assert_int_equal(a.status, STATUS_UNAVAILABLE);
    assert_false(a.has_census);
    assert_int_equal(walks(), 0);
    fixture_bring_up(&f);
    ask_and_turn(&b);
    assert_int_equal(b.status, STATUS_OK);
    memory_store_take_down(f.ms);
    fixture_advance(&f, FRESH_MS + 1);
    ask_and_turn(&c);
    assert_int_equal(c.status, STATUS_UNAVAILABLE);
    assert_true(c.has_census);
    assert_int_equal(c.census.total.ready, 1);
    assert_int_equal(c.census.age_ms, FRESH_MS + 1);
}

/* Whoever joins it shares its end. */
static void a_walk_that_fails_asks_no_further_and_the_next_begins_anew(void **state)
{
    struct asked a = {0}, b = {0}, c = {0};

    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    memory_store_hold(f.ms);
    ask(&a, 1000);
    ask(&b, 1000);
    fixture_unhold(&f);
    assert_int_equal(a.status, STATUS_UNAVAILABLE); /* it was only asked */
    assert_int_equal(b.status, STATUS_UNAVAILABLE);
    assert_int_equal(pages(), 1);
    ask_and_turn(&c);
    assert_int_equal(c.status, STATUS_OK);
    assert_int_equal(walks(), 2);
}

static void whoever_gives_up_is_called_back_once(void **state)
{
    struct asked a = {0}, b = {0};

    memory_store_hold(f.ms);
    ask(&a, 1000);
    ask(&b, 1000);
    queue_census_cancel(&a.call);
    assert_int_equal(a.done, 0);
    fixture_turn(&f);
    assert_int_equal(a.status, STATUS_CANCELLED);
    memory_store_unhold(f.ms);
    fixture_advance(&f, 2000);
    assert_int_equal(a.done, 1);
    assert_int_equal(b.status, STATUS_OK);
}

static void one_may_ask_again_from_the_answer(void **state)
{
    struct asked a = {.asks_again = true};

    ask(&a, 1000);
    fixture_turn(&f);
    assert_int_equal(a.done, 2);
    assert_int_equal(walks(), 1);
}

static void stopping_cancels_and_waits_for_the_page_under_way(void **state)
{
    struct asked a = {0}, late = {0};

    memory_store_hold(f.ms);
    ask(&a, 1000);
    fixture_stop(&f);
    late.call.on_done = on_asked;
    queue_census(f.q, &late.call);
    fixture_turn(&f);
    assert_int_equal(a.status, STATUS_CANCELLED);
    assert_int_equal(late.status, STATUS_SHUTTING_DOWN);
    assert_false(f.is_stopped);
    fixture_unhold(&f);
    assert_true(f.is_stopped);
    assert_int_equal(pages(), 1); /* and no further page */
}

/* ---- counted anew after a rollback of the store ----
 *
 * itests/features/store/test_redis_rollback.py checks the log line. */

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
    fixture_unhold(&f);
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
    fixture_release(&f, (unsigned)of_a_walk);
    assert_int_equal(a.done, 0);
    fixture_unhold(&f);
    assert_int_equal(a.done, 1);
}

/* What it counts was there before the second. */
static void a_second_fall_while_it_counts_is_counted_too(void **state)
{
    memory_store_hold(f.ms);
    fall_back();
    fixture_turn(&f);
    fall_back();
    fixture_unhold(&f);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(those_who_come_meanwhile_share_one_walk),
        TEST(a_fresh_census_is_used_again_and_an_old_one_is_not),
        TEST(patience_ends_and_the_walk_goes_on),
        TEST(without_a_store_there_is_the_last_one_at_once),
        TEST(a_walk_that_fails_asks_no_further_and_the_next_begins_anew),
        TEST(whoever_gives_up_is_called_back_once),
        TEST(one_may_ask_again_from_the_answer),
        TEST(stopping_cancels_and_waits_for_the_page_under_way),
        TEST(jobs_are_counted_anew_however_fresh_the_last_census_is),
        TEST(who_asks_meanwhile_is_not_told_what_was_before),
        TEST(a_walk_that_is_under_way_is_not_the_count),
        TEST(nobody_is_told_of_a_walk_that_began_before),
        TEST(a_second_fall_while_it_counts_is_counted_too),
        TEST(an_end_of_the_engine_ends_the_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
