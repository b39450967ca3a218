#include "node/queue/renewals.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/queue.h"
#include "base/bytes.h"

#define RENEWAL_LATE_MS 1000 /* a pop's answer that took longer is late */

uint64_t handed_job_key(unsigned bucket, int64_t stamp)
{
    return (uint64_t)bucket << 48 | (uint64_t)stamp;
}

struct handed_job *handed_job_new(const struct op *op, const struct job *job,
                                  struct bytes holder)
{
    struct handed_job *h = must(malloc(sizeof(*h) + op->topic.len + job->id.len + holder.len));
    char *text;

    text = h->text;
    *h = (struct handed_job){
        .key = handed_job_key(op->bucket, job->stamp),
        .stamp = job->stamp,
        .tries = job->tries,
        .is_owned = op->in.pop.is_owned,
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
    bool may_have_arrived; /* a try ended UNKNOWN */
};

static struct batch *batch_new(struct batches *bs, enum op_verb verb,
                               const struct handed_job *h)
{
    struct batch *b = must(calloc(1, sizeof(*b)));

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
    b->op.in.leases.is_owned |= h->is_owned; /* the others have no notes */
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
                 "could not tell the store that %u jobs of %.*s were %s (%s): they are "
                 "handed out again in seconds, whatever their TTR",
                 b->count, BYTES_ARG(b->op.topic),
                 b->op.verb == OP_DELIVERED ? "delivered" : "returned",
                 status_text(b->op.status));
    }
    batch_free(b);
}

/* How many stale leases were over because the confirmation came too late? An acknowledgement
 * ends a lease, too, and so does this batch itself, where an earlier try had arrived. */
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
    b->op.is_alone = true; /* a lease that is acknowledged meanwhile is not in it, or stale */
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

/* ---- renewals ---- */

/* Names are copied: the delivery may end before the answer comes. */
struct renewal_op {
    struct op op;
    struct renewals *renewals;
    struct renewal *renewal; /* NULL: it has ended */
    struct lease leases[OP_ITEMS_MAX];
    char text[];
};

static const struct handed_job *job_of(const struct list *link)
{
    return CONTAINER_OF(link, struct handed_job, link);
}

static struct renewal_op *renewal_op_new(struct renewal *r)
{
    const struct handed_job *first = job_of(r->jobs->next);
    size_t text_bytes = first->topic.len;
    struct renewal_op *sent;
    unsigned count = 0;
    char *text;

    LIST_EACH (link, r->jobs)
        text_bytes += job_of(link)->id.len;
    sent = must(malloc(sizeof(*sent) + text_bytes));
    text = sent->text;
    sent->renewal = r;
    sent->op = (struct op){
        .verb = OP_KEEP, .bucket = first->bucket, .topic = text_put(&text, first->topic)};
    LIST_EACH (link, r->jobs)
        sent->leases[count++] = (struct lease){.id = text_put(&text, job_of(link)->id),
                                               .stamp = job_of(link)->stamp};
    sent->op.in.leases.items = sent->leases;
    sent->op.in.leases.count = count;
    return sent;
}

static void on_renewed(struct op *op);

/* No second one while a slow store has not answered the first. */
static void send_renewal(struct renewals *rs, struct renewal *r)
{
    r->is_owed = r->sent != NULL;
    if (r->is_owed)
        return;
    r->sent = renewal_op_new(r);
    r->sent->renewals = rs;
    r->sent->op.on_done = on_renewed;
    r->sent->op.is_alone = true; /* behind an acknowledgement it changes nothing */
    core_send(rs->core, &r->sent->op);
}

/* Leases stale before their time were used: the others are renewed. */
static void note_renewed(struct renewal *r, const struct op *op)
{
    if (op->out.leases.stale == 0 || op->now_ms < r->until_ms)
        r->until_ms = op->now_ms + OP_UNCONFIRMED_MS;
}

static void on_renewed(struct op *op)
{
    struct renewal_op *sent = CONTAINER_OF(op, struct renewal_op, op);
    bool has_failed = op->status != STATUS_OK;
    struct renewals *rs = sent->renewals;
    struct renewal *r = sent->renewal;

    if (r && !has_failed)
        note_renewed(r, op);
    free(sent);
    if (!r)
        return;
    r->sent = NULL;
    if (has_failed && r->is_owed)
        send_renewal(rs, r);
}

static void put_last(struct renewals *rs, struct renewal *r)
{
    r->next_mono_ms = timers_now(rs->core->timers) + RENEWAL_INTERVAL_MS;
    list_append(&rs->all, &r->link);
}

static void on_renewals_timer(struct timer *timer)
{
    struct renewals *rs = CONTAINER_OF(timer, struct renewals, timer);
    int64_t now = timers_now(rs->core->timers);
    struct list *link;

    while ((link = list_first(&rs->all))) {
        struct renewal *r = CONTAINER_OF(link, struct renewal, link);

        if (r->next_mono_ms > now) {
            timer_arm(rs->core->timers, &rs->timer, r->next_mono_ms - now);
            return;
        }
        list_remove(link);
        put_last(rs, r);
        send_renewal(rs, r);
    }
}

void renewals_add(struct renewals *rs, struct renewal *r, const struct list *jobs,
                  const struct op *pop)
{
    r->jobs = jobs;
    r->until_ms = pop->now_ms + OP_UNCONFIRMED_MS;
    r->sent = NULL;
    r->is_owed = false;
    put_last(rs, r);
    if (!timer_is_armed(&rs->timer))
        timer_arm(rs->core->timers, &rs->timer, RENEWAL_INTERVAL_MS);
    if (timers_now(rs->core->timers) - pop->sent_mono_ms >= RENEWAL_LATE_MS)
        send_renewal(rs, r);
}

void renewals_remove(struct renewal *r)
{
    list_remove(&r->link);
    if (r->sent)
        r->sent->renewal = NULL;
    r->sent = NULL;
}

void renewals_init(struct renewals *rs, struct core *core)
{
    *rs = (struct renewals){.core = core};
    list_init(&rs->all);
    timer_init(&rs->timer, on_renewals_timer);
}

void renewals_fini(struct renewals *rs)
{
    timer_disarm(rs->core->timers, &rs->timer);
}
