#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/http/api_encode.h"

static void assert_says(struct buf *out, const char *expected)
{
    assert_string_equal(buf_text(out), expected);
    buf_fini(out);
}

static const struct job some_job = {
    .id = {"a\"1", 3},
    .body = {"gr\xc3\xbc\xc3\x9f\n", 7},
    .state = JOB_READY,
    .due_ms = 1796117400000,
    .delay_ms = 1800000,
    .ttr_ms = 60000,
    .stamp = JOB_STAMP_MAX,
    .tries = 2,
};

static void says_what_was_pushed_and_what_was_not(void **state)
{
    struct buf out = BUF_INIT;

    api_add_pushed(&out, BYTES("7"), 1796117400000);
    assert_says(&out, "{\"id\":\"7\",\"due_ms\":1796117400000}");
    api_add_refusal(&out, HTTP_ERROR_DUPLICATE, BYTES("it \"lives\"\xff"));
    assert_says(&out, "{\"error\":{\"code\":\"duplicate\","
                      "\"message\":\"it \\\"lives\\\"\xef\xbf\xbd\"}}");
}

static void shows_a_job_with_its_state_and_without_its_lease(void **state)
{
    struct buf out = BUF_INIT;

    api_add_job(&out, BYTES("a/b"), &some_job);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"a/b\",\"body\":\"gr\xc3\xbc\xc3\x9f\\n\","
                      "\"state\":\"ready\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2}");
}

static void sends_a_body_that_is_no_text_in_base64_alone(void **state)
{
    struct job job = some_job;
    struct buf out = BUF_INIT;

    job.body = BYTES("\0\xff\xfe\x80");
    api_add_job(&out, BYTES("t"), &job);
    assert_says(&out, "{\"id\":\"a\\\"1\",\"topic\":\"t\",\"body_base64\":\"AP/+gA==\","
                      "\"state\":\"ready\",\"due_ms\":1796117400000,\"delay_ms\":1800000,"
                      "\"ttr_ms\":60000,\"tries\":2}");
}

static void shows_popped_jobs_with_their_leases(void **state)
{
    struct job jobs[2] = {some_job, some_job};
    struct buf out = BUF_INIT;

    jobs[0].body = jobs[1].body = BYTES("b");
    jobs[1].id = BYTES("2");
    jobs[1].stamp = 1;
    jobs[1].due_ms = jobs[1].delay_ms = jobs[1].ttr_ms = jobs[1].tries = 0;
    api_add_popped(&out, BYTES("t"), jobs, 2);
    assert_says(&out, "{\"topic\":\"t\",\"jobs\":[{\"id\":\"a\\\"1\",\"topic\":\"t\","
                      "\"body\":\"b\",\"lease\":\"140737488355327\",\"due_ms\":1796117400000,"
                      "\"delay_ms\":1800000,\"ttr_ms\":60000,\"tries\":2},{\"id\":\"2\","
                      "\"topic\":\"t\",\"body\":\"b\",\"lease\":\"1\",\"due_ms\":0,"
                      "\"delay_ms\":0,\"ttr_ms\":0,\"tries\":0}]}");
}

static void says_that_nothing_was_popped(void **state)
{
    struct buf out = BUF_INIT;

    api_add_popped(&out, BYTES(""), NULL, 0);
    assert_says(&out, "{\"topic\":null,\"jobs\":[]}");
}

static void counts_a_topics_jobs(void **state)
{
    struct topic_stats stats = {1, 2, 3, 4, 5, 6};
    struct buf out = BUF_INIT;

    api_add_topic(&out, BYTES("t"), &stats);
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":1,\"ready\":2,\"reserved\":3,\"dead\":4,"
                      "\"oldest_ready_age_ms\":5,\"next_due_in_ms\":6}");
    stats = (struct topic_stats){.oldest_ready_ms = -1, .next_due_ms = -1};
    api_add_topic(&out, BYTES("t"), &stats);
    assert_says(&out, "{\"topic\":\"t\",\"delayed\":0,\"ready\":0,\"reserved\":0,\"dead\":0,"
                      "\"oldest_ready_age_ms\":null,\"next_due_in_ms\":null}");
}

static void tells_hand_overs_with_their_own_try_counted(void **state)
{
    struct handover items[2] = {
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

    api_add_handovers(&out, &follow);
    assert_says(&out, "{\"handovers\":[{\"seq\":7,\"at_ms\":8,\"topic\":\"t\",\"id\":\"1\","
                      "\"tries\":1,\"late_ms\":2,\"client\":\"\"},{\"seq\":9,\"at_ms\":8,"
                      "\"topic\":\"t\",\"id\":\"2\",\"tries\":65535,\"late_ms\":null,"
                      "\"client\":\"http 127.0.0.1:1\"}],\"next\":9,\"missed\":3}");
    follow = (struct follow){.next = 9};
    api_add_handovers(&out, &follow);
    assert_says(&out, "{\"handovers\":[],\"next\":9,\"missed\":0}");
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
        cmocka_unit_test(tells_hand_overs_with_their_own_try_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
