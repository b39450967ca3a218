/* Each request of doc/gmq-web.md as bytes, and each reply; wrong input; who may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protocol/access/access.h"
#include "protocol/gmq_web/gmq_web.h"
#include "protocol/http/tests/server_fixture.h"

static int set_up(void **state)
{
    return fixture_up_app(state, &gmq_web_app, NULL);
}

/* ---- version 2 ---- */

static const char *push(struct fixture *f, const char *json)
{
    char form[1024];

    snprintf(form, sizeof(form), "data=%s", json);
    return call(f, "POST", "/push", form);
}

static void pushed(struct fixture *f, const char *json)
{
    assert_reply(push(f, json), 200, "{\"code\":0,\"data\":null,\"msg\":\"push success\"}");
}

static void assert_refused(const char *reply, int code, const char *msg)
{
    char json[512];

    snprintf(json, sizeof(json), "{\"code\":1,\"data\":null,\"msg\":\"%s\"}", msg);
    assert_reply(reply, code, json);
}

#define SLOW_JOB "{\"id\":\"xxx_1\",\"body\":\"this is a job\",\"topic\":\"t\",\"TTR\":10}"
#define POPPED                                                                               \
    "{\"code\":0,\"data\":{\"TTR\":\"10\",\"body\":\"this is a job\",\"consume_num\":\"0\"," \
    "\"delay\":\"0\",\"id\":\"xxx_1\",\"status\":\"3\",\"topic\":\"t\"},\"msg\":\"success\"}"

static void a_job_is_pushed_popped_and_acknowledged(void **state)
{
    const char *reply;

    pushed(*state, SLOW_JOB);
    reply = call(*state, "GET", "/pop?topic=t", NULL);
    assert_has(reply, "\r\nContent-Type: application/json; charset=utf-8\r\n");
    assert_reply(reply, 200, POPPED);
    assert_reply(call(*state, "GET", "/ack?jobId=xxx_1", NULL), 200,
                 "{\"code\":0,\"data\":null,\"msg\":\"ack success\"}");
    assert_refused(call(*state, "GET", "/ack?jobId=xxx_1", NULL), 200,
                   "not_found: no such job");
}

static void a_form_is_unescaped(void **state)
{
    assert_reply(call(*state, "POST", "/push",
                      "x=1&data=%7B%22id%22%3A%22i%22%2C%22topic%22%3A%22t%22%2C"
                      "%22body%22%3A%22a+b%26%22%7D&data=later"),
                 200, "{\"code\":0,\"data\":null,\"msg\":\"push success\"}");
    assert_has(call(*state, "GET", "/pop?topic=t&x=%zz", NULL), "\"body\":\"a b&\"");
}

static void a_pop_waits_three_seconds(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/pop?topic=t", NULL);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    fixture_pass(f, 2900);
    assert_int_equal(queue_stats(f->queue)->waiting, 1);
    fixture_pass(f, 200);
    assert_refused(receive(&c), 200, "empty");

    send_call(&c, "GET", "/pop?topic=s,t", NULL);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    pushed(f, SLOW_JOB);
    assert_reply(receive(&c), 200, POPPED);
    leave(&c);
}

static void a_consumer_that_leaves_costs_no_try(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/pop?topic=t", NULL);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    reset(&c);
    AWAIT(f, queue_stats(f->queue)->waiting == 0);
    pushed(f, SLOW_JOB);
    assert_reply(call(f, "GET", "/pop?topic=t", NULL), 200, POPPED);
}

static const char *get_from(struct fixture *f, unsigned host, const char *path)
{
    struct client c = connect_from(f, host);
    const char *reply;

    send_call(&c, "GET", path, NULL);
    reply = receive(&c);
    leave(&c);
    return reply;
}

static void a_late_consumer_does_not_acknowledge_the_job_of_another_machine(void **state)
{
    struct fixture *f = *state;

    pushed(f, SLOW_JOB);
    assert_reply(get_from(f, 2, "/pop?topic=t"), 200, POPPED);
    fixture_pass(f, 11000);
    assert_has(get_from(f, 3, "/pop?topic=t"), "\"consume_num\":\"1\"");
    assert_refused(get_from(f, 2, "/ack?jobId=xxx_1"), 200,
                   "TTR has expired and will be consumed again");
    assert_has(get_from(f, 3, "/ack?jobId=xxx_1"), "ack success");
}

static void a_pop_has_so_many_topics(void **state)
{
    char path[256] = "/pop?topic=a";

    for (int i = 0; i < QUEUE_TOPICS_PER_POP_MAX; i++)
        strcat(path, ",a");
    assert_refused(call(*state, "GET", path, NULL), 200,
                   "out_of_range: topic: more than 64 topics");
}

static void an_id_that_lives_is_refused(void **state)
{
    pushed(*state, SLOW_JOB);
    assert_refused(push(*state, SLOW_JOB), 200, "jobKey:gmq:jobpool:xxx_1,error:has exist");
}

static void wrong_input_is_refused_with_200(void **state)
{
    static const struct {
        const char *method, *path, *body, *msg;
    } rows[] = {
        {"POST", "/push", NULL, "data is empty"},
        {"POST", "/push", "", "data is empty"},
        {"POST", "/push", "data=", "data is empty"},
        {"POST", "/push", "Data={}", "data is empty"},
        {"POST", "/push", "data=%zz", "data is empty"},
        {"POST", "/push", "{\"id\":\"1\",\"topic\":\"t\"}", "data is empty"},
        {"POST", "/push", "data={", "data is not JSON, or not UTF-8"},
        {"POST", "/push", "data=[]", "data must be a job, an object"},
        {"POST", "/push", "data={\"topic\":\"t\"}", "job.id is empty"},
        {"POST", "/push", "data={\"id\":\"1\"}", "job.topic is empty"},
        {"POST", "/push", "data={\"id\":1,\"topic\":\"t\"}", "job.id must be a string"},
        {"POST", "/push", "data={\"id\":\"1\",\"topic\":\"t\",\"delay\":\"5\"}",
         "job.delay must be whole seconds, a number from 0 to 315360000"},
        {"POST", "/push", "data={\"id\":\"1\",\"topic\":\"t\",\"TTR\":-1}",
         "job.TTR must be whole seconds, a number from 0 to 604800"},
        {"POST", "/push", "data={\"id\":\"a%20b\",\"topic\":\"t\"}",
         "bad_id: a job id is 1 to 200 printable ASCII characters without white space, and "
         "not '.' or '..'"},
        {"GET", "/pop", NULL, "topic is empty"},
        {"GET", "/pop?topic=", NULL, "topic is empty"},
        {"GET", "/pop?Topic=t", NULL, "topic is empty"},
        {"GET", "/pop?topic=a,,b", NULL,
         "bad_topic: a topic is 1 to 200 characters of [A-Za-z0-9_.:/+;$()-], not starting "
         "with '-', and not '.' or '..'"},
        {"GET", "/ack", NULL, "jobId is empty"},
        {"GET", "/ack?jobId=", NULL, "jobId is empty"},
        {"GET", "/ack?jobId=nobody", NULL, "not_found: no such job"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_refused(call(*state, rows[i].method, rows[i].path, rows[i].body), 200,
                       rows[i].msg);
}

static void what_is_no_path_or_no_http_has_its_own_code(void **state)
{
    assert_refused(call(*state, "GET", "/", NULL), 404,
                   "no_such_path: there is nothing under this path");
    assert_refused(call(*state, "GET", "/push", NULL), 405,
                   "method_not_allowed: this path does not answer to this method");
    assert_code(ask(*state, "GET /pop?topic=t HTTP/1.1\r\nHost: h\r\nOrigin: http://x.example"
                            "\r\n" CLOSE),
                403);
    assert_code(ask(*state, "GET /pop\r\n\r\n"), 400);
}

static void a_failure_of_the_store_is_told_from_a_refusal(void **state)
{
    struct fixture *f = *state;

    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_refused(push(f, SLOW_JOB), 200,
                   "unknown: the store did not answer; the operation may have happened");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_refused(push(f, SLOW_JOB), 200,
                   "store_error: the store refused the operation; nothing happened");
}

/* ---- the monitor ---- */

#define EMPTY "{\"code\":0,\"data\":null,\"msg\":\"\"}"

/* 2023-11-14 22:13:20 UTC on the store's clock. The node's own clock is another one here, and a
 * next_time is left to the tests of whole nodes. */
static void fill(struct fixture *f)
{
    memory_store_set_now(f->ms, 1700000000000);
    pushed(f, SLOW_JOB);
    pushed(f, "{\"id\":\"r\",\"topic\":\"t2\",\"TTR\":60}");
    pushed(f, "{\"id\":\"d1\",\"topic\":\"t2\",\"delay\":100,\"TTR\":60}");
    pushed(f, "{\"id\":\"d2\",\"topic\":\"t2\",\"delay\":200,\"TTR\":60}");
    assert_reply(call(f, "GET", "/pop?topic=t", NULL), 200, POPPED);
}

static void an_empty_store_shows_null(void **state)
{
    assert_reply(call(*state, "GET", "/getReadyQueueStat", NULL), 200, EMPTY);
    assert_reply(call(*state, "GET", "/getBucketStat", NULL), 200, EMPTY);
    assert_reply(call(*state, "GET", "/getTTRBucketStat", NULL), 200, EMPTY);
    assert_reply(call(*state, "GET", "/getJobsByBucketKey?bucketKey=gmq:bucket:t", NULL), 200,
                 EMPTY);
}

static void topics_are_shown_by_state(void **state)
{
    struct fixture *f = *state;

    fill(f);
    assert_reply(call(f, "GET", "/getReadyQueueStat", NULL), 200,
                 "{\"code\":0,\"data\":[{\"id\":1,\"queue_name\":\"gmq:readyqueue:t2\","
                 "\"job_num\":1}],\"msg\":\"\"}");
    assert_has(call(f, "GET", "/getBucketStat", NULL),
               "{\"code\":0,\"data\":[{\"id\":1,\"bucket_name\":\"gmq:bucket:t2\","
               "\"job_num\":2,\"next_time\":\"");
    assert_reply(call(f, "GET", "/getTTRBucketStat", NULL), 200,
                 "{\"code\":0,\"data\":[{\"id\":1,\"bucket_name\":\"gmq:ttrbucket:t\","
                 "\"job_num\":1,\"next_time\":\"2023-11-14 22:13:30\"}],\"msg\":\"\"}");
}

/* A page of many topics takes no round trip for each of them. */
static void topics_are_asked_for_their_first_reservation_together(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    char text[64];

    memory_store_set_now(f->ms, 1700000000000);
    for (int i = 100; i < 200; i++) {
        snprintf(text, sizeof(text), "{\"id\":\"%d\",\"topic\":\"t%d\",\"TTR\":60}", i, i);
        pushed(f, text);
        snprintf(text, sizeof(text), "/pop?topic=t%d", i);
        assert_has(call(f, "GET", text, NULL), "\"code\":0");
    }
    call(f, "GET", "/getBucketStat", NULL); /* the census is there */
    memory_store_hold(f->ms);
    send_call(&c, "GET", "/getTTRBucketStat", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_LIST) == 64);
    memory_store_release(f->ms, 1);
    AWAIT(f, memory_store_count(f->ms, OP_LIST) == 65);
    memory_store_unhold(f->ms);
    assert_has(receive(&c),
               "{\"id\":100,\"bucket_name\":\"gmq:ttrbucket:t199\",\"job_num\":1,");
    leave(&c);
}

static void a_monitor_whose_client_leaves_asks_no_more(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    fill(f);
    call(f, "GET", "/getBucketStat", NULL);
    memory_store_hold(f->ms);
    send_call(&c, "GET", "/getTTRBucketStat", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_LIST) == 1);
    leave(&c);
    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    memory_store_unhold(f->ms);
    AWAIT(f, queue_stats(f->queue)->in_flight == 0);
    assert_has(call(f, "GET", "/getTTRBucketStat", NULL), "gmq:ttrbucket:t\"");
}

static void a_monitor_that_cannot_ask_one_topic_says_so(void **state)
{
    struct fixture *f = *state;

    fill(f);
    call(f, "GET", "/getBucketStat", NULL);
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_refused(call(f, "GET", "/getTTRBucketStat", NULL), 500,
                   "store_error: the store refused the operation; nothing happened");
}

#define ROW(id, runtime, ttr, delay, topic, colour, status)                                   \
    "{\"id\":\"" id "\",\"job_key\":\"gmq:jobpool:" id "\",\"runtime\":\"2023-11-14 " runtime \
    "\",\"ttr\":\"" ttr "\",\"delay_time\":\"" delay "\",\"topic\":\"" topic                  \
    "\",\"status\":\"<span class=\\\"layui-badge layui-bg-" colour "\\\">" status "</span>\"}"
#define D1 ROW("d1", "22:15:00", "60", "1m40s", "t2", "orange", "delay")
#define D2 ROW("d2", "22:16:40", "60", "3m20s", "t2", "orange", "delay")

static void jobs_of(struct fixture *f, const char *query, const char *rows)
{
    char path[128], json[1024];

    snprintf(path, sizeof(path), "/getJobsByBucketKey?bucketKey=gmq:%s", query);
    snprintf(json, sizeof(json), "{\"code\":0,\"data\":%s,\"msg\":\"\"}", rows);
    assert_reply(call(f, "GET", path, NULL), 200, json);
}

static void the_jobs_of_a_key_are_listed(void **state)
{
    struct fixture *f = *state;

    fill(f);
    jobs_of(f, "bucket:t2", "[" D1 "," D2 "]");
    jobs_of(f, "bucket:t2&limit=1", "[" D1 "]");
    jobs_of(f, "bucket:t2&limit=-1", "[" D1 "," D2 "]");
    jobs_of(f, "bucket:t2&limit=0", "null");
    jobs_of(f, "bucket:nothing", "null");
    jobs_of(f, "bucket:no%20topic", "null");
    jobs_of(f, "rqcachekey", "null");
    jobs_of(f, "readyqueue:t2", "[" ROW("r", "22:13:20", "60", "0s", "t2", "red", "ready") "]");
    jobs_of(f, "ttrbucket:t",
            "[" ROW("xxx_1", "22:13:30", "10", "0s", "t", "blue", "reserved") "]");
}

static void a_list_goes_on_over_pages(void **state)
{
    struct fixture *f = *state;
    const char *reply;
    char job[64];

    for (int i = 100; i < 350; i++) {
        snprintf(job, sizeof(job), "{\"id\":\"%d\",\"topic\":\"t\",\"delay\":%d}", i, i);
        pushed(f, job);
    }
    reply = call(f, "GET", "/getJobsByBucketKey?bucketKey=gmq:bucket:t&limit=230", NULL);
    assert_has(reply, "\"id\":\"100\"");
    assert_has(reply, "\"id\":\"329\"");
    assert_null(strstr(reply, "\"id\":\"330\""));
}

static void the_monitor_refuses_with_400_and_500(void **state)
{
    struct fixture *f = *state;

    assert_refused(call(f, "GET", "/getJobsByBucketKey", NULL), 400, "bucketKey不能为空");
    assert_refused(call(f, "GET", "/getJobsByBucketKey?bucketKey=", NULL), 400,
                   "bucketKey不能为空");
    assert_refused(
        call(f, "GET", "/getJobsByBucketKey?bucketKey=gmq:bucket:t&limit=many", NULL), 400,
        "limit: not a whole number");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_refused(call(f, "GET", "/getJobsByBucketKey?bucketKey=gmq:bucket:t", NULL), 500,
                   "store_error: the store refused the operation; nothing happened");
    memory_store_take_down(f->ms);
    assert_refused(call(f, "GET", "/getBucketStat", NULL), 500,
                   "unavailable: the store is unavailable; nothing happened");
    memory_store_bring_up(f->ms);
}

/* ---- who may ---- */

static void an_identity_has_its_topics_and_no_others(void **state)
{
    struct fixture *f = *state;
    struct access *known;

    fill(f);
    known = fixture_let_in(f, "shop all topics=t\n");
    assert_refused(push(f, "{\"id\":\"1\",\"topic\":\"t2\"}"), 403,
                   "shop is not for this topic");
    assert_refused(call(f, "GET", "/pop?topic=t,t2", NULL), 403, "shop is not for this topic");
    assert_refused(call(f, "GET", "/getJobsByBucketKey?bucketKey=gmq:bucket:t2", NULL), 403,
                   "shop is not for this topic");
    assert_reply(call(f, "GET", "/getReadyQueueStat", NULL), 200, EMPTY);
    assert_has(call(f, "GET", "/getTTRBucketStat", NULL), "gmq:ttrbucket:t\"");
    fixture_shut_out(f, known);
    known = fixture_let_in(f, "shop all topics=t2\n");
    assert_refused(call(f, "GET", "/ack?jobId=xxx_1", NULL), 200, "not_found: no such job");
    fixture_shut_out(f, known);
}

static void each_path_takes_its_role(void **state)
{
    static const struct {
        const char *roles, *method, *path;
    } rows[] = {
        {"consume,inspect,operate,admin", "POST", "/push"},
        {"produce,inspect,operate,admin", "GET", "/pop?topic=t"},
        {"produce,inspect,operate,admin", "GET", "/ack?jobId=1"},
        {"produce,consume,operate,admin", "GET", "/getReadyQueueStat"},
        {"produce,consume,operate,admin", "GET", "/getBucketStat"},
        {"produce,consume,operate,admin", "GET", "/getTTRBucketStat"},
        {"produce,consume,operate,admin", "GET", "/getJobsByBucketKey?bucketKey=gmq:bucket:t"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct access *known;
        char line[64];

        snprintf(line, sizeof(line), "shop %s\n", rows[i].roles);
        known = fixture_let_in(*state, line);
        assert_code(call(*state, rows[i].method, rows[i].path, NULL), 403);
        fixture_shut_out(*state, known);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_job_is_pushed_popped_and_acknowledged),
        TEST(a_form_is_unescaped),
        TEST(a_pop_waits_three_seconds),
        TEST(a_consumer_that_leaves_costs_no_try),
        TEST(a_late_consumer_does_not_acknowledge_the_job_of_another_machine),
        TEST(a_pop_has_so_many_topics),
        TEST(an_id_that_lives_is_refused),
        TEST(wrong_input_is_refused_with_200),
        TEST(what_is_no_path_or_no_http_has_its_own_code),
        TEST(a_failure_of_the_store_is_told_from_a_refusal),
        TEST(an_empty_store_shows_null),
        TEST(topics_are_shown_by_state),
        TEST(topics_are_asked_for_their_first_reservation_together),
        TEST(a_monitor_whose_client_leaves_asks_no_more),
        TEST(a_monitor_that_cannot_ask_one_topic_says_so),
        TEST(the_jobs_of_a_key_are_listed),
        TEST(a_list_goes_on_over_pages),
        TEST(the_monitor_refuses_with_400_and_500),
        TEST(an_identity_has_its_topics_and_no_others),
        TEST(each_path_takes_its_role),
    };

    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
