/* Jobs: published, consumed, acknowledged or deleted by their id, and looked at. */
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/access/role.h"
#include "protocol/http/jobs.h"
#include "protocol/json/write.h"
#include "protocol/lmstfy/codec.h"
#include "protocol/lmstfy/handlers.h"

#define NUMBER_MAX 24

static void put_id(struct exchange *x, struct buf *json, const char *before, struct bytes id)
{
    struct buf ulid = BUF_INIT;

    lmstfy_add_id(&ulid, id, queue_buckets(exchange_queue(x)));
    json_put_text(json, before, buf_bytes(&ulid));
    buf_fini(&ulid);
}

static void reply_published(struct exchange *x, struct bytes id)
{
    struct buf json = BUF_INIT;

    put_id(x, &json, "{\"job_id\":", id);
    buf_add_text(&json, ",\"msg\":\"published\"}");
    exchange_reply_buf(x, 201, &json);
}

/* ---- delete: an acknowledgement by an id alone, or what is done to a job that nobody holds */

struct deleting {
    struct exchange *x;
    struct id_ack ack;
    struct op cancel;
    size_t published_len;       /* 0: nothing was */
    char published[NUMBER_MAX]; /* the id of the job that takes its place */
};

static void reply_deleted(struct deleting *d)
{
    if (d->published_len)
        reply_published(d->x, bytes_of(d->published, d->published_len));
    else
        exchange_reply_nothing(d->x);
}

static void reply_not_deleted(struct deleting *d, enum status status)
{
    enum http_error error = http_error_of(status);
    struct buf id = BUF_INIT;

    if (!d->published_len) {
        exchange_reply_error(d->x, error);
        return;
    }
    lmstfy_add_id(&id, bytes_of(d->published, d->published_len),
                  queue_buckets(exchange_queue(d->x)));
    exchange_reply_error_text(d->x, error,
                              "published as %s, but the old job is not deleted: %s",
                              buf_text(&id), http_error_row(error)->text);
    buf_fini(&id);
}

/* A job that is gone is deleted. One that somebody else holds stays: it is no longer the
 * client's. */
static void on_cancelled(struct op *op)
{
    struct deleting *d = CONTAINER_OF(op, struct deleting, cancel);

    if (op->status == STATUS_OK || op->status == STATUS_NOT_FOUND ||
        op->status == STATUS_WRONG_STATE)
        reply_deleted(d);
    else
        reply_not_deleted(d, op->status);
}

static void cancel_unless_held(struct deleting *d)
{
    d->cancel = (struct op){
        .verb = OP_CANCEL,
        .topic = d->x->topic,
        .id = d->x->id,
        .client = exchange_client(d->x),
        .on_done = on_cancelled,
        .is_alone = true,
        .in.cancel.states = 1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_DEAD,
    };
    queue_submit(exchange_queue(d->x), &d->cancel);
}

static void on_acked(struct id_ack *ack)
{
    struct deleting *d = CONTAINER_OF(ack, struct deleting, ack);
    bool is_over = ack->status == STATUS_NOT_FOUND || ack->status == STATUS_NOT_OWNER;

    if (ack->status && !is_over)
        reply_not_deleted(d, ack->status);
    else if (is_over && !exchange_may_go_on(d->x))
        reply_not_deleted(d, STATUS_FORBIDDEN); /* the token was revoked meanwhile */
    else if (is_over && exchange_may(d->x, ACCESS_PRODUCE))
        cancel_unless_held(d);
    else
        reply_deleted(d);
}

static bool is_of_topic(const struct id_ack *ack, struct bytes topic)
{
    const struct exchange *x = CONTAINER_OF(ack, struct deleting, ack)->x;

    return exchange_may_go_on(x) && bytes_equal(x->topic, topic);
}

/* `published`: the id of the job in its place, or ""; it may lie in the handler's memory. The
 * exchange's path is taken. */
static void delete_job(struct exchange *x, struct bytes published)
{
    struct deleting *d = exchange_keep(x, sizeof(*d));

    *d = (struct deleting){.x = x, .published_len = published.len};
    memcpy(d->published, published.at, published.len);
    x->on_cancel_wait = NULL; /* an acknowledgement goes on without its client */
    if (!job_id_is_valid(x->id)) {
        reply_deleted(d);
        return;
    }
    if (!exchange_may(x, ACCESS_CONSUME)) {
        cancel_unless_held(d);
        return;
    }
    d->ack = (struct id_ack){
        .id = x->id,
        .holder = exchange_holder(x),
        .group = exchange_group(x),
        .is_alone = true,
        .client = exchange_client(x),
        .is_for = is_of_topic,
        .on_done = on_acked,
    };
    queue_ack_by_id(exchange_queue(x), &d->ack);
}

void lmstfy_delete(struct exchange *x)
{
    if (lmstfy_take_path(x))
        delete_job(x, BYTES(""));
}

/* ---- publish ---- */

static const char *read_options(struct exchange *x, struct op *op)
{
    struct lmstfy_publish options;
    const char *why =
        lmstfy_read_publish(exchange_query_text(x, "delay"), exchange_query_text(x, "ttl"),
                            exchange_query_text(x, "tries"), &options);

    if (why)
        return why;
    *op = (struct op){
        .verb = OP_PUSH,
        .topic = x->topic,
        .in.push = {.delay_ms = options.delay_ms,
                    .ttl_ms = options.ttl_ms,
                    .rules = rules_default,
                    .given = SETTING_BIT(TTL) | SETTING_BIT(MAX_TRIES)},
    };
    op->in.push.rules.max_tries = options.tries;
    return NULL;
}

static const char *read_attributes(const struct exchange *x, struct attributes *attributes)
{
    struct bytes rest = x->head.fields, name, value;
    const char *why = NULL;

    *attributes = (struct attributes){0};
    while (!why && head_next_field(&rest, &name, &value))
        why = lmstfy_take_header(attributes, name, value);
    return why;
}

/* Pushes of one request: one, or those of a bulk. */
struct pushing {
    struct exchange *x;
    unsigned count, in_flight, published;
    enum status failure; /* of one that may have happened, else of the first one; OK: none */
    struct attributes attributes;
    struct pushing_job {
        struct op op;
        struct pushing *of;
        size_t id_len;
        char id[NUMBER_MAX];
    } jobs[];
};

static struct bytes id_of(const struct pushing_job *job)
{
    return bytes_of(job->id, job->id_len);
}

static bool is_bulk(const struct exchange *x)
{
    return x->route->what == LMSTFY_BULK;
}

static void reply_failed(const struct pushing *p)
{
    enum http_error error = http_error_of(p->failure);

    if (is_bulk(p->x))
        exchange_reply_error_text(p->x, error, "%u of %u jobs are published; of the others: %s",
                                  p->published, p->count, http_error_row(error)->text);
    else
        exchange_reply_error(p->x, error);
}

static void reply_all_published(const struct pushing *p)
{
    struct buf json = BUF_INIT;

    buf_add_text(&json, "{\"job_ids\":[");
    for (unsigned i = 0; i < p->count; i++) {
        json_next(&json);
        put_id(p->x, &json, "", id_of(&p->jobs[i]));
    }
    buf_add_text(&json, "],\"msg\":\"published\"}");
    exchange_reply_buf(p->x, 201, &json);
}

/* What takes another's place is there before that one goes: none is lost between the two. */
static void finish(const struct pushing *p)
{
    if (p->failure)
        reply_failed(p);
    else if (is_bulk(p->x))
        reply_all_published(p);
    else if (p->x->route->what == LMSTFY_REPLACES)
        delete_job(p->x, id_of(&p->jobs[0]));
    else
        reply_published(p->x, id_of(&p->jobs[0]));
}

static void on_pushed(struct op *op)
{
    struct pushing_job *job = CONTAINER_OF(op, struct pushing_job, op);
    struct pushing *p = job->of;

    if (op->status == STATUS_OK) {
        job->id_len = op->out.push.id.len;
        memcpy(job->id, op->out.push.id.at, job->id_len);
        p->published++;
    } else if (!p->failure || status_is_unknown(op->status)) {
        p->failure = op->status;
    }
    if (--p->in_flight == 0)
        finish(p);
}

/* A client that has ended its side and still reads is told what was pushed. */
static void abandon(struct exchange *x)
{
    struct pushing *p = x->handler;

    for (unsigned i = 0; i < p->count && !exchange_is_stopping(x); i++)
        queue_abandon(exchange_queue(x), &p->jobs[i].op);
}

/* In one turn: the store gets them together. */
static void push_all(struct exchange *x, const struct op *like,
                     const struct attributes *attributes, const struct bytes *bodies,
                     unsigned count)
{
    struct pushing *p = exchange_keep(x, sizeof(*p) + count * sizeof(p->jobs[0]));

    *p =
        (struct pushing){.x = x, .count = count, .in_flight = count, .attributes = *attributes};
    x->on_cancel_wait = abandon;
    for (unsigned i = 0; i < count; i++) {
        struct op *op = &p->jobs[i].op;

        p->jobs[i].of = p;
        *op = *like;
        op->client = exchange_client(x);
        op->on_done = on_pushed;
        op->is_alone = count == 1;
        op->in.push.body = bodies[i];
        op->in.push.attributes = attributes_packed(&p->attributes);
    }
    for (unsigned i = 0; i < count; i++)
        queue_submit(exchange_queue(x), &p->jobs[i].op);
}

/* Pushes these bodies, with the options and the attributes of the request. */
static void push(struct exchange *x, const struct bytes *bodies, unsigned count)
{
    struct attributes attributes;
    const char *why;
    struct op op;

    why = read_options(x, &op);
    if (!why)
        why = read_attributes(x, &attributes);
    if (why)
        lmstfy_refuse(x, why);
    else
        push_all(x, &op, &attributes, bodies, count);
}

void lmstfy_publish(struct exchange *x)
{
    if (lmstfy_take_path(x))
        push(x, &x->body, 1);
}

static bool is_any_too_large(const struct bytes *bodies, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (bodies[i].len > LMSTFY_BODY_MAX)
            return true;
    return false;
}

void lmstfy_publish_bulk(struct exchange *x)
{
    struct bytes bodies[LMSTFY_BULK_MAX];
    unsigned count;
    const char *why;

    if (!lmstfy_take_path(x))
        return;
    why = lmstfy_read_bulk(x->body, bodies, &count);
    if (why)
        lmstfy_refuse(x, why);
    else if (is_any_too_large(bodies, count))
        exchange_reply_error(x, HTTP_ERROR_JOB_TOO_LARGE);
    else
        push(x, bodies, count);
}

/* ---- consume ---- */

static void reply_none(struct exchange *x)
{
    exchange_reply_body(x, 404, BYTES("{\"msg\":\"no job available\"}"));
}

/* How many the client wants, as was checked before. */
static unsigned wanted(const struct exchange *x)
{
    int64_t count = 1;

    (void)lmstfy_read_number(exchange_query_text(x, "count"), LMSTFY_COUNT_MAX, 1, &count);
    return (unsigned)count;
}

static void add_popped(struct exchange *x, const struct pop *pop, struct buf *json)
{
    for (unsigned i = 0; i < pop->job_count; i++) {
        if (json->len)
            json_next(json);
        lmstfy_tell_job(x, json, pop->topic, &pop->jobs[i], pop->now_ms, true);
    }
}

/* One pop has room for OP_ITEMS_MAX jobs. */
static bool may_have_more(const struct pop *pop, unsigned answered, unsigned count)
{
    return pop->status == STATUS_OK && pop->job_count == OP_ITEMS_MAX && answered < count;
}

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct http_popping *p = http_popping_of(pop);
    unsigned count = wanted(x);

    if (pop->status == STATUS_OK) {
        if (count > 1 && !p->text.len)
            buf_add_char(&p->text, '[');
        add_popped(x, pop, &p->text);
    }
    if (may_have_more(pop, p->answered, count)) {
        http_pop_more(pop, count - p->answered);
        return;
    }
    if (p->answered) {
        if (count > 1)
            buf_add_char(&p->text, ']');
        exchange_reply_buf(x, 200, &p->text);
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_CANCELLED) {
        reply_none(x);
    } else {
        exchange_reply_status_error(x, pop->status);
    }
}

/* "ns/a,ns/b"; what is wrong with it, or NULL. */
static const char *add_topics(struct buf *topics, const struct exchange *x)
{
    struct bytes rest = x->topic, queue;

    while (lmstfy_next_queue(&rest, &queue)) {
        if (topics->len)
            buf_add_char(topics, ',');
        if (!lmstfy_add_topic(topics, x->namespace, queue))
            return "a namespace begins with '-', or has more than 199 characters together with "
                   "a queue's name";
    }
    return topics->len ? NULL : "invalid queue name(s)";
}

static void pop(struct exchange *x, struct bytes topics, const struct lmstfy_consume *options)
{
    const struct pop ask = {
        .count = options->count < OP_ITEMS_MAX ? options->count : OP_ITEMS_MAX,
        .wait_ms = options->wait_ms,
        .has_ttr = true,
        .ttr_ms = options->ttr_ms,
        .id_only = true,
    };

    if (http_pop(x, topics, &ask, on_popped))
        lmstfy_refuse(x, "more than 64 queues");
}

void lmstfy_consume(struct exchange *x)
{
    struct lmstfy_consume options;
    struct buf topics = BUF_INIT;
    const char *why;

    if (!lmstfy_take_queues(x))
        return;
    why = lmstfy_read_consume(exchange_query_text(x, "ttr"), exchange_query_text(x, "timeout"),
                              exchange_query_text(x, "count"),
                              exchange_query_text(x, "freeze_tries"), &options);
    if (!why)
        why = add_topics(&topics, x);
    if (why)
        lmstfy_refuse(x, why);
    else
        pop(x, buf_bytes(&topics), &options);
    buf_fini(&topics);
}

/* ---- peek ---- */

static void reply_not_there(struct exchange *x, const char *why)
{
    struct buf json = BUF_INIT;

    lmstfy_add_error(&json, bytes_of_text(why));
    exchange_reply_buf(x, 404, &json);
}

static void reply_seen(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    lmstfy_tell_job(x, &json, x->topic, &op->out.row.job, op->now_ms, false);
    exchange_reply_buf(x, 200, &json);
}

static void on_seen(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;

    if (op->status == STATUS_OK)
        reply_seen(x, op);
    else if (op->status == STATUS_NOT_FOUND || op->status == STATUS_BAD_ID)
        reply_not_there(x, "job not found");
    else
        exchange_reply_status_error(x, op->status);
}

void lmstfy_peek_job(struct exchange *x)
{
    struct op op = {.verb = OP_GET};

    if (!lmstfy_take_path(x))
        return;
    op.topic = x->topic;
    op.id = x->id;
    http_submit(x, &op, on_seen, NULL);
}

/* The first ready one; another, where that one was taken before it was looked at. */
#define PEEKS_MAX 5

struct peeking {
    struct exchange *x;
    struct op op;
    unsigned peeks;
    char id[NAME_MAX_BYTES];
};

static void find_first(struct peeking *p);

static void on_first_seen(struct op *op)
{
    struct peeking *p = CONTAINER_OF(op, struct peeking, op);

    if (op->status == STATUS_OK)
        reply_seen(p->x, op);
    else if (op->status == STATUS_NOT_FOUND && ++p->peeks < PEEKS_MAX)
        find_first(p);
    else if (op->status == STATUS_NOT_FOUND)
        reply_not_there(p->x, "the queue is empty");
    else
        exchange_reply_status_error(p->x, op->status);
}

static void on_first_listed(struct op *op)
{
    struct peeking *p = CONTAINER_OF(op, struct peeking, op);
    struct bytes id;

    if (op->status != STATUS_OK) {
        exchange_reply_status_error(p->x, op->status);
        return;
    }
    if (op->out.list.count == 0) {
        reply_not_there(p->x, "the queue is empty");
        return;
    }
    id = op->out.list.rows[0].job.id;
    memcpy(p->id, id.at, id.len);
    *op = (struct op){.verb = OP_GET,
                      .topic = p->x->topic,
                      .id = bytes_of(p->id, id.len),
                      .on_done = on_first_seen,
                      .is_alone = true};
    queue_submit(exchange_queue(p->x), op);
}

static void find_first(struct peeking *p)
{
    p->op = (struct op){.verb = OP_LIST,
                        .topic = p->x->topic,
                        .in.list = {.state = JOB_READY, .limit = 1, .after = BYTES("")},
                        .on_done = on_first_listed,
                        .is_alone = true};
    queue_submit(exchange_queue(p->x), &p->op);
}

static void abandon_peek(struct exchange *x)
{
    struct peeking *p = x->handler;

    queue_abandon(exchange_queue(x), &p->op);
}

void lmstfy_peek_queue(struct exchange *x)
{
    struct peeking *p;

    if (!lmstfy_take_path(x))
        return;
    p = exchange_keep(x, sizeof(*p));
    *p = (struct peeking){.x = x};
    x->on_cancel_wait = abandon_peek;
    find_first(p);
}
