#include "node/queue/batches.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"

#define TRIES        10
#define RETRY_MS     500
#define SAY_EVERY_MS 1000

struct batch {
    struct op op;
    UT_hash_handle hh; /* by topic, while it is being filled */
    struct batches *batches;
    struct list link; /* waiting */
    struct list jobs;
    struct lease leases[OP_ITEMS_MAX];
    unsigned count;
    unsigned tries_left;
    bool may_have_arrived; /* a try of which nobody knows */
};

static struct batch *batch_new(struct batches *bs, enum op_verb verb,
                               const struct handed_job *h)
{
    struct batch *b = calloc(1, sizeof(*b));

    if (!b)
        abort();
    b->batches = bs;
    b->op.verb = verb;
    b->op.bucket = h->bucket;
    b->op.topic = h->topic;
    b->tries_left = TRIES;
    list_init(&b->jobs);
    list_init(&b->link);
    return b;
}

static void batch_free(struct batch *b)
{
    struct list *link;

    while ((link = list_pop(&b->jobs)))
        free(CONTAINER_OF(link, struct handed_job, link));
    free(b);
}

static void batch_add(struct batch *b, struct handed_job *h)
{
    b->leases[b->count++] = (struct lease){.id = h->id,
                                           .stamp = h->stamp,
                                           .has_ttr = h->has_ttr,
                                           .ttr_ms = h->ttr_ms,
                                           .holder = h->holder};
    list_append(&b->jobs, &h->link);
}

/* ---- what became of it ---- */

static void give_up(struct batch *b)
{
    struct batches *bs = b->batches;
    int64_t now = timers_now(bs->core->timers);

    bs->core->stats.lost_confirmations += b->count;
    if (now - bs->said_mono_ms >= SAY_EVERY_MS) {
        bs->said_mono_ms = now;
        LOG_WARN("queue",
                 "the store did not take that %u jobs of %.*s were %s (%s): they are "
                 "handed out again in seconds, whatever their TTR",
                 b->count, BYTES_ARG(b->op.topic),
                 b->op.verb == OP_DELIVERED ? "delivered" : "returned",
                 status_text(b->op.status));
    }
    batch_free(b);
}

/* Leases were not valid any more: how many because the confirmation came after their time? An
 * acknowledgement ends a lease, too, and so does this batch itself, when it had arrived. */
static unsigned count_late(const struct batch *b)
{
    unsigned stale = b->op.out.leases.stale, over = 0;

    LIST_EACH (link, &b->jobs) {
        const struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        if (b->op.now_ms >= h->reserved_until_ms &&
            !(b->may_have_arrived && h->ends_with_delivery))
            over++;
    }
    return stale < over ? stale : over;
}

static void on_done(struct op *op)
{
    struct batch *b = CONTAINER_OF(op, struct batch, op);
    struct batches *bs = b->batches;

    b->may_have_arrived |= status_is_unknown(op->status);
    if (op->status == STATUS_OK) {
        if (op->verb == OP_DELIVERED)
            bs->core->stats.late_confirmations += count_late(b);
        batch_free(b);
    } else if (--b->tries_left == 0 || bs->is_closing) {
        give_up(b);
    } else {
        list_append(&bs->waiting, &b->link);
        if (!timer_is_armed(&bs->timer))
            timer_arm(bs->core->timers, &bs->timer, RETRY_MS);
    }
}

static void batch_send(struct batch *b)
{
    b->op.in.leases.items = b->leases;
    b->op.in.leases.count = b->count;
    b->op.on_done = on_done;
    core_send(b->batches->core, &b->op);
}

static void on_timer(struct timer *timer)
{
    struct batches *bs = CONTAINER_OF(timer, struct batches, timer);
    struct list *link;

    while ((link = list_pop(&bs->waiting)))
        batch_send(CONTAINER_OF(link, struct batch, link));
}

/* ---- for deliveries.c ---- */

void batches_send(struct batches *bs, enum op_verb verb, struct list *jobs)
{
    struct batch *open = NULL, *b, *next;
    struct list *link;

    while ((link = list_pop(jobs))) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        HASH_FIND(hh, open, h->topic.at, h->topic.len, b);
        if (!b) {
            b = batch_new(bs, verb, h);
            HASH_ADD_KEYPTR(hh, open, b->op.topic.at, b->op.topic.len, b);
        }
        batch_add(b, h);
        if (b->count == OP_ITEMS_MAX) {
            HASH_DEL(open, b);
            batch_send(b);
        }
    }
    HASH_ITER (hh, open, b, next) {
        HASH_DEL(open, b);
        batch_send(b);
    }
}

void batches_close(struct batches *bs)
{
    struct list *link;

    bs->is_closing = true;
    timer_disarm(bs->core->timers, &bs->timer);
    while ((link = list_pop(&bs->waiting)))
        give_up(CONTAINER_OF(link, struct batch, link));
}

bool batches_are_idle(const struct batches *bs)
{
    return list_is_empty(&bs->waiting);
}

void batches_init(struct batches *bs, struct core *core)
{
    *bs = (struct batches){.core = core, .said_mono_ms = -SAY_EVERY_MS};
    list_init(&bs->waiting);
    timer_init(&bs->timer, on_timer);
}

void batches_fini(struct batches *bs)
{
    timer_disarm(bs->core->timers, &bs->timer);
}
