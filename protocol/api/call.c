#include "protocol/api/call.h"

#include <assert.h>

#include "node/queue/queue.h"
#include "protocol/api/cluster_check.h"
#include "protocol/api/encode.h"
#include "protocol/api/api.h"
#include "protocol/api/handlers.h"
#include "protocol/http/jobs.h"
#include "protocol/json/write.h"

/* Other ranges are checked before; only the store's clock can judge these. */
static const char *api_text_of(const struct op *op)
{
    if (op->status == STATUS_OUT_OF_RANGE && op->verb == OP_PUSH)
        return "it would be due in more than 3650 days, or, if it has a ttl, not before that "
               "is over";
    if (op->status == STATUS_OUT_OF_RANGE && op->verb == OP_MOVE)
        return "it would be due in more than 3650 days";
    if (op->status == STATUS_OUT_OF_RANGE && op->verb == OP_CONFIGURE)
        return "until_ms: that is past, by Redis's clock";
    return http_error_row(http_error_of(op->status))->text;
}

/* Adds nothing where all of the store is away, or the bucket is reached by now. */
static void describe_bucket(const struct exchange *x, unsigned bucket, struct buf *to)
{
    struct store_numbers n = api_read_store(api_of(x));
    const struct store_unreached *u = n.is_up ? unreached_find(&n, bucket) : NULL;

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
    struct exchange *x = http_call_of(op)->x;

    if (op->status == STATUS_OK)
        return x;
    api_reply_failure(x, op);
    return NULL;
}

static void submit(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                   void (*add)(struct buf *out, const struct op *op))
{
    struct op own = *op;

    own.topic = x->topic;
    http_submit(x, &own, on_done, add);
}

void api_call(struct exchange *x, const struct op *op, void (*on_done)(struct op *op))
{
    submit(x, op, on_done, NULL);
}

static void on_asked(struct op *op)
{
    const struct http_call *call = http_call_of(op);
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    if (!call->add) {
        exchange_reply_nothing(x);
        return;
    }
    call->add(&json, op);
    exchange_reply_buf(x, 200, &json);
}

void api_ask(struct exchange *x, const struct op *op,
             void (*add)(struct buf *out, const struct op *op))
{
    submit(x, op, on_asked, add);
}

bool api_passes(struct exchange *x, enum status status, const struct api_why *why)
{
    if (status)
        exchange_reply_error_text(x, http_error_of(status), "%s", why->text);
    return status == STATUS_OK;
}

bool api_read_body(struct exchange *x, struct bytes *value)
{
    struct api_why why;

    return api_passes(x, api_decode(x->body, value, &why), &why);
}

bool api_read_op(struct exchange *x, struct op *op,
                 enum status (*decode)(struct bytes object, struct op *op, struct api_why *why))
{
    struct bytes object;
    struct api_why why;

    return api_read_body(x, &object) && api_passes(x, decode(object, op, &why), &why);
}

bool api_expect_nothing(struct exchange *x)
{
    struct api_why why;

    return api_passes(x, api_decode_nothing(x->body, &why), &why);
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
    unsigned in_flight;
    struct item items[];
};

static void finish(struct batch *b)
{
    struct buf json = BUF_INIT;

    buf_reserve(&json, b->text.len + b->count + 16);
    buf_add_text(&json, "{\"results\":[");
    for (unsigned i = 0; i < b->count; i++) {
        json_next(&json);
        buf_add(&json, b->text.at + b->items[i].at, b->items[i].len);
    }
    buf_add_text(&json, "]}");
    buf_fini(&b->text);
    exchange_reply_buf(b->x, 200, &json);
}

static void add_refusal(struct item *item, enum status status, const char *text)
{
    struct buf *out = &item->batch->text;

    item->at = out->len;
    api_add_error(out, http_error_of(status), bytes_of_text(text), HTTP_ERROR_NO_COUNT);
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

/* As of a single operation. */
static void on_batch_cancel(struct exchange *x)
{
    struct batch *b = x->handler;

    if (exchange_is_stopping(x))
        return;
    for (unsigned i = 0; i < b->count; i++)
        queue_abandon(api_of(x)->queue, &b->items[i].op);
}

void api_ask_all(struct exchange *x, enum op_verb verb, struct bytes list, unsigned count,
                 enum status (*decode)(struct bytes object, struct op *op, struct api_why *why),
                 void (*add)(struct buf *out, const struct op *op))
{
    struct batch *b = exchange_keep(x, sizeof(*b) + count * sizeof(b->items[0]));
    struct json_walk walk = json_walk_into(list);
    struct bytes object;

    *b = (struct batch){.x = x, .add = add};
    x->on_cancel_wait = on_batch_cancel;
    while (json_walk_element(&walk, &object)) {
        struct item *item = &b->items[b->count++];
        struct api_why why;
        enum status status;

        assert(b->count <= count);
        /* An operation that was not submitted is abandoned as well. */
        *item = (struct item){.batch = b,
                              .op = {.verb = verb,
                                     .topic = x->topic,
                                     .client = exchange_client(x),
                                     .on_done = on_batch_done}};
        status = decode(object, &item->op, &why);
        if (status) {
            add_refusal(item, status, why.text);
            continue;
        }
        b->in_flight++;
        queue_submit(api_of(x)->queue, &item->op);
    }
    if (b->in_flight == 0)
        finish(b);
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
