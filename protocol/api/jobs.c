/* What is done to one job, or to a list of them: push, ack, release, touch, bury, get, cancel,
 * run, kick, reschedule; and the trace of a job.
 */
#include "node/queue/queue.h"
#include "protocol/api/call.h"
#include "protocol/api/encode.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- POST /v1/topics/{topic}/jobs: one job, or a list of them ---- */

static enum status read_push(struct bytes object, struct op *op, struct api_why *why)
{
    struct api_push push;
    enum status status = api_decode_push(object, &push, why);

    if (status)
        return status;
    *op = (struct op){
        .verb = OP_PUSH,
        .id = push.id,
        .in.push = {.body = push.body,
                    .delay_ms = push.delay_ms,
                    .at_ms = push.at_ms,
                    .ttr_ms = push.ttr_ms,
                    .ttl_ms = push.ttl_ms,
                    .rules = push.rules,
                    .mode = push.mode,
                    .given = push.given},
    };
    return STATUS_OK;
}

/* ---- one job ---- */

static void on_pushed(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;
    bool is_new;

    if (!x)
        return;
    is_new = !op->out.push.existed || op->in.push.mode == PUSH_REPLACE;
    api_add_pushed(&json, op);
    exchange_reply_buf(x, is_new ? 201 : 200, &json);
}

static void push_one(struct exchange *x, struct bytes object)
{
    struct api_why why;
    struct op op;
    enum status status = read_push(object, &op, &why);

    if (status)
        api_refuse(x, status, &why);
    else
        api_call(x, &op, on_pushed);
}

/* ---- lists ---- */

static void push_item(struct batch *b, struct bytes object)
{
    struct api_why why;
    struct op op;
    enum status status = read_push(object, &op, &why);

    if (status)
        batch_refuse(b, status, &why);
    else
        batch_submit(b, &op);
}

static void push_all(struct exchange *x, struct bytes jobs)
{
    struct json_walk walk = json_walk_into(jobs);
    struct bytes object;
    struct batch *b;
    struct api_why why;
    unsigned count;
    enum status status = api_count_jobs(jobs, &count, &why);

    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    b = batch_new(x, count, api_add_pushed);
    while (json_walk_element(&walk, &object))
        push_item(b, object);
    batch_end(b);
}

void api_push(struct exchange *x)
{
    struct bytes value;

    if (!api_read_body(x, &value))
        return;
    if (json_kind_of(value) == JSON_KIND_LIST)
        push_all(x, value);
    else
        push_one(x, value);
}

/* POST /v1/topics/{topic}/ack: a list of leases. */

static void add_acked(struct buf *out, const struct op *op)
{
    json_put_text(out, "{\"id\":", op->id);
    buf_add_char(out, '}');
}

static void ack_item(struct batch *b, struct bytes object)
{
    struct api_lease lease;
    struct api_why why;
    enum status status = api_decode_one_lease(object, &lease, &why);
    struct op op = {.verb = OP_ACK};

    if (status) {
        batch_refuse(b, status, &why);
        return;
    }
    op.id = lease.id;
    op.in.lease.stamp = lease.stamp;
    batch_submit(b, &op);
}

void api_ack_all(struct exchange *x)
{
    struct bytes value, list, object;
    struct json_walk walk;
    struct batch *b;
    struct api_why why;
    enum status status;
    unsigned count;

    if (!api_read_body(x, &value))
        return;
    status = api_decode_leases(value, &list, &count, &why);
    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    b = batch_new(x, count, add_acked);
    walk = json_walk_into(list);
    while (json_walk_element(&walk, &object))
        ack_item(b, object);
    batch_end(b);
}

/* One job: get, cancel; and with its lease ack, release, touch, bury.
 */

static void on_got(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    api_add_job(&json, x->topic, &op->out.row);
    exchange_reply_buf(x, 200, &json);
}

void api_get(struct exchange *x)
{
    struct op op = {.verb = OP_GET, .id = x->id};

    api_call(x, &op, on_got);
}

void api_cancel(struct exchange *x)
{
    struct op op = {.verb = OP_CANCEL, .id = x->id};

    if (api_expect_nothing(x))
        api_call(x, &op, api_on_done_nothing);
}

/* ---- with a lease ---- */

static void on_released(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    api_add_released(&json, op);
    exchange_reply_buf(x, 200, &json);
}

static void on_touched(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    json_put_number(&json, "{\"deadline_ms\":", op->out.change.deadline_ms);
    buf_add_char(&json, '}');
    exchange_reply_buf(x, 200, &json);
}

static void on_buried(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    json_put_text(&json, "{\"death\":", bytes_of_text(death_word(DEATH_BURIED)));
    json_put_number(&json, ",\"tries\":", op->out.change.tries);
    buf_add_char(&json, '}');
    exchange_reply_buf(x, 200, &json);
}

static void call_with_lease(struct exchange *x, enum op_verb verb,
                            void (*on_done)(struct op *op))
{
    struct op op = {.verb = verb, .id = x->id};
    struct bytes object;
    struct api_lease lease;
    struct api_why why;
    enum status status;

    if (!api_read_body(x, &object))
        return;
    status = api_decode_lease(object, verb, &lease, &why);
    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    op.in.lease.stamp = lease.stamp;
    op.in.lease.delay_ms = lease.delay_ms;
    op.in.lease.ttr_ms = lease.ttr_ms;
    api_call(x, &op, on_done);
}

void api_ack(struct exchange *x)
{
    call_with_lease(x, OP_ACK, api_on_done_nothing);
}

void api_release(struct exchange *x)
{
    call_with_lease(x, OP_RELEASE, on_released);
}

void api_touch(struct exchange *x)
{
    call_with_lease(x, OP_TOUCH, on_touched);
}

void api_bury(struct exchange *x)
{
    call_with_lease(x, OP_BURY, on_buried);
}

/* POST /v1/topics/{topic}/jobs/{id}/run, /kick and /reschedule: a job becomes due at another
 * time. The three differ in the states they do it from.
 */

#define ALIVE (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED)
#define DEAD  (1u << JOB_DEAD)

static void on_moved(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    json_put_number(&json, "{\"due_ms\":", op->out.change.due_ms);
    buf_add_char(&json, '}');
    exchange_reply_buf(x, 200, &json);
}

static void move(struct exchange *x, const struct api_move *to, unsigned states)
{
    struct op op = {
        .verb = OP_MOVE,
        .id = x->id,
        .in.move = {.delay_ms = to->delay_ms, .at_ms = to->at_ms, .states = states}};

    api_call(x, &op, on_moved);
}

void api_run(struct exchange *x)
{
    static const struct api_move now = {0};

    if (api_expect_nothing(x))
        move(x, &now, ALIVE);
}

void api_kick_one(struct exchange *x)
{
    static const struct api_move now = {0};

    if (api_expect_nothing(x))
        move(x, &now, DEAD);
}

void api_reschedule(struct exchange *x)
{
    struct bytes object;
    struct api_move to;
    struct api_why why;
    enum status status;

    if (!api_read_body(x, &object))
        return;
    status = api_decode_move(object, &to, &why);
    if (status)
        api_refuse(x, status, &why);
    else
        move(x, &to, ALIVE | DEAD);
}

/* GET /v1/topics/{topic}/jobs/{id}/history: what a job went through. */

#define LINES_DEFAULT 100

struct tracing {
    struct exchange *x;
    struct trace trace;
};

static void on_traced(struct trace *trace)
{
    struct tracing *t = CONTAINER_OF(trace, struct tracing, trace);
    struct buf json = BUF_INIT;

    if (trace->status == STATUS_OK) {
        api_add_history(&json, trace);
        exchange_reply_buf(t->x, 200, &json);
    } else {
        exchange_reply_status_error(t->x, trace->status);
    }
}

static void on_gone(struct exchange *x)
{
    struct tracing *t = x->handler;

    queue_trace_cancel(&t->trace);
}

/* No on_cancel_wait: a client that has only ended its side wants the whole history. */
void api_history(struct exchange *x)
{
    struct tracing *t;
    int64_t limit;

    if (!exchange_query_int(x, "limit", 1, QUEUE_TRACE_MAX, LINES_DEFAULT, &limit))
        return;
    t = exchange_keep(x, sizeof(*t));
    *t = (struct tracing){
        .x = x,
        .trace = {
            .topic = x->topic, .id = x->id, .limit = (unsigned)limit, .on_done = on_traced}};
    x->on_gone = on_gone;
    queue_trace(api_of(x)->queue, &t->trace);
}
