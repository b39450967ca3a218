#include "node/queue/keeper.h"

#include <stdlib.h>

#include "node/queue/batches.h"
#include "node/queue/core.h"
#include "node/queue/text.h"

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

static void on_timer(struct timer *timer)
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
    timer_init(&k->timer, on_timer);
}

void keeper_fini(struct keeper *k)
{
    timer_disarm(k->core->timers, &k->timer);
}
