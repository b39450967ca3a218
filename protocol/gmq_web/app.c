#include "protocol/gmq_web/gmq_web.h"

#include "node/queue/queue.h"
#include "protocol/access/role.h"
#include "protocol/gmq_web/codec.h"
#include "protocol/http/exchange.h"
#include "protocol/http/jobs.h"
#include "protocol/http/message.h"

#define POP_WAIT_MS 3000

static void reply_done(struct exchange *x, const char *msg)
{
    struct buf json = BUF_INIT;

    gmq_web_add_done(&json, msg);
    exchange_reply_buf(x, 200, &json);
}

/* ---- push ---- */

/* The form's field, unescaped in place; empty: there is none, or the form is malformed. */
static struct bytes field_of(struct bytes form, struct bytes wanted)
{
    struct bytes name, value;

    while (form_next(&form, &name, &value) > 0)
        if (bytes_equal(name, wanted))
            return value;
    return BYTES("");
}

static void on_pushed(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;

    if (op->status == STATUS_OK)
        reply_done(x, "push success");
    else if (op->status == STATUS_DUPLICATE)
        exchange_reply_error_text(x, HTTP_ERROR_DUPLICATE,
                                  "jobKey:gmq:jobpool:%.*s,error:has exist", BYTES_ARG(op->id));
    else
        exchange_reply_status_error(x, op->status);
}

static void push(struct exchange *x)
{
    struct bytes data = field_of(x->body, BYTES("data"));
    struct gmq_web_job job;
    const char *why = "data is empty";

    if (!data.len || !gmq_web_job_read(data, &job, &why)) {
        exchange_reply_error_text(x, HTTP_ERROR_OUT_OF_RANGE, "%s", why);
        return;
    }
    if (exchange_is_for_topics(x, job.topic))
        http_submit(x,
                    &(struct op){.verb = OP_PUSH,
                                 .topic = job.topic,
                                 .id = job.id,
                                 .in.push = {.body = job.body,
                                             .delay_ms = job.delay_ms,
                                             .ttr_ms = job.ttr_ms,
                                             .given = SETTING_BIT(TTR)}},
                    on_pushed, NULL);
}

/* ---- pop ---- */

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct buf json = BUF_INIT;

    if (pop->status == STATUS_OK) {
        gmq_web_add_popped(&json, pop->topic, &pop->jobs[0]);
        exchange_reply_buf(x, 200, &json);
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_CANCELLED) {
        gmq_web_add_error(&json, BYTES("empty")); /* no error of the node's, to be counted */
        exchange_reply_buf(x, 200, &json);
    } else {
        exchange_reply_status_error(x, pop->status);
    }
}

static void pop(struct exchange *x)
{
    struct bytes topics = exchange_query_text(x, "topic");
    struct pop ask = {.count = 1, .wait_ms = POP_WAIT_MS, .id_only = true};

    if (!topics.len) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_TOPIC, "topic is empty");
        return;
    }
    if (!exchange_is_for_topics(x, topics))
        return;
    if (http_pop(x, topics, &ask, on_popped))
        exchange_reply_error_text(x, HTTP_ERROR_OUT_OF_RANGE,
                                  "out_of_range: topic: more than %d topics",
                                  QUEUE_TOPICS_PER_POP_MAX);
}

/* ---- ack ---- */

static void on_acked(struct id_ack *ack)
{
    struct exchange *x = http_ack_exchange(ack);

    if (ack->status == STATUS_OK)
        reply_done(x, "ack success");
    else if (ack->status == STATUS_NOT_OWNER)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_OWNER,
                                  "TTR has expired and will be consumed again");
    else
        exchange_reply_status_error(x, ack->status);
}

static void ack(struct exchange *x)
{
    struct bytes id = exchange_query_text(x, "jobId");

    if (id.len)
        http_ack_by_id(x, id, on_acked);
    else
        exchange_reply_error_text(x, HTTP_ERROR_BAD_ID, "jobId is empty");
}

/* ---- the table ---- */

/* clang-format off */
static const struct route routes[] = {
    {"POST", BYTES("/push"), push, .body = ROUTE_JOBS_BODY,
        .operation = "gmqWeb.push", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/pop"), pop, .query = {"topic"},
        .operation = "gmqWeb.pop", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/ack"), ack, .query = {"jobId"},
        .operation = "gmqWeb.ack", .roles = ACCESS_CONSUME},

    {"GET", BYTES("/getReadyQueueStat"), gmq_web_stats, .what = GMQ_WEB_READY,
        .operation = "gmqWeb.getReadyQueueStat", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/getBucketStat"), gmq_web_stats, .what = GMQ_WEB_DELAYED,
        .operation = "gmqWeb.getBucketStat", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/getTTRBucketStat"), gmq_web_stats, .what = GMQ_WEB_RESERVED,
        .operation = "gmqWeb.getTTRBucketStat", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/getJobsByBucketKey"), gmq_web_jobs, .query = {"bucketKey", "limit"},
        .operation = "gmqWeb.getJobsByBucketKey", .roles = ACCESS_INSPECT},
};
/* clang-format on */

/* Version 2 answers each error with 200; the monitor with 400 what is wrong with the request,
 * and with 500 what is wrong with the store. What the server refuses before has its own code.
 */
static int code_of(const struct exchange *x, enum http_error error)
{
    int code = http_error_row(error)->code;

    if (!http_error_is_of_jobs(error))
        return code;
    if (!(x->route->roles & ACCESS_INSPECT))
        return 200;
    return code == 400 ? 400 : 500;
}

static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    struct buf text = BUF_INIT;

    http_error_add(&text, error, message);
    gmq_web_add_error(out, buf_bytes(&text));
    buf_fini(&text);
    return code_of(x, error);
}

const struct http_app gmq_web_app = {
    .name = "gmq_web",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .content_type = "application/json; charset=utf-8",
    .ignores_unknown_query = true,
    .reads_change = true,
};
