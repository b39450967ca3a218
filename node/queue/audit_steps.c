#include "node/queue/audit_steps.h"

#include <string.h>

#include "node/queue/core.h"

#define NAMES_COST 25 /* at least, in jobs looked at */
#define MEND_COST  2
#define LIMIT_COST 2

static int64_t now_of(const struct reconciler *r)
{
    return timers_now(r->core->timers);
}

static void ask_of(struct reconciler *r, enum op_verb verb, struct bytes topic)
{
    r->op.verb = verb;
    r->op.topic = topic;
    r->op.bucket = topic.len ? core_bucket_of(r->core, topic) : 0;
}

/* ---- where the walk goes on ---- */

static void end_walk(struct reconciler *r)
{
    r->core->stats.audit_walks++;
    r->walk_at_mono_ms = r->next_walk_mono_ms;
    if (r->limiting_walks > 0)
        r->limiting_walks--;
    repair_log_tick(&r->log, now_of(r));
}

static void go_to_next_topic(struct reconciler *r)
{
    r->page_len = 0;
    r->is_limited = false;
    if (walk_next_topic(&r->walk, &r->topic))
        return;
    r->topic = BYTES("");
    if (!walk_turn_page(&r->walk))
        end_walk(r);
}

/* ---- NAMING: topics' names ---- */

static void ask_names(struct reconciler *r)
{
    struct bytes after = walk_after(&r->walk);

    if (after.len == 0)
        r->next_walk_mono_ms = now_of(r) + RECONCILER_WALK_MS;
    ask_of(r, OP_PLACES, BYTES(""));
    r->op.in.places.after = after;
}

static unsigned take_names(struct reconciler *r)
{
    unsigned count = r->op.out.places.count;

    walk_take_page(&r->walk, &r->op);
    go_to_next_topic(r);
    return count > NAMES_COST ? count : NAMES_COST;
}

static void leave_walk(struct reconciler *r)
{
    walk_begin_anew(&r->walk);
    r->walk_at_mono_ms = r->next_walk_mono_ms;
}

/* ---- LOOKING: at a page of the topic ---- */

static void ask_page(struct reconciler *r)
{
    ask_of(r, OP_AUDIT, r->topic);
    r->op.in.places.after = bytes_of(r->page, r->page_len);
}

/* Notes all suspects of the page. */
static unsigned see(struct reconciler *r)
{
    const struct op *op = &r->op;
    struct queue_stats *stats = &r->core->stats;

    stats->audited += op->out.audit.looked_at;
    for (unsigned i = 0; i < op->out.audit.count; i++)
        stats->suspects += suspects_see(&r->suspects, op->topic, op->out.audit.items[i].id,
                                        op->in.places.after, now_of(r));
    return op->out.audit.looked_at + 1;
}

static unsigned take_page(struct reconciler *r)
{
    struct bytes next = r->op.out.audit.next;
    unsigned cost = see(r);

    if (next.len == 0 || next.len > sizeof(r->page)) {
        go_to_next_topic(r);
    } else {
        memcpy(r->page, next.at, next.len);
        r->page_len = next.len;
    }
    return cost;
}

/* ---- LOOKING_AGAIN: at a suspect's page ---- */

static void ask_suspects_page(struct reconciler *r)
{
    ask_of(r, OP_AUDIT, r->suspect->topic);
    r->op.in.places.after = r->suspect->page;
}

static unsigned take_second_look(struct reconciler *r)
{
    unsigned cost = see(r);

    if (!r->suspect->is_sure)
        suspects_doubt(&r->suspects, r->suspect);
    return cost;
}

static void leave_suspect(struct reconciler *r)
{
    suspects_forget(&r->suspects, r->suspect);
}

/* ---- MENDING: a suspect that is sure ---- */

static void ask_repair(struct reconciler *r)
{
    ask_of(r, OP_REPAIR, r->suspect->topic);
    r->op.id = r->suspect->id;
}

static void note_repair(struct reconciler *r)
{
    enum damage damage = r->op.out.repair.damage;

    if (damage == DAMAGE_NONE)
        return;
    r->core->stats.repaired[damage]++;
    repair_log_say(&r->log, r->op.topic, r->op.id, damage, now_of(r));
}

static unsigned take_repair(struct reconciler *r)
{
    note_repair(r);
    suspects_forget(&r->suspects, r->suspect);
    return MEND_COST;
}

/* ---- LIMITING: a topic whose dead the configuration limits. The scan does it, by its rules
 * ---- */

static void ask_scan(struct reconciler *r)
{
    ask_of(r, OP_REPAIR, r->topic);
    r->op.in.repair.calls_scan = true;
}

static unsigned take_limiting(struct reconciler *r)
{
    note_repair(r);
    r->is_limited = true;
    return LIMIT_COST;
}

static void leave_unlimited(struct reconciler *r)
{
    r->is_limited = true;
}

const struct audit_step audit_steps[RECONCILER_STATE_COUNT] = {
    [RECONCILER_NAMING] = {ask_names, take_names, leave_walk},
    [RECONCILER_LOOKING] = {ask_page, take_page, go_to_next_topic},
    [RECONCILER_LOOKING_AGAIN] = {ask_suspects_page, take_second_look, leave_suspect},
    [RECONCILER_MENDING] = {ask_repair, take_repair, leave_suspect},
    [RECONCILER_LIMITING] = {ask_scan, take_limiting, leave_unlimited},
};
