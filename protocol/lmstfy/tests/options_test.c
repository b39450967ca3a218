/* Options of a publish and a consume, and bulk bodies. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/lmstfy/codec.h"

static struct bytes given(const char *text)
{
    return text ? bytes_of_text(text) : (struct bytes){NULL, 0};
}

static struct lmstfy_publish publish(const char *delay, const char *ttl, const char *tries)
{
    struct lmstfy_publish out = {0};

    assert_null(lmstfy_read_publish(given(delay), given(ttl), given(tries), &out));
    return out;
}

static const char *publish_refused(const char *delay, const char *ttl, const char *tries)
{
    struct lmstfy_publish out;

    return lmstfy_read_publish(given(delay), given(ttl), given(tries), &out);
}

static void a_publish_without_options_has_the_originals_defaults(void **state)
{
    struct lmstfy_publish out = publish(NULL, NULL, NULL);

    (void)state;
    assert_int_equal(out.delay_ms, 0);
    assert_int_equal(out.ttl_ms, 86400000);
    assert_int_equal(out.tries, 1);
}

static void a_publish_says_seconds(void **state)
{
    struct lmstfy_publish out = publish("7", "30", "4");

    (void)state;
    assert_int_equal(out.delay_ms, 7000);
    assert_int_equal(out.ttl_ms, 30000);
    assert_int_equal(out.tries, 4);
    assert_int_equal(publish("4294967295", "0", "1").delay_ms, INT64_C(4294967295000));
    assert_int_equal(publish("5", "0", NULL).ttl_ms, 0);
}

static void more_than_the_engine_can_count_is_as_much_as_it_can(void **state)
{
    (void)state;
    assert_int_equal(publish(NULL, "4294967295", NULL).ttl_ms, 0);
    assert_int_equal(publish(NULL, "315360000", NULL).ttl_ms, INT64_C(315360000000));
    assert_int_equal(publish(NULL, "315360001", NULL).ttl_ms, 0);
    assert_int_equal(publish(NULL, NULL, "65535").tries, RULES_TRIES_MAX);
}

static void a_publish_that_is_wrong_is_told_in_the_originals_words(void **state)
{
    static const char *const wrong[] = {
        "", "-1", "+1", "1.5", "x", " 1", "1 ", "4294967296", "99999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_string_equal(publish_refused(wrong[i], NULL, NULL), "invalid delay");
        assert_string_equal(publish_refused(NULL, wrong[i], NULL), "invalid ttl");
        assert_string_equal(publish_refused(NULL, NULL, wrong[i]), "invalid tries");
    }
    assert_string_equal(publish_refused(NULL, NULL, "65536"), "invalid tries");
    assert_string_equal(publish_refused(NULL, NULL, "0"), "tries shouldn't be zero");
    assert_string_equal(publish_refused("11", "10", NULL), "ttl is shorter than delay");
    assert_string_equal(publish_refused("10", "10", NULL), "ttl is shorter than delay");
    assert_null(publish_refused("10", "11", NULL));
}

static struct lmstfy_consume consume(const char *ttr, const char *timeout, const char *count)
{
    struct lmstfy_consume out = {0};

    assert_null(
        lmstfy_read_consume(given(ttr), given(timeout), given(count), given(NULL), &out));
    return out;
}

static const char *consume_refused(const char *ttr, const char *timeout, const char *count,
                                   const char *freeze)
{
    struct lmstfy_consume out;

    return lmstfy_read_consume(given(ttr), given(timeout), given(count), given(freeze), &out);
}

static void a_consume_has_defaults_and_says_seconds(void **state)
{
    (void)state;
    assert_int_equal(consume(NULL, NULL, NULL).ttr_ms, 120000);
    assert_int_equal(consume(NULL, NULL, NULL).wait_ms, 0);
    assert_int_equal(consume(NULL, NULL, NULL).count, 1);
    assert_int_equal(consume("3", "600", "100").ttr_ms, 3000);
    assert_int_equal(consume("3", "4294967295", "100").wait_ms, INT64_C(4294967295000));
    assert_int_equal(consume("3", "600", "100").count, 100);
}

/* A TTR of 0 would mean that the job is done with its delivery. */
static void a_ttr_is_at_least_a_second_and_at_most_a_week(void **state)
{
    (void)state;
    assert_int_equal(consume("0", NULL, NULL).ttr_ms, 1000);
    assert_int_equal(consume("4294967295", NULL, NULL).ttr_ms, QUEUE_TTR_MAX_MS);
}

static void a_consume_that_is_wrong_is_told_in_the_originals_words(void **state)
{
    (void)state;
    assert_string_equal(consume_refused("x", NULL, NULL, NULL), "invalid ttr");
    assert_string_equal(consume_refused(NULL, "-1", NULL, NULL), "invalid timeout");
    assert_string_equal(consume_refused(NULL, NULL, "0", NULL), "invalid count");
    assert_string_equal(consume_refused(NULL, NULL, "101", NULL), "invalid count");
    assert_string_equal(consume_refused(NULL, NULL, "", NULL), "invalid count");
    assert_string_equal(consume_refused(NULL, NULL, NULL, "maybe"),
                        "invalid freeze_tries value");
    assert_null(consume_refused(NULL, NULL, NULL, "false"));
    assert_string_equal(consume_refused(NULL, NULL, NULL, "true"),
                        "freeze_tries is not supported: publish with more tries");
}

/* ---- attributes ---- */

static const char *take(struct attributes *attributes, const char *name, const char *value)
{
    return lmstfy_take_header(attributes, bytes_of_text(name), bytes_of_text(value));
}

static void assert_attribute(const struct attributes *attributes, const char *name,
                             const char *value)
{
    struct bytes found;

    assert_true(attributes_find(attributes_packed(attributes), bytes_of_text(name), &found));
    assert_true(bytes_equal(found, bytes_of_text(value)));
}

static void headers_are_attributes_with_names_in_lower_case(void **state)
{
    struct attributes attributes = {0};

    (void)state;
    assert_null(take(&attributes, "Job-Attr-Trace-Id", "Ab"));
    assert_null(take(&attributes, "jOB-aTTR-x", ""));
    assert_null(take(&attributes, "Job-Attr-X", "second"));
    assert_null(take(&attributes, "Job-Attr-", "none"));
    assert_null(take(&attributes, "Job-Attribute", "none"));
    assert_null(take(&attributes, "Host", "h"));
    assert_int_equal(attributes.count, 2);
    assert_attribute(&attributes, "trace-id", "Ab");
    assert_attribute(&attributes, "x", "");
}

static void attributes_have_limits(void **state)
{
    struct attributes attributes = {0};
    char name[64], value[160];

    (void)state;
    memset(value, 'v', sizeof(value));
    value[128] = '\0';
    snprintf(name, sizeof(name), "Job-Attr-%.32s", value);
    assert_null(take(&attributes, name, value));
    snprintf(name, sizeof(name), "Job-Attr-%.33s", value);
    assert_string_equal(take(&attributes, name, ""),
                        "the name of an attribute has more than 32 bytes");
    value[128] = 'v';
    value[129] = '\0';
    assert_string_equal(take(&attributes, "Job-Attr-y", value),
                        "the value of an attribute has more than 128 bytes");
    for (unsigned i = 1; i < 16; i++) {
        snprintf(name, sizeof(name), "Job-Attr-%u", i);
        assert_null(take(&attributes, name, "x"));
    }
    assert_string_equal(take(&attributes, "Job-Attr-y", ""), "more than 16 attributes");
    assert_null(take(&attributes, "Job-Attr-3", "again"));
    assert_int_equal(attributes.count, 16);
}

/* ---- bulk ---- */

static struct bytes jobs[LMSTFY_BULK_MAX];
static unsigned job_count;

static const char *bulk(const char *body)
{
    return lmstfy_read_bulk(bytes_of_text(body), jobs, &job_count);
}

static void each_job_of_a_bulk_is_its_raw_json(void **state)
{
    (void)state;
    assert_null(bulk(" [ {\"a\": 1.50 } , \"b\\u0041\" ,[1, 2],null , 7e1 ] "));
    assert_int_equal(job_count, 5);
    assert_true(bytes_equal(jobs[0], BYTES("{\"a\": 1.50 }")));
    assert_true(bytes_equal(jobs[1], BYTES("\"b\\u0041\"")));
    assert_true(bytes_equal(jobs[2], BYTES("[1, 2]")));
    assert_true(bytes_equal(jobs[3], BYTES("null")));
    assert_true(bytes_equal(jobs[4], BYTES("7e1")));
}

static void a_bulk_that_is_wrong_is_told_in_the_originals_words(void **state)
{
    static const char no_list[] = "request body should be an array of objects";
    struct buf many = BUF_INIT;

    (void)state;
    assert_string_equal(bulk(""), no_list);
    assert_string_equal(bulk("{\"a\":1}"), no_list);
    assert_string_equal(bulk("\"a\""), no_list);
    assert_string_equal(bulk("[1,]"), no_list);
    assert_string_equal(bulk("[1] x"), no_list);
    assert_string_equal(bulk("[]"), "no jobs");
    assert_string_equal(bulk(" null "), "no jobs");
    buf_add_text(&many, "[1");
    for (unsigned i = 1; i < LMSTFY_BULK_MAX; i++)
        buf_add_text(&many, ",1");
    buf_add_text(&many, "]");
    assert_null(bulk(buf_text(&many)));
    assert_int_equal(job_count, LMSTFY_BULK_MAX);
    many.len--;
    buf_add_text(&many, ",1]");
    assert_string_equal(bulk(buf_text(&many)), "too many jobs");
    buf_fini(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_publish_without_options_has_the_originals_defaults),
        cmocka_unit_test(a_publish_says_seconds),
        cmocka_unit_test(more_than_the_engine_can_count_is_as_much_as_it_can),
        cmocka_unit_test(a_publish_that_is_wrong_is_told_in_the_originals_words),
        cmocka_unit_test(a_consume_has_defaults_and_says_seconds),
        cmocka_unit_test(a_ttr_is_at_least_a_second_and_at_most_a_week),
        cmocka_unit_test(a_consume_that_is_wrong_is_told_in_the_originals_words),
        cmocka_unit_test(headers_are_attributes_with_names_in_lower_case),
        cmocka_unit_test(attributes_have_limits),
        cmocka_unit_test(each_job_of_a_bulk_is_its_raw_json),
        cmocka_unit_test(a_bulk_that_is_wrong_is_told_in_the_originals_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
