/* POST /v1/topics/{topic}/jobs/{id}/run, /kick and /reschedule: a job becomes due at another
 * time. The three differ in the states they do it from.
 */
#include "protocol/http/api_call.h"
#include "protocol/http/encode.h"
#include "protocol/http/routes.h"

#define ALIVE (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED)
#define DEAD  (1u << JOB_DEAD)

static void answer_moved(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_number(&json, "{\"due_ms\":", op->out.change.due_ms);
    buf_add_char(&json, '}');
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void move(struct exchange *x, const struct api_move *to, unsigned states)
{
    struct op op = {
        .verb = OP_MOVE,
        .id = x->id,
        .in.move = {.delay_ms = to->delay_ms, .at_ms = to->at_ms, .states = states}};

    api_call(x, &op, answer_moved);
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
