#include "node/store/redis/requests_private.h"

#include <stdlib.h>

#define POOL_MAX 1024 /* requests kept for the next operations */

static void tell_failing(struct later *later, struct list *link)
{
    struct request *r = CONTAINER_OF(link, struct request, link);

    request_fail(r, r->op->status);
}

void request_pool_init(struct redis_requests *q)
{
    list_init(&q->pool);
    later_init(&q->failing, q->timers, tell_failing);
}

void request_pool_fini(struct redis_requests *q)
{
    struct list *link;

    later_fini(&q->failing);
    while ((link = list_pop(&q->pool)))
        free(CONTAINER_OF(link, struct request, link));
}

struct request *request_new(struct redis_requests *q, struct op *op)
{
    struct list *link = list_pop(&q->pool);
    struct request *r = link ? CONTAINER_OF(link, struct request, link) : malloc(sizeof(*r));

    if (!r)
        abort();
    if (link)
        q->pool_count--;
    *r = (struct request){.queue = q, .op = op, .bytes = script_bytes(op), .wait_ms = -1};
    r->held.number = ++q->submitted;
    list_init(&r->link);
    list_init(&r->held.link);
    op->waits = r;
    q->stats->held_bytes += r->bytes;
    q->unfinished++;
    return r;
}

static void request_free(struct request *r)
{
    struct redis_requests *q = r->queue;

    q->stats->held_bytes -= r->bytes;
    if (q->pool_count == POOL_MAX) {
        free(r);
        return;
    }
    q->pool_count++;
    list_prepend(&q->pool, &r->link);
}

void requests_say_when_idle(struct redis_requests *q)
{
    void (*on_idle)(void *arg) = q->on_idle;

    if (!on_idle || q->unfinished > 0)
        return;
    q->on_idle = NULL;
    on_idle(q->idle_arg);
}

void request_finish(struct request *r)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;

    op->waits = NULL;
    q->stats->unknown += op->status == STATUS_UNKNOWN;
    request_free(r);
    op->on_done(op);
    q->unfinished--;
    requests_say_when_idle(q);
}

void request_fail(struct request *r, enum status status)
{
    r->op->status = status;
    r->op->now_ms = 0;
    r->op->wait_ms = r->wait_ms;
    request_finish(r);
}

void request_fail_later(struct request *r, enum status status)
{
    r->op->status = status;
    r->op->waits = NULL;
    later_add(&r->queue->failing, &r->link);
}

enum status request_unsent(const struct request *r, enum status status)
{
    return r->may_have_run ? STATUS_UNKNOWN : status;
}
