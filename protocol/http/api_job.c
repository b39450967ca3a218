/* What can be done with one job that is there: look at it, cancel it; and with its lease
 * acknowledge it, give it back, keep it for longer, put it aside.
 */
#include "protocol/http/api_call.h"
#include "protocol/http/encode.h"
#include "protocol/http/routes.h"

static void answer_job(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_job(&json, x->topic, &op->out.row);
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

void api_get(struct exchange *x)
{
    struct op op = {.verb = OP_GET, .id = x->id};

    api_call(x, &op, answer_job);
}

void api_cancel(struct exchange *x)
{
    struct op op = {.verb = OP_CANCEL, .id = x->id};

    if (api_expect_nothing(x))
        api_call(x, &op, api_answer_nothing);
}

/* ---- with a lease ---- */

static void answer_released(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_released(&json, op);
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void answer_touched(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_number(&json, "{\"deadline_ms\":", op->out.change.deadline_ms);
    buf_add_char(&json, '}');
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void answer_buried(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_text(&json, "{\"death\":", bytes_of_text(death_word(DEATH_BURIED)));
    api_add_number(&json, ",\"tries\":", op->out.change.tries);
    buf_add_char(&json, '}');
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void call_with_lease(struct exchange *x, enum op_verb verb,
                            void (*answer)(struct exchange *x, const struct op *op))
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
    api_call(x, &op, answer);
}

void api_ack(struct exchange *x)
{
    call_with_lease(x, OP_ACK, api_answer_nothing);
}

void api_release(struct exchange *x)
{
    call_with_lease(x, OP_RELEASE, answer_released);
}

void api_touch(struct exchange *x)
{
    call_with_lease(x, OP_TOUCH, answer_touched);
}

void api_bury(struct exchange *x)
{
    call_with_lease(x, OP_BURY, answer_buried);
}
