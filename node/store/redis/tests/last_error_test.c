/* The reason why a link is down: fit to be shown, and not logged over and over. */
#include "base/tests/unit.h"
#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/wire/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MINUTE_MS 60000

static struct redis_last_error why;

static int set_up(void **state)
{
    why = (struct redis_last_error){0};
    return truncate(log_path, 0);
}

static void set(const char *text, int64_t now_mono_ms)
{
    redis_last_error_set(&why, LEVEL_WARN, "link", "", text, now_mono_ms);
}

static void a_strangers_text_is_made_printable(void **state)
{
    set("-ERR \x1b[31m\xc3\xa4\r\n", 0);
    assert_string_equal(why.text, "-ERR ?[31m????");
}

static void a_text_that_is_too_long_is_cut(void **state)
{
    char text[1000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    set(text, 0);
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
}

static void a_reason_is_logged_when_it_is_new_and_once_a_minute(void **state)
{
    set("refused", 1000);
    set("refused", 1000 + MINUTE_MS - 1);
    assert_int_equal(lines_with(log_path, ""), 1);
    set("refused", 1000 + MINUTE_MS);
    assert_int_equal(lines_with(log_path, ""), 2);
    set("lost", 1000 + MINUTE_MS + 1);
    assert_int_equal(lines_with(log_path, ""), 3);
}

/* A name with a dead master and a replica: its attempts take turns. */
static void reasons_that_take_turns_are_each_logged_once_a_minute(void **state)
{
    for (int64_t now_mono_ms = 0; now_mono_ms < MINUTE_MS; now_mono_ms += 500)
        set(now_mono_ms % 1000 ? "refused" : "a replica", now_mono_ms);
    assert_int_equal(lines_with(log_path, ""), 2);
    set("refused", 2 * MINUTE_MS);
    set("a replica", 2 * MINUTE_MS);
    assert_int_equal(lines_with(log_path, ""), 4);
}

/* However often each is new; and the next line says how many there were. */
static void a_link_has_so_many_lines_a_minute(void **state)
{
    char text[32];

    for (unsigned i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "reason %u", i);
        set(text, i);
        assert_string_equal(why.text, text);
    }
    assert_int_equal(lines_with(log_path, ""), REDIS_ERROR_LINES);
    set("another", MINUTE_MS);
    assert_int_equal(lines_with(log_path, ""), REDIS_ERROR_LINES + 2);
    assert_int_equal(lines_with(log_path, "link: 92 more reasons were not logged"), 1);
}

/* What ends a connection that was good is worth a line, though it ended one before; but for a
 * link that flaps. */
static void after_it_was_well_the_same_reason_is_new(void **state)
{
    for (unsigned i = 1; i < 100; i++) {
        set("lost", i);
        assert_int_equal(lines_with(log_path, ""),
                         i < REDIS_ERROR_LINES ? i : REDIS_ERROR_LINES);
        redis_last_error_clear(&why);
        assert_string_equal(why.text, "");
        assert_string_equal(redis_last_error_reason(&why), "");
    }
}

static void says_where_it_was_unless_the_name_does(void **state)
{
    redis_last_error_set(&why, LEVEL_WARN, "link", "10.0.0.5:6379", "refused", 0);
    assert_string_equal(why.text, "10.0.0.5:6379: refused");
    assert_string_equal(redis_last_error_reason(&why), "refused");
    assert_int_equal(lines_with(log_path, "link: 10.0.0.5:6379: refused"), 1);
    redis_last_error_set(&why, LEVEL_WARN, "Sentinel 10.0.0.5:6379", "10.0.0.5:6379", "lost",
                         0);
    assert_string_equal(why.text, "lost");
    assert_string_equal(redis_last_error_reason(&why), "lost");
    redis_last_error_set(&why, LEVEL_WARN, "Sentinel name:6379", "10.0.0.5:6379", "lost", 0);
    assert_string_equal(why.text, "10.0.0.5:6379: lost");
}

/* As when a node stops: its level is low. */
static void a_reason_that_is_no_trouble_is_not_logged(void **state)
{
    redis_last_error_set(&why, LEVEL_DEBUG, "link", "", "stopped", 0);
    assert_int_equal(lines_with(log_path, ""), 0);
    assert_string_equal(why.text, "stopped");
}

/* ---- which errors last ---- */

static void expect(bool is_lasting, const char *const *errors)
{
    for (; *errors; errors++) {
        if (redis_error_is_lasting(*errors) != is_lasting)
            fail_msg("%s", *errors);
    }
}

static void what_somebody_must_set_right_lasts(void **state)
{
    static const char *const errors[] = {
        "NOAUTH Authentication required.",
        "WRONGPASS invalid username-password pair or user is disabled.",
        "NOPERM this user has no permissions to run the 'info' command",
        "ERR AUTH <password> called without any password configured for the default user.",
        "ERR Client sent AUTH, but no password is set",
        "ERR unknown command 'INFO', with args beginning with: ",
        "WRONGTYPE Operation against a key holding the wrong kind of value script: 5f",
        "ERR Error running script (call to f_5f): WRONGTYPE Operation against a key",
        "DENIED Redis is running in protected mode because protected mode is enabled",
        NULL,
    };

    expect(true, errors);
}

static void what_may_pass_by_itself_does_not(void **state)
{
    static const char *const errors[] = {
        "",
        "ERR max number of clients reached",
        "BUSY Redis is busy running a script.",
        "LOADING Redis is loading the dataset in memory",
        "MISCONF Errors writing to the AOF file: No space left on device",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "READONLY You can't write against a read only replica.",
        "CLUSTERDOWN The cluster is down",
        NULL,
    };

    expect(false, errors);
}

static void a_new_connection_may_help_against_some(void **state)
{
    assert_true(redis_error_is_of_the_connection("READONLY You can't write"));
    assert_true(redis_error_is_of_the_connection("LOADING Redis is loading"));
    assert_true(redis_error_is_of_the_connection(
        "ERR Error running script (call to f_5f): @user_script:9: @user_script: 9: -READONLY "
        "You can't write against a read only replica."));
    assert_true(redis_error_is_of_the_connection("NOAUTH Authentication required."));
    assert_false(redis_error_is_of_the_connection("OOM command not allowed"));
    assert_false(redis_error_is_of_the_connection("ERR LOADING"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(a_strangers_text_is_made_printable),
        TEST(a_text_that_is_too_long_is_cut),
        TEST(a_reason_is_logged_when_it_is_new_and_once_a_minute),
        TEST(reasons_that_take_turns_are_each_logged_once_a_minute),
        TEST(a_link_has_so_many_lines_a_minute),
        TEST(after_it_was_well_the_same_reason_is_new),
        TEST(says_where_it_was_unless_the_name_does),
        TEST(a_reason_that_is_no_trouble_is_not_logged),
        cmocka_unit_test(what_somebody_must_set_right_lasts),
        cmocka_unit_test(what_may_pass_by_itself_does_not),
        cmocka_unit_test(a_new_connection_may_help_against_some),
    };

    return cmocka_run_group_tests(tests, log_begin, log_end);
}
