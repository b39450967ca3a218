/* A sweep takes the jobs that were there, in chunks, and says how far it came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/fixtures/sweeps_fixture.h"

static void purges_thousands_in_chunks(void **state)
{
    struct broom broom = {0};

    push_many(3000, 0);
    sweep(&broom, OP_PURGE, 1u << JOB_READY);
    assert_int_equal(broom.status, STATUS_OK);
    assert_int_equal(broom.count, 3000);
    assert_false(broom.has_more);
    assert_int_equal(stats().ready, 0);
    assert_true(memory_store_count(f.ms, OP_PURGE) >= 6);
}

static void purges_the_states_asked_for_and_no_other(void **state)
{
    struct broom broom = {0};
    struct consumer c = {0};

    bury_many(3);
    push_many(4, 60000);
    push_many(5, 0);
    consume(&f, &c, "t", 2, 0);
    delivered(&f, &c);
    sweep(&broom, OP_PURGE, 1u << JOB_DELAYED | 1u << JOB_RESERVED);
    assert_int_equal(broom.count, 6);
    assert_int_equal(stats().delayed, 0);
    assert_int_equal(stats().reserved, 0);
    assert_int_equal(stats().ready, 3);
    assert_int_equal(stats().dead, 3);
    broom.done = 0;
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 6);
}

static void an_empty_topic_is_swept_at_once(void **state)
{
    struct broom broom = {0};

    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.status, STATUS_OK);
    assert_int_equal(broom.count, 0);
    assert_false(broom.has_more);
    assert_int_equal(memory_store_count(f.ms, OP_PURGE), 0);
}

static void kicks_all_that_are_dead(void **state)
{
    struct broom broom = {0};

    bury_many(7);
    sweep(&broom, OP_KICK, 0);
    assert_int_equal(broom.count, 7);
    assert_int_equal(stats().ready, 7);
    assert_int_equal(stats().dead, 0);
}

static void kicks_those_that_died_in_a_time(void **state)
{
    struct broom broom = {0};

    bury_many(2);
    fixture_advance(&f, 1000);
    bury_many(3);
    broom.sweep.since_ms = memory_store_now(f.ms) - 500;
    fixture_advance(&f, 1000);
    bury_many(4);
    broom.sweep.before_ms = memory_store_now(f.ms);
    sweep(&broom, OP_KICK, 0);
    assert_int_equal(broom.count, 3);
    assert_int_equal(stats().dead, 6);
}

static void ends_at_its_limit_and_says_that_there_is_more(void **state)
{
    struct broom broom = {.sweep.limit = 400};

    push_many(300, 60000);
    push_many(300, 0);
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 400);
    assert_true(broom.has_more);
    assert_int_equal(stats().delayed, 0);
    assert_int_equal(stats().ready, 200);
    broom.done = 0;
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 200);
    assert_false(broom.has_more);
}

static void at_its_limit_a_later_state_without_jobs_is_not_more(void **state)
{
    struct broom broom = {.sweep.limit = 3};

    push_many(3, 60000);
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 3);
    assert_false(broom.has_more);
}

static void at_its_limit_a_later_state_with_jobs_is_more(void **state)
{
    struct broom broom = {.sweep.limit = 3};

    bury_many(1);
    push_many(3, 60000);
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 3);
    assert_true(broom.has_more);
}

/* More come than go: it would never end. */
static void without_a_limit_takes_as_many_as_there_were(void **state)
{
    struct broom broom = {0};
    struct fixture other;

    fixture_join(&other, &f);
    fixture_turn(&other);
    push_many(1000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    for (unsigned i = 0; i < 20 && !broom.done; i++) {
        memory_store_let_go(f.ms, 1);
        fixture_turn(&f);
        for (unsigned j = 0; j < 500; j++)
            push(&other, "t", "", 0, 5000);
    }
    memory_store_unhold(f.ms);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.count, 1000);
    fixture_end(&other);
}

static void one_chunk_is_on_its_way_at_a_time(void **state)
{
    struct broom broom = {.sweep.limit = 2000};

    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    for (unsigned i = 1; !broom.done; i++) {
        assert_int_equal(memory_store_in_flight(f.ms), 1);
        assert_int_equal(memory_store_count(f.ms, OP_PURGE), i);
        memory_store_let_go(f.ms, 1);
        fixture_turn(&f);
    }
    memory_store_unhold(f.ms);
    assert_int_equal(broom.count, 2000);
}

static void rests_for_as_long_as_a_chunk_took(void **state)
{
    struct broom broom = {0};

    begin_slowly(&broom);
    fixture_advance(&f, 29);
    assert_int_equal(memory_store_count(f.ms, OP_PURGE), 1);
    fixture_advance(&f, 1);
    assert_true(memory_store_count(f.ms, OP_PURGE) > 1);
    assert_int_equal(broom.count, 2000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(purges_thousands_in_chunks),
        TEST(purges_the_states_asked_for_and_no_other),
        TEST(an_empty_topic_is_swept_at_once),
        TEST(kicks_all_that_are_dead),
        TEST(kicks_those_that_died_in_a_time),
        TEST(ends_at_its_limit_and_says_that_there_is_more),
        TEST(at_its_limit_a_later_state_without_jobs_is_not_more),
        TEST(at_its_limit_a_later_state_with_jobs_is_more),
        TEST(without_a_limit_takes_as_many_as_there_were),
        TEST(one_chunk_is_on_its_way_at_a_time),
        TEST(rests_for_as_long_as_a_chunk_took),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
