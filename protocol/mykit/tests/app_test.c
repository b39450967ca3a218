/* Each request of doc/mykit.md as bytes, and each reply; wrong input; who may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/access/access.h"
#include "protocol/http/tests/server_fixture.h"
#include "protocol/mykit/mykit.h"

static struct mykit_options options;
static const char *why_down;
static bool is_leading;

static const char *why_not_ready(void *arg)
{
    assert_ptr_equal(arg, &options);
    return why_down;
}

static bool is_master(void *arg)
{
    assert_ptr_equal(arg, &options);
    return is_leading;
}

static int set_up(void **state)
{
    why_down = NULL;
    is_leading = true;
    options = (struct mykit_options){.pop_wait_ms = 2000,
                                     .prefix = "dq",
                                     .why_not_ready = why_not_ready,
                                     .is_master = is_master,
                                     .arg = &options};
    return fixture_up_app(state, &mykit_app, &options);
}

/* ---- what replies look like ---- */

#define REST "\"includes\":null,\"excludes\":null,\"onlyData\":false,\"callback\":null,"

static void assert_ok(const char *reply, const char *data)
{
    char json[1024];

    snprintf(json, sizeof(json),
             "{\"success\":true,\"data\":%s,\"code\":200," REST "\"message\":null}", data);
    assert_reply(reply, 200, json);
}

static void assert_refused(const char *reply, int code, const char *message)
{
    char json[1024];

    snprintf(json, sizeof(json),
             "{\"success\":false,\"data\":null,\"code\":500," REST "\"message\":\"%s\"}",
             message);
    assert_reply(reply, code, json);
}

static const char *get(struct fixture *f, const char *path)
{
    return call(f, "GET", path, NULL);
}

static const char *push(struct fixture *f, const char *job)
{
    return call(f, "POST", "/push", job);
}

static void pushed(struct fixture *f, const char *job, const char *id)
{
    char data[256];

    snprintf(data, sizeof(data), "\"%s\"", id);
    assert_ok(push(f, job), data);
}

/* ---- what is in the store ---- */

struct question {
    struct op op;
    bool is_done;
    enum job_state state;
    int64_t due_ms;
};

static void on_answer(struct op *op)
{
    struct question *q = CONTAINER_OF(op, struct question, op);

    q->is_done = true;
    if (op->verb == OP_GET && op->status == STATUS_OK) {
        q->state = op->out.row.job.state;
        q->due_ms = op->out.row.job.due_ms;
    }
}

/* 0: there is no such job. */
static enum job_state state_of(struct fixture *f, const char *topic, const char *id,
                               int64_t *due_ms)
{
    struct question q = {.op = {.verb = OP_GET,
                                .topic = bytes_of_text(topic),
                                .id = bytes_of_text(id),
                                .on_done = on_answer}};

    queue_submit(f->queue, &q.op);
    AWAIT(f, q.is_done);
    if (due_ms)
        *due_ms = q.due_ms;
    return q.state;
}

/* ---- push ---- */

#define NOW_MS INT64_C(1700000000000)

static void a_job_is_pushed_popped_and_finished(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    memory_store_set_now(f->ms, NOW_MS);
    reply = push(f, "{\"topic\":\"t\",\"id\":\"20\",\"subtopic\":\"s\",\"bizKey\":\"k\","
                    "\"ttl\":12,\"body\":\"b\",\"delay\":5,\"createTime\":1690000000000,"
                    "\"status\":0,\"priority\":3}");
    assert_has(reply, "\r\nContent-Type: application/json;charset=UTF-8\r\n");
    assert_ok(reply, "\"20\"");
    assert_ok(get(f, "/get/topic?topic=t"),
              "{\"topic\":\"t\",\"subtopic\":\"s\",\"id\":\"20\",\"bizKey\":\"k\",\"delay\":5,"
              "\"ttl\":12,\"body\":\"b\",\"createTime\":1690000000000,\"status\":2}");
    assert_ok(get(f, "/finish?jobId=20"), "null");
    assert_refused(get(f, "/finish?jobId=20"), 200, "Job不存在!");
}

static void a_job_is_due_its_delay_after_its_create_time(void **state)
{
    struct fixture *f = *state;
    int64_t due_ms;

    memory_store_set_now(f->ms, NOW_MS);
    pushed(f, "{\"topic\":\"t\",\"id\":\"a\",\"delay\":7000,\"createTime\":1700000001000}",
           "a");
    assert_int_equal(state_of(f, "t", "a", &due_ms), JOB_DELAYED);
    assert_int_equal(due_ms, NOW_MS + 8000);
    pushed(f, "{\"topic\":\"t\",\"id\":\"b\",\"delay\":7000,\"createTime\":1600000001000}",
           "b");
    assert_int_equal(state_of(f, "t", "b", &due_ms), JOB_READY);
    pushed(f, "{\"topic\":\"t\",\"id\":\"c\",\"delay\":\"7000\",\"status\":5}", "c");
    assert_int_equal(state_of(f, "t", "c", &due_ms), JOB_DELAYED);
    assert_true(due_ms >= NOW_MS + 7000 && due_ms < NOW_MS + 37000);
    pushed(f, "{\"topic\":\"t\",\"id\":\"d\",\"delay\":-7000}", "d");
    assert_int_equal(state_of(f, "t", "d", &due_ms), JOB_READY);
}

static void a_job_without_an_id_gets_one(void **state)
{
    static char first[256];
    struct fixture *f = *state;
    const char *reply = push(f, "{\"topic\":\"t\",\"bizKey\":\"k\"}");

    assert_has(reply, "{\"success\":true,\"data\":\"t:k:127.0.0.1:");
    snprintf(first, sizeof(first), "%s", json_of(reply));
    reply = push(f, "{\"topic\":\"t\",\"id\":\"\",\"bizKey\":\"k\"}");
    assert_has(reply, "{\"success\":true,\"data\":\"t:k:127.0.0.1:");
    assert_string_not_equal(first, json_of(reply));
}

static void a_push_of_a_living_id_overwrites(void **state)
{
    struct fixture *f = *state;

    pushed(f, "{\"topic\":\"t\",\"id\":\"1\",\"body\":\"old\",\"delay\":60000}", "1");
    pushed(f, "{\"topic\":\"t\",\"id\":\"1\",\"body\":\"new\"}", "1");
    assert_has(get(f, "/get/topic?topic=t"), "\"body\":\"new\"");
    pushed(f, "{\"topic\":\"t\",\"id\":\"1\",\"body\":\"newest\"}", "1");
    assert_has(get(f, "/get/topic?topic=t"), "\"body\":\"newest\"");
}

static void it_overwrites_in_another_topic_too(void **state)
{
    struct fixture *f = *state;

    pushed(f, "{\"topic\":\"a\",\"id\":\"1\"}", "1");
    pushed(f, "{\"topic\":\"b\",\"id\":\"1\"}", "1");
    assert_int_equal(state_of(f, "a", "1", NULL), 0);
    assert_int_equal(state_of(f, "b", "1", NULL), JOB_READY);
}

/* Sends it, and lets answers of the store come, and effects with them, until that of this verb
 * is kept back. */
static struct client push_as_far_as(struct fixture *f, enum op_verb verb, const char *job)
{
    struct client c = connect_client(f);
    unsigned long before = memory_store_count(f->ms, verb);

    memory_store_hold(f->ms);
    send_call(&c, "POST", "/push", job);
    while (memory_store_count(f->ms, verb) == before) {
        fixture_pass(f, 1);
        if (memory_store_count(f->ms, verb) == before)
            memory_store_release(f->ms, 1);
    }
    return c;
}

static void a_push_that_fails_leaves_the_job_of_another_topic(void **state)
{
    struct fixture *f = *state;
    struct client c;

    pushed(f, "{\"topic\":\"a\",\"id\":\"1\"}", "1");
    c = push_as_far_as(f, OP_GET, "{\"topic\":\"b\",\"id\":\"1\"}");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    memory_store_unhold(f->ms);
    assert_refused(receive(&c), 200,
                   "store_error: the store refused the operation; nothing happened");
    leave(&c);
    assert_int_equal(state_of(f, "a", "1", NULL), JOB_READY);
    assert_int_equal(state_of(f, "b", "1", NULL), 0);
}

static void a_cancel_that_fails_behind_the_push_says_so(void **state)
{
    struct fixture *f = *state;
    struct client c;

    pushed(f, "{\"topic\":\"a\",\"id\":\"1\"}", "1");
    c = push_as_far_as(f, OP_PUSH, "{\"topic\":\"b\",\"id\":\"1\"}");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    memory_store_unhold(f->ms);
    assert_refused(receive(&c), 200,
                   "unknown: the job is pushed, but an older one with its id, in another "
                   "topic, may be there still: push again");
    leave(&c);
    assert_int_equal(state_of(f, "a", "1", NULL), JOB_READY);
    assert_int_equal(state_of(f, "b", "1", NULL), JOB_READY);
}

static void wrong_pushes_are_refused(void **state)
{
    static const struct {
        const char *body;
        int code;
        const char *message;
    } rows[] = {
        {"", 400, "bad_request: the body is not JSON, or not UTF-8"},
        {"topic=t", 400, "bad_request: the body is not JSON, or not UTF-8"},
        {"[]", 400, "bad_request: the body must be a job, an object"},
        {"{\"topic\":{}}", 400, "bad_request: topic must be a text"},
        {"{\"topic\":\"t\",\"delay\":\"soon\"}", 400,
         "bad_request: delay must be a whole number"},
        {"{}", 200, "参数topic错误"},
        {"{\"topic\":null,\"id\":\"1\",\"status\":3}", 200, "参数topic错误"},
        {"{\"topic\":\"\"}", 200,
         "参数topic错误: a topic is 1 to 200 characters of [A-Za-z0-9_.:/+;$()-], not starting "
         "with '-', and not '.' or '..'"},
        {"{\"topic\":\"t\",\"id\":\"7\",\"status\":1}", 200, "任务7状态异常"},
        {"{\"topic\":\"t\",\"id\":\"7\",\"status\":-5}", 200, "任务7状态异常"},
        {"{\"topic\":\"t\",\"id\":\"a b\"}", 200,
         "bad_id: a job id is 1 to 200 printable ASCII characters without white space, and "
         "not '.' or '..'"},
        {"{\"topic\":\"t\",\"delay\":9223372036854775807}", 200,
         "out_of_range: delay: it would be due in more than 3650 days"},
        {"{\"topic\":\"t\",\"delay\":400000000000}", 200,
         "out_of_range: delay: it would be due in more than 3650 days"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_refused(push(*state, rows[i].body), rows[i].code, rows[i].message);
}

static void a_body_may_be_as_long_as_the_node_says(void **state)
{
    static char job[JOB_BODY_MAX + 100];
    struct fixture *f = *state;
    size_t front = (size_t)snprintf(job, sizeof(job), "{\"topic\":\"t\",\"body\":\"");

    memset(job + front, 'x', JOB_BODY_MAX + 1);
    strcpy(job + front + JOB_BODY_MAX + 1, "\"}");
    assert_refused(push(f, job), 200,
                   "too_large: the job's body is larger than limits.body_bytes");
    strcpy(job + front + JOB_BODY_MAX, "\"}");
    assert_has(push(f, job), "{\"success\":true,");
}

static void a_failure_of_the_store_is_told_from_a_refusal(void **state)
{
    struct fixture *f = *state;

    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_refused(push(f, "{\"topic\":\"t\"}"), 200,
                   "unknown: the store did not answer; the operation may have happened");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_refused(push(f, "{\"topic\":\"t\"}"), 200,
                   "store_error: the store refused the operation; nothing happened");
}

/* ---- delete ---- */

static void a_job_is_deleted_in_any_state(void **state)
{
    struct fixture *f = *state;

    pushed(f, "{\"topic\":\"t\",\"id\":\"d\",\"delay\":60000}", "d");
    pushed(f, "{\"topic\":\"t\",\"id\":\"r\"}", "r");
    assert_has(get(f, "/get/topic?topic=t"), "\"id\":\"r\"");
    assert_ok(get(f, "/delete?jobId=d"), "null");
    assert_ok(get(f, "/delete?jobId=r"), "null");
    assert_int_equal(state_of(f, "t", "d", NULL), 0);
    assert_int_equal(state_of(f, "t", "r", NULL), 0);
}

static void an_unknown_id_is_deleted_as_well(void **state)
{
    assert_ok(get(*state, "/delete?jobId=nobody"), "null");
    assert_ok(get(*state, "/delete?jobId=a%20b&jobId=x"), "null");
    assert_ok(get(*state, "/delete?jobId="), "null");
}

static void an_id_is_needed(void **state)
{
    assert_refused(get(*state, "/delete"), 200, "非法参数");
    assert_refused(get(*state, "/delete?id=1"), 200, "非法参数");
    assert_refused(get(*state, "/finish"), 200, "非法参数");
}

/* Found, and gone before its cancel came. */
static void a_job_that_its_consumer_finishes_meanwhile_is_finished(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    struct question q = {
        .op = {
            .verb = OP_CANCEL, .topic = BYTES("t"), .id = BYTES("job"), .on_done = on_answer}};
    unsigned long owners;

    pushed(f, "{\"topic\":\"t\",\"id\":\"job\"}", "job");
    owners = memory_store_count(f->ms, OP_OWNER);
    memory_store_hold(f->ms);
    send_call(&c, "GET", "/delete?jobId=job", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_OWNER) > owners);
    queue_submit(f->queue, &q.op);
    fixture_turn(f);
    memory_store_unhold(f->ms);
    assert_refused(receive(&c), 200, "任务 job 已经完成");
    leave(&c);
    AWAIT(f, q.is_done);
}

/* ---- a pop, and finish ---- */

static void a_pop_waits(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/get/topic?topic=a,b", NULL);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    fixture_pass(f, 1900);
    assert_int_equal(queue_stats(f->queue)->waiting, 1);
    fixture_pass(f, 200);
    assert_ok(receive(&c), "null");

    send_call(&c, "GET", "/get/topic?topic=a,b", NULL);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    pushed(f, "{\"topic\":\"b\",\"id\":\"1\"}", "1");
    assert_has(receive(&c), "\"id\":\"1\"");
    leave(&c);
}

static void a_pop_needs_a_topic(void **state)
{
    assert_refused(get(*state, "/get/topic"), 200, "参数topic错误");
    assert_has(get(*state, "/get/topic?topic="), "参数topic错误: a topic is 1 to 200");
    assert_has(get(*state, "/get/topic?topic=a,,b"), "参数topic错误: a topic is 1 to 200");
}

static void a_pop_has_so_many_topics(void **state)
{
    char path[256] = "/get/topic?topic=a";

    for (int i = 0; i < QUEUE_TOPICS_PER_POP_MAX; i++)
        strcat(path, ",a");
    assert_refused(get(*state, path), 200, "out_of_range: topic: more than 64 topics");
}

static void a_consumer_that_leaves_costs_no_try(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/get/topic?topic=t", NULL);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    reset(&c);
    AWAIT(f, queue_stats(f->queue)->waiting == 0);
    pushed(f, "{\"topic\":\"t\",\"id\":\"1\"}", "1");
    assert_has(get(f, "/get/topic?topic=t"), "\"id\":\"1\"");
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

#define NOT_YOURS                                                                              \
    "not_owner: no consumer has the job now, or another one has it: the time to run (TTR) is " \
    "over; the job stays"

static void a_late_consumer_does_not_finish_the_job_of_another_machine(void **state)
{
    struct fixture *f = *state;

    pushed(f, "{\"topic\":\"t\",\"id\":\"1\"}", "1");
    assert_has(get_from(f, 2, "/get/topic?topic=t"), "\"id\":\"1\"");
    fixture_pass(f, 61000); /* the topic's TTR */
    assert_has(get_from(f, 3, "/get/topic?topic=t"), "\"id\":\"1\"");
    assert_refused(get_from(f, 2, "/finish?jobId=1"), 200, NOT_YOURS);
    assert_int_equal(state_of(f, "t", "1", NULL), JOB_RESERVED);
    assert_ok(get_from(f, 3, "/finish?jobId=1"), "null");
    assert_int_equal(state_of(f, "t", "1", NULL), 0);
}

static void only_a_job_that_somebody_has_is_finished(void **state)
{
    pushed(*state, "{\"topic\":\"t\",\"id\":\"1\"}", "1");
    assert_refused(get(*state, "/finish?jobId=1"), 200, NOT_YOURS);
    assert_refused(get(*state, "/finish?jobId=nobody"), 200, "Job不存在!");
    assert_refused(get(*state, "/finish?jobId=a%20b"), 200,
                   "bad_id: a job id is 1 to 200 printable ASCII characters without white "
                   "space, and not '.' or '..'");
    assert_int_equal(state_of(*state, "t", "1", NULL), JOB_READY);
}

/* ---- restoring, and health ---- */

static void restoring_says_that_it_needs_an_archive(void **state)
{
    pushed(*state, "{\"topic\":\"t\",\"id\":\"1\"}", "1");
    assert_refused(get(*state, "/reStoreJob?jobId=1"), 200,
                   "not_implemented: /reStoreJob needs an archive of jobs, which dueq does not "
                   "have; nothing was done");
    assert_refused(get(*state, "/reStore?expire=false"), 200,
                   "not_implemented: /reStore needs an archive of jobs, which dueq does not "
                   "have; nothing was done");
    assert_int_equal(state_of(*state, "t", "1", NULL), JOB_READY);
}

#define HEALTH(status, run, master, cluster)                                             \
    "{\"status\":\"" status "\",\"jikexiu\":{\"status\":\"" status                       \
    "\",\"mykit-delay\":{\"status\":\"" status "\",\"run\":" run ",\"isMaster\":" master \
    ",\"isCluster\":" cluster ",\"bucketSize\":4,\"prefix\":\"dq\",\"namespace\":"       \
    "\"mykit-delay\"}}}"

static void health_is_told(void **state)
{
    assert_reply(get(*state, "/health"), 200, HEALTH("UP", "true", "true", "false"));
    is_leading = false;
    options.is_cluster = true;
    assert_reply(get(*state, "/health"), 200, HEALTH("UP", "true", "false", "true"));
    why_down = "the store is not there";
    assert_reply(get(*state, "/health"), 503, HEALTH("DOWN", "false", "false", "true"));
}

/* ---- clearAll ---- */

static void fill(struct fixture *f)
{
    char job[64], id[16];

    for (int i = 0; i < 12; i++) {
        snprintf(job, sizeof(job), "{\"topic\":\"t%d\",\"id\":\"d%d\",\"delay\":60000}", i, i);
        snprintf(id, sizeof(id), "d%d", i);
        pushed(f, job, id);
    }
    pushed(f, "{\"topic\":\"t1\",\"id\":\"r\"}", "r");
    pushed(f, "{\"topic\":\"t1\",\"id\":\"x\"}", "x");
    assert_has(get(f, "/get/topic?topic=t1"), "\"id\":\"r\"");
}

static void clear_all_is_off_unless_it_is_enabled(void **state)
{
    fill(*state);
    assert_refused(get(*state, "/clearAll"), 403,
                   "clearAll is off: it takes mykit.clear_all: true in the node's "
                   "configuration; nothing was done");
    assert_int_equal(state_of(*state, "t1", "x", NULL), JOB_READY);
}

/* The reply to a request that goes on over rests. */
static const char *clear_all(struct fixture *f)
{
    struct client c = connect_client(f);
    const char *reply;

    send_call(&c, "GET", "/clearAll", NULL);
    reply = receive(&c);
    leave(&c);
    return reply;
}

static void clear_all_purges_all_topics_and_tells_how_many(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    options.clear_all = true;
    fill(f);
    reply = clear_all(f);
    assert_code(reply, 200);
    assert_has(reply, "{\"success\":true,\"data\":\"花费了");
    assert_has(reply, " ms，删除 14 行数据\",\"code\":200,");
    assert_int_equal(state_of(f, "t1", "r", NULL), 0);
    assert_int_equal(state_of(f, "t11", "d11", NULL), 0);
    assert_has(clear_all(f), " ms，删除 0 行数据\"");
}

#define MANY 600 /* more than a page for each of the four buckets */

static void clear_all_goes_on_over_pages_of_topics(void **state)
{
    struct fixture *f = *state;
    char job[64];

    options.clear_all = true;
    for (int i = 0; i < MANY; i++) {
        snprintf(job, sizeof(job), "{\"topic\":\"t%d\"}", i);
        assert_has(push(f, job), "{\"success\":true,");
    }
    assert_has(clear_all(f), " ms，删除 600 行数据\"");
}

/* How many jobs the reply says are gone. */
static int gone(const char *reply)
{
    const char *at = strstr(reply, "，删除 ");

    assert_non_null(at);
    return atoi(at + strlen("，删除 "));
}

static void clear_all_that_stops_tells_how_many_are_gone(void **state)
{
    struct fixture *f = *state;
    const char *reply;
    int first;

    options.clear_all = true;
    fill(f);
    memory_store_take_away(f->ms, 2);
    reply = clear_all(f);
    assert_code(reply, 200);
    assert_has(reply, "\"code\":500,");
    assert_has(reply, "\"message\":\"unavailable: 花费了");
    assert_has(reply, " 行数据; then it stopped: the store is unavailable; nothing happened\"");
    first = gone(reply);
    assert_true(first > 0 && first < 14);
    memory_store_give_back(f->ms, 2);
    assert_int_equal(first + gone(clear_all(f)), 14);
}

static void clear_all_tells_what_may_have_happened(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    options.clear_all = true;
    fill(f);
    memory_store_hold(f->ms);
    send_call(&c, "GET", "/clearAll", NULL);
    while (!memory_store_count(f->ms, OP_STATS)) {
        fixture_pass(f, 1);
        memory_store_release(f->ms, 1);
    }
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    memory_store_unhold(f->ms);
    assert_has(receive(&c),
               " 行数据, and perhaps up to 100 more; then it stopped: the store did "
               "not answer; the operation may have happened\"");
    leave(&c);
}

static void clear_all_ends_with_its_client(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    options.clear_all = true;
    fill(f);
    memory_store_hold(f->ms);
    send_call(&c, "GET", "/clearAll", NULL);
    AWAIT(f, memory_store_in_flight(f->ms) > 0);
    reset(&c);
    fixture_pass(f, 100);
    memory_store_unhold(f->ms);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
    assert_int_equal(memory_store_count(f->ms, OP_PURGE), 0);
    assert_int_equal(state_of(f, "t1", "x", NULL), JOB_READY);
}

/* ---- who may ---- */

static void an_identity_has_its_topics_and_no_others(void **state)
{
    struct fixture *f = *state;
    struct access *known;

    options.clear_all = true;
    pushed(f, "{\"topic\":\"a\",\"id\":\"1\"}", "1");
    pushed(f, "{\"topic\":\"a\",\"id\":\"2\"}", "2");
    assert_has(get(f, "/get/topic?topic=a"), "\"id\":\"1\"");
    known = fixture_let_in(f, "shop all topics=b\n");
    assert_refused(push(f, "{\"topic\":\"a\"}"), 403, "shop is not for this topic");
    assert_refused(get(f, "/get/topic?topic=b,a"), 403, "shop is not for this topic");
    assert_ok(get(f, "/delete?jobId=1"), "null");
    assert_refused(get(f, "/finish?jobId=1"), 200, "Job不存在!");
    pushed(f, "{\"topic\":\"b\",\"id\":\"2\"}", "2");
    assert_has(clear_all(f), " ms，删除 1 行数据\"");
    fixture_shut_out(f, known);
    assert_int_equal(state_of(f, "a", "1", NULL), JOB_RESERVED);
    assert_int_equal(state_of(f, "a", "2", NULL), JOB_READY);
}

static void each_path_takes_its_role(void **state)
{
    static const struct {
        const char *roles, *method, *path;
    } rows[] = {
        {"consume,inspect,operate,admin", "POST", "/push"},
        {"consume,inspect,operate,admin", "GET", "/delete?jobId=1"},
        {"produce,inspect,operate,admin", "GET", "/get/topic?topic=t"},
        {"produce,inspect,operate,admin", "GET", "/finish?jobId=1"},
        {"produce,consume,inspect,admin", "GET", "/reStoreJob?jobId=1"},
        {"produce,consume,inspect,admin", "GET", "/reStore"},
        {"produce,consume,inspect,admin", "GET", "/clearAll"},
    };

    options.clear_all = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct access *known;
        char line[64];

        snprintf(line, sizeof(line), "shop %s\n", rows[i].roles);
        known = fixture_let_in(*state, line);
        assert_code(call(*state, rows[i].method, rows[i].path, NULL), 403);
        assert_code(get(*state, "/health"), 200);
        fixture_shut_out(*state, known);
    }
}

static void no_page_of_another_site_asks(void **state)
{
    static const char *const lines[] = {"GET /clearAll", "GET /delete?jobId=1",
                                        "GET /finish?jobId=1", "GET /get/topic?topic=t"};
    char request[256];

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        snprintf(request, sizeof(request),
                 "%s HTTP/1.1\r\nHost: h\r\nSec-Fetch-Site: cross-site\r\n" CLOSE, lines[i]);
        assert_code(ask(*state, request), 403);
    }
}

static void what_is_no_path_or_no_http_has_its_own_code(void **state)
{
    assert_refused(get(*state, "/"), 404, "no_such_path: there is nothing under this path");
    assert_refused(get(*state, "/push"), 405,
                   "method_not_allowed: this path does not answer to this method");
    assert_code(ask(*state, "GET /health\r\n\r\n"), 400);
    assert_code(ask(*state, "POST /push HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n"
                            "\r\n"),
                501);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_job_is_pushed_popped_and_finished),
        TEST(a_job_is_due_its_delay_after_its_create_time),
        TEST(a_job_without_an_id_gets_one),
        TEST(a_push_of_a_living_id_overwrites),
        TEST(it_overwrites_in_another_topic_too),
        TEST(a_push_that_fails_leaves_the_job_of_another_topic),
        TEST(a_cancel_that_fails_behind_the_push_says_so),
        TEST(wrong_pushes_are_refused),
        TEST(a_body_may_be_as_long_as_the_node_says),
        TEST(a_failure_of_the_store_is_told_from_a_refusal),
        TEST(a_job_is_deleted_in_any_state),
        TEST(an_unknown_id_is_deleted_as_well),
        TEST(an_id_is_needed),
        TEST(a_job_that_its_consumer_finishes_meanwhile_is_finished),
        TEST(a_pop_waits),
        TEST(a_pop_needs_a_topic),
        TEST(a_pop_has_so_many_topics),
        TEST(a_consumer_that_leaves_costs_no_try),
        TEST(a_late_consumer_does_not_finish_the_job_of_another_machine),
        TEST(only_a_job_that_somebody_has_is_finished),
        TEST(restoring_says_that_it_needs_an_archive),
        TEST(health_is_told),
        TEST(clear_all_is_off_unless_it_is_enabled),
        TEST(clear_all_purges_all_topics_and_tells_how_many),
        TEST(clear_all_goes_on_over_pages_of_topics),
        TEST(clear_all_that_stops_tells_how_many_are_gone),
        TEST(clear_all_tells_what_may_have_happened),
        TEST(clear_all_ends_with_its_client),
        TEST(an_identity_has_its_topics_and_no_others),
        TEST(each_path_takes_its_role),
        TEST(no_page_of_another_site_asks),
        TEST(what_is_no_path_or_no_http_has_its_own_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
