#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/api/encode.h"

static void assert_says(struct buf *out, const char *expected)
{
    assert_string_equal(buf_text(out), expected);
    buf_fini(out);
}

static const struct job_row some_row = {
    .job =
        {
            .id = {"a\"1", 3},
            .body = {"gr\xc3\xbc\xc3\x9f\n", 7},
            .state = JOB_READY,
            .due_ms = 1796117400000,
            .delay_ms = 1800000,
            .ttr_ms = 60000,
            .stamp = JOB_STAMP_MAX,
            .tries = 2,
            .rules = {.priority = 7, .max_tries = 3},
        },
    .body_bytes = 7,
    .place_ms = 1796117400000,
};

#define RULES "\"priority\":7,\"max_tries\":3,\"backoff\":{\"kind\":\"none\"}"

static void says_what_was_pushed_and_what_was_not(void **state)
{
    struct op op = {.out.push = {.id = BYTES("7"), .due_ms = 1796117400000}};
    struct buf out = BUF_INIT;

    api_add_pushed(&out, &op);
    assert_says(&out, "{\"id\":\"7\",\"due_ms\":1796117400000}");
    op.out.push.existed = true;
    api_add_pushed(&out, &op);
    assert_says(&out, "{\"id\":\"7\",\"due_ms\":1796117400000,\"existed\":true}");
    api_add_error(&out, HTTP_ERROR_DUPLICATE, BYTES("it \"lives\"\xff"), HTTP_ERROR_NO_COUNT);
    assert_says(&out, "{\"error\":{\"code\":\"duplicate\","
                      "\"message\":\"it \\\"lives\\\"\xef\xbf\xbd\"}}");
}

static void shows_a_job_with_its_state_and_without_its_lease(void **state)
{
    struct buf out = BUF_INIT;

    api_add_job(&out, BYTES("a/b"), &some_row);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"a/b\",\"body\":\"gr\xc3\xbc\xc3\x9f\\n\","
                      "\"state\":\"ready\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2," RULES "}");
}

static void lists_a_job_with_its_bodys_length_alone(void **state)
{
    struct buf out = BUF_INIT;

    api_add_listed_job(&out, BYTES("t"), &some_row);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"t\",\"body_bytes\":7,"
                      "\"state\":\"ready\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2," RULES "}");
}

static void shows_what_only_some_jobs_have(void **state)
{
    struct job_row row = some_row;
    struct buf out = BUF_INIT;

    row.job.state = JOB_RESERVED;
    row.job.holder = BYTES("h");
    row.job.rules.expires_ms = 9;
    row.job.rules.backoff = (struct backoff){BACKOFF_FIXED, 10, 1000, 0};
    row.place_ms = 8;
    api_add_listed_job(&out, BYTES("t"), &row);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"t\",\"body_bytes\":7,"
                      "\"state\":\"reserved\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2,\"priority\":7,\"max_tries\":3,\"backoff\":"
                      "{\"kind\":\"fixed\",\"base_ms\":1000,\"cap_ms\":0,"
                      "\"jitter_percent\":10},\"expires_ms\":9,\"holder\":\"h\","
                      "\"deadline_ms\":8}");
    row = some_row;
    row.job.state = JOB_DEAD;
    row.job.death = DEATH_EXPIRED;
    row.place_ms = 8;
    api_add_listed_job(&out, BYTES("t"), &row);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"t\",\"body_bytes\":7,"
                      "\"state\":\"dead\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2," RULES ",\"died_ms\":8,"
                      "\"death\":\"expired\"}");
}

static void shows_what_a_dialect_has_pushed_beside_the_rules(void **state)
{
    struct attributes some = {0};
    struct job_row row = some_row;
    struct buf out = BUF_INIT;

    row.job.extra = (struct job_extra){.is_there = true,
                                       .created_ms = 7,
                                       .reserves = 1,
                                       .timeouts = 2,
                                       .releases = 3,
                                       .buries = 4,
                                       .kicks = 5};
#define FACTS                                                                             \
    "{\"id\":\"a\\\"1\",\"topic\":\"t\",\"body_bytes\":7,"                                \
    "\"state\":\"ready\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"                  \
    "\"ttr_ms\":60000,\"tries\":2," RULES ",\"created_ms\":7,\"counts\":{\"reserves\":1," \
    "\"timeouts\":2,\"releases\":3,\"buries\":4,\"kicks\":5}"
    api_add_listed_job(&out, BYTES("t"), &row);
    assert_says(&out, FACTS "}");
    attributes_add(&some, BYTES("n"), BYTES("v\"1"));
    attributes_add(&some, BYTES("m"), BYTES("\xff"));
    row.job.extra.attributes = attributes_packed(&some);
    api_add_listed_job(&out, BYTES("t"), &row);
    assert_says(&out, FACTS ",\"attributes\":[{\"name\":\"n\",\"value\":\"v\\\"1\"},"
                            "{\"name\":\"m\",\"value_base64\":\"/w==\"}]}");
    row.job.extra.attributes = BYTES("\1"); /* not of their form */
    api_add_listed_job(&out, BYTES("t"), &row);
    assert_says(&out, FACTS "}");
}

static void says_when_a_released_job_is_due_or_that_it_died(void **state)
{
    struct op op = {.out.change = {.due_ms = 5, .tries = 1}};
    struct buf out = BUF_INIT;

    api_add_released(&out, &op);
    assert_says(&out, "{\"due_ms\":5,\"tries\":1}");
    op.out.change.due_ms = 0;
    op.out.change.death = DEATH_TRIES;
    api_add_released(&out, &op);
    assert_says(&out, "{\"due_ms\":null,\"tries\":1,\"death\":\"tries\"}");
}

static void sends_a_body_that_is_no_text_in_base64_alone(void **state)
{
    struct job_row row = some_row;
    struct buf out = BUF_INIT;

    row.job.body = BYTES("\0\xff\xfe\x80");
    api_add_job(&out, BYTES("t"), &row);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"t\",\"body_base64\":\"AP/+gA==\","
                      "\"state\":\"ready\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2," RULES "}");
}

static void shows_popped_jobs_with_their_leases(void **state)
{
    static const uint64_t checks[] = {0x0123456789abcdef, 0};
    struct job jobs[2] = {some_row.job, some_row.job};
    struct buf out = BUF_INIT;

    jobs[0].body = jobs[1].body = BYTES("b");
    jobs[1].id = BYTES("2");
    jobs[1].stamp = 1;
    jobs[1].due_ms = jobs[1].delay_ms = jobs[1].ttr_ms = jobs[1].tries = 0;
    api_add_popped(&out, BYTES("t"), jobs, 2, NULL);
    assert_says(
        &out,
        "{\"topic\":\"t\",\"jobs\":[{\"id\":\"a\\\"1\",\"topic\":\"t\","
        "\"body\":\"b\",\"lease\":\"140737488355327\",\"due_ms\":1796117400000,"
        "\"delay_ms\":1800000,\"ttr_ms\":60000,\"tries\":2,\"max_tries\":3},{\"id\":\"2\","
        "\"topic\":\"t\",\"body\":\"b\",\"lease\":\"1\",\"due_ms\":0,"
        "\"delay_ms\":0,\"ttr_ms\":0,\"tries\":0,\"max_tries\":3}]}");
    jobs[0] = jobs[1];
    api_add_popped(&out, BYTES("t"), jobs, 2, checks);
    assert_says(&out, "{\"topic\":\"t\",\"jobs\":[{\"id\":\"2\",\"topic\":\"t\",\"body\":\"b\","
                      "\"lease\":\"1-0123456789abcdef\",\"due_ms\":0,\"delay_ms\":0,"
                      "\"ttr_ms\":0,\"tries\":0,\"max_tries\":3},{\"id\":\"2\",\"topic\":\"t\","
                      "\"body\":\"b\",\"lease\":\"1-0000000000000000\",\"due_ms\":0,"
                      "\"delay_ms\":0,\"ttr_ms\":0,\"tries\":0,\"max_tries\":3}]}");
}

static void says_that_nothing_was_popped(void **state)
{
    struct buf out = BUF_INIT;

    api_add_popped(&out, BYTES(""), NULL, 0, NULL);
    assert_says(&out, "{\"topic\":null,\"jobs\":[]}");
}

static void counts_a_topics_jobs(void **state)
{
    struct topic_stats stats = {.delayed = 1,
                                .ready = 2,
                                .reserved = 3,
                                .dead = 4,
                                .oldest_ready_ms = 5,
                                .next_due_ms = 6};
    struct buf out = BUF_INIT;

    api_add_topic(&out, BYTES("t"), &stats);
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":1,\"ready\":2,\"reserved\":3,\"dead\":4,"
                      "\"oldest_ready_age_ms\":5,\"next_due_in_ms\":6}");
    stats = (struct topic_stats){.oldest_ready_ms = -1, .next_due_ms = -1};
    api_add_topic(&out, BYTES("t"), &stats);
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":0,\"ready\":0,\"reserved\":0,\"dead\":0,"
                      "\"oldest_ready_age_ms\":null,\"next_due_in_ms\":null}");
}

static void says_of_one_topic_whether_it_is_paused(void **state)
{
    struct topic_stats stats = {.oldest_ready_ms = -1, .next_due_ms = -1};
    struct buf out = BUF_INIT;

    api_add_topic_page(&out, BYTES("t"), &stats, 7);
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":0,\"ready\":0,\"reserved\":0,\"dead\":0,"
                      "\"oldest_ready_age_ms\":null,\"next_due_in_ms\":null,\"paused\":true,"
                      "\"paused_until_ms\":7}");
    api_add_pause(&out, SETTINGS_FOREVER);
    assert_says(&out, "{\"paused\":true,\"paused_until_ms\":null}");
    api_add_pause(&out, 0);
    assert_says(&out, "{\"paused\":false,\"paused_until_ms\":null}");
}

static void tells_the_settings_that_are_set(void **state)
{
    struct settings_row own = {.topic = BYTES("t"), .settings = {.paused_until_ms = 3}};
    struct topic_settings all = {.set = SETTING_BIT(HISTORY) * 2 - 1, /* the first so many */
                                 .ttr_ms = 1,
                                 .priority = 2,
                                 .max_tries = 3,
                                 .ttl_ms = 4,
                                 .dead_max = 5,
                                 .dead_age_ms = 6,
                                 .history = true};
    struct topic_settings some = {.set = SETTING_BIT(TTR) | SETTING_BIT(TTL), .ttl_ms = 7};
    struct buf out = BUF_INIT;

    api_add_settings(&out, &own, &some, &all, 3);
    assert_says(&out, "{\"topic\":\"t\",\"own\":{},\"configured\":{\"ttr_ms\":0,\"ttl_ms\":7},"
                      "\"effective\":{\"ttr_ms\":1,\"priority\":2,"
                      "\"max_tries\":3,\"backoff\":{\"kind\":\"none\"},\"ttl_ms\":4,"
                      "\"dead_max\":5,\"dead_age_ms\":6,\"history\":true},\"paused\":true,"
                      "\"paused_until_ms\":3}");
    own.settings.set = SETTING_BIT(BACKOFF) | SETTING_BIT(HISTORY);
    own.settings.backoff = (struct backoff){BACKOFF_EXPONENTIAL, 1, 2, 3};
    api_add_own_settings(&out, &own, 0);
    assert_says(&out, "{\"topic\":\"t\",\"own\":{\"backoff\":{\"kind\":\"exponential\","
                      "\"base_ms\":2,\"cap_ms\":3,\"jitter_percent\":1},\"history\":false},"
                      "\"paused\":false,\"paused_until_ms\":null}");
}

static void tells_a_history_and_leaves_away_what_is_not_known(void **state)
{
    struct history_item lines[2] = {
        {.event = EVENT_PUSHED, .time_ms = 1, .at_ms = 2},
        {.event = EVENT_DIED,
         .death = DEATH_BURIED,
         .time_ms = 3,
         .tries = 4,
         .node = BYTES("n"),
         .client = BYTES("c")},
    };
    struct trace trace = {.items = lines, .count = 2, .is_on = true};
    struct buf out = BUF_INIT;

    api_add_history(&out, &trace);
    assert_says(&out, "{\"is_on\":true,\"history\":[{\"event\":\"pushed\",\"time_ms\":1,"
                      "\"at_ms\":2},{\"event\":\"died\",\"time_ms\":3,\"tries\":4,"
                      "\"death\":\"buried\",\"node\":\"n\",\"client\":\"c\"}]}");
    trace = (struct trace){.is_on = false};
    api_add_history(&out, &trace);
    assert_says(&out, "{\"is_on\":false,\"history\":[]}");
}

static void tells_hand_overs_with_their_own_try_counted(void **state)
{
    struct feed_item items[2] = {
        {.seq = 7, .at_ms = 8, .topic = BYTES("t"), .id = BYTES("1"), .late_ms = 2},
        {.seq = 9,
         .at_ms = 8,
         .topic = BYTES("t"),
         .id = BYTES("2"),
         .client = BYTES("http 127.0.0.1:1"),
         .tries = JOB_TRIES_MAX,
         .late_ms = -1},
    };
    struct follow follow = {.items = items, .count = 2, .next = 9, .missed = 3};
    struct buf out = BUF_INIT;

    api_add_deliveries(&out, &follow);
    assert_says(&out, "{\"deliveries\":[{\"seq\":7,\"at_ms\":8,\"topic\":\"t\",\"id\":\"1\","
                      "\"tries\":1,\"late_ms\":2,\"client\":\"\"},{\"seq\":9,\"at_ms\":8,"
                      "\"topic\":\"t\",\"id\":\"2\",\"tries\":65535,\"late_ms\":null,"
                      "\"client\":\"http 127.0.0.1:1\"}],\"next\":9,\"missed\":3}");
    follow = (struct follow){.next = 9};
    api_add_deliveries(&out, &follow);
    assert_says(&out, "{\"deliveries\":[],\"next\":9,\"missed\":0}");
}

static void tells_who_scans_a_topic_and_who_should(void **state)
{
    struct topic_count row = {
        .topic = BYTES("t"),
        .stats = {.delayed = 1, .oldest_ready_ms = -1, .next_due_ms = 0},
        .lock = {.node = BYTES("a\"b"), .view = 7, .token = 12, .left_ms = 3000}};
    struct buf out = BUF_INIT;

    api_add_owned_topic(&out, 23, &row, BYTES("c"));
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":1,\"ready\":0,\"reserved\":0,\"dead\":0,"
                      "\"oldest_ready_age_ms\":null,\"next_due_in_ms\":0,\"bucket\":23,"
                      "\"owner\":{\"node\":\"a\\\"b\",\"token\":12,\"left_ms\":3000,"
                      "\"view\":7},\"preferred\":\"c\"}");
    row.lock.node = BYTES("");
    api_add_owned_topic(&out, 0, &row, BYTES(""));
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":1,\"ready\":0,\"reserved\":0,\"dead\":0,"
                      "\"oldest_ready_age_ms\":null,\"next_due_in_ms\":0,\"bucket\":0,"
                      "\"owner\":null,\"preferred\":null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_was_pushed_and_what_was_not),
        cmocka_unit_test(shows_a_job_with_its_state_and_without_its_lease),
        cmocka_unit_test(sends_a_body_that_is_no_text_in_base64_alone),
        cmocka_unit_test(shows_popped_jobs_with_their_leases),
        cmocka_unit_test(says_that_nothing_was_popped),
        cmocka_unit_test(counts_a_topics_jobs),
        cmocka_unit_test(lists_a_job_with_its_bodys_length_alone),
        cmocka_unit_test(shows_what_only_some_jobs_have),
        cmocka_unit_test(shows_what_a_dialect_has_pushed_beside_the_rules),
        cmocka_unit_test(says_when_a_released_job_is_due_or_that_it_died),
        cmocka_unit_test(says_of_one_topic_whether_it_is_paused),
        cmocka_unit_test(tells_the_settings_that_are_set),
        cmocka_unit_test(tells_a_history_and_leaves_away_what_is_not_known),
        cmocka_unit_test(tells_hand_overs_with_their_own_try_counted),
        cmocka_unit_test(tells_who_scans_a_topic_and_who_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
