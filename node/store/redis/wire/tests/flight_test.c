/* Calls in flight: the order of their answers, and their deadlines; and commands as bytes. */
#include "node/store/redis/wire/flight.h"
#include "base/tests/unit.h"

#include <hiredis/hiredis.h>

#include <string.h>

#define WAIT_MS 1000
#define MORE_MS 250

static struct redis_flight flight;
static struct redis_call calls[3], another;
static unsigned failed;

static int set_up(void **state)
{
    redis_flight_init(&flight, WAIT_MS);
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
    assert_int_equal(redis_flight_left_ms(&flight, 300), WAIT_MS - 300);
    redis_flight_take(&flight);
    assert_int_equal(redis_flight_left_ms(&flight, 300), WAIT_MS - 200);
    assert_int_equal(redis_flight_left_ms(&flight, WAIT_MS + 99), 1);
}

static void a_call_whose_time_is_over_gets_some_more_once(void **state)
{
    int64_t noticed_ms = WAIT_MS + 50;

    redis_flight_add(&flight, &calls[0], 0);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms), MORE_MS);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms + MORE_MS - 1), 1);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms + MORE_MS), 0);
}

static void a_call_that_is_used_again_has_all_its_time_again(void **state)
{
    redis_flight_add(&flight, &calls[0], 0);
    assert_int_equal(redis_flight_left_ms(&flight, WAIT_MS), MORE_MS);
    redis_flight_add(&flight, redis_flight_take(&flight), 2000);
    assert_int_equal(redis_flight_left_ms(&flight, 2000), WAIT_MS);
    assert_int_equal(redis_flight_left_ms(&flight, 2000 + WAIT_MS), MORE_MS);
}

static void fail_one(struct redis_call *call, const struct redisReply *reply)
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
        calls[i].on_reply = fail_one;
    redis_flight_fail(&flight);
    assert_int_equal(failed, 3);
    assert_ptr_equal(redis_flight_take(&flight), &another);
    assert_true(redis_flight_is_empty(&flight));
}

/* ---- commands ---- */

/* hiredis's way is the measure. */
static void assert_like_hiredis(int argc, const char **argv, const size_t *lens)
{
    struct buf out = BUF_INIT;
    char *expected;
    int len = redisFormatCommandArgv(&expected, argc, argv, lens);

    buf_add_text(&out, "before");
    redis_command_write(&out, argc, argv, lens);
    buf_drop(&out, strlen("before"));
    assert_int_equal(out.len, len);
    assert_memory_equal(out.at, expected, out.len);
    redisFreeCommand(expected);
    buf_fini(&out);
}

static void writes_what_hiredis_writes(void **state)
{
    static char large[123456];
    const char *argv[] = {"EVALSHA", "", "a\r\nb", "\0$3", large, "last argument"};
    size_t lens[] = {7, 0, 4, 3, sizeof(large), 13};

    memset(large, '*', sizeof(large));
    for (int argc = 1; argc <= 6; argc++)
        assert_like_hiredis(argc, argv, lens);
}

static void writes_as_many_arguments_as_there_are(void **state)
{
    const char *argv[120];
    size_t lens[120];

    for (size_t i = 0; i < 120; i++) {
        argv[i] = "0123456789";
        lens[i] = i % 11;
    }
    assert_like_hiredis(120, argv, lens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(answers_belong_to_the_oldest_call, set_up),
        cmocka_unit_test_setup(the_oldest_call_is_waited_for, set_up),
        cmocka_unit_test_setup(a_call_whose_time_is_over_gets_some_more_once, set_up),
        cmocka_unit_test_setup(a_call_that_is_used_again_has_all_its_time_again, set_up),
        cmocka_unit_test_setup(a_lost_connection_fails_all_its_calls_and_no_later_one, set_up),
        cmocka_unit_test(writes_what_hiredis_writes),
        cmocka_unit_test(writes_as_many_arguments_as_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
