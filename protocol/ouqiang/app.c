/* Paths of the ouqiang port, and what each does with the engine.
 *
 * A reply has status 200 whatever it says, as clients of the original expect it: `code` tells,
 * and where it is 1 `message` says why, the original's words before ours. Only an unknown path
 * is 404.
 */
#include "base/bytes.h"
#include "protocol/access/role.h"
#include "protocol/http/jobs.h"
#include "protocol/ouqiang/codec.h"
#include "protocol/ouqiang/ouqiang.h"

#define POP_WAIT_MS 178000 /* the original's default */
#define NO_ID       "job id不能为空"

/* ---- replies ---- */

static void reply(struct exchange *x, struct bytes message, struct bytes data)
{
    struct buf out = BUF_INIT;

    ouqiang_add_reply(&out, 0, message, data);
    exchange_reply_buf(x, 200, &out);
}

static void reply_done(struct exchange *x)
{
    reply(x, BYTES("操作成功"), BYTES("null"));
}

/* The original's words for whatever went wrong in a path; ours come behind it. */
enum path { PUSH, POP, REMOVE, GET };

static const char *const failures[] = {
    [PUSH] = "添加失败", [POP] = "获取Job失败", [REMOVE] = "删除失败", [GET] = "查询失败"};

/* What a handler refuses is the original's own, or explained like that; the rest is not known
 * to the original. */
static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    struct buf text = BUF_INIT;

    if (error == HTTP_ERROR_NO_PATH) {
        buf_add_text(out, "404 page not found\n");
        return 404;
    }
    if (error != HTTP_ERROR_BAD_REQUEST) {
        if (x->route)
            buf_printf(&text, "%s: ", failures[x->route->what]);
        buf_printf(&text, "%s: ", http_error_row(error)->word);
    }
    buf_add_bytes(&text, message);
    ouqiang_add_reply(out, 1, buf_bytes(&text), BYTES("null"));
    buf_fini(&text);
    return 200;
}

static void refuse(struct exchange *x, const char *why)
{
    exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "%s", why);
}

/* False: that was answered. */
static bool read(struct exchange *x, struct ouqiang_request *request)
{
    bool is_json = ouqiang_read(x->body, request);

    if (!is_json)
        refuse(x, "解析json失败");
    return is_json;
}

/* ---- /push ---- */

static void on_pushed(struct op *op)
{
    const struct http_call *call = http_call_of(op);

    if (op->status == STATUS_OK)
        reply(call->x, BYTES("添加成功"), BYTES("null"));
    else if (call->left_rival)
        exchange_reply_error_text(call->x, HTTP_ERROR_UNKNOWN, HTTP_LEFT_RIVAL);
    else
        exchange_reply_status_error(call->x, op->status);
}

static void push(struct exchange *x)
{
    struct ouqiang_request request;
    struct op op = {.verb = OP_PUSH};
    const char *refusal;

    if (!read(x, &request))
        return;
    refusal = ouqiang_refusal_of_push(&request);
    if (refusal) {
        refuse(x, refusal);
        return;
    }
    if (!exchange_is_for_topics(x, request.topic))
        return;
    op.topic = request.topic;
    op.id = request.id;
    op.in.push.body = request.body;
    op.in.push.delay_ms = request.delay_s * 1000;
    op.in.push.ttr_ms = request.ttr_s * 1000;
    op.in.push.given = SETTING_BIT(TTR);
    http_push_over(x, &op, on_pushed, NULL);
}

/* ---- /pop ---- */

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct buf data = BUF_INIT;

    if (pop->status == STATUS_OK) {
        ouqiang_add_popped(&data, &pop->jobs[0]);
        reply(x, BYTES("操作成功"), buf_bytes(&data));
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_CANCELLED) {
        reply_done(x);
    } else {
        exchange_reply_status_error(x, pop->status);
    }
    buf_fini(&data);
}

static void pop(struct exchange *x)
{
    const struct pop ask = {.count = 1, .wait_ms = POP_WAIT_MS};
    struct ouqiang_request request;

    if (!read(x, &request))
        return;
    if (!request.topic.len)
        refuse(x, "topic不能为空");
    else if (exchange_is_for_topics(x, request.topic) &&
             http_pop(x, request.topic, &ask, on_popped))
        exchange_reply_error_text(x, HTTP_ERROR_OUT_OF_RANGE, "more than %d topics",
                                  QUEUE_TOPICS_PER_POP_MAX);
}

/* ---- /finish, /delete, /get: by the id alone ---- */

static void on_removed(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;

    if (op->status && op->status != STATUS_NOT_FOUND)
        exchange_reply_status_error(x, op->status);
    else
        reply_done(x);
}

static void on_got(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;
    struct buf data = BUF_INIT;

    if (op->status == STATUS_OK) {
        ouqiang_add_job(&data, op->topic, &op->out.row.job);
        reply(x, BYTES("操作成功"), buf_bytes(&data));
    } else if (op->status == STATUS_NOT_FOUND) {
        reply_done(x);
    } else {
        exchange_reply_status_error(x, op->status);
    }
    buf_fini(&data);
}

static void by_id(struct exchange *x, struct op op, void (*on_done)(struct op *op))
{
    struct ouqiang_request request;

    if (!read(x, &request))
        return;
    op.id = request.id;
    if (op.id.len)
        http_submit_by_id(x, &op, on_done, NULL);
    else
        refuse(x, NO_ID);
}

static void delete_job(struct exchange *x)
{
    by_id(x, (struct op){.verb = OP_CANCEL}, on_removed);
}

/* Who only consumes ends what a consumer may have had: a delayed job is its producer's. */
static void finish(struct exchange *x)
{
    struct op op = {.verb = OP_CANCEL};

    if (!exchange_may(x, ACCESS_PRODUCE))
        op.in.cancel.states = 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD;
    by_id(x, op, on_removed);
}

static void get(struct exchange *x)
{
    by_id(x, (struct op){.verb = OP_GET}, on_got);
}

/* ---- the app ---- */

/* clang-format off */
static const struct route routes[] = {
    {NULL, BYTES("/push"), push, .body = ROUTE_JOBS_BODY, .what = PUSH,
        .operation = "ouqiang.push", .roles = ACCESS_PRODUCE},
    {NULL, BYTES("/pop"), pop, .body = ROUTE_SMALL_BODY, .what = POP,
        .operation = "ouqiang.pop", .roles = ACCESS_CONSUME},
    {NULL, BYTES("/finish"), finish, .body = ROUTE_SMALL_BODY, .what = REMOVE,
        .operation = "ouqiang.finish", .roles = ACCESS_CONSUME},
    {NULL, BYTES("/delete"), delete_job, .body = ROUTE_SMALL_BODY, .what = REMOVE,
        .operation = "ouqiang.delete", .roles = ACCESS_PRODUCE},
    {NULL, BYTES("/get"), get, .body = ROUTE_SMALL_BODY, .what = GET,
        .operation = "ouqiang.get", .roles = ACCESS_PRODUCE | ACCESS_CONSUME},
};
/* clang-format on */

const struct http_app ouqiang_app = {
    .name = "ouqiang",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .content_type = "text/plain; charset=utf-8",
    .ignores_unknown_query = true,
    .reads_change = true,
};
