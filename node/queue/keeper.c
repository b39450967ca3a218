#include "node/queue/keeper.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/queue.h"
#include "node/queue/text.h"

#define KEEPER_LATE_MS 1000 /* a pop's answer that took so long */

uint64_t handed_job_key(unsigned bucket, int64_t stamp)
{
    return (uint64_t)bucket << 48 | (uint64_t)stamp;
}

struct handed_job *handed_job_new(const struct op *op, const struct job *job,
                                  struct bytes holder)
{
    struct handed_job *h = malloc(sizeof(*h) + op->topic.len + job->id.len + holder.len);
    char *text;

    if (!h)
        abort();
    text = h->text;
    *h = (struct handed_job){
        .key = handed_job_key(op->bucket, job->stamp),
        .stamp = job->stamp,
        .tries = job->tries,
        .bucket = op->bucket,
        .topic = text_put(&text, op->topic),
        .id = text_put(&text, job->id),
        .holder = text_put(&text, holder),
    };
    list_init(&h->link);
    return h;
}

_Static_assert(QUEUE_CLIENT_MAX_BYTES < JOB_HOLDER_MAX, "and some of the node's name");

struct bytes handed_job_holder(struct bytes client, struct bytes node,
                               char room[JOB_HOLDER_MAX])
{
    size_t room_left = JOB_HOLDER_MAX - client.len - 1;
    char *end = room;

    if (client.len == 0)
        return client;
    text_put(&end, client);
    if (node.len > 0) {
        text_put(&end, BYTES("@"));
        node.len = node.len < room_left ? node.len : room_left;
        text_put(&end, node);
    }
    return bytes_of(room, (size_t)(end - room));
}

/* ---- batches ---- */

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

/* ---- keeper ---- */

/* Names are copied: what it is about may end before it is answered. */
struct keep {
    struct op op;
    struct keeper *keeper;
    struct reading *reading; /* NULL: it has ended */
    struct lease leases[OP_ITEMS_MAX];
    char text[];
};

static const struct handed_job *job_of(const struct list *link)
{
    return CONTAINER_OF(link, struct handed_job, link);
}

static struct keep *keep_new(struct reading *r)
{
    const struct handed_job *first = job_of(r->jobs->next);
    size_t text_bytes = first->topic.len;
    struct keep *keep;
    unsigned count = 0;
    char *text;

    LIST_EACH (link, r->jobs)
        text_bytes += job_of(link)->id.len;
    keep = malloc(sizeof(*keep) + text_bytes);
    if (!keep)
        abort();
    text = keep->text;
    keep->reading = r;
    keep->op = (struct op){
        .verb = OP_KEEP, .bucket = first->bucket, .topic = text_put(&text, first->topic)};
    LIST_EACH (link, r->jobs)
        keep->leases[count++] = (struct lease){.id = text_put(&text, job_of(link)->id),
                                               .stamp = job_of(link)->stamp};
    keep->op.in.leases.items = keep->leases;
    keep->op.in.leases.count = count;
    return keep;
}

static void on_kept(struct op *op);

/* No second one behind one that a slow store has not answered. */
static void send_keep(struct keeper *k, struct reading *r)
{
    r->is_owed = r->keep != NULL;
    if (r->is_owed)
        return;
    r->keep = keep_new(r);
    r->keep->keeper = k;
    r->keep->op.on_done = on_kept;
    core_send(k->core, &r->keep->op);
}

/* Leases that end before their time were used up: those left are kept. */
static void note_kept(struct reading *r, const struct op *op)
{
    if (op->out.leases.stale == 0 || op->now_ms < r->until_ms)
        r->until_ms = op->now_ms + OP_UNCONFIRMED_MS;
}

static void on_kept(struct op *op)
{
    struct keep *keep = CONTAINER_OF(op, struct keep, op);
    bool has_failed = op->status != STATUS_OK;
    struct keeper *k = keep->keeper;
    struct reading *r = keep->reading;

    if (r && !has_failed)
        note_kept(r, op);
    free(keep);
    if (!r)
        return;
    r->keep = NULL;
    if (has_failed && r->is_owed)
        send_keep(k, r);
}

static void put_last(struct keeper *k, struct reading *r)
{
    r->keep_at_mono_ms = timers_now(k->core->timers) + KEEPER_INTERVAL_MS;
    list_append(&k->readings, &r->link);
}

static void on_keeper_timer(struct timer *timer)
{
    struct keeper *k = CONTAINER_OF(timer, struct keeper, timer);
    int64_t now = timers_now(k->core->timers);
    struct list *link;

    while ((link = list_first(&k->readings))) {
        struct reading *r = CONTAINER_OF(link, struct reading, link);

        if (r->keep_at_mono_ms > now) {
            timer_arm(k->core->timers, &k->timer, r->keep_at_mono_ms - now);
            return;
        }
        list_remove(link);
        put_last(k, r);
        send_keep(k, r);
    }
}

void keeper_add(struct keeper *k, struct reading *r, const struct list *jobs,
                const struct op *pop)
{
    r->jobs = jobs;
    r->until_ms = pop->now_ms + OP_UNCONFIRMED_MS;
    r->keep = NULL;
    r->is_owed = false;
    put_last(k, r);
    if (!timer_is_armed(&k->timer))
        timer_arm(k->core->timers, &k->timer, KEEPER_INTERVAL_MS);
    if (timers_now(k->core->timers) - pop->sent_mono_ms >= KEEPER_LATE_MS)
        send_keep(k, r);
}

void keeper_remove(struct reading *r)
{
    list_remove(&r->link);
    if (r->keep)
        r->keep->reading = NULL;
    r->keep = NULL;
}

void keeper_init(struct keeper *k, struct core *core)
{
    *k = (struct keeper){.core = core};
    list_init(&k->readings);
    timer_init(&k->timer, on_keeper_timer);
}

void keeper_fini(struct keeper *k)
{
    timer_disarm(k->core->timers, &k->timer);
}
