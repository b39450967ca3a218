#include "node/store/redis/wire/args.h"

#include <assert.h>
#include <string.h>

#include "node/store/history.h"
#include "node/store/packed.h"

/* ---- shares ---- */

#define VIEW_LEN   16
#define LOCK_MS_AT (VIEW_LEN + SHARE_OWNER_LEN)
#define LATE_MS_AT (LOCK_MS_AT + 6)
#define MARKS_AT   (LATE_MS_AT + 6)

/* Digits of fixed width, so that a script orders views by their bytes. */
static void put_view(char *to, uint64_t view)
{
    for (unsigned i = VIEW_LEN; i-- > 0; view >>= 4)
        to[i] = "0123456789abcdef"[view & 15];
}

void share_pack(const struct scan_share *share, char *to)
{
    assert(share->owner.len == SHARE_OWNER_LEN && share->marks.len == SHARES);
    put_view(to, share->view);
    memcpy(to + VIEW_LEN, share->owner.at, SHARE_OWNER_LEN);
    packed_put(to + LOCK_MS_AT, 6, share->lock_ms);
    packed_put(to + LATE_MS_AT, 6, share->late_ms);
    memcpy(to + MARKS_AT, share->marks.at, SHARES);
}

/* ---- one job ---- */

#define TTL_FROM_DUE 4 /* beside the mode of a push */
#define INDEXED      8
#define MANY_INDEXED 2 /* beside whether a call of several renews */

enum {
    NOTE_RENEWS = 1,
    NOTE_RETRY = 2,
    NOTE_THERE = 4,
};

/* What a release, or a bury, says beside its lease. */
enum {
    LEASE_HAS_PRIORITY = 1,
    LEASE_IS_END = 2,
};

/* With what the job has beside them. */
static void pack_rules(struct script_call *call, const struct op *op,
                       const struct job_rules *rules)
{
    struct job_extra extra = {.by_id = op->in.push.by_id, .attributes = op->in.push.attributes};
    char *at = call_pack_room(call, RULES_BYTES);

    rules_pack(rules, at);
    if (!push_has_extra(op))
        return;
    at[RULES_KIND_AT] = (char)(at[RULES_KIND_AT] | RULES_EXTRA);
    extra_pack(&extra, call_pack_room(call, EXTRA_BYTES + extra.attributes.len));
}

/* Most jobs have default rules, and their pushes bring none. */
static void add_rules(struct script_call *call, const struct op *op)
{
    struct job_rules rules = op->in.push.rules;
    const char *at;

    rules.expires_ms = op->in.push.ttl_ms; /* the script adds its clock */
    if (rules_are_default(&rules) && !push_has_extra(op))
        return;
    at = call_pack_begin(call);
    pack_rules(call, op, &rules);
    call_pack_end(call, at);
}

void args_add_entries(struct script_call *call, const struct push_note *note, unsigned count)
{
    int64_t from = (int64_t)(note->number % PUSH_LEDGER_RING) * PUSH_LEDGER_ENTRY;

    call_add_number(call, from);
    call_add_number(call, from + (int64_t)count * PUSH_LEDGER_ENTRY - 1);
}

/* What the topic may have; of most topics nothing is limited, and nothing packed. */
static void pack_limits(struct script_call *call, const struct op *op)
{
    if (!op->in.push.jobs_max && !op->in.push.bytes_max)
        return;
    call_pack(call, 4, op->in.push.jobs_max);
    call_pack(call, 6, op->in.push.bytes_max);
}

void args_add_push(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const struct push_note *note)
{
    const char *at;

    call_add_bytes(call, op->topic);
    call_add_bytes(call, op->id);
    call_add_bytes(call, op->in.push.body);
    at = call_pack_begin(call);
    call_pack(call, 6, op->in.push.at_ms ? 0 : op->in.push.delay_ms);
    call_pack(call, 6, op->in.push.at_ms);
    call_pack(call, 4, op->in.push.ttr_ms);
    call_pack(call, 1, keys->buckets);
    call_pack(call, 1, op->bucket);
    call_pack(call, 1,
              op->in.push.mode + (op->in.push.ttl_from_due ? TTL_FROM_DUE : 0) +
                  (op->in.push.is_indexed ? INDEXED : 0));
    call_pack(call, 1,
              (note->renews ? NOTE_RENEWS : 0) + (note->is_retry ? NOTE_RETRY : 0) +
                  (note->was_there ? NOTE_THERE : 0));
    call_pack(call, 6, (int64_t)note->number);
    pack_limits(call, op);
    call_pack_end(call, at);
    args_add_entries(call, note, 1);
    add_rules(call, op);
}

static void add_push(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    static const struct push_note none;

    args_add_push(call, keys, op, &none);
}

static void add_pushes(struct script_call *call, const struct script_keys *keys,
                       const struct op *const *ops, unsigned count,
                       const struct push_note *note)
{
    const char *at = call_pack_begin(call);

    call_pack(call, 1, keys->buckets);
    call_pack(call, 1, ops[0]->bucket);
    call_pack(call, 1, note->renews + (ops[0]->in.push.is_indexed ? MANY_INDEXED : 0));
    call_pack(call, 6, (int64_t)note->number);
    pack_limits(call, ops[0]);
    call_pack_end(call, at);
    args_add_entries(call, note, count);
    for (unsigned i = 0; i < count; i++) {
        const struct op *op = ops[i];
        struct job_rules rules = op->in.push.rules;

        call_add_bytes(call, op->id);
        call_add_bytes(call, op->in.push.body);
        at = call_pack_begin(call);
        call_pack(call, 6, op->in.push.at_ms ? 0 : op->in.push.delay_ms);
        call_pack(call, 6, op->in.push.at_ms);
        call_pack(call, 4, op->in.push.ttr_ms);
        rules.expires_ms = 0;
        if (!rules_are_default(&rules) || push_has_extra(op))
            pack_rules(call, op, &rules);
        call_pack_end(call, at);
    }
}

static void add_id(struct script_call *call, const struct script_keys *keys,
                   const struct op *op)
{
    call_add_bytes(call, op->id);
}

static void add_topic_and_id(struct script_call *call, const struct script_keys *keys,
                             const struct op *op)
{
    call_add_bytes(call, op->topic);
    call_add_bytes(call, op->id);
}

static void add_cancel(struct script_call *call, const struct script_keys *keys,
                       const struct op *op)
{
    const char *at;

    add_topic_and_id(call, keys, op);
    call_add_number(call, op->in.cancel.states);
    if (!op->in.cancel.is_as_seen)
        return;
    at = call_pack_begin(call);
    call_pack(call, 6, op->in.cancel.due_ms);
    call_pack(call, 5, op->in.cancel.delay_ms);
    call_pack(call, 6, op->in.cancel.created_ms);
    call_pack_end(call, at);
}

static void add_move(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    const char *at;

    add_topic_and_id(call, keys, op);
    at = call_pack_begin(call);
    call_pack(call, 6, op->in.move.at_ms ? 0 : op->in.move.delay_ms);
    call_pack(call, 6, op->in.move.at_ms);
    call_pack(call, 1, op->in.move.states);
    call_pack_end(call, at);
}

/* ---- leases ---- */

static void add_pop(struct script_call *call, const struct script_keys *keys,
                    const struct op *op)
{
    assert(op->in.pop.count >= 1 && op->in.pop.count <= OP_ITEMS_MAX);
    call_add_bytes(call, op->topic);
    call_add_number(call, op->in.pop.count);
    call_add_number(call, op->in.pop.id_only);
}

static void add_take(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    assert(op->in.pop.count == 1);
    add_topic_and_id(call, keys, op);
    call_add_number(call, op->in.pop.id_only);
}

/* Packs a delivery's TTR and holder; most deliveries have none. */
static void pack_delivery(struct script_call *call, const struct lease *lease)
{
    struct bytes holder = lease->holder;

    if (!lease->has_ttr && holder.len == 0)
        return;
    assert(holder.len <= JOB_HOLDER_MAX);
    call_pack(call, 1, lease->has_ttr);
    call_pack(call, 4, lease->has_ttr ? lease->ttr_ms : 0);
    if (holder.len)
        memcpy(call_pack_room(call, holder.len), holder.at, holder.len);
}

static void add_leases(struct script_call *call, const struct script_keys *keys,
                       const struct op *op)
{
    assert(op->in.leases.count >= 1 && op->in.leases.count <= OP_ITEMS_MAX);
    call_add_bytes(call, op->topic);
    for (unsigned i = 0; i < op->in.leases.count; i++) {
        const struct lease *lease = &op->in.leases.items[i];
        const char *at;

        call_add_bytes(call, lease->id);
        at = call_pack_begin(call);
        call_pack(call, 6, lease->stamp); /* as in the header: compared without unpacking */
        if (op->verb == OP_DELIVERED)
            pack_delivery(call, lease);
        call_pack_end(call, at);
    }
}

/* Of one in a call of several, too. */
static void add_id_and_lease(struct script_call *call, const struct op *op)
{
    const char *at;

    call_add_bytes(call, op->id);
    at = call_pack_begin(call);
    call_pack(call, 6, op->in.lease.stamp);
    if (op->verb == OP_RELEASE)
        call_pack(call, 6, op->in.lease.delay_ms + 1); /* 0: as its backoff says */
    if (op->verb == OP_RELEASE || op->verb == OP_BURY) {
        call_pack(call, 1,
                  (op->in.lease.has_priority ? LEASE_HAS_PRIORITY : 0) +
                      (op->in.lease.is_end ? LEASE_IS_END : 0));
        call_pack(call, 4, op->in.lease.has_priority ? op->in.lease.priority : 0);
    }
    call_pack_end(call, at);
}

static void add_lease(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    call_add_bytes(call, op->topic);
    add_id_and_lease(call, op);
}

static void add_touch(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    add_lease(call, keys, op);
    call_add_number(call, op->in.lease.ttr_ms);
}

/* ---- many jobs ---- */

static void add_chunk(struct script_call *call, const struct op *op)
{
    assert(op->in.chunk.limit >= 1 && op->in.chunk.limit <= OP_CHUNK_MAX);
    call_add_number(call, op->in.chunk.since_ms);
    call_add_number(call, op->in.chunk.before_ms);
    call_add_number(call, op->in.chunk.limit);
}

static void add_kick(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    call_add_bytes(call, op->topic);
    add_chunk(call, op);
    call_add_number(call, op->in.chunk.state == JOB_DELAYED ? JOB_DELAYED : JOB_DEAD);
    call_add_number(call, op->in.chunk.ttl_ms);
    call_add_number(call, op->in.chunk.tries);
}

static void add_purge(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    call_add_bytes(call, op->topic);
    call_add_number(call, op->in.chunk.state);
    add_chunk(call, op);
}

static void add_list(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    assert(op->in.list.limit >= 1 && op->in.list.limit <= OP_LIST_MAX);
    call_add_number(call, op->in.list.state);
    call_add_bytes(call, op->in.list.after);
    call_add_number(call, op->in.list.limit);
}

static void add_page(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    assert(op->in.topics.limit >= 1 && op->in.topics.limit <= OP_TOPICS_MAX);
    call_add_bytes(call, op->in.topics.after);
    call_add_number(call, op->in.topics.limit);
    if (op->in.topics.owners)
        call_add_number(call, 1);
}

static void add_nothing(struct script_call *call, const struct script_keys *keys,
                        const struct op *op)
{
}

/* ---- settings, and the scan that goes by them ---- */

static void add_settings(struct script_call *call, const struct topic_settings *settings)
{
    char *at = call_pack_room(call, SETTINGS_BYTES);

    settings_pack(settings, at);
    call_add(call, at, SETTINGS_BYTES);
}

enum pause_mode {
    PAUSE_LEAVE,
    PAUSE_UNTIL, /* as in the settings */
    PAUSE_FOR,
};

static enum pause_mode pause_mode(const struct op *op)
{
    if (!op->in.configure.has_pause)
        return PAUSE_LEAVE;
    return op->in.configure.pause_ms ? PAUSE_FOR : PAUSE_UNTIL;
}

static void add_configure(struct script_call *call, const struct script_keys *keys,
                          const struct op *op)
{
    call_add_bytes(call, op->topic);
    call_add_number(call, op->in.configure.mask);
    add_settings(call, &op->in.configure.settings);
    call_add_number(call, pause_mode(op));
    call_add_number(call, op->in.configure.pause_ms);
}

static void add_topic_and_after(struct script_call *call, const struct script_keys *keys,
                                const struct op *op)
{
    call_add_bytes(call, op->topic);
    call_add_bytes(call, op->in.settings.after);
}

/* Topic, behind its length, count and id_only. */
static void add_pops(struct script_call *call, const struct op *op)
{
    const char *at = call_pack_begin(call);

    assert(op->in.scan.pop_count <= OP_SCAN_POPS_MAX);
    for (unsigned i = 0; i < op->in.scan.pop_count; i++) {
        const struct op *pop = op->in.scan.pops[i];

        call_pack(call, 1, (int64_t)pop->topic.len);
        memcpy(call_pack_room(call, pop->topic.len), pop->topic.at, pop->topic.len);
        call_pack(call, 1, pop->in.pop.count);
        call_pack(call, 1, pop->in.pop.id_only);
    }
    call_pack_end(call, at);
}

static void add_scan(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    assert(op->in.scan.rule_count <= OP_RULES_MAX);
    call_add_number(call, op->in.scan.limit);
    call_add_bytes(call, op->in.scan.node);
    call_add_number(call, op->in.scan.history_bytes);
    add_pops(call, op);
    for (unsigned i = 0; i < op->in.scan.rule_count; i++) {
        call_add_bytes(call, op->in.scan.rules[i].pattern);
        add_settings(call, &op->in.scan.rules[i].settings);
    }
    if (op->in.scan.share) {
        char *at = call_pack_room(call, SHARE_BYTES);

        share_pack(op->in.scan.share, at);
        call_add(call, at, SHARE_BYTES);
    }
}

/* ---- history ---- */

static void add_record(struct script_call *call, const struct script_keys *keys,
                       const struct op *op)
{
    assert(op->in.record.count >= 1 && op->in.record.count <= OP_RECORDS_MAX);
    call_add_number(call, op->in.record.bytes_max);
    for (unsigned i = 0; i < op->in.record.count; i++) {
        char *at = call_pack_room(call, HISTORY_BYTES_MAX);
        size_t len = history_pack(&op->in.record.items[i], at);

        call->used -= HISTORY_BYTES_MAX - len;
        call_add(call, at, len);
    }
}

static void add_trace(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    assert(op->in.trace.limit >= 1 && op->in.trace.limit <= OP_RECORDS_MAX);
    add_topic_and_id(call, keys, op);
    call_add_bytes(call, op->in.trace.before);
    call_add_number(call, op->in.trace.limit);
}

/* ---- repair ---- */

static void add_audit(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    call_add_bytes(call, op->topic);
    call_add_bytes(call, op->in.places.after);
    call_add_number(call, OP_LIST_MAX);
}

static void add_repair(struct script_call *call, const struct script_keys *keys,
                       const struct op *op)
{
    add_topic_and_id(call, keys, op);
    call_add_number(call, op->in.repair.calls_scan);
}

/* ---- reservations of owners ---- */

static void add_notes(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    assert(op->in.notes.limit >= 1 && op->in.notes.limit <= OP_NOTES_MAX);
    call_add_number(call, op->in.notes.limit);
}

static void add_beat(struct script_call *call, const struct script_keys *keys,
                     const struct op *op)
{
    const struct worker_beat *forget = &op->in.beat.forget;

    call_add_number(call, op->in.beat.is_there ? 1 : op->in.beat.leaves ? 2 : 0);
    call_add_worker(call, keys->worker);
    call_add_number(call, op->in.beat.age_ms);
    if (!forget->worker) {
        call_add_bytes(call, BYTES(""));
        return;
    }
    call_add_worker(call, forget->worker);
    call_add_number(call, forget->last_ms);
}

uint64_t args_worker(const struct script_keys *keys, const struct op *op)
{
    switch (op->verb) {
    case OP_POP:
    case OP_TAKE:
        return op->in.pop.is_owned ? keys->worker : 0;
    case OP_DELIVERED:
    case OP_RETURN:
        return op->in.leases.is_owned ? keys->worker : 0;
    case OP_ACK:
    case OP_RELEASE:
    case OP_BURY:
        return !op->in.lease.is_owned ? 0
               : op->in.lease.worker  ? op->in.lease.worker
                                      : keys->worker;
    case OP_NOTES:
        return op->in.notes.worker ? op->in.notes.worker : keys->worker;
    default:
        return 0;
    }
}

/* ---- fencing ---- */

static void add_fence(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    call_add_number(call, op->in.fence.adopts);
}

/* ---- identities ---- */

static void add_known(struct script_call *call, const struct script_keys *keys,
                      const struct op *op)
{
    call_add_bytes(call, op->in.identities.known);
}

static void add_identify(struct script_call *call, const struct script_keys *keys,
                         const struct op *op)
{
    assert(op->in.identify.mark_count <= OP_IDENTITY_MARKS_MAX);
    call_add_bytes(call, op->id);
    call_add_bytes(call, op->in.identify.line);
    call_add_bytes(call, op->in.identify.id);
    call_add_number(call, op->in.identify.as);
    call_add_number(call, op->in.identify.floor);
    call_add_number(call, op->in.identify.expected + 1);
    for (unsigned i = 0; i < op->in.identify.mark_count; i++)
        call_add_bytes(call, op->in.identify.marks[i]);
}

/* ---- by verb ---- */

/* The keys and arguments of each verb's script, as the script's top lists them.
 *
 * To add an operation: its line in op.h, its script in lua/ (and in CMakeLists.txt), its row
 * in the table here and in take.c, its row in doc/store.md.
 */
static const struct {
    const char *keys; /* their letters; "" when it has no script */
    void (*add)(struct script_call *, const struct script_keys *, const struct op *);
} rows[OP_COUNT] = {
    [OP_PUSH] = {"jpdrtna", add_push},
    [OP_POP] = {"jprvtnoqc", add_pop},
    [OP_TAKE] = {"jprdvxtnoq", add_take},
    [OP_DELIVERED] = {"jpvto", add_leases},
    [OP_KEEP] = {"jvt", add_leases},
    [OP_RETURN] = {"jrvnq", add_leases},
    [OP_ACK] = {"jpvo", add_lease},
    [OP_RELEASE] = {"jrdvtnqx", add_lease},
    [OP_TOUCH] = {"jvt", add_touch},
    [OP_BURY] = {"jvtx", add_lease},
    [OP_CANCEL] = {"jpdvxortaq", add_cancel},
    [OP_MOVE] = {"jrdvxtnq", add_move},
    [OP_KICK] = {"jrxnqd", add_kick},
    [OP_PURGE] = {"jpdrqvxota", add_purge},
    [OP_GET] = {"jpvx", add_id},
    [OP_LIST] = {"jpdrqvx", add_list},
    [OP_STATS] = {"jdrvxq", add_nothing},
    [OP_OWNER] = {"", add_nothing},
    [OP_NOTES] = {"", add_notes}, /* z */
    [OP_BEAT] = {"m", add_beat},
    [OP_SCAN] = {"tnachf", add_scan},
    [OP_TOPICS] = {"a", add_page},
    [OP_CONFIGURE] = {"ctarq", add_configure},
    [OP_SETTINGS] = {"c", add_topic_and_after},
    [OP_RECORD] = {"h", add_record},
    [OP_TRACE] = {"h", add_trace},
    [OP_PLACES] = {"", add_nothing},
    [OP_AUDIT] = {"jf", add_audit},
    [OP_REPAIR] = {"jf", add_repair},
    [OP_FENCE] = {"f", add_fence},
    [OP_IDENTITIES] = {"i", add_known},
    [OP_IDENTIFY] = {"it", add_identify},
};

const char *args_keys(enum op_verb verb)
{
    return rows[verb].keys;
}

void args_add(struct script_call *call, const struct script_keys *keys, const struct op *op)
{
    rows[op->verb].add(call, keys, op);
}

void args_add_many(struct script_call *call, const struct script_keys *keys,
                   const struct op *const *ops, unsigned count, const struct push_note *note)
{
    if (ops[0]->verb == OP_PUSH) {
        add_pushes(call, keys, ops, count, note);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        add_id_and_lease(call, ops[i]);
}
