/* POST /v1/topics/{topic}/jobs: one job, or a list of them.
 *
 * The jobs of a list are operations of their own, all in flight together: each succeeds or
 * fails alone. Their results are written as they come, in whatever order, and put into the
 * list's when the last is there.
 */
#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"
#include "protocol/json_walk.h"

static struct op push_op(const struct api_push *push)
{
    return (struct op){
        .verb = OP_PUSH,
        .id = push->id,
        .in.push = {.body = push->body,
                    .delay_ms = push->delay_ms,
                    .at_ms = push->at_ms,
                    .ttr_ms = push->ttr_ms},
    };
}

/* ---- one job ---- */

static void answer_pushed(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_pushed(&json, op->out.push.id, op->out.push.due_ms);
    exchange_reply_json(x, 201, buf_bytes(&json));
    buf_fini(&json);
}

static void push_one(struct exchange *x, struct bytes object)
{
    struct api_push push;
    struct api_why why;
    enum status status = api_decode_push(object, &push, &why);
    struct op op;

    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    op = push_op(&push);
    api_call(x, &op, answer_pushed);
}

/* ---- a list ---- */

struct item {
    struct op op;
    struct push_list *list;
    size_t at; /* its result in the list's text */
    size_t len;
};

struct push_list {
    struct exchange *x;
    struct buf text; /* results, in the order in which they came */
    unsigned count;
    unsigned in_flight;
    struct item items[];
};

static void finish(struct push_list *list)
{
    struct buf json = BUF_INIT;

    buf_reserve(&json, list->text.len + list->count + 16);
    buf_add_text(&json, "{\"results\":[");
    for (unsigned i = 0; i < list->count; i++) {
        if (i)
            buf_add_char(&json, ',');
        buf_add(&json, list->text.at + list->items[i].at, list->items[i].len);
    }
    buf_add_text(&json, "]}");
    exchange_reply_json(list->x, 200, buf_bytes(&json));
    buf_fini(&json);
    buf_fini(&list->text);
    free(list);
}

static void end_result(struct item *item)
{
    item->len = item->list->text.len - item->at;
}

static void add_refusal(struct item *item, enum status status, const char *text)
{
    item->at = item->list->text.len;
    api_add_refusal(&item->list->text, http_error_of(status), bytes_of_text(text));
    end_result(item);
}

static void on_pushed(struct op *op)
{
    struct item *item = CONTAINER_OF(op, struct item, op);
    struct push_list *list = item->list;

    if (op->status == STATUS_OK) {
        item->at = list->text.len;
        api_add_pushed(&list->text, op->out.push.id, op->out.push.due_ms);
        end_result(item);
    } else {
        add_refusal(item, op->status, http_error_row(http_error_of(op->status))->text);
    }
    if (--list->in_flight == 0)
        finish(list);
}

static void push_item(struct item *item, struct bytes object)
{
    struct exchange *x = item->list->x;
    struct api_push push;
    struct api_why why;
    enum status status = api_decode_push(object, &push, &why);

    if (status) {
        add_refusal(item, status, why.text);
        return;
    }
    item->op = push_op(&push);
    item->op.topic = x->topic;
    item->op.on_done = on_pushed;
    item->list->in_flight++;
    queue_submit(x->http->queue, &item->op);
}

static void push_list(struct exchange *x, struct bytes jobs)
{
    struct json_walk walk = json_walk_into(jobs);
    struct push_list *list;
    struct bytes object;
    struct api_why why;
    unsigned count;
    enum status status = api_count_jobs(jobs, &count, &why);

    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    list = calloc(1, sizeof(*list) + count * sizeof(list->items[0]));
    if (!list)
        abort();
    list->x = x;
    for (; list->count < count && json_walk_element(&walk, &object); list->count++) {
        list->items[list->count].list = list;
        push_item(&list->items[list->count], object);
    }
    if (list->in_flight == 0)
        finish(list);
}

void api_push(struct exchange *x)
{
    struct bytes value;

    if (!api_read_body(x, &value))
        return;
    if (json_kind_of(value) == JSON_KIND_LIST)
        push_list(x, value);
    else
        push_one(x, value);
}
