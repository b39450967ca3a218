#include "protocol/mykit/mykit.h"

#include <time.h>

#include "node/queue/queue.h"
#include "protocol/access/role.h"
#include "protocol/http/exchange.h"
#include "protocol/http/jobs.h"
#include "protocol/mykit/codec.h"

/* mykit-delay's own words. */
#define BAD_TOPIC    "参数topic错误"
#define BAD_ARGUMENT "非法参数"
#define BAD_STATUS   "任务%.*s状态异常"
#define IS_FINISHED  "任务 %.*s 已经完成"
#define NO_JOB       "Job不存在!"

#define NOT_YOURS                                                                              \
    "not_owner: no consumer has the job now, or another one has it: the time to run (TTR) is " \
    "over; the job stays"

static const struct mykit_options *options_of(const struct exchange *x)
{
    return x->arg;
}

/* ---- replies ---- */

static void reply_ok(struct exchange *x)
{
    struct buf json = BUF_INIT;

    mykit_add_ok(&json);
    exchange_reply_buf(x, 200, &json);
}

static void reply_text(struct exchange *x, struct bytes text)
{
    struct buf json = BUF_INIT;

    mykit_add_text(&json, text);
    exchange_reply_buf(x, 200, &json);
}

static void reply_failure(struct exchange *x, enum status status)
{
    if (status == STATUS_BAD_TOPIC)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, "%s: %s", BAD_TOPIC,
                                  http_error_row(HTTP_ERROR_BAD_TOPIC)->text);
    else
        exchange_reply_status_error(x, status);
}

/* ---- push ---- */

/* The client's address without its port: "mykit 10.0.0.7:40712", "mykit [fd00::7]:40712". */
static struct bytes address_of(struct exchange *x)
{
    struct bytes name = exchange_client(x);

    (void)bytes_cut(&name, ' ');
    while (name.len && name.at[name.len - 1] != ':')
        name.len--;
    name.len -= name.len > 0;
    return name;
}

/* It grows with time, as mykit-delay's. Should two nodes ever make the same id, the store
 * refuses the second one. */
static uint64_t id_number(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void on_pushed(struct op *op)
{
    struct http_call *call = http_call_of(op);

    if (op->status == STATUS_OK)
        reply_text(call->x, op->id);
    else if (call->left_rival)
        exchange_reply_error_text(call->x, HTTP_ERROR_UNKNOWN, "unknown: " HTTP_LEFT_RIVAL);
    else
        reply_failure(call->x, op->status);
}

/* False: answered. */
static bool passes(struct exchange *x, const struct mykit_job *job)
{
    int64_t at_ms, delay_ms;

    if (!job->topic.at)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, BAD_TOPIC);
    else if (!topic_name_is_valid(job->topic))
        reply_failure(x, STATUS_BAD_TOPIC);
    else if (job->status != 0 && job->status != 5)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, BAD_STATUS, BYTES_ARG(job->id));
    else if (!mykit_job_due(job, &at_ms, &delay_ms))
        exchange_reply_error_text(
            x, HTTP_ERROR_OUT_OF_RANGE,
            "out_of_range: delay: it would be due in more than 3650 days");
    else
        return exchange_is_for_topics(x, job->topic);
    return false;
}

static void push_job(struct exchange *x, const struct mykit_job *job, bool has_own_id)
{
    struct attributes attributes;
    struct op op = {.verb = OP_PUSH,
                    .topic = job->topic,
                    .id = job->id,
                    .in.push = {.body = job->body, .is_indexed = true, .has_extra = true}};

    (void)mykit_job_due(job, &op.in.push.at_ms, &op.in.push.delay_ms);
    if (!mykit_job_pack(job, &attributes)) {
        exchange_reply_error_text(x, HTTP_ERROR_JOB_TOO_LARGE,
                                  "too_large: subtopic and bizKey together have more than %d "
                                  "bytes",
                                  ATTRIBUTES_MAX_BYTES);
        return;
    }
    op.in.push.attributes = attributes_packed(&attributes);
    if (has_own_id)
        http_push_over(x, &op, on_pushed, NULL);
    else
        http_submit(x, &op, on_pushed, NULL);
}

static void push(struct exchange *x)
{
    struct buf made = BUF_INIT;
    struct mykit_job job;
    const char *why;
    bool has_own_id;

    if (!mykit_job_read(x->body, &job, &why)) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "bad_request: %s", why);
        return;
    }
    has_own_id = job.id.len > 0;
    if (!has_own_id) {
        mykit_id_add(&made, &job, address_of(x), id_number());
        job.id = buf_bytes(&made);
    }
    if (passes(x, &job))
        push_job(x, &job, has_own_id);
    buf_fini(&made);
}

/* ---- delete ---- */

/* With a topic: the job was there a moment ago, and its consumer was faster. */
static void on_deleted(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;

    if (op->status == STATUS_OK || (op->status == STATUS_NOT_FOUND && !op->topic.len))
        reply_ok(x);
    else if (op->status == STATUS_NOT_FOUND)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, IS_FINISHED, BYTES_ARG(op->id));
    else
        reply_failure(x, op->status);
}

/* The id that the query names. False: it names none; that was answered. */
static bool take_id(struct exchange *x, struct bytes *id)
{
    *id = exchange_query_text(x, "jobId");
    if (!id->at)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_ID, BAD_ARGUMENT);
    return id->at != NULL;
}

static void delete_job(struct exchange *x)
{
    struct op op = {.verb = OP_CANCEL};

    if (!take_id(x, &op.id))
        return;
    if (job_id_is_valid(op.id))
        http_submit_by_id(x, &op, on_deleted, NULL);
    else
        reply_ok(x); /* nobody has it */
}

/* ---- a pop, and finish ---- */

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct buf json = BUF_INIT;

    if (pop->status == STATUS_OK) {
        mykit_add_job(&json, pop->topic, &pop->jobs[0]);
        exchange_reply_buf(x, 200, &json);
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_CANCELLED) {
        reply_ok(x);
    } else {
        reply_failure(x, pop->status);
    }
}

static void pop_job(struct exchange *x)
{
    struct bytes topics = exchange_query_text(x, "topic");
    struct pop ask = {.count = 1, .wait_ms = options_of(x)->pop_wait_ms, .id_only = true};

    if (!topics.at) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, BAD_TOPIC);
        return;
    }
    if (!exchange_is_for_topics(x, topics))
        return;
    if (http_pop(x, topics, &ask, on_popped))
        exchange_reply_error_text(x, HTTP_ERROR_OUT_OF_RANGE,
                                  "out_of_range: topic: more than %d topics",
                                  QUEUE_TOPICS_PER_POP_MAX);
}

static void on_finished(struct id_ack *ack)
{
    struct exchange *x = http_ack_exchange(ack);

    if (ack->status == STATUS_OK)
        reply_ok(x);
    else if (ack->status == STATUS_NOT_FOUND)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_FOUND, NO_JOB);
    else if (ack->status == STATUS_NOT_OWNER)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_OWNER, NOT_YOURS);
    else
        reply_failure(x, ack->status);
}

static void finish(struct exchange *x)
{
    struct bytes id;

    if (take_id(x, &id))
        http_ack_by_id(x, id, on_finished);
}

/* ---- the rest ---- */

static void restore(struct exchange *x)
{
    exchange_reply_error_text(x, HTTP_ERROR_CODING,
                              "not_implemented: %.*s needs an archive of jobs, which dueq does "
                              "not have; nothing was done",
                              BYTES_ARG(x->head.path));
}

static void tell_health(struct exchange *x)
{
    const struct mykit_options *options = options_of(x);
    bool is_up = !options->why_not_ready || !options->why_not_ready(options->arg);
    struct mykit_health health = {
        .is_up = is_up && !exchange_is_stopping(x),
        .is_master = !options->is_master || options->is_master(options->arg),
        .is_cluster = options->is_cluster,
        .bucket_count = queue_buckets(exchange_queue(x)),
        .prefix = bytes_of_text(options->prefix ? options->prefix : "")};
    struct buf json = BUF_INIT;

    mykit_add_health(&json, &health);
    exchange_reply_buf(x, health.is_up ? 200 : 503, &json);
}

/* ---- the table ---- */

/* clang-format off */
static const struct route routes[] = {
    {"POST", BYTES("/push"), push, .body = ROUTE_JOBS_BODY,
        .operation = "mykit.push", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/delete"), delete_job, .query = {"jobId"},
        .operation = "mykit.delete", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/get/topic"), pop_job, .query = {"topic"},
        .operation = "mykit.getTopic", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/finish"), finish, .query = {"jobId"},
        .operation = "mykit.finish", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/reStoreJob"), restore, .query = {"jobId"},
        .operation = "mykit.reStoreJob", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/reStore"), restore, .query = {"expire"},
        .operation = "mykit.reStore", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/clearAll"), mykit_clear,
        .operation = "mykit.clearAll", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/health"), tell_health, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
};
/* clang-format on */

/* mykit-delay catches whatever goes wrong with jobs and with Redis, and answers it with 200;
 * what the server refuses before has its own code. */
static int code_of(const struct exchange *x, enum http_error error)
{
    bool is_restore = x->route && x->route->handle == restore;

    return http_error_is_of_jobs(error) || (is_restore && error == HTTP_ERROR_CODING)
               ? 200
               : http_error_row(error)->code;
}

static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    struct buf text = BUF_INIT;

    http_error_add(&text, error, message);
    mykit_add_error(out, buf_bytes(&text));
    buf_fini(&text);
    return code_of(x, error);
}

const struct http_app mykit_app = {
    .name = "mykit",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .content_type = "application/json;charset=UTF-8",
    .ignores_unknown_query = true,
    .reads_change = true,
};
