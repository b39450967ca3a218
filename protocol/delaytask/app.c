/* Paths of the delaytask port, and what each does with the engine.
 *
 * `dm_error` tells, whatever the status: 0, or what would be the status code over the native
 * API, so that 504 means "may have happened" and nothing else does.
 */
#include <stdlib.h>

#include "protocol/access/role.h"
#include "protocol/delaytask/codec.h"
#include "protocol/delaytask/delaytask.h"
#include "protocol/http/jobs.h"

/* ---- errors ---- */

static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    const struct http_error_row *row = http_error_row(error);

    delaytask_add_error(out, row->code, row->word, message);
    return error == HTTP_ERROR_NO_PATH || error == HTTP_ERROR_METHOD ? row->code : 200;
}

/* False: that was answered. */
static bool passes(struct exchange *x, const char *refusal)
{
    if (refusal)
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "%s", refusal);
    return !refusal;
}

static bool read(struct exchange *x, struct delaytask_request *request)
{
    char room[160];

    if (!passes(x, delaytask_read(x->body, request, room)))
        return false;
    if (!topic_name_is_valid(request->topic)) /* a pop takes several, with commas between */
        exchange_reply_error(x, HTTP_ERROR_BAD_TOPIC);
    else
        return exchange_is_for_topics(x, request->topic);
    return false;
}

/* ---- add ---- */

static void on_added(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;
    struct buf json = BUF_INIT;

    if (op->status) {
        exchange_reply_status_error(x, op->status);
        return;
    }
    delaytask_add_added(&json, op->out.push.id);
    exchange_reply_buf(x, 200, &json);
}

static void add(struct exchange *x)
{
    struct delaytask_request request;
    struct op op = {.verb = OP_PUSH};
    char *room;
    bool is_fine;

    if (!read(x, &request))
        return;
    room = must(malloc(request.content.len + 1));
    is_fine = passes(x, delaytask_refusal_of_add(&request, room));
    free(room);
    if (!is_fine)
        return;
    op.topic = request.topic;
    op.in.push.body = request.content;
    op.in.push.at_ms = request.moment_s * 1000;
    http_submit(x, &op, on_added, NULL);
}

/* ---- pull ---- */

/* There is no acknowledgement: a task is done with its delivery. */
static const struct pop ask = {.count = 1, .has_ttr = true};

/* Also of one that another consumer is just getting. */
static void reply_none(struct exchange *x)
{
    exchange_reply_error_text(x, HTTP_ERROR_NOT_FOUND, "no such task is due");
}

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct buf json = BUF_INIT;

    if (pop->status == STATUS_OK) {
        delaytask_add_pulled(&json, pop->jobs[0].body);
        exchange_reply_buf(x, 200, &json);
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_WRONG_STATE) {
        reply_none(x);
    } else {
        exchange_reply_status_error(x, pop->status);
    }
}

static void take(struct exchange *x, struct bytes topic, struct bytes id)
{
    struct pop one = ask;

    one.take_id = id;
    if (http_pop(x, topic, &one, on_popped))
        exchange_reply_error(x, HTTP_ERROR_OUT_OF_RANGE); /* never: it is one topic */
}

/* Never early: by its id, too, a task is taken only when it is due. */
static void on_looked(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;
    struct bytes topic = op->topic, id = op->id;

    if (op->status == STATUS_NOT_FOUND)
        reply_none(x);
    else if (op->status)
        exchange_reply_status_error(x, op->status);
    else if (op->out.row.job.state == JOB_DELAYED)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, "the task is not due yet");
    else
        take(x, topic, id);
}

static void pull(struct exchange *x)
{
    struct delaytask_request request;
    struct op op = {.verb = OP_GET};

    if (!read(x, &request))
        return;
    op.topic = request.topic;
    op.id = request.task_id;
    if (op.id.len)
        http_submit(x, &op, on_looked, NULL);
    else
        take(x, request.topic, BYTES(""));
}

/* ---- the app ---- */

/* clang-format off */
static const struct route routes[] = {
    {"POST", BYTES("/delay/task/add"), add, .body = ROUTE_JOBS_BODY,
        .operation = "delaytask.add", .roles = ACCESS_PRODUCE},
    {"POST", BYTES("/delay/task/pull"), pull, .body = ROUTE_SMALL_BODY,
        .operation = "delaytask.pull", .roles = ACCESS_CONSUME},
};
/* clang-format on */

const struct http_app delaytask_app = {
    .name = "delaytask",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .ignores_unknown_query = true,
    .reads_change = true,
};
