/* Sweeps that end before they are done, or do not begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/fixtures/sweeps_fixture.h"

static void one_that_is_cancelled_while_it_rests_ends_with_the_rest(void **state)
{
    struct broom broom = {0};

    begin_slowly(&broom);
    queue_sweep_cancel(f.q, &broom.sweep);
    fixture_advance(&f, 30);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    assert_int_equal(memory_store_count(f.ms, OP_PURGE), 1);
}

static void a_cancelled_one_ends_with_the_chunk_on_its_way(void **state)
{
    struct broom broom = {0};

    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    memory_store_let_go(f.ms, 1); /* the count; the first chunk is on its way */
    fixture_turn(&f);
    queue_sweep_cancel(f.q, &broom.sweep);
    fixture_turn(&f);
    assert_int_equal(broom.done, 0);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    assert_int_equal(memory_store_count(f.ms, OP_PURGE), 1);
    assert_true(broom.count > 0);
    assert_int_equal(stats().ready, 2000 - broom.count);
}

static void one_that_is_cancelled_while_it_counts_what_is_left_says_so(void **state)
{
    struct broom broom = {.sweep.limit = 1};

    push_many(1, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY | 1u << JOB_DEAD);
    memory_store_let_go(f.ms, 1); /* the chunk; who counts the dead is on his way */
    fixture_turn(&f);
    assert_int_equal(memory_store_count(f.ms, OP_STATS), 1);
    queue_sweep_cancel(f.q, &broom.sweep);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    assert_int_equal(broom.count, 1);
}

static void a_lost_answer_is_unknown_and_what_went_before_is_counted(void **state)
{
    struct broom broom = {.sweep.limit = 2000};
    uint64_t second;

    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    memory_store_let_go(f.ms, 1);
    fixture_turn(&f);
    memory_store_take_down(f.ms);
    fixture_turn(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_UNKNOWN);
    memory_store_unhold(f.ms);
    memory_store_bring_up(f.ms);
    fixture_turn(&f);
    second = 2000 - (uint64_t)stats().ready - broom.count;
    assert_true(broom.count > 0);
    assert_true(second > 0 && second <= SWEEP_CHUNK);
}

static void one_too_many_is_refused(void **state)
{
    static struct broom brooms[SWEEPS_MAX + 1];

    memset(brooms, 0, sizeof(brooms));
    push_many(1, 0);
    memory_store_hold(f.ms);
    for (unsigned i = 0; i <= SWEEPS_MAX; i++)
        begin(&brooms[i], OP_PURGE, 1u << JOB_READY);
    fixture_turn(&f);
    assert_int_equal(brooms[SWEEPS_MAX].done, 1);
    assert_int_equal(brooms[SWEEPS_MAX].status, STATUS_TOO_MANY_SWEEPS);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    for (unsigned i = 0; i < SWEEPS_MAX; i++)
        assert_int_equal(brooms[i].status, STATUS_OK);
    sweep(&(struct broom){0}, OP_PURGE, ALL_STATES); /* there is room again */
}

static void one_that_was_refused_can_still_be_cancelled(void **state)
{
    struct broom broom = {0};

    begin(&broom, OP_PURGE, 0);
    queue_sweep_cancel(f.q, &broom.sweep);
    fixture_turn(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
}

static void refuses_what_makes_no_sense(void **state)
{
    static const struct sweep wrong[] = {
        {.topic = BYTES(""), .verb = OP_KICK},
        {.topic = BYTES("t"), .verb = OP_PURGE},
        {.topic = BYTES("t"), .verb = OP_PURGE, .states = 1u << (JOB_DEAD + 1)},
        {.topic = BYTES("t"), .verb = OP_KICK, .since_ms = -1},
        {.topic = BYTES("t"), .verb = OP_KICK, .before_ms = QUEUE_AT_MAX_MS + 1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct broom broom = {.sweep = wrong[i]};

        broom.sweep.on_done = on_swept;
        queue_sweep(f.q, &broom.sweep);
        fixture_turn(&f);
        assert_int_equal(broom.done, 1);
        assert_true(broom.status == STATUS_BAD_TOPIC || broom.status == STATUS_OUT_OF_RANGE);
    }
}

/* With its first chunk on its way, or so far into the rest behind it. */
static void stop_while_it_sweeps(int64_t held_ms, int64_t rested_ms)
{
    struct fixture late;
    struct broom broom = {.sweep = {.topic = BYTES("t"),
                                    .verb = OP_PURGE,
                                    .states = 1u << JOB_READY,
                                    .limit = 2000,
                                    .on_done = on_swept}};

    fixture_join(&late, &f);
    fixture_turn(&late);
    push_many(2000, 0);
    memory_store_hold(late.ms);
    queue_sweep(late.q, &broom.sweep);
    fixture_advance(&late, held_ms);
    if (rested_ms > 0) {
        memory_store_unhold(late.ms);
        fixture_advance(&late, rested_ms);
    }
    fixture_stop(&late);
    fixture_turn(&late);
    assert_false(late.is_stopped);
    memory_store_unhold(late.ms);
    fixture_advance(&late, held_ms);
    assert_true(late.is_stopped);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    fixture_end(&late);
}

static void the_engine_stops_when_the_chunk_on_its_way_is_done(void **state)
{
    stop_while_it_sweeps(0, 0);
}

static void the_engine_stops_when_the_rest_is_over(void **state)
{
    stop_while_it_sweeps(30, 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_that_is_cancelled_while_it_rests_ends_with_the_rest),
        TEST(a_cancelled_one_ends_with_the_chunk_on_its_way),
        TEST(one_that_is_cancelled_while_it_counts_what_is_left_says_so),
        TEST(a_lost_answer_is_unknown_and_what_went_before_is_counted),
        TEST(one_too_many_is_refused),
        TEST(one_that_was_refused_can_still_be_cancelled),
        TEST(refuses_what_makes_no_sense),
        TEST(the_engine_stops_when_the_chunk_on_its_way_is_done),
        TEST(the_engine_stops_when_the_rest_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
