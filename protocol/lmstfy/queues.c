/* Queues as a whole: their sizes, and their dead letters, which are the topic's dead jobs. */
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/http/jobs.h"
#include "protocol/json/write.h"
#include "protocol/lmstfy/codec.h"
#include "protocol/lmstfy/handlers.h"

/* ---- sizes ---- */

static void on_counted(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;
    struct buf json = BUF_INIT;

    if (op->status) {
        exchange_reply_status_error(x, op->status);
        return;
    }
    lmstfy_add_size(&json, x->topic,
                    x->route->what == JOB_DEAD ? op->out.stats.dead : op->out.stats.ready);
    exchange_reply_buf(x, 200, &json);
}

void lmstfy_size(struct exchange *x)
{
    struct op op = {.verb = OP_STATS};

    if (!lmstfy_take_path(x))
        return;
    op.topic = x->topic;
    http_submit(x, &op, on_counted, NULL);
}

/* ---- the first dead letter, and how many there are ---- */

struct peeking {
    struct exchange *x;
    struct op op;
    size_t id_len; /* 0: there is none */
    char id[NAME_MAX_BYTES];
};

static void on_dead_counted(struct op *op)
{
    const struct peeking *p = CONTAINER_OF(op, struct peeking, op);
    struct exchange *x = p->x;
    struct buf json = BUF_INIT, id = BUF_INIT;

    if (op->status) {
        exchange_reply_status_error(x, op->status);
        return;
    }
    lmstfy_add_id(&id, bytes_of(p->id, p->id_len), queue_buckets(exchange_queue(x)));
    json_put_text(&json, "{\"deadletter_head\":", buf_bytes(&id));
    json_put_number(&json, ",\"deadletter_size\":", op->out.stats.dead);
    json_put_text(&json, ",\"namespace\":", lmstfy_space_of(x->topic));
    json_put_text(&json, ",\"queue\":", lmstfy_queue_of(x->topic));
    buf_add_char(&json, '}');
    buf_fini(&id);
    exchange_reply_buf(x, 200, &json);
}

static void on_dead_listed(struct op *op)
{
    struct peeking *p = CONTAINER_OF(op, struct peeking, op);

    if (op->status) {
        exchange_reply_status_error(p->x, op->status);
        return;
    }
    if (op->out.list.count) {
        struct bytes id = op->out.list.rows[0].job.id;

        memcpy(p->id, id.at, id.len);
        p->id_len = id.len;
    }
    *op = (struct op){
        .verb = OP_STATS, .topic = p->x->topic, .on_done = on_dead_counted, .is_alone = true};
    queue_submit(exchange_queue(p->x), op);
}

static void abandon_peek(struct exchange *x)
{
    struct peeking *p = x->handler;

    queue_abandon(exchange_queue(x), &p->op);
}

void lmstfy_peek_dead(struct exchange *x)
{
    struct peeking *p;

    if (!lmstfy_take_path(x))
        return;
    p = exchange_keep(x, sizeof(*p));
    *p = (struct peeking){.x = x,
                          .op = {.verb = OP_LIST,
                                 .topic = x->topic,
                                 .in.list = {.state = JOB_DEAD, .limit = 1, .after = BYTES("")},
                                 .on_done = on_dead_listed,
                                 .is_alone = true}};
    x->on_cancel_wait = abandon_peek;
    queue_submit(exchange_queue(x), &p->op);
}

/* ---- many at once ---- */

struct sweeping {
    struct exchange *x;
    struct sweep sweep;
};

/* With an error after some were done, their number is in the audit log. */
static void reply_failed(struct exchange *x, const struct sweep *sweep)
{
    enum http_error error = http_error_of(sweep->status);

    exchange_reply_error_count(x, error, http_error_row(error)->text, sweep->count);
}

static void on_purged(struct sweep *sweep)
{
    struct exchange *x = CONTAINER_OF(sweep, struct sweeping, sweep)->x;

    if (sweep->status) {
        reply_failed(x, sweep);
        return;
    }
    x->count = (int64_t)sweep->count;
    exchange_reply_nothing(x);
}

static void on_respawned(struct sweep *sweep)
{
    struct exchange *x = CONTAINER_OF(sweep, struct sweeping, sweep)->x;
    struct buf json = BUF_INIT;

    if (sweep->status) {
        reply_failed(x, sweep);
        return;
    }
    x->count = (int64_t)sweep->count;
    json_put_number(&json, "{\"count\":", (int64_t)sweep->count);
    buf_add_text(&json, ",\"msg\":\"respawned\"}");
    exchange_reply_buf(x, 200, &json);
}

static void cancel_sweep(struct exchange *x)
{
    struct sweeping *s = x->handler;

    queue_sweep_cancel(&s->sweep);
}

static void sweep(struct exchange *x, const struct sweep *sweep)
{
    struct sweeping *s = exchange_keep(x, sizeof(*s));

    *s = (struct sweeping){.x = x, .sweep = *sweep};
    s->sweep.topic = x->topic;
    s->sweep.client = exchange_client(x);
    x->on_cancel_wait = cancel_sweep;
    queue_sweep(exchange_queue(x), &s->sweep);
}

/* False: it was answered. */
static bool read_limit(struct exchange *x, int64_t *limit)
{
    bool is_fine =
        lmstfy_read_number(exchange_query_text(x, "limit"), INT64_MAX, 1, limit) && *limit > 0;

    if (!is_fine)
        lmstfy_refuse(x, "invalid limit");
    return is_fine;
}

static bool read_ttl(struct exchange *x, int64_t *ttl_ms)
{
    bool is_fine = lmstfy_read_ttl(exchange_query_text(x, "ttl"), INT64_MAX, ttl_ms);

    if (!is_fine)
        lmstfy_refuse(x, "invalid ttl");
    return is_fine;
}

void lmstfy_respawn(struct exchange *x)
{
    int64_t limit, ttl_ms;

    if (lmstfy_take_path(x) && read_limit(x, &limit) && read_ttl(x, &ttl_ms))
        sweep(x, &(struct sweep){.verb = OP_KICK,
                                 .limit = (uint64_t)limit,
                                 .ttl_ms = ttl_ms,
                                 .tries = 1,
                                 .on_done = on_respawned});
}

void lmstfy_delete_dead(struct exchange *x)
{
    int64_t limit;

    if (lmstfy_take_path(x) && read_limit(x, &limit))
        sweep(x, &(struct sweep){.verb = OP_PURGE,
                                 .states = 1u << JOB_DEAD,
                                 .limit = (uint64_t)limit,
                                 .on_done = on_purged});
}

void lmstfy_destroy(struct exchange *x)
{
    if (lmstfy_take_path(x))
        sweep(x, &(struct sweep){
                     .verb = OP_PURGE, .states = 1u << JOB_READY, .on_done = on_purged});
}
