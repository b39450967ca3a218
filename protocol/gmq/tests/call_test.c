#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "protocol/gmq/codec.h"

/* What was understood, in one line. */
static void describe(const struct gmq_call *call, struct buf *out)
{
    buf_clear(out);
    if (call->refusal) {
        buf_printf(out, "%s%.*s", call->refusal, BYTES_ARG(call->detail));
    } else if (call->method == GMQ_PUSH) {
        buf_printf(out, "push id=%.*s topic=%.*s body=%.*s delay=%lld ttr=%lld",
                   BYTES_ARG(call->job_id), BYTES_ARG(call->topic), BYTES_ARG(call->body),
                   (long long)call->delay_ms, (long long)call->ttr_ms);
    } else if (call->method == GMQ_POP) {
        buf_add_text(out, "pop");
        for (unsigned i = 0; i < call->topic_count; i++)
            buf_printf(out, " %.*s", BYTES_ARG(call->topics[i]));
    } else {
        buf_printf(out, "ack %.*s", BYTES_ARG(call->job_id));
    }
}

/* What the call lives in from now on. */
static char *take_along(struct gmq_call *call, char *frame)
{
    char *room = malloc(gmq_call_bytes(call));

    assert_non_null(room);
    gmq_call_move(call, room);
    free(frame);
    return room;
}

/* Parses a copy of exactly these bytes, so that a sanitizer sees every step beyond. */
static void assert_understood(struct bytes frame, const char *id, const char *story)
{
    char *copy = malloc(frame.len);
    struct buf out = BUF_INIT;
    struct gmq_call call;
    bool is_json;

    assert_non_null(copy);
    memcpy(copy, frame.at, frame.len);
    is_json = gmq_call_parse(&call, copy, frame.len);
    if (!story) {
        assert_false(is_json);
    } else {
        if (!call.refusal)
            copy = take_along(&call, copy);
        describe(&call, &out);
        assert_string_equal(buf_text(&out), story);
        assert_true(is_json);
        buf_clear(&out);
        buf_add_bytes(&out, call.id);
        assert_string_equal(buf_text(&out), id);
    }
    gmq_call_fini(&call);
    buf_fini(&out);
    free(copy);
}

#define PUSH(job)    "{\"method\":\"Service.Push\",\"params\":[" job "],\"id\":7}"
#define POP(topics)  "{\"method\":\"Service.Pop\",\"params\":[" topics "],\"id\":7}"
#define ACK(id)      "{\"method\":\"Service.Ack\",\"params\":[" id "],\"id\":7}"
#define TIMED(times) PUSH("{\"id\":\"1\",\"topic\":\"t\",\"body\":\"b\"," times "}")

static void understands_what_clients_send_and_refuses_what_cannot_be_meant(void **state)
{
    static const struct {
        const char *frame;
        const char *story;
    } cases[] = {
        /* push */
        {PUSH("{\"id\":\"a\",\"topic\":\"t\",\"body\":\"b\",\"delay\":\"10\",\"TTR\":\"20\"}"),
         "push id=a topic=t body=b delay=10000 ttr=20000"},
        {PUSH("{\"id\":\"a\",\"topic\":[\"t\"],\"body\":\"b\",\"delay\":10,\"TTR\":20}"),
         "push id=a topic=t body=b delay=10000 ttr=20000"},
        {PUSH("{\"id\":\"a\",\"topic\":\"t\"}"), "push id=a topic=t body= delay=0 ttr=0"},
        {PUSH("{\"ID\":\"a\",\"Topic\":\"t\",\"ttr\":1,\"more\":[{}]}"),
         "push id=a topic=t body= delay=0 ttr=1000"},
        {PUSH("{\"id\":12,\"topic\":\"t\"}"), "push id=12 topic=t body= delay=0 ttr=0"},
        {PUSH("{\"id\":9007199254740992,\"topic\":\"t\"}"),
         "push id=9007199254740992 topic=t body= delay=0 ttr=0"},
        {PUSH("{\"id\":-99999999999999999999,\"topic\":\"t\"}"),
         "push id=-99999999999999999999 topic=t body= delay=0 ttr=0"},
        {PUSH("{\"\\u0069d\":\"a\\u0062\",\"topic\":\"\\t\"}"),
         "push id=ab topic=\t body= delay=0 ttr=0"},
        {PUSH("{\"id\":\"a\",\"topic\":\"t\",\"id\":\"b\",\"body\":{},\"body\":null}"),
         "push id=b topic=t body= delay=0 ttr=0"},
        {PUSH("{\"id\":1e20,\"topic\":\"t\"}"),
         "bad_id: job.id must be a string or a whole number"},
        {PUSH("{\"id\":1.5,\"topic\":\"t\"}"),
         "bad_id: job.id must be a string or a whole number"},
        {PUSH("{\"id\":true,\"topic\":\"t\"}"),
         "bad_id: job.id must be a string or a whole number"},
        {PUSH("{\"topic\":\"t\"}"), "job.id is empty"},
        {PUSH("{\"id\":\"\",\"topic\":\"t\"}"), "job.id is empty"},
        {PUSH("{\"id\":null,\"topic\":\"t\"}"), "job.id is empty"},
        {PUSH("{}"), "job.id is empty"},
        {PUSH("{\"id\":\"a\"}"), "job.topic is empty"},
        {PUSH("{\"id\":\"a\",\"topic\":\"\"}"), "job.topic is empty"},
        {PUSH("{\"id\":\"a\",\"topic\":[]}"), "job.topic is empty"},
        {PUSH("{\"id\":\"a\",\"topic\":[null]}"), "job.topic is empty"},
        {PUSH("{\"id\":\"a\",\"topic\":[\"t\",\"u\"]}"),
         "bad_topic: job.topic must be one topic"},
        {PUSH("{\"id\":\"a\",\"topic\":5}"), "bad_topic: job.topic must be a string"},
        {PUSH("{\"id\":\"a\",\"topic\":\"t\",\"body\":{}}"),
         "bad_request: job.body must be a string"},
        {PUSH("\"a\""), "bad_request: params[0] must be a job, an object"},
        {PUSH("null"), "bad_request: params[0] must be a job, an object"},
        {PUSH("[{}]"), "bad_request: params[0] must be a job, an object"},
        /* pop */
        {POP("[\"a\"]"), "pop a"},
        {POP("[\"a\",\"b\",\"a\"]"), "pop a b a"},
        {POP("\"a\""), "pop a"},
        {POP("[]"), "topics is empty"},
        {POP("null"), "topics is empty"},
        {POP("[\"a\",5]"), "bad_topic: a topic must be a string"},
        {POP("{\"a\":1}"), "bad_topic: a topic must be a string"},
        /* ack */
        {ACK("\"a\""), "ack a"},
        {ACK("12"), "ack 12"},
        {ACK("\"\""), "job.id is empty"},
        {ACK("null"), "job.id is empty"},
        {ACK("[\"a\"]"), "bad_id: job.id must be a string or a whole number"},
        /* the envelope */
        {"{\"params\":[1],\"id\":7}", "rpc: service/method request ill-formed: "},
        {"{\"method\":\"Push\",\"params\":[1],\"id\":7}",
         "rpc: service/method request ill-formed: Push"},
        {"{\"method\":\"Service.X\",\"params\":[1],\"id\":7}",
         "rpc: can't find method Service.X"},
        {"{\"method\":\"Other.Push\",\"params\":[1],\"id\":7}",
         "rpc: can't find service Other.Push"},
        {"{\"method\":\"Service.Push\",\"id\":7}",
         "bad_request: params must be a list with one element"},
        {"{\"method\":\"Service.Pop\",\"params\":[],\"id\":7}",
         "bad_request: params must be a list with one element"},
        {"{\"method\":\"Service.Pop\",\"params\":{\"a\":1},\"id\":7}",
         "bad_request: params must be a list with one element"},
        {"{\"Method\":\"Service.Ack\",\"PARAMS\":[\"a\"],\"Id\":7}", "ack a"},
        {"{\"method\":\"Service.X\",\"method\":\"Service.Ack\",\"params\":[\"a\"],\"id\":7}",
         "ack a"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_understood(bytes_of_text(cases[i].frame), "7", cases[i].story);
}

static void reads_seconds_exactly_or_not_at_all(void **state)
{
    static const struct {
        const char *times; /* the value of delay and of TTR */
        const char *story;
    } cases[] = {
        {"0", "0"},
        {"5", "5"},
        {"5.0", "5"},
        {"5e0", "5"},
        {"-0", "0"},
        {"-0.0", "0"},
        {"\"5\"", "5"},
        {"\"+5\"", "5"},
        {"\" 5\\n\"", "5"},
        {"\"5.0\"", "5"},
        {"\"0.5e1\"", "5"},
        {"\"00005\"", "5"},
        {"604800", "604800"},
        {"\"604800\"", "604800"},
        /* no number at all */
        {"null", "0"},
        {"\"\"", "0"},
        {"\" \"", "0"},
        {"\"soon\"", "0"},
        {"\"5s\"", "0"},
        {"\"5 6\"", "0"},
        {"\"5\\u00006\"", "0"},
        {"\"0x10\"", "0"},
        {"\"inf\"", "0"},
        {"\"-nan\"", "0"},
        {"\"-\"", "0"},
        {"\".\"", "0"},
        {"\"1e\"", "0"},
        {"\"1e+\"", "0"},
        {"true", "0"},
        {"[5]", "0"},
        {"{}", "0"},
        /* numbers that cannot be meant */
        {"-1", "is negative"},
        {"\"-1\"", "is negative"},
        {"-0.5", "is negative"},
        {"\"-1e300\"", "is negative"},
        {"-99999999999999999999", "is negative"},
        {"1.5", "must be whole seconds"},
        {"\"1.5\"", "must be whole seconds"},
        {"\".5\"", "must be whole seconds"},
        {"1e-3", "must be whole seconds"},
        {"99999999999", "is above"},
        {"\"99999999999\"", "is above"},
        {"99999999999999999999999999", "is above"},
        {"\"99999999999999999999999999\"", "is above"},
        {"1e300", "is above"},
        {"\"1e999\"", "is above"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int is_ttr = 0; is_ttr < 2; is_ttr++) {
            struct buf frame = BUF_INIT, story = BUF_INIT;
            struct gmq_call call;

            buf_printf(&frame, PUSH("{\"id\":\"a\",\"topic\":\"t\",\"%s\":%s}"),
                       is_ttr ? "TTR" : "delay", cases[i].times);
            assert_true(gmq_call_parse(&call, frame.at, frame.len));
            if (call.refusal)
                buf_add_text(&story, call.refusal);
            else
                buf_printf(&story, "%lld",
                           (long long)(is_ttr ? call.ttr_ms : call.delay_ms) / 1000);
            if (call.refusal && !strstr(buf_text(&story), cases[i].story))
                fail_msg("%s: %s, not %s", cases[i].times, buf_text(&story), cases[i].story);
            if (!call.refusal)
                assert_string_equal(buf_text(&story), cases[i].story);
            gmq_call_fini(&call);
            buf_fini(&frame);
            buf_fini(&story);
        }
    }
}

static void limits_delay_to_ten_years_and_ttr_to_seven_days(void **state)
{
    static const struct {
        const char *frame;
        const char *story;
    } cases[] = {
        {TIMED("\"delay\":315360000"), "push id=1 topic=t body=b delay=315360000000 ttr=0"},
        {TIMED("\"delay\":315360001"),
         "out_of_range: job.delay is above 10 years (315360000 seconds)"},
        {TIMED("\"TTR\":604801"), "out_of_range: job.TTR is above 7 days (604800 seconds)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_understood(bytes_of_text(cases[i].frame), "7", cases[i].story);
}

#define WITH_ID(id) "{\"id\":" id ",\"method\":\"Service.Ack\",\"params\":[\"a\"]}"

static void echoes_the_id_verbatim(void **state)
{
    static const struct {
        const char *frame;
        const char *id;
    } cases[] = {
        {WITH_ID("1"), "1"},
        {WITH_ID(" 1.0 "), "1.0"},
        {WITH_ID("1e0"), "1e0"},
        {WITH_ID("-0"), "-0"},
        {WITH_ID("123456789012345678901234567890"), "123456789012345678901234567890"},
        {WITH_ID("\"a\\u0041\\\"}\""), "\"a\\u0041\\\"}\""},
        {WITH_ID("null"), "null"},
        {WITH_ID("{\"id\": [1, {\"a\":\"}\"}]}"), "{\"id\": [1, {\"a\":\"}\"}]}"},
        {WITH_ID("[]"), "[]"},
        {"{\"id\":1,\"method\":\"Service.Ack\",\"params\":[\"a\"],\"id\":2}", "2"},
        {"{ \"method\" : \"Service.Ack\" , \"params\" : [ \"a\" ] , \"id\" : 3 }", "3"},
        {"{\"method\":\"Service.Ack\",\"x\":{\"id\":9},\"params\":[\"a\"]}", "null"},
        {"{\"method\":\"Service.Ack\",\"x\":\"id\",\"params\":[\"a\"]}", "null"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_understood(bytes_of_text(cases[i].frame), cases[i].id, "ack a");
}

static void does_not_echo_an_id_without_end(void **state)
{
    struct buf frame = BUF_INIT;

    buf_add_text(&frame, "{\"method\":\"Service.Ack\",\"params\":[\"a\"],\"id\":\"");
    for (unsigned i = 0; i < GMQ_ID_MAX_BYTES; i++)
        buf_add_char(&frame, 'x');
    buf_add_text(&frame, "\"}");
    assert_understood(buf_bytes(&frame), "null",
                      "bad_request: the request's id is longer than 1024 bytes");
    buf_fini(&frame);
}

static void answers_what_is_nearly_json_and_gives_up_on_what_is_not(void **state)
{
    static const struct {
        struct bytes frame;
        const char *id;
        const char *story; /* NULL: not JSON */
    } cases[] = {
        {BYTES("{\"params\":[\"\xff\"],\"id\":7}"), "7",
         "bad_request: the request is not UTF-8"},
        {BYTES("{\"id\":\"\xff\"}"), "null", "bad_request: the request is not UTF-8"},
        {BYTES("{\"params\":[\"\xff\"],\"id\":x}"), "null",
         "bad_request: the request is not UTF-8"},
        {BYTES("{\"params\":[\"\\ud800\"],\"id\":7}"), "7",
         "bad_request: a \\u escape is half a character"},
        {BYTES("{\"params\":[\"\\udc00\\ud800\"],\"id\":7}"), "7",
         "bad_request: a \\u escape is half a character"},
        {BYTES("{\"id\":7,\"method\":\"Service.Ack\",\"params\":[1e999]}"), "7",
         "bad_id: job.id must be a string or a whole number"},
        {BYTES("{\"id\":1e999,\"method\":\"Service.Ack\",\"params\":[\"a\"]}"), "1e999",
         "ack a"},
        {BYTES("{\"id\":7,\"a\\u0000\":1,\"method\":\"Service.Ack\",\"params\":[\"a\"]}"), "7",
         "ack a"},
        {BYTES("{]"), NULL, NULL},
        {BYTES("{\"id\"}"), NULL, NULL},
        {BYTES("{'id':1}"), NULL, NULL},
        {BYTES("{\"id\":1,}"), NULL, NULL},
        {BYTES("{\"id\":01}"), NULL, NULL},
        {BYTES("{\"id\":\"a\nb\"}"), NULL, NULL},
        {BYTES("{hello}"), NULL, NULL},
        {BYTES("{\"id\":\0}"), NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_understood(cases[i].frame, cases[i].id, cases[i].story);
}

static void keeps_every_byte_of_a_body(void **state)
{
    char frame[] = PUSH("{\"id\":\"a\",\"topic\":\"t\",\"body\":"
                        "\"\\u0000\\n\xe4\xb8\xad\\u00e9\\ud83d\\ude00\\\"\\/\"}");
    struct gmq_call call;

    assert_true(gmq_call_parse(&call, frame, strlen(frame)));
    assert_null(call.refusal);
    assert_true(bytes_equal(call.body, BYTES("\0\n\xe4\xb8\xad\xc3\xa9\xf0\x9f\x98\x80\"/")));
    gmq_call_fini(&call);
}

static void takes_up_to_64_topics_in_one_pop(void **state)
{
    for (unsigned count = 64; count <= 65; count++) {
        struct buf frame = BUF_INIT;
        struct gmq_call call;

        buf_add_text(&frame, "{\"method\":\"Service.Pop\",\"id\":7,\"params\":[[\"t\"");
        for (unsigned i = 1; i < count; i++)
            buf_printf(&frame, ",\"t%u\"", i);
        buf_add_text(&frame, "]]}");
        assert_true(gmq_call_parse(&call, frame.at, frame.len));
        if (count == 64) {
            assert_null(call.refusal);
            assert_int_equal(call.topic_count, 64);
        } else {
            assert_string_equal(call.refusal, "out_of_range: more than 64 topics in one Pop");
        }
        gmq_call_fini(&call);
        buf_fini(&frame);
    }
}

static void survives_any_nesting(void **state)
{
    struct buf frame = BUF_INIT;

    buf_add_text(&frame, "{\"id\":7,\"params\":");
    for (unsigned i = 0; i < 100000; i++)
        buf_add_char(&frame, '[');
    for (unsigned i = 0; i < 100000; i++)
        buf_add_char(&frame, ']');
    buf_add_char(&frame, '}');
    assert_understood(buf_bytes(&frame), "7", "bad_request: the request is nested too deeply");
    buf_fini(&frame);
}

static void takes_along_what_was_said_and_not_how(void **state)
{
    static const char pop[] = "{\"method\":\"Service.Pop\",\"params\":[[\"t\",\"uv\"]],"
                              "\"id\":12,\"more\":\"much, much, much more\"}";
    char frame[sizeof(pop)], room[16];
    struct gmq_call call;

    memcpy(frame, pop, sizeof(pop));
    assert_true(gmq_call_parse(&call, frame, sizeof(pop) - 1));
    assert_int_equal(gmq_call_bytes(&call), 5);
    gmq_call_move(&call, room);
    memset(frame, 'x', sizeof(frame));
    assert_memory_equal(room, "12tuv", 5);
    assert_int_equal(call.topic_count, 2);
    assert_true(bytes_equal(call.topics[1], BYTES("uv")));
    assert_true(bytes_equal(call.id, BYTES("12")));
    gmq_call_fini(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(understands_what_clients_send_and_refuses_what_cannot_be_meant),
        cmocka_unit_test(reads_seconds_exactly_or_not_at_all),
        cmocka_unit_test(limits_delay_to_ten_years_and_ttr_to_seven_days),
        cmocka_unit_test(echoes_the_id_verbatim),
        cmocka_unit_test(does_not_echo_an_id_without_end),
        cmocka_unit_test(answers_what_is_nearly_json_and_gives_up_on_what_is_not),
        cmocka_unit_test(keeps_every_byte_of_a_body),
        cmocka_unit_test(takes_up_to_64_topics_in_one_pop),
        cmocka_unit_test(survives_any_nesting),
        cmocka_unit_test(takes_along_what_was_said_and_not_how),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
