#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "itests/bench/load/echo.h"
#include "itests/bench/load/protocol.h"
#include "itests/bench/load/supply.h"

#define HEAD(status, length) \
    "HTTP/1.1 " status "\r\nX-Request-Id: 7\r\nContent-Length: " length "\r\n\r\n"

/* Replies as servers write them, and what is made of them. */
static const struct reply {
    const char *protocol, *text;
    enum answer_kind kind;
    unsigned tag;
    const char *id, *topic, *lease;
} replies[] = {
    {"gmq", "{\"id\":3,\"result\":\"success\",\"error\":null}\n", ANSWER_DONE, 3, "", "", ""},
    {"gmq",
     "{\"id\":12,\"result\":{\"TTR\":60,\"body\":\"xx\",\"consume_num\":0,\"delay\":0,"
     "\"id\":\"job-1\",\"status\":3,\"topic\":\"a\"},\"error\":null}\n",
     ANSWER_DONE, 12, "job-1", "", ""},
    {"gmq", "{\"id\":0,\"result\":true,\"error\":null}\n", ANSWER_DONE, 0, "", "", ""},
    {"gmq", "{\"id\":0,\"result\":null,\"error\":\"empty\"}\n", ANSWER_EMPTY, 0, "", "", ""},
    {"gmq", "{\"id\":1,\"result\":null,\"error\":\"too_many: wait\"}\n", ANSWER_ERROR, 1, "",
     "", ""},
    {"http", HEAD("201 Created", "23") "{\"id\":\"5\",\"due_ms\":12}\n", ANSWER_DONE, 0, "5",
     "", ""},
    {"http",
     HEAD("200 OK", "81") "{\"topic\":\"a\",\"jobs\":[{\"id\":\"j\",\"topic\":\"a\",\"body\":"
                          "\"xx\",\"lease\":\"99\",\"tries\":1}]}\n",
     ANSWER_DONE, 0, "j", "a", "99"},
    {"http", HEAD("200 OK", "24") "{\"topic\":null,\"jobs\":[]}", ANSWER_EMPTY, 0, "", "", ""},
    {"http", "HTTP/1.1 204 No Content\r\nX-Request-Id: 7\r\n\r\n", ANSWER_DONE, 0, "", "", ""},
    {"http", HEAD("503 Service Unavailable", "2") "{}", ANSWER_ERROR, 0, "", "", ""},
    {"beanstalk", "INSERTED 17\r\n", ANSWER_DONE, 0, "", "", ""},
    {"beanstalk", "RESERVED 17 4\r\nx\r\ny\r\n", ANSWER_DONE, 0, "17", "", ""},
    {"beanstalk", "DELETED\r\n", ANSWER_DONE, 0, "", "", ""},
    {"beanstalk", "TIMED_OUT\r\n", ANSWER_EMPTY, 0, "", "", ""},
    {"beanstalk", "OUT_OF_MEMORY\r\n", ANSWER_ERROR, 0, "", "", ""},
    {"beanstalk", "NOT_FOUND\r\n", ANSWER_ERROR, 0, "", "", ""},
    {"beanstalk", "BURIED 17\r\n", ANSWER_ERROR, 0, "", "", ""},
};

#define REPLY_COUNT (sizeof(replies) / sizeof(*replies))

static const char *const names[] = {"gmq", "http", "beanstalk"};

static void assert_text(struct bytes text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    if (text.len > 0)
        assert_memory_equal(text.at, expected, text.len);
}

static void each_reply_is_recognised(void **state)
{
    for (size_t i = 0; i < REPLY_COUNT; i++) {
        const struct reply *r = &replies[i];
        struct answer a;

        print_message("%s", r->text);
        assert_int_equal(protocol_find(r->protocol)->take(bytes_of_text(r->text), &a),
                         strlen(r->text));
        assert_int_equal(a.kind, r->kind);
        assert_int_equal(a.tag, r->tag);
        assert_text(a.job.id, r->id);
        assert_text(a.job.topic, r->topic);
        assert_text(a.job.lease, r->lease);
    }
}

static void a_reply_that_is_not_all_there_is_waited_for(void **state)
{
    for (size_t i = 0; i < REPLY_COUNT; i++) {
        struct bytes text = bytes_of_text(replies[i].text);
        struct answer a;

        for (size_t len = 1; len < text.len; len++)
            assert_int_equal(
                protocol_find(replies[i].protocol)->take(bytes_of(text.at, len), &a), 0);
    }
}

static void the_next_reply_begins_where_one_ends(void **state)
{
    for (size_t i = 0; i < REPLY_COUNT; i++) {
        struct buf two = BUF_INIT;
        struct answer a;
        size_t len;

        buf_add_text(&two, replies[i].text);
        buf_add_text(&two, replies[i].text);
        len = protocol_find(replies[i].protocol)->take(buf_bytes(&two), &a);
        assert_int_equal(len, strlen(replies[i].text));
        buf_fini(&two);
    }
}

/* ---- questions, judged by the echo, which only sees where one ends and which verb it is */

static const struct question questions[] = {
    {.verb = VERB_PUSH, .tag = 5, .topic = 1, .number = 123, .delay_s = 2, .ttr_s = 60},
    {.verb = VERB_POP, .tag = 5, .topic = 0, .topics = 3, .wait_s = 2},
    {.verb = VERB_ACK, .tag = 5, .job = {{"1", 1}, {"a", 1}, {"9", 1}, {NULL, 0}}},
};

static const struct question urgent = {.verb = VERB_PUSH, .number = 7, .priority = 16};

static void each_question_is_understood_and_its_answer_too(void **state)
{
    for (size_t i = 0; i < 9; i++) {
        const struct protocol *p = protocol_find(names[i / 3]);
        const struct question *q = &questions[i % 3];
        struct buf out = BUF_INIT, in = BUF_INIT;
        struct answer a;

        p->ask(&out, q);
        assert_int_equal(echo_find(p->name)(bytes_of(out.at, out.len - 1), &in), 0);
        assert_int_equal(echo_find(p->name)(buf_bytes(&out), &in), out.len);
        assert_int_equal(p->take(buf_bytes(&in), &a), in.len);
        assert_int_equal(a.kind, ANSWER_DONE);
        assert_int_equal(a.tag, p->is_in_order ? 0 : 5);
        assert_int_equal(a.job.id.len, q->verb == VERB_POP ? 1 : a.job.id.len);
        buf_fini(&out);
        buf_fini(&in);
    }
}

static void assert_asks(const char *protocol, const struct question *q, const char *expected)
{
    struct buf out = BUF_INIT;

    protocol_find(protocol)->ask(&out, q);
    assert_string_equal(buf_text(&out), expected);
    buf_fini(&out);
}

static void questions_are_what_the_protocols_want(void **state)
{
    assert_asks(
        "gmq", &questions[0],
        "{\"method\":\"Service.Push\",\"params\":[{\"id\":\"123\",\"topic\":\"bench-1\","
        "\"body\":\"xxxxxxxxxxxxxxxx\",\"delay\":2,\"TTR\":60}],\"id\":5}\n");
    assert_asks(
        "gmq", &questions[1],
        "{\"method\":\"Service.Pop\",\"params\":[[\"bench-0\",\"bench-1\",\"bench-2\"]],"
        "\"id\":5}\n");
    assert_asks("http", &questions[0],
                "POST /v1/topics/bench-1/jobs HTTP/1.1\r\nHost: dueq\r\nContent-Length: 69\r\n"
                "\r\n{\"id\":\"123\",\"body\":\"xxxxxxxxxxxxxxxx\",\"delay_ms\":2000,"
                "\"ttr_ms\":60000}");
    assert_asks("http", &urgent,
                "POST /v1/topics/bench-0/jobs HTTP/1.1\r\nHost: dueq\r\nContent-Length: 74\r\n"
                "\r\n{\"id\":\"7\",\"body\":\"xxxxxxxxxxxxxxxx\",\"delay_ms\":0,"
                "\"ttr_ms\":0,\"priority\":16}");
    assert_asks("http", &questions[1],
                "POST /v1/topics/bench-0,bench-1,bench-2/pop?wait_ms=2000 HTTP/1.1\r\n"
                "Host: dueq\r\nContent-Length: 0\r\n\r\n");
    assert_asks("http", &questions[2],
                "POST /v1/topics/a/jobs/1/ack HTTP/1.1\r\nHost: dueq\r\n"
                "Content-Length: 13\r\n\r\n{\"lease\":\"9\"}");
    assert_asks("beanstalk", &questions[0], "put 1024 2 60 16\r\n000000000000123x\r\n");
    assert_asks("beanstalk", &questions[1], "reserve-with-timeout 2\r\n");
    assert_asks("beanstalk", &questions[2], "delete 1\r\n");
}

static int setup(void **state)
{
    struct options o = {.topic_name = "bench", .topics = 3, .body_bytes = 16};

    supply_init(&o);
    return 0;
}

static int teardown(void **state)
{
    supply_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reply_is_recognised),
        cmocka_unit_test(a_reply_that_is_not_all_there_is_waited_for),
        cmocka_unit_test(the_next_reply_begins_where_one_ends),
        cmocka_unit_test(each_question_is_understood_and_its_answer_too),
        cmocka_unit_test(questions_are_what_the_protocols_want),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
