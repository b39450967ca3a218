#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/mykit/codec.h"

static struct {
    char text[4096];
    struct mykit_job job;
    const char *why;
} read_;

static bool reads(const char *json)
{
    strcpy(read_.text, json);
    return mykit_job_read(bytes_of_text(read_.text), &read_.job, &read_.why);
}

static const struct mykit_job *job_of(const char *json)
{
    assert_true(reads(json));
    return &read_.job;
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

/* ---- the job of a push ---- */

static void reads_all_that_mykit_delay_names(void **state)
{
    const struct mykit_job *job =
        job_of("{\"body\":\"{hello world}\",\"delay\":10000,\"id\":\"20\",\"status\":0,"
               "\"topic\":\"ces\",\"subtopic\":\"s\",\"ttl\":12,\"bizKey\":\"k\","
               "\"createTime\":1700000000000}");

    assert_text(job->topic, "ces");
    assert_text(job->subtopic, "s");
    assert_text(job->id, "20");
    assert_text(job->biz_key, "k");
    assert_text(job->body, "{hello world}");
    assert_int_equal(job->delay_ms, 10000);
    assert_int_equal(job->ttl, 12);
    assert_int_equal(job->create_ms, 1700000000000);
    assert_true(job->has_create);
    assert_int_equal(job->status, 0);
}

static void takes_what_is_missing_or_null_as_not_given(void **state)
{
    const struct mykit_job *job =
        job_of(" {\"topic\":null,\"body\":null,\"createTime\":null,\"delay\":null} ");

    assert_null(job->topic.at);
    assert_int_equal(job->body.len, 0);
    assert_false(job->has_create);
    assert_int_equal(job->delay_ms, 0);
}

static void ignores_what_it_does_not_know_and_takes_the_last_of_two(void **state)
{
    const struct mykit_job *job =
        job_of("{\"Topic\":\"no\",\"topic\":\"a\",\"x\":{\"topic\":\"no\"},\"topic\":\"b\","
               "\"buckedName\":[1,2]}");

    assert_text(job->topic, "b");
}

static void takes_texts_and_numbers_for_each_other(void **state)
{
    const struct mykit_job *job =
        job_of("{\"topic\":7,\"id\":-1.50,\"body\":true,\"delay\":\" 12 \",\"ttl\":\"\","
               "\"status\":\"5\",\"createTime\":1.9e3}");

    assert_text(job->topic, "7");
    assert_text(job->id, "-1.50");
    assert_text(job->body, "true");
    assert_int_equal(job->delay_ms, 12);
    assert_int_equal(job->ttl, 0);
    assert_int_equal(job->status, 5);
    assert_int_equal(job->create_ms, 1900);
    assert_int_equal(job_of("{\"delay\":-0.9}")->delay_ms, 0);
    assert_int_equal(job_of("{\"delay\":9223372036854775807}")->delay_ms, INT64_MAX);
}

static void resolves_escapes(void **state)
{
    const struct mykit_job *job = job_of("{\"t\\u006fpic\":\"a\\/b\",\"body\":\"\\u4f60\"}");

    assert_text(job->topic, "a/b");
    assert_text(job->body, "\xe4\xbd\xa0");
}

static void refuses_what_cannot_be_meant(void **state)
{
    assert_refused("", "the body is not JSON, or not UTF-8");
    assert_refused("{", "the body is not JSON, or not UTF-8");
    assert_refused("topic=a", "the body is not JSON, or not UTF-8");
    assert_refused("{\"topic\":\"\xff\"}", "the body is not JSON, or not UTF-8");
    assert_refused("[]", "the body must be a job, an object");
    assert_refused("null", "the body must be a job, an object");
    assert_refused("{\"topic\":[\"a\"]}", "topic must be a text");
    assert_refused("{\"body\":{\"a\":1}}", "body must be a text");
    assert_refused("{\"delay\":\"soon\"}", "delay must be a whole number");
    assert_refused("{\"delay\":\"1.5\"}", "delay must be a whole number");
    assert_refused("{\"delay\":true}", "delay must be a whole number");
    assert_refused("{\"createTime\":1e30}", "createTime must be a whole number");
    assert_refused("{\"ttl\":99999999999999999999.0}", "ttl must be a whole number");
    assert_refused("{\"ttl\":0.0000000000000000000000000000000000000000000001}",
                   "ttl must be a whole number");
}

/* ---- due ---- */

static void assert_due(const char *json, int64_t at_ms, int64_t delay_ms)
{
    int64_t at, delay;

    assert_true(mykit_job_due(job_of(json), &at, &delay));
    assert_int_equal(at, at_ms);
    assert_int_equal(delay, delay_ms);
}

static void is_due_its_delay_after_it_was_created(void **state)
{
    assert_due("{\"createTime\":1700000000000,\"delay\":5000}", 1700000005000, 0);
    assert_due("{\"createTime\":1700000000000}", 1700000000000, 0);
    assert_due("{\"delay\":5000}", 0, 5000);
    assert_due("{}", 0, 0);
}

static void is_due_at_once_where_that_is_past(void **state)
{
    assert_due("{\"delay\":-5000}", 0, 0);
    assert_due("{\"createTime\":0}", 1, 0);
    assert_due("{\"createTime\":-9000000000000000000,\"delay\":-9000000000000000000}", 1, 0);
    assert_due("{\"createTime\":1700000000000,\"delay\":-1}", 1699999999999, 0);
}

static void is_never_due_so_far_ahead_that_it_cannot_be_meant(void **state)
{
    int64_t at, delay;

    assert_false(mykit_job_due(job_of("{\"delay\":9223372036854775807}"), &at, &delay));
    assert_false(mykit_job_due(
        job_of("{\"createTime\":9223372036854775807,\"delay\":9223372036854775807}"), &at,
        &delay));
    assert_false(
        mykit_job_due(job_of("{\"createTime\":281474976710655,\"delay\":1}"), &at, &delay));
}

/* ---- what travels with it ---- */

static struct bytes packed(const char *json, struct attributes *room)
{
    assert_true(mykit_job_pack(job_of(json), room));
    return attributes_packed(room);
}

static void packs_what_the_store_does_not_keep(void **state)
{
    struct attributes room;
    struct bytes all = packed("{\"topic\":\"t\",\"subtopic\":\"s\",\"bizKey\":\"k\",\"ttl\":12,"
                              "\"delay\":5,\"createTime\":1700000000000}",
                              &room);
    struct bytes value;

    assert_true(attributes_find(all, BYTES("subtopic"), &value));
    assert_text(value, "s");
    assert_true(attributes_find(all, BYTES("bizKey"), &value));
    assert_text(value, "k");
    assert_true(attributes_find(all, BYTES("ttl"), &value));
    assert_text(value, "12");
    assert_true(attributes_find(all, BYTES("delay"), &value));
    assert_text(value, "5");
    assert_true(attributes_find(all, BYTES("createTime"), &value));
    assert_text(value, "1700000000000");
}

static void packs_nothing_where_nothing_was_given(void **state)
{
    struct attributes room;

    assert_int_equal(packed("{\"topic\":\"t\",\"subtopic\":\"\",\"delay\":7}", &room).len, 0);
}

static void refuses_to_pack_too_much(void **state)
{
    static char json[ATTRIBUTES_MAX_BYTES + 64];
    struct mykit_job job;
    struct attributes room;
    const char *why;

    strcpy(json, "{\"subtopic\":\"");
    memset(json + strlen(json), 'x', ATTRIBUTES_MAX_BYTES);
    strcat(json, "\"}");
    assert_true(mykit_job_read(bytes_of_text(json), &job, &why));
    assert_false(mykit_job_pack(&job, &room));
}

/* ---- an id ---- */

static void assert_id(const char *json, const char *address, const char *expected)
{
    struct buf out = BUF_INIT;

    mykit_id_add(&out, job_of(json), bytes_of_text(address), 42);
    assert_true(job_id_is_valid(buf_bytes(&out)));
    assert_written(&out, expected);
}

static void makes_an_id_of_topic_key_address_and_number(void **state)
{
    assert_id("{\"topic\":\"t\"}", "10.0.0.7", "t:10.0.0.7:42");
    assert_id("{\"topic\":\"t\",\"bizKey\":\"k\"}", "10.0.0.7", "t:k:10.0.0.7:42");
    assert_id("{\"topic\":\"t\"}", "[fd00::7]", "t:[fd00::7]:42");
    assert_id("{\"topic\":\"t\"}", "", "t:42");
}

static void leaves_out_of_an_id_what_cannot_be_in_one(void **state)
{
    char topic[NAME_MAX_BYTES + 1], json[512], expected[NAME_MAX_BYTES + 1];

    assert_id("{\"topic\":\"t\",\"bizKey\":\"a b\"}", "h", "t:h:42");
    assert_id("{\"topic\":\"t\",\"bizKey\":\"\\u4f60\"}", "h", "t:h:42");
    memset(topic, 'x', NAME_MAX_BYTES);
    topic[NAME_MAX_BYTES] = '\0';
    snprintf(json, sizeof(json), "{\"topic\":\"%s\",\"bizKey\":\"k\"}", topic);
    snprintf(expected, sizeof(expected), "%.*s:h:42", NAME_MAX_BYTES - 5, topic);
    assert_id(json, "h", expected);
    snprintf(json, sizeof(json), "{\"topic\":\"t\",\"bizKey\":\"%s\"}", topic);
    assert_id(json, "h", "t:h:42");
}

/* ---- replies ---- */

#define REST "\"includes\":null,\"excludes\":null,\"onlyData\":false,\"callback\":null,"

static void writes_the_envelope(void **state)
{
    struct buf out = BUF_INIT;

    mykit_add_ok(&out);
    assert_written(&out,
                   "{\"success\":true,\"data\":null,\"code\":200," REST "\"message\":null}");
    mykit_add_text(&out, BYTES("a\"b"));
    assert_written(&out, "{\"success\":true,\"data\":\"a\\\"b\",\"code\":200," REST
                         "\"message\":null}");
    mykit_add_error(&out, BYTES("非法参数"));
    assert_written(&out, "{\"success\":false,\"data\":null,\"code\":500," REST
                         "\"message\":\"非法参数\"}");
}

static void hands_out_a_job_as_it_was_pushed(void **state)
{
    struct attributes room;
    struct job job = {.id = BYTES("i"),
                      .body = BYTES("b"),
                      .delay_ms = 0,
                      .due_ms = 1700000000005,
                      .extra = {.is_there = true, .created_ms = 1600000000000}};
    struct buf out = BUF_INIT;

    job.extra.attributes = packed("{\"subtopic\":\"s\",\"bizKey\":\"k\",\"ttl\":12,\"delay\":5,"
                                  "\"createTime\":1700000000000}",
                                  &room);
    mykit_add_job(&out, BYTES("t"), &job);
    assert_written(&out, "{\"success\":true,\"data\":{\"topic\":\"t\",\"subtopic\":\"s\","
                         "\"id\":\"i\",\"bizKey\":\"k\",\"delay\":5,\"ttl\":12,\"body\":\"b\","
                         "\"createTime\":1700000000000,\"status\":2},\"code\":200," REST
                         "\"message\":null}");
}

static void works_out_what_a_job_of_another_protocol_lacks(void **state)
{
    struct job job = {
        .id = BYTES("i"), .body = BYTES("\xff"), .delay_ms = 5, .due_ms = 1700000000005};
    struct buf out = BUF_INIT;

    mykit_add_job(&out, BYTES("t"), &job);
    assert_written(&out, "{\"success\":true,\"data\":{\"topic\":\"t\",\"subtopic\":null,"
                         "\"id\":\"i\",\"bizKey\":null,\"delay\":5,\"ttl\":0,"
                         "\"body\":\"\xef\xbf\xbd\",\"bodyBase64\":\"/w==\","
                         "\"createTime\":1700000000000,\"status\":2},\"code\":200," REST
                         "\"message\":null}");
}

static void tells_its_health_as_spring_does(void **state)
{
    struct mykit_health health = {
        .is_up = true, .is_master = true, .bucket_count = 64, .prefix = BYTES("dq")};
    struct buf out = BUF_INIT;

    mykit_add_health(&out, &health);
    assert_written(&out, "{\"status\":\"UP\",\"jikexiu\":{\"status\":\"UP\",\"mykit-delay\":"
                         "{\"status\":\"UP\",\"run\":true,\"isMaster\":true,"
                         "\"isCluster\":false,\"bucketSize\":64,\"prefix\":\"dq\","
                         "\"namespace\":\"mykit-delay\"}}}");
    health.is_up = false;
    mykit_add_health(&out, &health);
    assert_non_null(strstr(buf_text(&out), "{\"status\":\"DOWN\",\"run\":false,"));
    buf_fini(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_that_mykit_delay_names),
        cmocka_unit_test(takes_what_is_missing_or_null_as_not_given),
        cmocka_unit_test(ignores_what_it_does_not_know_and_takes_the_last_of_two),
        cmocka_unit_test(takes_texts_and_numbers_for_each_other),
        cmocka_unit_test(resolves_escapes),
        cmocka_unit_test(refuses_what_cannot_be_meant),
        cmocka_unit_test(is_due_its_delay_after_it_was_created),
        cmocka_unit_test(is_due_at_once_where_that_is_past),
        cmocka_unit_test(is_never_due_so_far_ahead_that_it_cannot_be_meant),
        cmocka_unit_test(packs_what_the_store_does_not_keep),
        cmocka_unit_test(packs_nothing_where_nothing_was_given),
        cmocka_unit_test(refuses_to_pack_too_much),
        cmocka_unit_test(makes_an_id_of_topic_key_address_and_number),
        cmocka_unit_test(leaves_out_of_an_id_what_cannot_be_in_one),
        cmocka_unit_test(writes_the_envelope),
        cmocka_unit_test(hands_out_a_job_as_it_was_pushed),
        cmocka_unit_test(works_out_what_a_job_of_another_protocol_lacks),
        cmocka_unit_test(tells_its_health_as_spring_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
