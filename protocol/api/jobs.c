/* What is done to one job, or to a list of them: push, ack, release, touch, bury, get, cancel,
 * run, kick, reschedule; and the trace of a job.
 */
#include "node/queue/queue.h"
#include "protocol/access/role.h"
#include "protocol/api/call.h"
#include "protocol/api/encode.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"

/* ---- POST /v1/topics/{topic}/jobs: one job, or a list of them ---- */

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
    struct op op = {.verb = OP_PUSH};
    struct api_why why;

    if (api_passes(x, api_decode_push(object, &op, &why), &why))
        api_call(x, &op, on_pushed);
}

static void push_all(struct exchange *x, struct bytes jobs)
{
    struct api_why why;
    unsigned count;

    if (api_passes(x, api_count(jobs, "jobs", &count, &why), &why))
        api_ask_all(x, OP_PUSH, jobs, count, api_decode_push, api_add_pushed);
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

void api_ack_all(struct exchange *x)
{
    struct bytes value, leases;
    struct api_why why;
    unsigned count;

    if (api_read_body(x, &value) &&
        api_passes(x, api_decode_leases(value, &leases, &count, &why), &why))
        api_ask_all(x, OP_ACK, leases, count, api_decode_one_lease, add_acked);
}

/* One job: get, cancel; and with its lease ack, release, touch, bury.
 */

static void add_got(struct buf *out, const struct op *op)
{
    api_add_job(out, op->topic, &op->out.row);
}

/* For those who may only look. */
static void add_got_without_body(struct buf *out, const struct op *op)
{
    struct job_row row = op->out.row;

    row.body_bytes = (int64_t)row.job.body.len;
    api_add_listed_job(out, op->topic, &row);
}

void api_get(struct exchange *x)
{
    struct op op = {.verb = OP_GET, .id = x->id};
    bool has_body = exchange_may(x, ACCESS_PRODUCE | ACCESS_CONSUME);

    api_ask(x, &op, has_body ? add_got : add_got_without_body);
}

void api_cancel(struct exchange *x)
{
    struct op op = {.verb = OP_CANCEL, .id = x->id};

    if (api_expect_nothing(x))
        api_ask(x, &op, NULL);
}

/* ---- with a lease ---- */

static void add_touched(struct buf *out, const struct op *op)
{
    json_put_number(out, "{\"deadline_ms\":", op->out.change.deadline_ms);
    buf_add_char(out, '}');
}

static void add_buried(struct buf *out, const struct op *op)
{
    json_put_text(out, "{\"death\":", bytes_of_text(death_word(DEATH_BURIED)));
    json_put_number(out, ",\"tries\":", op->out.change.tries);
    buf_add_char(out, '}');
}

void api_lease(struct exchange *x)
{
    static void (*const adds[OP_COUNT])(struct buf * out, const struct op *op) = {
        [OP_ACK] = NULL,
        [OP_RELEASE] = api_add_released,
        [OP_TOUCH] = add_touched,
        [OP_BURY] = add_buried,
    };
    struct op op = {.verb = (enum op_verb)x->route->what, .id = x->id};

    if (api_read_op(x, &op, api_decode_lease))
        api_ask(x, &op, adds[op.verb]);
}

/* POST /v1/topics/{topic}/jobs/{id}/run, /kick and /reschedule: a job becomes due at another
 * time. The three differ in the states they do it from.
 */

#define ALIVE (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED)
#define DEAD  (1u << JOB_DEAD)

static void add_moved(struct buf *out, const struct op *op)
{
    json_put_number(out, "{\"due_ms\":", op->out.change.due_ms);
    buf_add_char(out, '}');
}

static void move_now(struct exchange *x, unsigned states)
{
    struct op op = {.verb = OP_MOVE, .id = x->id, .in.move.states = states};

    if (api_expect_nothing(x))
        api_ask(x, &op, add_moved);
}

void api_run(struct exchange *x)
{
    move_now(x, ALIVE);
}

void api_kick_one(struct exchange *x)
{
    move_now(x, DEAD);
}

void api_reschedule(struct exchange *x)
{
    struct op op = {.verb = OP_MOVE, .id = x->id, .in.move.states = ALIVE | DEAD};

    if (api_read_op(x, &op, api_decode_move))
        api_ask(x, &op, add_moved);
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
