#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "node/queue/queue.h"
#include "protocol/http/api_decode.h"

/* What a body is decoded to. A copy of exactly its bytes, so that a sanitizer sees a step
 * beyond. */
struct decoded {
    char *copy;
    struct bytes value;
    enum status status;
    struct api_push push;
    struct api_lease lease;
    struct api_why why;
};

static struct decoded decode(struct bytes text)
{
    struct decoded d = {.copy = malloc(text.len ? text.len : 1)};

    assert_non_null(d.copy);
    memcpy(d.copy, text.at, text.len);
    d.status = api_decode(bytes_of(d.copy, text.len), &d.value, &d.why);
    return d;
}

static struct decoded decode_push(const char *text)
{
    struct decoded d = decode(bytes_of_text(text));

    assert_int_equal(d.status, STATUS_OK);
    d.push.ttr_ms = -7;
    d.status = api_decode_push(d.value, &d.push, &d.why);
    if (d.status)
        assert_int_equal(d.push.ttr_ms, -7);
    return d;
}

static struct decoded decode_lease(const char *text, enum op_verb verb)
{
    struct decoded d = decode(bytes_of_text(text));

    assert_int_equal(d.status, STATUS_OK);
    d.lease.stamp = -7;
    d.status = api_decode_lease(d.value, verb, &d.lease, &d.why);
    if (d.status)
        assert_int_equal(d.lease.stamp, -7);
    return d;
}

static void assert_bytes(struct bytes got, struct bytes expected)
{
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.at, expected.at, expected.len);
}

static void assert_refused(struct decoded d, const char *text, enum status status,
                           const char *why)
{
    if (d.status != status || !strstr(d.why.text, why))
        fail_msg("%s: %s: %s", text, status_word(d.status), d.why.text);
    free(d.copy);
}

/* ---- jobs ---- */

static void reads_a_job_with_all_its_members(void **state)
{
    struct decoded d = decode_push(" {\"ttr_ms\": 5000, \"id\":\"a\\u002f1\",\n\"body\":"
                                   "\"gr\\u00fc\\u00df \\\"dich\\\"\\u0000\", \"delay_ms\" "
                                   ": 10} ");

    assert_int_equal(d.status, STATUS_OK);
    assert_bytes(d.push.id, BYTES("a/1"));
    assert_bytes(d.push.body, BYTES("gr\xc3\xbc\xc3\x9f \"dich\"\0"));
    assert_int_equal(d.push.delay_ms, 10);
    assert_int_equal(d.push.at_ms, 0);
    assert_int_equal(d.push.ttr_ms, 5000);
    free(d.copy);
}

static void gives_a_job_its_defaults(void **state)
{
    struct decoded d = decode_push("{\"body\":\"\"}");

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.push.id.len, 0);
    assert_int_equal(d.push.body.len, 0);
    assert_int_equal(d.push.delay_ms, 0);
    assert_int_equal(d.push.ttr_ms, API_TTR_DEFAULT_MS);
    free(d.copy);
}

static void reads_a_body_in_base64(void **state)
{
    struct decoded d = decode_push("{\"body_base64\":\"AP\\/+gA==\",\"at_ms\":1800000000000}");

    assert_int_equal(d.status, STATUS_OK);
    assert_bytes(d.push.body, BYTES("\0\xff\xfe\x80"));
    assert_int_equal(d.push.at_ms, 1800000000000);
    free(d.copy);
}

static void takes_numbers_up_to_their_bounds(void **state)
{
    struct decoded d = decode_push("{\"body\":\"\",\"delay_ms\":315360000000,\"ttr_ms\":0}");

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.push.delay_ms, QUEUE_DELAY_MAX_MS);
    assert_int_equal(d.push.ttr_ms, 0);
    free(d.copy);
    d = decode_push("{\"body\":\"\",\"at_ms\":281474976710655,\"ttr_ms\":604800000}");
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.push.at_ms, QUEUE_AT_MAX_MS);
    assert_int_equal(d.push.ttr_ms, QUEUE_TTR_MAX_MS);
    free(d.copy);
    d = decode_push("{\"body\":\"\",\"delay_ms\":-0}");
    assert_int_equal(d.status, STATUS_OK);
    free(d.copy);
}

static void refuses_a_job_and_names_the_member(void **state)
{
    static const struct {
        const char *text;
        enum status status;
        const char *why;
    } cases[] = {
        {"1", STATUS_BAD_REQUEST, "not an object"},
        {"null", STATUS_BAD_REQUEST, "not an object"},
        {"[]", STATUS_BAD_REQUEST, "not an object"},
        {"{}", STATUS_BAD_REQUEST, "body: missing"},
        {"{\"body\":\"\",\"body_base64\":\"\"}", STATUS_BAD_REQUEST, "body: given twice"},
        {"{\"body\":\"\",\"body\":\"\"}", STATUS_BAD_REQUEST, "body: given twice"},
        {"{\"body\":\"\",\"b\\u006fdy\":\"\"}", STATUS_BAD_REQUEST, "body: given twice"},
        {"{\"body\":{\"a\":1}}", STATUS_BAD_REQUEST, "body: not a string"},
        {"{\"body\":7}", STATUS_BAD_REQUEST, "body: not a string"},
        {"{\"body\":null}", STATUS_BAD_REQUEST, "body: not a string"},
        {"{\"body_base64\":\"Zg\"}", STATUS_BAD_REQUEST, "body_base64: not base64"},
        {"{\"body\":\"\",\"id\":7}", STATUS_BAD_REQUEST, "id: not a string"},
        {"{\"body\":\"\",\"id\":null}", STATUS_BAD_REQUEST, "id: not a string"},
        {"{\"body\":\"\",\"id\":\"\"}", STATUS_BAD_ID, "id: empty"},
        {"{\"body\":\"\",\"delay\":7}", STATUS_BAD_REQUEST, "delay: unknown member"},
        {"{\"body\":\"\",\"Delay_ms\":7}", STATUS_BAD_REQUEST, "Delay_ms: unknown member"},
        {"{\"body\":\"\",\"\":7}", STATUS_BAD_REQUEST, ": unknown member"},
        {"{\"body\":\"\",\"body\\u0000\":\"\"}", STATUS_BAD_REQUEST, "unknown member"},
        {"{\"body\":\"\",\"delay_ms\":\"7\"}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":1.5}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":1e3}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":true}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":null}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":1,\"delay_ms\":1}", STATUS_BAD_REQUEST,
         "delay_ms: given twice"},
        {"{\"body\":\"\",\"delay_ms\":1,\"at_ms\":1}", STATUS_BAD_REQUEST,
         "delay_ms: not together with at_ms"},
        {"{\"body\":\"\",\"delay_ms\":-1}", STATUS_OUT_OF_RANGE, "from 0 to 315360000000"},
        {"{\"body\":\"\",\"delay_ms\":315360000001}", STATUS_OUT_OF_RANGE, "delay_ms: not"},
        {"{\"body\":\"\",\"at_ms\":-1}", STATUS_OUT_OF_RANGE, "at_ms: not"},
        {"{\"body\":\"\",\"at_ms\":281474976710656}", STATUS_OUT_OF_RANGE, "at_ms: not"},
        {"{\"body\":\"\",\"ttr_ms\":604800001}", STATUS_OUT_OF_RANGE, "from 0 to 604800000"},
        {"{\"body\":\"\",\"ttr_ms\":-9223372036854775808}", STATUS_OUT_OF_RANGE, "ttr_ms: not"},
        {"{\"body\":\"\",\"ttr_ms\":18446744073709551616}", STATUS_OUT_OF_RANGE, "ttr_ms: not"},
        {"{\"body\":\"\",\"ttr_ms\":999999999999999999999999999999999999999999999999999}",
         STATUS_OUT_OF_RANGE, "ttr_ms: not"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_refused(decode_push(cases[i].text), cases[i].text, cases[i].status,
                       cases[i].why);
}

static void quotes_no_more_of_a_client_than_fits(void **state)
{
    struct buf text = BUF_INIT;
    struct decoded d;

    buf_add_text(&text, "{\"");
    for (unsigned i = 0; i < 100000; i++)
        buf_add_char(&text, 'x');
    buf_add_text(&text, "\":1}");
    d = decode_push(buf_text(&text));
    assert_int_equal(d.status, STATUS_BAD_REQUEST);
    assert_non_null(strstr(d.why.text, "xxx: unknown member"));
    assert_true(strlen(d.why.text) < 100);
    free(d.copy);
    buf_fini(&text);
}

static void counts_the_jobs_of_a_list(void **state)
{
    struct buf text = BUF_INIT;
    struct api_why why;
    unsigned count = 7;

    assert_int_equal(api_count_jobs(BYTES("[]"), &count, &why), STATUS_OUT_OF_RANGE);
    assert_string_equal(why.text, "a list has 1 to 1000 jobs");
    assert_int_equal(api_count_jobs(BYTES("[{},[1,2],\"]\"]"), &count, &why), STATUS_OK);
    assert_int_equal(count, 3);
    buf_add_text(&text, "[0");
    for (unsigned i = 1; i < API_JOBS_MAX; i++)
        buf_add_text(&text, ",0");
    buf_add_char(&text, ']');
    assert_int_equal(api_count_jobs(buf_bytes(&text), &count, &why), STATUS_OK);
    assert_int_equal(count, API_JOBS_MAX);
    text.len--;
    buf_add_text(&text, ",0]");
    assert_int_equal(api_count_jobs(buf_bytes(&text), &count, &why), STATUS_OUT_OF_RANGE);
    assert_int_equal(count, API_JOBS_MAX);
    buf_fini(&text);
}

/* ---- leases ---- */

static void reads_a_lease_and_what_may_stand_beside_it(void **state)
{
    struct decoded d = decode_lease("{\"lease\":\"140737488355327\"}", OP_ACK);

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.lease.stamp, JOB_STAMP_MAX);
    free(d.copy);
    d = decode_lease("{\"delay_ms\":3,\"lease\":\"1\"}", OP_RELEASE);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.lease.stamp, 1);
    assert_int_equal(d.lease.delay_ms, 3);
    assert_int_equal(d.lease.ttr_ms, 0);
    free(d.copy);
    d = decode_lease("{\"lease\":\"1\",\"ttr_ms\":4}", OP_TOUCH);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.lease.delay_ms, 0);
    assert_int_equal(d.lease.ttr_ms, 4);
    free(d.copy);
    d = decode_lease("{\"lease\":\"1\"}", OP_TOUCH);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.lease.ttr_ms, 0);
    free(d.copy);
}

static void refuses_a_lease_that_no_pop_has_given(void **state)
{
    static const struct {
        const char *text;
        enum op_verb verb;
        enum status status;
        const char *why;
    } cases[] = {
        {"{}", OP_ACK, STATUS_BAD_REQUEST, "lease: missing"},
        {"{\"lease\":1}", OP_ACK, STATUS_BAD_REQUEST, "lease: not a string"},
        {"{\"lease\":\"\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"x\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"-1\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1 \"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"140737488355328\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"18446744073709551617\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1\",\"delay_ms\":1}", OP_ACK, STATUS_BAD_REQUEST, "delay_ms: unknown"},
        {"{\"lease\":\"1\",\"ttr_ms\":1}", OP_RELEASE, STATUS_BAD_REQUEST, "ttr_ms: unknown"},
        {"{\"lease\":\"1\",\"delay_ms\":1}", OP_TOUCH, STATUS_BAD_REQUEST, "delay_ms: unknown"},
        {"{\"lease\":\"1\",\"delay_ms\":-1}", OP_RELEASE, STATUS_OUT_OF_RANGE, "delay_ms: not"},
        {"{\"lease\":\"1\",\"ttr_ms\":604800001}", OP_TOUCH, STATUS_OUT_OF_RANGE,
         "ttr_ms: not"},
        {"\"1\"", OP_ACK, STATUS_BAD_REQUEST, "not an object"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_refused(decode_lease(cases[i].text, cases[i].verb), cases[i].text,
                       cases[i].status, cases[i].why);
}

/* ---- the whole body ---- */

static void refuses_what_is_not_json_and_says_where(void **state)
{
    static const struct {
        struct bytes text;
        const char *why;
    } cases[] = {
        {BYTES(""), "the body is not JSON, at byte 0"},
        {BYTES("{\"body\":\"\",}"), "the body is not JSON, at byte 11"},
        {BYTES("{} {}"), "the body is not JSON, at byte 3"},
        {BYTES("\"\xff\""), "the body is not UTF-8, at byte 1"},
        {BYTES("\"\\ud800\""), "a \\u escape is half a character"},
        {BYTES("\xef\xbb\xbf{}"), "the body is not JSON, at byte 0"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_refused(decode(cases[i].text), cases[i].text.at, STATUS_BAD_REQUEST,
                       cases[i].why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_job_with_all_its_members),
        cmocka_unit_test(gives_a_job_its_defaults),
        cmocka_unit_test(reads_a_body_in_base64),
        cmocka_unit_test(takes_numbers_up_to_their_bounds),
        cmocka_unit_test(refuses_a_job_and_names_the_member),
        cmocka_unit_test(quotes_no_more_of_a_client_than_fits),
        cmocka_unit_test(counts_the_jobs_of_a_list),
        cmocka_unit_test(reads_a_lease_and_what_may_stand_beside_it),
        cmocka_unit_test(refuses_a_lease_that_no_pop_has_given),
        cmocka_unit_test(refuses_what_is_not_json_and_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
