#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "node/queue/queue.h"
#include "protocol/api/decode.h"

/* What a body is decoded to. A copy of exactly its bytes, so that a sanitizer sees a step
 * beyond. */
struct decoded {
    char *copy;
    struct bytes value;
    enum status status;
    struct op op;
    struct api_why why;
};

static struct decoded decode(struct bytes text)
{
    struct decoded d = {.copy = malloc(text.len ? text.len : 1), .why = {""}};

    assert_non_null(d.copy);
    memcpy(d.copy, text.at, text.len);
    d.status = api_decode(bytes_of(d.copy, text.len), &d.value, &d.why);
    return d;
}

static struct decoded decode_push(const char *text)
{
    struct decoded d = decode(bytes_of_text(text));

    assert_int_equal(d.status, STATUS_OK);
    d.op = (struct op){.verb = OP_PUSH, .in.push.ttr_ms = -7};
    d.status = api_decode_push(d.value, &d.op, &d.why);
    if (d.status)
        assert_int_equal(d.op.in.push.ttr_ms, -7);
    return d;
}

static struct decoded decode_lease(const char *text, enum op_verb verb)
{
    struct decoded d = decode(bytes_of_text(text));

    assert_int_equal(d.status, STATUS_OK);
    d.op = (struct op){.verb = verb, .in.lease.stamp = -7};
    d.status = api_decode_lease(d.value, &d.op, &d.why);
    if (d.status)
        assert_int_equal(d.op.in.lease.stamp, -7);
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
    assert_bytes(d.op.id, BYTES("a/1"));
    assert_bytes(d.op.in.push.body, BYTES("gr\xc3\xbc\xc3\x9f \"dich\"\0"));
    assert_int_equal(d.op.in.push.delay_ms, 10);
    assert_int_equal(d.op.in.push.at_ms, 0);
    assert_int_equal(d.op.in.push.ttr_ms, 5000);
    free(d.copy);
}

static void leaves_what_is_not_given_to_the_topic(void **state)
{
    struct decoded d = decode_push("{\"body\":\"\"}");

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.id.len, 0);
    assert_int_equal(d.op.in.push.body.len, 0);
    assert_int_equal(d.op.in.push.delay_ms, 0);
    assert_int_equal(d.op.in.push.mode, PUSH_REJECT);
    assert_int_equal(d.op.in.push.given, 0);
    free(d.copy);
    d = decode_push("{\"body\":\"\",\"ttr_ms\":0,\"ttl_ms\":0}");
    assert_int_equal(d.op.in.push.given, SETTING_BIT(TTR) | SETTING_BIT(TTL));
    free(d.copy);
}

static void reads_the_rules_of_a_job(void **state)
{
    struct decoded d = decode_push(
        "{\"body\":\"\",\"priority\":4294967295,\"max_tries\":65534,\"ttl_ms\":315360000000,"
        "\"mode\":\"repl\\u0061ce\",\"backoff\":{\"kind\":\"exponential\",\"base_ms\":1,"
        "\"cap_ms\":2592000000,\"jitter_percent\":100}}");

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.push.rules.priority, RULES_PRIORITY_MAX);
    assert_int_equal(d.op.in.push.rules.max_tries, RULES_TRIES_MAX);
    assert_int_equal(d.op.in.push.rules.backoff.kind, BACKOFF_EXPONENTIAL);
    assert_int_equal(d.op.in.push.rules.backoff.base_ms, 1);
    assert_int_equal(d.op.in.push.rules.backoff.cap_ms, RULES_BACKOFF_MAX_MS);
    assert_int_equal(d.op.in.push.rules.backoff.jitter_percent, 100);
    assert_int_equal(d.op.in.push.ttl_ms, QUEUE_DELAY_MAX_MS);
    assert_int_equal(d.op.in.push.mode, PUSH_REPLACE);
    assert_int_equal(d.op.in.push.given, SETTING_BIT(PRIORITY) | SETTING_BIT(MAX_TRIES) |
                                             SETTING_BIT(BACKOFF) | SETTING_BIT(TTL));
    free(d.copy);
}

static void refuses_a_backoff_that_is_none(void **state)
{
    static const struct {
        const char *backoff;
        enum status status;
        const char *why;
    } cases[] = {
        {"null", STATUS_BAD_REQUEST, "backoff: not an object"},
        {"\"fixed\"", STATUS_BAD_REQUEST, "backoff: not an object"},
        {"{}", STATUS_BAD_REQUEST, "backoff.kind: not one of none, fixed, exponential"},
        {"{\"kind\":\"Fixed\"}", STATUS_BAD_REQUEST, "backoff.kind: not one of"},
        {"{\"kind\":1}", STATUS_BAD_REQUEST, "backoff.kind: not a string"},
        {"{\"kind\":\"fixed\"}", STATUS_BAD_REQUEST, "backoff.base_ms: missing"},
        {"{\"kind\":\"none\",\"base_ms\":1}", STATUS_BAD_REQUEST,
         "backoff.base_ms: not with the kind none"},
        {"{\"kind\":\"none\",\"jitter_percent\":0}", STATUS_BAD_REQUEST,
         "backoff.jitter_percent: not with the kind none"},
        {"{\"kind\":\"none\",\"max_ms\":1}", STATUS_BAD_REQUEST,
         "backoff.max_ms: unknown member"},
        {"{\"kind\":\"none\",\"kind\":\"none\"}", STATUS_BAD_REQUEST,
         "backoff.kind: given twice"},
        {"{\"kind\":\"fixed\",\"base_ms\":0}", STATUS_OUT_OF_RANGE,
         "backoff.base_ms: not from 1 to 2592000000"},
        {"{\"kind\":\"fixed\",\"base_ms\":1,\"cap_ms\":2592000001}", STATUS_OUT_OF_RANGE,
         "backoff.cap_ms: not"},
        {"{\"kind\":\"fixed\",\"base_ms\":50,\"cap_ms\":9}", STATUS_OUT_OF_RANGE,
         "backoff.cap_ms: not with the kind fixed, which does not grow"},
        {"{\"kind\":\"fixed\",\"base_ms\":50,\"cap_ms\":90}", STATUS_OUT_OF_RANGE,
         "backoff.cap_ms: not with the kind fixed, which does not grow"},
        {"{\"kind\":\"exponential\",\"base_ms\":50,\"cap_ms\":49}", STATUS_OUT_OF_RANGE,
         "backoff.cap_ms: below base_ms"},
        {"{\"kind\":\"fixed\",\"base_ms\":1,\"jitter_percent\":101}", STATUS_OUT_OF_RANGE,
         "backoff.jitter_percent: not from 0 to 100"},
    };
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_clear(&text);
        buf_printf(&text, "{\"body\":\"\",\"backoff\":%s}", cases[i].backoff);
        assert_refused(decode_push(buf_text(&text)), cases[i].backoff, cases[i].status,
                       cases[i].why);
    }
    buf_fini(&text);
}

static void reads_a_body_in_base64(void **state)
{
    struct decoded d = decode_push("{\"body_base64\":\"AP\\/+gA==\",\"at_ms\":1800000000000}");

    assert_int_equal(d.status, STATUS_OK);
    assert_bytes(d.op.in.push.body, BYTES("\0\xff\xfe\x80"));
    assert_int_equal(d.op.in.push.at_ms, 1800000000000);
    free(d.copy);
}

static void takes_numbers_up_to_their_bounds(void **state)
{
    struct decoded d = decode_push("{\"body\":\"\",\"delay_ms\":315360000000,\"ttr_ms\":0}");

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.push.delay_ms, QUEUE_DELAY_MAX_MS);
    assert_int_equal(d.op.in.push.ttr_ms, 0);
    free(d.copy);
    d = decode_push("{\"body\":\"\",\"at_ms\":281474976710655,\"ttr_ms\":604800000}");
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.push.at_ms, QUEUE_AT_MAX_MS);
    assert_int_equal(d.op.in.push.ttr_ms, QUEUE_TTR_MAX_MS);
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
        {"{\"body\":\"\",\"delay\":7}", STATUS_BAD_REQUEST,
         "delay: unknown member; did you mean delay_ms?"},
        {"{\"body\":\"\",\"Delay_ms\":7}", STATUS_BAD_REQUEST,
         "Delay_ms: unknown member; did you mean delay_ms?"},
        {"{\"body\":\"\",\"maxTries\":7}", STATUS_BAD_REQUEST,
         "maxTries: unknown member; did you mean max_tries?"},
        {"{\"body\":\"\",\"timeout\":7}", STATUS_BAD_REQUEST, "timeout: unknown member"},
        {"{\"body\":\"\",\"backoff\":{\"kind\":\"none\",\"cap\":1}}", STATUS_BAD_REQUEST,
         "backoff.cap: unknown member; did you mean backoff.cap_ms?"},
        {"{\"body\":\"\",\"\":7}", STATUS_BAD_REQUEST, ": unknown member"},
        {"{\"body\":\"\",\"body\\u0000\":\"\"}", STATUS_BAD_REQUEST, "unknown member"},
        {"{\"body\":\"\",\"delay_ms\":\"7\"}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":1.5}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":1e3}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":true}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":null}", STATUS_BAD_REQUEST, "delay_ms: not an integer"},
        {"{\"body\":\"\",\"delay_ms\":1,\"delay_ms\":1}", STATUS_BAD_REQUEST,
         "delay_ms: given twice"},
        {"{\"body\":\"\",\"delay_ms\":1,\"at_ms\":1900000000000}", STATUS_BAD_REQUEST,
         "delay_ms: not together with at_ms"},
        {"{\"body\":\"\",\"mode\":\"\"}", STATUS_BAD_REQUEST,
         "mode: not one of reject, replace, ignore"},
        {"{\"body\":\"\",\"mode\":null}", STATUS_BAD_REQUEST, "mode: not a string"},
        {"{\"body\":\"\",\"priority\":null}", STATUS_BAD_REQUEST, "priority: not an integer"},
        {"{\"body\":\"\",\"priority\":4294967296}", STATUS_OUT_OF_RANGE,
         "priority: not from 0 to 4294967295"},
        {"{\"body\":\"\",\"max_tries\":65535}", STATUS_OUT_OF_RANGE,
         "max_tries: not from 0 to 65534"},
        {"{\"body\":\"\",\"ttl_ms\":315360000001}", STATUS_OUT_OF_RANGE, "ttl_ms: not"},
        {"{\"body\":\"\",\"ttl_ms\":7,\"delay_ms\":7}", STATUS_OUT_OF_RANGE,
         "ttl_ms: not longer than delay_ms"},
        {"{\"body\":\"\",\"delay_ms\":-1}", STATUS_OUT_OF_RANGE, "from 0 to 315360000000"},
        {"{\"body\":\"\",\"delay_ms\":315360000001}", STATUS_OUT_OF_RANGE, "delay_ms: not"},
        {"{\"body\":\"\",\"at_ms\":-1}", STATUS_OUT_OF_RANGE, "at_ms: not"},
        {"{\"body\":\"\",\"at_ms\":0}", STATUS_OUT_OF_RANGE,
         "at_ms: below 100000000000, these "
         "look like seconds"},
        {"{\"body\":\"\",\"at_ms\":99999999999}", STATUS_OUT_OF_RANGE, "at_ms: below"},
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

    assert_int_equal(api_count(BYTES("[]"), "jobs", &count, &why), STATUS_OUT_OF_RANGE);
    assert_string_equal(why.text, "a list has 1 to 1000 jobs");
    assert_int_equal(api_count(BYTES("[{},[1,2],\"]\"]"), "jobs", &count, &why), STATUS_OK);
    assert_int_equal(count, 3);
    buf_add_text(&text, "[0");
    for (unsigned i = 1; i < API_ITEMS_MAX; i++)
        buf_add_text(&text, ",0");
    buf_add_char(&text, ']');
    assert_int_equal(api_count(buf_bytes(&text), "jobs", &count, &why), STATUS_OK);
    assert_int_equal(count, API_ITEMS_MAX);
    text.len--;
    buf_add_text(&text, ",0]");
    assert_int_equal(api_count(buf_bytes(&text), "jobs", &count, &why), STATUS_OUT_OF_RANGE);
    assert_int_equal(count, API_ITEMS_MAX);
    buf_fini(&text);
}

/* ---- leases ---- */

static void reads_a_lease_and_what_may_stand_beside_it(void **state)
{
    struct decoded d = decode_lease("{\"lease\":\"140737488355327\"}", OP_ACK);

    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.lease.stamp, JOB_STAMP_MAX);
    free(d.copy);
    d = decode_lease("{\"delay_ms\":3,\"lease\":\"1\"}", OP_RELEASE);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.lease.stamp, 1);
    assert_int_equal(d.op.in.lease.delay_ms, 3);
    assert_int_equal(d.op.in.lease.ttr_ms, 0);
    free(d.copy);
    d = decode_lease("{\"lease\":\"1\"}", OP_RELEASE);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.lease.delay_ms, -1);
    free(d.copy);
    d = decode_lease("{\"lease\":\"1\"}", OP_BURY);
    assert_int_equal(d.status, STATUS_OK);
    free(d.copy);
    d = decode_lease("{\"lease\":\"1\",\"ttr_ms\":4}", OP_TOUCH);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.lease.delay_ms, 0);
    assert_int_equal(d.op.in.lease.ttr_ms, 4);
    free(d.copy);
    d = decode_lease("{\"lease\":\"1\"}", OP_TOUCH);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.lease.ttr_ms, 0);
    free(d.copy);
}

static void reads_the_check_of_a_lease(void **state)
{
    struct decoded d = decode_lease("{\"lease\":\"1\"}", OP_ACK);

    assert_false(d.op.in.lease.has_check);
    free(d.copy);
    d = decode_lease("{\"lease\":\"140737488355327-0123456789abcdef\"}", OP_ACK);
    assert_int_equal(d.status, STATUS_OK);
    assert_int_equal(d.op.in.lease.stamp, JOB_STAMP_MAX);
    assert_true(d.op.in.lease.has_check);
    assert_true(d.op.in.lease.check == 0x0123456789abcdef);
    free(d.copy);
    d = decode_lease("{\"lease\":\"0-ffffffffffffffff\"}", OP_ACK);
    assert_int_equal(d.status, STATUS_OK);
    assert_true(d.op.in.lease.check == UINT64_MAX);
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
        {"{\"lease\":\"0000000000000001\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"0000000000000001-0123456789abcdef\"}", OP_ACK, STATUS_BAD_REQUEST,
         "lease: not one"},
        {"{\"lease\":\"1-\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"-0123456789abcdef\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1-0123456789abcde\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1-0123456789abcdef0\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1-0123456789ABCDEF\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1-0123456789abcde-\"}", OP_ACK, STATUS_BAD_REQUEST, "lease: not one"},
        {"{\"lease\":\"1-0123456789abcd\\u0000f\"}", OP_ACK, STATUS_BAD_REQUEST,
         "lease: not one"},
        {"{\"lease\":\"140737488355328-0123456789abcdef\"}", OP_ACK, STATUS_BAD_REQUEST,
         "lease: not one"},
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

/* ---- several leases ---- */

static void reads_leases_one_by_one(void **state)
{
    struct decoded d = decode(BYTES("{\"leases\":[{\"lease\":\"7\",\"id\":\"a\"},3]}"));
    struct json_walk walk;
    struct bytes list, item;
    unsigned count;

    assert_int_equal(api_decode_leases(d.value, &list, &count, &d.why), STATUS_OK);
    assert_int_equal(count, 2);
    walk = json_walk_into(list);
    assert_true(json_walk_element(&walk, &item));
    assert_int_equal(api_decode_one_lease(item, &d.op, &d.why), STATUS_OK);
    assert_bytes(d.op.id, BYTES("a"));
    assert_int_equal(d.op.in.lease.stamp, 7);
    assert_true(json_walk_element(&walk, &item));
    assert_int_equal(api_decode_one_lease(item, &d.op, &d.why), STATUS_BAD_REQUEST);
    assert_string_equal(d.why.text, "not an object");
    free(d.copy);
}

static void refuses_leases_that_are_no_list_of_some(void **state)
{
    static const struct {
        const char *text;
        enum status status;
        const char *why;
    } cases[] = {
        {"[]", STATUS_BAD_REQUEST, "not an object"},
        {"{}", STATUS_BAD_REQUEST, "leases: missing"},
        {"{\"leases\":{}}", STATUS_BAD_REQUEST, "leases: not a list"},
        {"{\"leases\":[]}", STATUS_OUT_OF_RANGE, "a list has 1 to 1000 leases"},
        {"{\"leases\":[1],\"lease\":1}", STATUS_BAD_REQUEST, "lease: unknown member"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct decoded d = decode(bytes_of_text(cases[i].text));
        struct bytes list;
        unsigned count;

        d.status = api_decode_leases(d.value, &list, &count, &d.why);
        assert_refused(d, cases[i].text, cases[i].status, cases[i].why);
    }
}

static void refuses_one_of_several_leases(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"{\"lease\":\"1\"}", "id: missing"},
        {"{\"id\":\"1\"}", "lease: missing"},
        {"{\"id\":1,\"lease\":\"1\"}", "id: not a string"},
        {"{\"id\":\"1\",\"lease\":\"x\"}", "lease: not one"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct decoded d = decode(bytes_of_text(cases[i].text));

        d.status = api_decode_one_lease(d.value, &d.op, &d.why);
        assert_refused(d, cases[i].text, STATUS_BAD_REQUEST, cases[i].why);
    }
}

/* ---- another time ---- */

static void reads_a_delay_or_a_time_and_never_both(void **state)
{
    static const struct {
        const char *text;
        enum status status;
        int64_t delay_ms, at_ms;
        const char *why;
    } cases[] = {
        {"{\"delay_ms\":315360000000}", STATUS_OK, 315360000000, 0, ""},
        {"{\"at_ms\":281474976710655}", STATUS_OK, 0, 281474976710655, ""},
        {"{\"at_ms\":100000000000}", STATUS_OK, 0, 100000000000, ""},
        {"{\"at_ms\":1795250567}", STATUS_OUT_OF_RANGE, -1, -1, "at_ms: below 100000000000"},
        {"{}", STATUS_BAD_REQUEST, -1, -1, "delay_ms: missing (delay_ms or at_ms"},
        {"{\"at_ms\":1900000000000,\"delay_ms\":1}", STATUS_BAD_REQUEST, -1, -1,
         "delay_ms: not together with at_ms"},
        {"{\"delay_ms\":-1}", STATUS_OUT_OF_RANGE, -1, -1, "delay_ms: not from 0"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct decoded d = decode(bytes_of_text(cases[i].text));
        struct op op = {.verb = OP_MOVE, .in.move = {.delay_ms = -1, .at_ms = -1}};

        d.status = api_decode_move(d.value, &op, &d.why);
        assert_int_equal(op.in.move.delay_ms, cases[i].delay_ms);
        assert_int_equal(op.in.move.at_ms, cases[i].at_ms);
        assert_refused(d, cases[i].text, cases[i].status, cases[i].why);
    }
}

/* ---- the whole body ---- */

static void refuses_what_is_not_json_and_says_where(void **state)
{
    static const struct {
        struct bytes text;
        const char *why;
    } cases[] = {
        {BYTES(""), "the body is missing (an object, {} at least)"},
        {BYTES(" \r\n"), "the body is missing (an object, {} at least)"},
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
        cmocka_unit_test(leaves_what_is_not_given_to_the_topic),
        cmocka_unit_test(reads_the_rules_of_a_job),
        cmocka_unit_test(refuses_a_backoff_that_is_none),
        cmocka_unit_test(reads_a_body_in_base64),
        cmocka_unit_test(takes_numbers_up_to_their_bounds),
        cmocka_unit_test(refuses_a_job_and_names_the_member),
        cmocka_unit_test(quotes_no_more_of_a_client_than_fits),
        cmocka_unit_test(counts_the_jobs_of_a_list),
        cmocka_unit_test(reads_a_lease_and_what_may_stand_beside_it),
        cmocka_unit_test(reads_the_check_of_a_lease),
        cmocka_unit_test(refuses_a_lease_that_no_pop_has_given),
        cmocka_unit_test(reads_leases_one_by_one),
        cmocka_unit_test(refuses_leases_that_are_no_list_of_some),
        cmocka_unit_test(refuses_one_of_several_leases),
        cmocka_unit_test(reads_a_delay_or_a_time_and_never_both),
        cmocka_unit_test(refuses_what_is_not_json_and_says_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
