#include "node/store/redis/hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define HOLD_MS 100

static struct timers timers;
static struct redis_hold hold;
static struct redis_held a, b, c;
static struct redis_held *expired[4];
static unsigned expired_count;
static uint64_t gauge;

static void on_expired(struct redis_hold *h, struct redis_held *held)
{
    assert_true(expired_count < 4);
    expired[expired_count++] = held;
}

static int set_up(void **state)
{
    expired_count = 0;
    gauge = 0;
    timers_init(&timers, 1000);
    redis_hold_init(&hold, &timers, &gauge, on_expired);
    return 0;
}

static int tear_down(void **state)
{
    redis_hold_fini(&hold);
    timers_fini(&timers);
    return 0;
}

static void who_came_first_is_taken_first(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    redis_hold_add(&hold, &b, HOLD_MS);
    assert_int_equal(gauge, 2);
    assert_ptr_equal(redis_hold_take(&hold), &a);
    assert_false(redis_hold_is_empty(&hold));
    assert_ptr_equal(redis_hold_take(&hold), &b);
    assert_true(redis_hold_is_empty(&hold));
    assert_null(redis_hold_take(&hold));
    assert_int_equal(gauge, 0);
    timers_run(&timers, 1000 + 2 * HOLD_MS);
    assert_int_equal(expired_count, 0);
}

static void each_waits_for_its_own_time(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    timers_run(&timers, 1010);
    redis_hold_add(&hold, &b, HOLD_MS);
    redis_hold_add(&hold, &c, HOLD_MS);
    timers_run(&timers, 1099);
    assert_int_equal(expired_count, 0);
    assert_int_equal(timers_run(&timers, 1100), 10);
    assert_int_equal(expired_count, 1);
    assert_ptr_equal(expired[0], &a);
    assert_int_equal(gauge, 2);
    timers_run(&timers, 1110);
    assert_int_equal(expired_count, 3);
    assert_ptr_equal(expired[1], &b);
    assert_ptr_equal(expired[2], &c);
    assert_int_equal(gauge, 0);
}

static void those_behind_one_that_was_taken_have_their_whole_time(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    timers_run(&timers, 1050);
    redis_hold_add(&hold, &b, HOLD_MS);
    assert_ptr_equal(redis_hold_take(&hold), &a);
    timers_run(&timers, 1149);
    assert_int_equal(expired_count, 0);
    timers_run(&timers, 1150);
    assert_int_equal(expired_count, 1);
    assert_ptr_equal(expired[0], &b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(who_came_first_is_taken_first),
        TEST(each_waits_for_its_own_time),
        TEST(those_behind_one_that_was_taken_have_their_whole_time),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
