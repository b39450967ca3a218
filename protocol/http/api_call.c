#include "protocol/http/api_call.h"

#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/http/server.h"
#include "protocol/http/unreached.h"

struct call {
    struct op op;
    struct exchange *x;
    void (*answer)(struct exchange *x, const struct op *op);
};

/* The rest of a number's range is checked before: these are told by the store's clock. */
const char *api_text_of(const struct op *op)
{
    if (op->status == STATUS_OUT_OF_RANGE && op->verb == OP_PUSH)
        return "it would be due in more than 3650 days, or not before its own ttl is over";
    if (op->status == STATUS_OUT_OF_RANGE && op->verb == OP_MOVE)
        return "it would be due in more than 3650 days";
    if (op->status == STATUS_OUT_OF_RANGE && op->verb == OP_CONFIGURE)
        return "until_ms: that is past, by Redis's clock";
    return http_error_row(http_error_of(op->status))->text;
}

/* Adds nothing where all of the store is away, or the bucket is reached by now. */
static void describe_bucket(const struct exchange *x, unsigned bucket, struct buf *to)
{
    const struct http_node *node = &x->http->options.node;
    struct http_store_numbers n = {.is_up = 0};
    const struct http_store_unreached *u;

    if (node->read_store)
        node->read_store(node->arg, &n);
    u = n.is_up ? unreached_find(&n, bucket) : NULL;
    if (u)
        buf_printf(to, "bucket %u of the store cannot be used (%s%s%s); nothing happened",
                   bucket, u->address ? u->address : "", u->address && *u->address ? ": " : "",
                   u->why);
}

void api_reply_failure(struct exchange *x, const struct op *op)
{
    struct buf text = BUF_INIT;

    if (op->status == STATUS_UNAVAILABLE)
        describe_bucket(x, op->bucket, &text);
    exchange_reply_error_text(x, http_error_of(op->status), "%s",
                              text.len ? buf_text(&text) : api_text_of(op));
    buf_fini(&text);
}

static void on_done(struct op *op)
{
    struct call *call = CONTAINER_OF(op, struct call, op);

    if (op->status == STATUS_OK)
        call->answer(call->x, op);
    else
        api_reply_failure(call->x, op);
    free(call);
}

/* Who has ended its side and still reads is told that nothing happened. A node that stops waits
 * for what it has taken. */
static void on_hurry(struct exchange *x)
{
    struct call *call = x->handler;

    if (!x->http->is_stopping)
        queue_abandon(x->http->queue, &call->op);
}

void api_call(struct exchange *x, const struct op *op,
              void (*answer)(struct exchange *x, const struct op *op))
{
    struct call *call = malloc(sizeof(*call));

    if (!call)
        abort();
    *call = (struct call){.op = *op, .x = x, .answer = answer};
    call->op.topic = x->topic;
    call->op.client = exchange_client(x);
    call->op.on_done = on_done;
    x->handler = call;
    x->on_hurry = on_hurry;
    queue_submit(x->http->queue, &call->op);
}

void api_answer_nothing(struct exchange *x, const struct op *op)
{
    exchange_reply_nothing(x);
}

void api_refuse(struct exchange *x, enum status status, const struct api_why *why)
{
    exchange_reply_error_text(x, http_error_of(status), "%s", why->text);
}

bool api_read_body(struct exchange *x, struct bytes *value)
{
    struct api_why why;
    enum status status = api_decode(x->body, value, &why);

    if (status)
        api_refuse(x, status, &why);
    return status == STATUS_OK;
}

bool api_expect_nothing(struct exchange *x)
{
    struct api_why why;
    enum status status = api_decode_nothing(x->body, &why);

    if (status)
        api_refuse(x, status, &why);
    return status == STATUS_OK;
}
