/* Which states of the store are worth a line in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/throttle.h"

static struct timers timers;
static struct redis_state_log state_log;

static int set_up(void **state)
{
    timers_init(&timers, 1000);
    redis_state_log_init(&state_log, &timers, "r:1");
    return truncate(log_path, 0);
}

static int tear_down(void **state)
{
    redis_state_log_fini(&state_log);
    timers_fini(&timers);
    return 0;
}

/* What is said of the store since the last call, with ";" behind each. */
static const char *said(void)
{
    static char all[1024];
    char line[256];
    FILE *file = fopen(log_path, "r");

    assert_non_null(file);
    *all = '\0';
    while (fgets(line, sizeof(line), file)) {
        char *text = strstr(line, "r:1 is ");

        assert_non_null(text);
        text[strcspn(text, "\n")] = ';';
        strcat(all, text + strlen("r:1 is "));
    }
    fclose(file);
    assert_int_equal(truncate(log_path, 0), 0);
    return all;
}

static void turn(enum redis_store_state state)
{
    redis_state_log_turned(&state_log, state, LEVEL_INFO);
}

static void pass_ms(int64_t ms)
{
    timers_run(&timers, timers_now(&timers) + ms);
}

/* Of the links one is always up first, and one is down first. */
static void a_state_in_passing_is_not_said(void **state)
{
    turn(REDIS_STORE_UNHEARD);
    pass_ms(50);
    turn(REDIS_STORE_UP);
    pass_ms(10000);
    assert_string_equal(said(), "up;");
    turn(REDIS_STORE_UNHEARD);
    turn(REDIS_STORE_DOWN);
    pass_ms(10000);
    assert_string_equal(said(), "down;");
}

static void a_state_that_lasts_is_said_once(void **state)
{
    turn(REDIS_STORE_UNHEARD);
    assert_string_equal(said(), "");
    pass_ms(1000);
    assert_string_equal(said(), "up, but hears no wake-ups;");
    turn(REDIS_STORE_UP);
    assert_string_equal(said(), "up;");
}

/* The link itself says that it was lost. */
static void back_where_it_was_is_no_news(void **state)
{
    turn(REDIS_STORE_UP);
    assert_string_equal(said(), "up;");
    turn(REDIS_STORE_UNHEARD);
    turn(REDIS_STORE_UP);
    pass_ms(10000);
    assert_string_equal(said(), "");
}

/* As when a node stops. */
static void its_level_is_the_last_ones(void **state)
{
    redis_state_log_turned(&state_log, REDIS_STORE_UNHEARD, LEVEL_DEBUG);
    pass_ms(1000);
    redis_state_log_turned(&state_log, REDIS_STORE_DOWN, LEVEL_DEBUG);
    assert_string_equal(said(), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_state_in_passing_is_not_said),
        TEST(a_state_that_lasts_is_said_once),
        TEST(back_where_it_was_is_no_news),
        TEST(its_level_is_the_last_ones),
    };

    return cmocka_run_group_tests(tests, log_begin, log_end);
}
