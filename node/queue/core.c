#include "node/queue/core.h"

#include <assert.h>
#include <stdlib.h>

#include "base/crc16.h"

static void count(struct queue_stats *stats, const struct op *op)
{
    /* A bucket that does not know an owner has answered well. */
    bool is_done =
        op->status == STATUS_OK || (op->verb == OP_OWNER && op->status == STATUS_NOT_FOUND);

    stats->ended[op->verb][op->status]++;
    if (is_done)
        stats->done[op->verb]++;
    else if (status_is_unknown(op->status))
        stats->unknown[op->verb]++;
    else
        stats->refused[op->verb]++;
}

static void answer(struct core *core, struct op *op)
{
    count(&core->stats, op);
    op->on_done = op->answer;
    op->on_done(op);
    core_note_end(core);
}

static void on_stored(struct op *op)
{
    struct core *core = op->core;

    core->in_flight--;
    core->leading -= op_leads(op);
    core->after(core, op);
    answer(core, op);
}

static void take(struct core *core, struct op *op)
{
    op->core = core;
    op->answer = op->on_done;
    op->sent_mono_ms = timers_now(core->timers);
    op->wait_ms = -1;
    op->now_ms = 0;
    op->ahead = NULL;
    op->waits = NULL;
}

void core_send(struct core *core, struct op *op)
{
    take(core, op);
    op->on_done = on_stored;
    core->in_flight++;
    core->leading += op_leads(op);
    core->before(core, op);
    store_submit(core->store, op);
}

void core_carry(struct core *core, struct op *pop)
{
    take(core, pop);
    core->in_flight++;
}

struct early_read {
    struct op read;
    struct op *op; /* the one behind it */
    void (*send)(void *arg, struct op *op);
    void *arg;
};

static void on_read_early(struct op *op)
{
    struct core *core = op->core;
    struct early_read early = *CONTAINER_OF(op, struct early_read, read);

    free(CONTAINER_OF(op, struct early_read, read));
    early.op->ahead = NULL;
    if (early.read.status == STATUS_OK)
        early.send(early.arg, early.op);
    else
        core_refuse(core, early.op, early.read.status);
}

void core_send_after_read(struct core *core, struct op *op,
                          void (*send)(void *arg, struct op *op), void *arg)
{
    struct early_read *early = must(calloc(1, sizeof(*early)));

    early->op = op;
    early->send = send;
    early->arg = arg;
    early->read = (struct op){.verb = OP_SETTINGS,
                              .on_done = on_read_early,
                              .bucket = op->bucket,
                              .topic = op->topic,
                              .is_ahead = true};
    op->ahead = &early->read;
    core_send(core, &early->read);
}

/* Only a pop that brought something is known to have run, and counts. */
void core_carried(struct op *pop, enum status status)
{
    struct core *core = pop->core;

    core->in_flight--;
    if (status != STATUS_OK)
        pop->status = status;
    else if (pop->out.pop.count > 0 || pop->out.pop.has_more)
        count(&core->stats, pop);
    pop->on_done(pop);
    core_note_end(core);
}

void core_note_end(struct core *core)
{
    if (core->on_end)
        core->on_end(core);
}

void core_abandon(struct core *core, struct op *op)
{
    store_abandon(core->store, op->ahead ? op->ahead : op);
}

bool core_is_away(const struct core *core, unsigned bucket)
{
    return core->is_away[bucket];
}

bool core_may_act(const struct core *core)
{
    return !core->may_act || core->may_act(core->may_act_arg);
}

void core_refuse(struct core *core, struct op *op, enum status status)
{
    take(core, op);
    op->status = status;
    later_add(&core->refused, &op->link);
}

static void tell_refused(struct later *later, struct list *link)
{
    answer(CONTAINER_OF(later, struct core, refused), CONTAINER_OF(link, struct op, link));
}

unsigned core_bucket_of(const struct core *core, struct bytes topic)
{
    return crc16(topic) % core->store->buckets;
}

bool core_is_idle(const struct core *core)
{
    return core->in_flight == 0 && later_is_idle(&core->refused);
}

void core_init(struct core *core, const struct queue_options *options, struct store *store,
               struct timers *timers)
{
    *core = (struct core){.options = *options, .store = store, .timers = timers};
    core->is_away = must(calloc(store->buckets, sizeof(*core->is_away)));
    later_init(&core->refused, timers, tell_refused);
}

void core_fini(struct core *core)
{
    assert(core_is_idle(core));
    later_fini(&core->refused);
    free(core->is_away);
}
