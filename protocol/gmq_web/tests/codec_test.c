#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protocol/gmq_web/codec.h"

static struct {
    char text[1024];
    struct gmq_web_job job;
    const char *why;
} read_;

static bool reads(const char *json)
{
    strcpy(read_.text, json);
    return gmq_web_job_read(bytes_of_text(read_.text), &read_.job, &read_.why);
}

static void assert_refused(const char *json, const char *why)
{
    assert_false(reads(json));
    assert_string_equal(read_.why, why);
}

static void assert_text(struct bytes text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.at, expected, text.len);
}

static void assert_written(struct buf *out, const char *expected)
{
    assert_string_equal(buf_text(out), expected);
    buf_fini(out);
}

/* ---- version 2 ---- */

static void reads_a_job(void **state)
{
    assert_true(reads("{\"id\":\"xxx_1\",\"body\":\"this is a job\",\"topic\":\"game_1\","
                      "\"TTR\":10,\"delay\":20}"));
    assert_text(read_.job.id, "xxx_1");
    assert_text(read_.job.topic, "game_1");
    assert_text(read_.job.body, "this is a job");
    assert_int_equal(read_.job.delay_ms, 20000);
    assert_int_equal(read_.job.ttr_ms, 10000);
}

static void reads_it_as_go_does(void **state)
{
    assert_true(reads(" \n{\"ID\":\"no\",\"Id\":\"a\",\"Topic\":\"t\",\"ttr\":null,\"x\":{},"
                      "\"b\\u006fdy\":\"\\n\"}"));
    assert_text(read_.job.id, "a");
    assert_text(read_.job.body, "\n");
    assert_int_equal(read_.job.ttr_ms, 0);
}

static void refuses_what_go_refuses_and_what_cannot_be_meant(void **state)
{
    assert_refused("", "data is not JSON, or not UTF-8");
    assert_refused("{\"id\":", "data is not JSON, or not UTF-8");
    assert_refused("[]", "data must be a job, an object");
    assert_refused("{}", "job.id is empty");
    assert_refused("{\"id\":\"a\",\"topic\":\"\"}", "job.topic is empty");
    assert_refused("{\"id\":1}", "job.id must be a string");
    assert_refused("{\"topic\":[\"a\"]}", "job.topic must be a string");
    assert_refused("{\"body\":{}}", "job.body must be a string");
#define DELAY "job.delay must be whole seconds, a number from 0 to 315360000"
    assert_refused("{\"delay\":\"5\"}", DELAY);
    assert_refused("{\"delay\":1.5}", DELAY);
    assert_refused("{\"delay\":-1}", DELAY);
    assert_refused("{\"delay\":315360001}", DELAY);
    assert_refused("{\"delay\":99999999999999999999}", DELAY);
    assert_refused("{\"TTR\":604801}",
                   "job.TTR must be whole seconds, a number from 0 to 604800");
}

static void answers_as_version_2(void **state)
{
    struct job job = {
        .id = BYTES("i"), .body = BYTES("b\""), .ttr_ms = 9001, .delay_ms = 20000, .tries = 2};
    struct buf out = BUF_INIT;

    gmq_web_add_done(&out, "push success");
    assert_written(&out, "{\"code\":0,\"data\":null,\"msg\":\"push success\"}");
    gmq_web_add_error(&out, BYTES("topic is empty"));
    assert_written(&out, "{\"code\":1,\"data\":null,\"msg\":\"topic is empty\"}");
    gmq_web_add_popped(&out, BYTES("t"), &job);
    assert_written(&out, "{\"code\":0,\"data\":{\"TTR\":\"10\",\"body\":\"b\\\"\","
                         "\"consume_num\":\"2\",\"delay\":\"20\",\"id\":\"i\","
                         "\"status\":\"3\",\"topic\":\"t\"},\"msg\":\"success\"}");
    job.body = BYTES("\xff");
    gmq_web_add_popped(&out, BYTES("t"), &job);
    assert_non_null(
        strstr(buf_text(&out), "\"body\":\"\xef\xbf\xbd\",\"body_base64\":\"/w==\","));
    buf_fini(&out);
}

/* ---- the monitor ---- */

static void reads_the_keys_that_it_writes(void **state)
{
    for (int i = 0; i < GMQ_WEB_KINDS; i++) {
        enum gmq_web_kind kind;
        struct buf key = BUF_INIT;
        struct bytes topic;

        gmq_web_add_key(&key, (enum gmq_web_kind)i, BYTES("a:b"));
        assert_true(gmq_web_key_read(buf_bytes(&key), &kind, &topic));
        assert_int_equal(kind, i);
        assert_text(topic, "a:b");
        buf_fini(&key);
    }
}

static void knows_no_other_key(void **state)
{
    enum gmq_web_kind kind;
    struct bytes topic;

    assert_false(gmq_web_key_read(BYTES(""), &kind, &topic));
    assert_false(gmq_web_key_read(BYTES("gmq:bucket:"), &kind, &topic));
    assert_false(gmq_web_key_read(BYTES("gmq:rqcachekey"), &kind, &topic));
    assert_false(gmq_web_key_read(BYTES("dq:{1}:t"), &kind, &topic));
}

#define TIME_MS 1136214245678 /* 2006-01-02 15:04:05.678 UTC */

static void lists_stats(void **state)
{
    struct buf out = BUF_INIT;

    gmq_web_open(&out);
    gmq_web_add_stat(&out, 1, GMQ_WEB_READY, BYTES("t2"), 1, 0);
    gmq_web_close(&out, 1, "");
    assert_written(&out, "{\"code\":0,\"data\":[{\"id\":1,\"queue_name\":"
                         "\"gmq:readyqueue:t2\",\"job_num\":1}],\"msg\":\"\"}");
    gmq_web_open(&out);
    gmq_web_add_stat(&out, 1, GMQ_WEB_DELAYED, BYTES("a"), 5, TIME_MS);
    gmq_web_add_stat(&out, 2, GMQ_WEB_RESERVED, BYTES("a"), 6, TIME_MS);
    gmq_web_close(&out, 2, "more");
    assert_written(&out, "{\"code\":0,\"data\":[{\"id\":1,\"bucket_name\":\"gmq:bucket:a\","
                         "\"job_num\":5,\"next_time\":\"2006-01-02 15:04:05\"},"
                         "{\"id\":2,\"bucket_name\":\"gmq:ttrbucket:a\",\"job_num\":6,"
                         "\"next_time\":\"2006-01-02 15:04:05\"}],\"msg\":\"more\"}");
}

static void lists_nothing_as_null(void **state)
{
    struct buf out = BUF_INIT;

    gmq_web_open(&out);
    gmq_web_close(&out, 0, "");
    assert_written(&out, "{\"code\":0,\"data\":null,\"msg\":\"\"}");
}

static void lists_jobs(void **state)
{
    struct job_row row = {
        .job = {.id = BYTES("i\"1"), .state = JOB_DELAYED, .delay_ms = 100000, .ttr_ms = 60000},
        .place_ms = TIME_MS};
    struct buf out = BUF_INIT;

    gmq_web_open(&out);
    gmq_web_add_listed(&out, BYTES("t"), &row);
    gmq_web_close(&out, 1, "");
    assert_written(&out,
                   "{\"code\":0,\"data\":[{\"id\":\"i\\\"1\","
                   "\"job_key\":\"gmq:jobpool:i\\\"1\",\"runtime\":\"2006-01-02 15:04:05\","
                   "\"ttr\":\"60\",\"delay_time\":\"1m40s\",\"topic\":\"t\",\"status\":"
                   "\"<span class=\\\"layui-badge layui-bg-orange\\\">delay</span>\"}],"
                   "\"msg\":\"\"}");
}

static void prints_durations_as_go_does(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {{0, "0s"},        {59, "59s"},      {60, "1m0s"},        {100, "1m40s"},
                {3599, "59m59s"}, {3600, "1h0m0s"}, {172992, "48h3m12s"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf out = BUF_INIT;

        gmq_web_add_duration(&out, rows[i].seconds);
        assert_written(&out, rows[i].text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_job),
        cmocka_unit_test(reads_it_as_go_does),
        cmocka_unit_test(refuses_what_go_refuses_and_what_cannot_be_meant),
        cmocka_unit_test(answers_as_version_2),
        cmocka_unit_test(reads_the_keys_that_it_writes),
        cmocka_unit_test(knows_no_other_key),
        cmocka_unit_test(lists_stats),
        cmocka_unit_test(lists_nothing_as_null),
        cmocka_unit_test(lists_jobs),
        cmocka_unit_test(prints_durations_as_go_does),
    };

    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
