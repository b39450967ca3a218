#include "protocol/api/call.h"

#include <assert.h>
#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/api/cluster_check.h"
#include "protocol/api/encode.h"
#include "protocol/api/api.h"
#include "protocol/api/handlers.h"

struct call {
    struct op op;
    struct exchange *x;
};

/* Other ranges are checked before; only the store's clock can judge these. */
static const char *api_text_of(const struct op *op)
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
    const struct api_node *node = &api_of(x)->node;
    struct store_numbers n = {.is_up = 0};
    const struct store_unreached *u;

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

struct exchange *api_done(struct op *op)
{
    struct exchange *x = CONTAINER_OF(op, struct call, op)->x;

    if (op->status == STATUS_OK)
        return x;
    api_reply_failure(x, op);
    return NULL;
}

/* A client that has ended its side and still reads is told that nothing happened. A stopping
 * node finishes the operations that it has taken. */
static void on_cancel_wait(struct exchange *x)
{
    struct call *call = x->handler;

    if (!exchange_is_stopping(x))
        queue_abandon(api_of(x)->queue, &call->op);
}

void api_call(struct exchange *x, const struct op *op, void (*on_done)(struct op *op))
{
    struct call *call = exchange_keep(x, sizeof(*call));

    *call = (struct call){.op = *op, .x = x};
    call->op.topic = x->topic;
    call->op.client = exchange_client(x);
    call->op.on_done = on_done;
    x->on_cancel_wait = on_cancel_wait;
    queue_submit(api_of(x)->queue, &call->op);
}

void api_on_done_nothing(struct op *op)
{
    struct exchange *x = api_done(op);

    if (x)
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

/* ---- batch ---- */

struct item {
    struct op op;
    struct batch *batch;
    size_t at; /* of its result in the batch's text */
    size_t len;
};

struct batch {
    struct exchange *x;
    void (*add)(struct buf *out, const struct op *op);
    struct buf text; /* results, in the order in which they came */
    unsigned count;
    unsigned count_max;
    unsigned in_flight;
    struct item items[];
};

static void finish(struct batch *b)
{
    struct buf json = BUF_INIT;

    buf_reserve(&json, b->text.len + b->count + 16);
    buf_add_text(&json, "{\"results\":[");
    for (unsigned i = 0; i < b->count; i++) {
        if (i)
            buf_add_char(&json, ',');
        buf_add(&json, b->text.at + b->items[i].at, b->items[i].len);
    }
    buf_add_text(&json, "]}");
    buf_fini(&b->text);
    exchange_reply_buf(b->x, 200, &json);
}

static struct item *next_item(struct batch *b)
{
    struct item *item = &b->items[b->count++];

    assert(b->count <= b->count_max);
    *item = (struct item){.batch = b}; /* an item without an operation is abandoned as well */
    return item;
}

static void add_refusal(struct item *item, enum status status, const char *text)
{
    struct buf *out = &item->batch->text;

    item->at = out->len;
    api_add_refusal(out, http_error_of(status), bytes_of_text(text));
    item->len = out->len - item->at;
}

static void on_batch_done(struct op *op)
{
    struct item *item = CONTAINER_OF(op, struct item, op);
    struct batch *b = item->batch;

    if (op->status == STATUS_OK) {
        item->at = b->text.len;
        b->add(&b->text, op);
        item->len = b->text.len - item->at;
    } else {
        add_refusal(item, op->status, api_text_of(op));
    }
    if (--b->in_flight == 0)
        finish(b);
}

/* As on_cancel_wait() of a single operation. */
static void on_batch_cancel(struct exchange *x)
{
    struct batch *b = x->handler;

    if (exchange_is_stopping(x))
        return;
    for (unsigned i = 0; i < b->count; i++)
        queue_abandon(api_of(x)->queue, &b->items[i].op);
}

void batch_submit(struct batch *b, const struct op *op)
{
    struct item *item = next_item(b);

    item->op = *op;
    item->op.topic = b->x->topic;
    item->op.client = exchange_client(b->x);
    item->op.on_done = on_batch_done;
    b->in_flight++;
    queue_submit(api_of(b->x)->queue, &item->op);
}

void batch_refuse(struct batch *b, enum status status, const struct api_why *why)
{
    add_refusal(next_item(b), status, why->text);
}

void batch_end(struct batch *b)
{
    if (b->in_flight == 0)
        finish(b);
}

struct batch *batch_new(struct exchange *x, unsigned count,
                        void (*add)(struct buf *out, const struct op *op))
{
    struct batch *b = exchange_keep(x, sizeof(*b) + count * sizeof(b->items[0]));

    *b = (struct batch){.x = x, .add = add, .count_max = count};
    x->on_cancel_wait = on_batch_cancel;
    return b;
}

bool api_query_word(struct exchange *x, const char *name, const char *const *words,
                    unsigned count, unsigned *out)
{
    struct api_why why;

    if (object_word(exchange_query_text(x, name), name, words, count, out, &why) == STATUS_OK)
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "query parameter %s", why.text);
    return false;
}
