/* Calls in flight: the order of their answers, and their deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/store/redis/wire/conn.h"

#define TIMEOUT_MS 1000
#define MORE_MS    250

static struct redis_flight flight;
static struct redis_call calls[3], another;
static unsigned failed;

static int set_up(void **state)
{
    redis_flight_init(&flight, TIMEOUT_MS);
    failed = 0;
    return 0;
}

/* At 0, 100 and 200 ms. */
static void add_three(void)
{
    for (unsigned i = 0; i < 3; i++)
        redis_flight_add(&flight, &calls[i], 100 * i);
}

static void answers_belong_to_the_oldest_call(void **state)
{
    add_three();
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(redis_flight_take(&flight), &calls[i]);
    assert_true(redis_flight_is_empty(&flight));
}

static void the_oldest_call_is_waited_for(void **state)
{
    add_three();
    assert_int_equal(redis_flight_left_ms(&flight, 300), TIMEOUT_MS - 300);
    redis_flight_take(&flight);
    assert_int_equal(redis_flight_left_ms(&flight, 300), TIMEOUT_MS - 200);
    assert_int_equal(redis_flight_left_ms(&flight, TIMEOUT_MS + 99), 1);
}

static void a_call_whose_time_is_over_gets_some_more_once(void **state)
{
    int64_t noticed_ms = TIMEOUT_MS + 50;

    redis_flight_add(&flight, &calls[0], 0);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms), MORE_MS);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms + MORE_MS - 1), 1);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms + MORE_MS), 0);
}

static void a_call_that_is_used_again_has_all_its_time_again(void **state)
{
    redis_flight_add(&flight, &calls[0], 0);
    assert_int_equal(redis_flight_left_ms(&flight, TIMEOUT_MS), MORE_MS);
    redis_flight_add(&flight, redis_flight_take(&flight), 2000);
    assert_int_equal(redis_flight_left_ms(&flight, 2000), TIMEOUT_MS);
    assert_int_equal(redis_flight_left_ms(&flight, 2000 + TIMEOUT_MS), MORE_MS);
}

static void on_lost(struct redis_call *call, const struct redisReply *reply)
{
    assert_null(reply);
    assert_ptr_equal(call, &calls[failed++]);
    if (failed == 1)
        redis_flight_add(&flight, &another, 5000); /* on the next connection */
}

static void a_lost_connection_fails_all_its_calls_and_no_later_one(void **state)
{
    add_three();
    for (unsigned i = 0; i < 3; i++)
        calls[i].on_reply = on_lost;
    redis_flight_fail(&flight);
    assert_int_equal(failed, 3);
    assert_ptr_equal(redis_flight_take(&flight), &another);
    assert_true(redis_flight_is_empty(&flight));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(answers_belong_to_the_oldest_call),
        TEST(the_oldest_call_is_waited_for),
        TEST(a_call_whose_time_is_over_gets_some_more_once),
        TEST(a_call_that_is_used_again_has_all_its_time_again),
        TEST(a_lost_connection_fails_all_its_calls_and_no_later_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
