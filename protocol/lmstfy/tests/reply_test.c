/* What clients get. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

#include "protocol/lmstfy/codec.h"

#define BUCKETS 16
#define NOW_MS  (JOB_ID_EPOCH_MS + 5000)

static struct job a_job(void)
{
    return (struct job){.id = BYTES("order-17"),
                        .body = BYTES("h\xff"),
                        .due_ms = NOW_MS - 250,
                        .rules = {.max_tries = 3}};
}

static void assert_job(const struct job *job, bool is_new, const char *expected)
{
    struct buf out = BUF_INIT;

    lmstfy_add_job(&out, &(struct lmstfy_job){.topic = BYTES("ns/q"),
                                              .job = job,
                                              .now_ms = NOW_MS,
                                              .buckets = BUCKETS,
                                              .is_new = is_new});
    assert_string_equal(buf_text(&out), expected);
    buf_fini(&out);
}

static void a_job_that_is_handed_out_has_had_this_try(void **state)
{
    struct job job = a_job();

    (void)state;
    job.tries = 1;
    assert_job(&job, true,
               "{\"attributes\":null,\"data\":\"aP8=\",\"elapsed_ms\":250,"
               "\"job_id\":\"order-17\",\"msg\":\"new job\",\"namespace\":\"ns\","
               "\"queue\":\"q\",\"remain_tries\":1,\"ttl\":0}");
}

static void a_job_that_is_looked_at_has_no_message(void **state)
{
    struct job job = a_job();

    (void)state;
    job.rules.expires_ms = NOW_MS + 10000;
    assert_job(&job, false,
               "{\"attributes\":null,\"data\":\"aP8=\",\"elapsed_ms\":250,"
               "\"job_id\":\"order-17\",\"namespace\":\"ns\","
               "\"queue\":\"q\",\"remain_tries\":3,\"ttl\":10}");
}

/* The time since a number was given says how old the job is, whatever its delay. */
static void a_numbered_job_is_as_old_as_its_number(void **state)
{
    struct job job = a_job();

    (void)state;
    job.id = BYTES("512"); /* of the first ms */
    job.delay_ms = 3000;
    job.rules.max_tries = 0;
    job.rules.expires_ms = NOW_MS - 5;
    assert_job(&job, true,
               "{\"attributes\":null,\"data\":\"aP8=\",\"elapsed_ms\":4999,"
               "\"job_id\":\"01KDVDNA010000000000101EKN\",\"msg\":\"new job\","
               "\"namespace\":\"ns\",\"queue\":\"q\",\"remain_tries\":65535,\"ttl\":1}");
}

static void attributes_are_an_object(void **state)
{
    struct attributes attributes = {0};
    struct job job = a_job();

    (void)state;
    assert_true(attributes_add(&attributes, BYTES("a\""), BYTES("1")));
    assert_true(attributes_add(&attributes, BYTES("b"), BYTES("")));
    job.extra.attributes = attributes_packed(&attributes);
    assert_job(&job, false,
               "{\"attributes\":{\"a\\\"\":\"1\",\"b\":\"\"},\"data\":\"aP8=\","
               "\"elapsed_ms\":250,\"job_id\":\"order-17\",\"namespace\":\"ns\","
               "\"queue\":\"q\",\"remain_tries\":3,\"ttl\":0}");
}

static void seconds_are_rounded_and_0_is_for_ever(void **state)
{
    static const struct {
        int64_t left_ms;
        const char *ttl;
    } rows[] = {{10001, "10"}, {9600, "10"}, {9499, "9"}, {499, "1"}, {-1, "1"}};
    struct job job = a_job();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf out = BUF_INIT;
        char expected[32];

        job.rules.expires_ms = NOW_MS + rows[i].left_ms;
        lmstfy_add_job(&out, &(struct lmstfy_job){.topic = BYTES("ns/q"),
                                                  .job = &job,
                                                  .now_ms = NOW_MS,
                                                  .buckets = BUCKETS});
        snprintf(expected, sizeof(expected), "\"ttl\":%s}", rows[i].ttl);
        assert_non_null(strstr(buf_text(&out), expected));
        buf_fini(&out);
    }
}

static void errors_and_sizes(void **state)
{
    struct buf out = BUF_INIT;

    (void)state;
    lmstfy_add_error(&out, BYTES("invalid \"x\""));
    assert_string_equal(buf_text(&out), "{\"error\":\"invalid \\\"x\\\"\"}");
    buf_clear(&out);
    lmstfy_add_size(&out, BYTES("ns/q"), 3);
    assert_string_equal(buf_text(&out), "{\"namespace\":\"ns\",\"queue\":\"q\",\"size\":3}");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_is_handed_out_has_had_this_try),
        cmocka_unit_test(a_job_that_is_looked_at_has_no_message),
        cmocka_unit_test(a_numbered_job_is_as_old_as_its_number),
        cmocka_unit_test(attributes_are_an_object),
        cmocka_unit_test(seconds_are_rounded_and_0_is_for_ever),
        cmocka_unit_test(errors_and_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
