#include "protocol/http/batch.h"

#include <assert.h>
#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/server.h"

struct item {
    struct op op;
    struct batch *batch;
    size_t at; /* its result in the batch's text */
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
    exchange_reply_json(b->x, 200, buf_bytes(&json));
    buf_fini(&json);
    buf_fini(&b->text);
    free(b);
}

static struct item *next_item(struct batch *b)
{
    assert(b->count < b->count_max);
    b->items[b->count].batch = b;
    return &b->items[b->count++];
}

static void add_refusal(struct item *item, enum status status, const char *text)
{
    struct buf *out = &item->batch->text;

    item->at = out->len;
    api_add_refusal(out, http_error_of(status), bytes_of_text(text));
    item->len = out->len - item->at;
}

static void on_done(struct op *op)
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

/* As for a single one: see api_call.c. */
static void on_hurry(struct exchange *x)
{
    struct batch *b = x->handler;

    if (x->http->is_stopping)
        return;
    for (unsigned i = 0; i < b->count; i++)
        queue_abandon(x->http->queue, &b->items[i].op);
}

void batch_submit(struct batch *b, const struct op *op)
{
    struct item *item = next_item(b);

    item->op = *op;
    item->op.topic = b->x->topic;
    item->op.client = exchange_client(b->x);
    item->op.on_done = on_done;
    b->in_flight++;
    queue_submit(b->x->http->queue, &item->op);
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
    struct batch *b = calloc(1, sizeof(*b) + count * sizeof(b->items[0]));

    if (!b)
        abort();
    b->x = x;
    b->add = add;
    b->count_max = count;
    x->handler = b;
    x->on_hurry = on_hurry;
    return b;
}
