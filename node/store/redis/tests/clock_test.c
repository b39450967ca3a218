/* A clock that was set is told from one that runs, from a slow answer and from slow drift. */
#include "base/tests/unit.h"
#include "node/store/redis/lane.h"

#define AHEAD_MS 1700000000000 /* of ours, at first */
#define HOUR_MS  3600000

static struct redis_clock c;

static int set_up(void **state)
{
    c = (struct redis_clock){0};
    return 0;
}

/* Sent at `mono_ms`, read `took_ms` later; the script ran in the middle. */
static int64_t answer(int64_t mono_ms, int64_t took_ms, int64_t ahead_ms)
{
    return redis_clock_read(&c, mono_ms + took_ms / 2 + ahead_ms, mono_ms, mono_ms + took_ms);
}

static void a_clock_that_runs_has_not_jumped(void **state)
{
    for (int i = 0; i < 1000; i++)
        assert_int_equal(answer(1000 + 10 * i, i % 7, AHEAD_MS), 0);
}

static void says_by_how_much_it_was_set_once(void **state)
{
    answer(1000, 2, AHEAD_MS);
    assert_in_range(answer(1100, 2, AHEAD_MS + HOUR_MS), HOUR_MS - 4, HOUR_MS);
    assert_int_equal(answer(1200, 2, AHEAD_MS + HOUR_MS), 0);
    assert_in_range(-answer(1300, 2, AHEAD_MS), HOUR_MS - 4, HOUR_MS);
    assert_int_equal(answer(1400, 2, AHEAD_MS), 0);
}

static void less_than_a_second_is_none(void **state)
{
    answer(1000, 0, AHEAD_MS);
    assert_int_equal(answer(1100, 0, AHEAD_MS + REDIS_CLOCK_JUMP_MS), 0);
    assert_int_equal(answer(1200, 0, AHEAD_MS), 0);
    assert_int_equal(answer(1300, 0, AHEAD_MS + REDIS_CLOCK_JUMP_MS + 1),
                     REDIS_CLOCK_JUMP_MS + 1);
}

/* Frozen for 30 s, at either end of the way: its time is of any moment of it. */
static void a_slow_answer_is_no_jump(void **state)
{
    answer(1000, 2, AHEAD_MS);
    assert_int_equal(redis_clock_read(&c, 1000 + AHEAD_MS, 1000, 31000), 0);
    assert_int_equal(redis_clock_read(&c, 31000 + AHEAD_MS, 1000, 31000), 0);
    assert_int_equal(answer(32000, 2, AHEAD_MS), 0);
}

static void what_a_slow_answer_hides_the_next_one_shows(void **state)
{
    answer(1000, 2, AHEAD_MS);
    assert_int_equal(answer(2000, 30000, AHEAD_MS + 10000), 0);
    assert_in_range(answer(33000, 2, AHEAD_MS + 10000), 9996, 10000);
}

static void follows_slow_drift(void **state)
{
    for (int i = 0; i < 10000; i++)
        assert_int_equal(answer(1000 + 100 * i, 2, AHEAD_MS + i), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_clock_that_runs_has_not_jumped, set_up),
        cmocka_unit_test_setup(says_by_how_much_it_was_set_once, set_up),
        cmocka_unit_test_setup(less_than_a_second_is_none, set_up),
        cmocka_unit_test_setup(a_slow_answer_is_no_jump, set_up),
        cmocka_unit_test_setup(what_a_slow_answer_hides_the_next_one_shows, set_up),
        cmocka_unit_test_setup(follows_slow_drift, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
