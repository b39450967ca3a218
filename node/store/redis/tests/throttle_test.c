/* Wrong data of a bucket is logged once, with the key, and for each bucket. */
#include "base/tests/unit.h"
#include "base/log.h"
#include "node/store/redis/throttle.h"
#include "node/store/redis/tests/log_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS INT64_C(3600000)

static struct redis_throttle throttle;
static int64_t now_mono_ms;

static int set_up(void **state)
{
    memset(&throttle, 0, sizeof(throttle));
    now_mono_ms = 5; /* a machine that has just begun */
    return truncate(log_path, 0);
}

/* Lines since the last call; each of them has this text in it (NULL: any). */
static unsigned lines(const char *text)
{
    char line[512];
    unsigned count = 0;
    FILE *file = fopen(log_path, "r");

    assert_non_null(file);
    for (; fgets(line, sizeof(line), file); count++)
        if (text && !strstr(line, text))
            fail_msg("'%s' is not in: %s", text, line);
    fclose(file);
    assert_int_equal(truncate(log_path, 0), 0);
    return count;
}

static void fail_with(enum op_verb verb, unsigned bucket, const char *error)
{
    struct op op = {.verb = verb, .bucket = bucket};

    redis_throttle_error(&throttle, now_mono_ms, &op, error);
}

static void scan(unsigned bucket, unsigned stuck, const char *wrong)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket};

    op.out.scan.stuck = stuck;
    op.out.scan.wrong = bytes_of_text(wrong);
    redis_throttle_scanned(&throttle, now_mono_ms, &op);
}

static void what_is_wrong_is_said_once_for_each_bucket(void **state)
{
    for (unsigned i = 0; i < 1000; i++, now_mono_ms += 1000) {
        fail_with(OP_SCAN, 3, "DUEQ dq:{3}:t is a string, not a zset");
        fail_with(OP_FENCE, 4, "DUEQ dq:{4}:f is a list, not a string");
        scan(127, 2, "dq:{127}:j:mails is a list, not a hash");
        scan(5, 0, "");
    }
    assert_int_equal(lines(NULL), 3);
}

static void the_line_names_the_key_and_what_to_do(void **state)
{
    fail_with(OP_SCAN, 3, "DUEQ dq:{3}:t is a string, not a zset");
    assert_int_equal(lines("nothing becomes due in bucket 3, the others go on: dq:{3}:t is a "
                           "string, not a zset; rename the key away (doc/store.md"),
                     1);
    scan(4, 0, "dq:{4}:h is a string, not a stream");
    assert_int_equal(
        lines("bucket 4 writes no history of what becomes due: dq:{4}:h is a string, "
              "not a stream; rename the key away"),
        1);
    scan(5, 1, "job b is in dq:{5}:d:mails, but missing in dq:{5}:j:mails");
    assert_int_equal(lines("nothing becomes due in 1 topic(s) of bucket 5: job b is in"), 1);
}

static void fail_in_topic(enum op_verb verb, const char *topic, const char *error)
{
    struct op op = {.verb = verb, .bucket = 5, .topic = bytes_of_text(topic)};

    redis_throttle_error(&throttle, now_mono_ms, &op, error);
}

/* Whoever asks, and however often. */
static void a_wrong_type_in_a_topic_is_said_once_with_topic_and_key(void **state)
{
    static const char error[] = "WRONGTYPE Operation against a key holding the wrong kind";

    fail_in_topic(OP_AUDIT, "mails", "DUEQ dq:{5}:j:mails is a string, not a hash");
    assert_int_equal(
        lines("topic mails of bucket 5 cannot be looked through, the others go on: "
              "dq:{5}:j:mails is a string, not a hash; rename the key away"),
        1);
    fail_in_topic(OP_PUSH, "mails", error);
    assert_int_equal(
        lines("push: a key of topic mails, or of its bucket 5, is of a wrong type"), 1);
    for (unsigned i = 0; i < 1000; i++, now_mono_ms += 1000) {
        fail_in_topic(OP_AUDIT, "mails", "DUEQ dq:{5}:j:mails is a string, not a hash");
        fail_in_topic(OP_PUSH, "mails", error);
        fail_in_topic(OP_POP, "mails", error);
        scan(5, 1, "dq:{5}:j:mails is a string, not a hash");
    }
    assert_int_equal(lines(NULL), 0);
}

static void what_lasts_is_said_again_after_an_hour(void **state)
{
    scan(1, 1, "a");
    now_mono_ms += HOUR_MS - 1;
    scan(1, 1, "a");
    assert_int_equal(lines(NULL), 1);
    now_mono_ms++;
    scan(1, 1, "a");
    assert_int_equal(lines(NULL), 1);
}

/* Of several topics another one may come first in each scan. */
static void what_changes_with_every_scan_is_said_once_a_minute(void **state)
{
    for (unsigned i = 0; i < 120; i++, now_mono_ms += 1000)
        scan(1, 2, i % 2 ? "a" : "b");
    assert_in_range(lines(NULL), 2, 3);
}

static void other_errors_are_said_as_they_come(void **state)
{
    fail_with(OP_PUSH, 3, "DUEQ no free id in dq:{3}:j:mails");
    now_mono_ms += 1000;
    fail_with(OP_PUSH, 3, "OOM");
    fail_with(OP_PUSH, 3, "OOM");
    assert_int_equal(lines("push: "), 2);
}

/* ---- which states of the store are worth a line ---- */

static struct timers timers;
static struct redis_state_log state_log;

static int set_up_states(void **state)
{
    timers_init(&timers, 1000);
    redis_state_log_init(&state_log, &timers, "r:1");
    return truncate(log_path, 0);
}

static int tear_down_states(void **state)
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

#define TEST(name) cmocka_unit_test_setup(name, set_up)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_wrong_is_said_once_for_each_bucket),
        TEST(the_line_names_the_key_and_what_to_do),
        TEST(a_wrong_type_in_a_topic_is_said_once_with_topic_and_key),
        TEST(what_lasts_is_said_again_after_an_hour),
        TEST(what_changes_with_every_scan_is_said_once_a_minute),
        TEST(other_errors_are_said_as_they_come),
        cmocka_unit_test_setup_teardown(a_state_in_passing_is_not_said, set_up_states,
                                        tear_down_states),
        cmocka_unit_test_setup_teardown(a_state_that_lasts_is_said_once, set_up_states,
                                        tear_down_states),
        cmocka_unit_test_setup_teardown(back_where_it_was_is_no_news, set_up_states,
                                        tear_down_states),
        cmocka_unit_test_setup_teardown(its_level_is_the_last_ones, set_up_states,
                                        tear_down_states),
    };

    return cmocka_run_group_tests(tests, log_begin, log_end);
}
