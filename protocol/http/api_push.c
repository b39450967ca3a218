/* POST /v1/topics/{topic}/jobs: one job, or a list of them. */
#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/encode.h"
#include "protocol/http/routes.h"
#include "protocol/json/read.h"

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

static void answer_pushed(struct exchange *x, const struct op *op)
{
    bool is_new = !op->out.push.existed || op->in.push.mode == PUSH_REPLACE;
    struct buf json = BUF_INIT;

    api_add_pushed(&json, op);
    exchange_reply_json(x, is_new ? 201 : 200, buf_bytes(&json));
    buf_fini(&json);
}

static void push_one(struct exchange *x, struct bytes object)
{
    struct api_why why;
    struct op op;
    enum status status = read_push(object, &op, &why);

    if (status)
        api_refuse(x, status, &why);
    else
        api_call(x, &op, answer_pushed);
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
