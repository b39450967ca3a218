#include "node/queue/queue.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/queue/engine.h"
#include "node/queue/shares.h"

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool has_valid_length(struct bytes name)
{
    return name.len >= 1 && name.len <= NAME_MAX_BYTES;
}

static bool is_dots(struct bytes name)
{
    return bytes_equal(name, BYTES(".")) || bytes_equal(name, BYTES(".."));
}

bool topic_name_is_valid(struct bytes topic)
{
    if (!has_valid_length(topic) || topic.at[0] == '-' || is_dots(topic))
        return false;
    for (size_t i = 0; i < topic.len; i++) {
        char c = topic.at[i];

        if (!is_alphanumeric(c) && (c == '\0' || !strchr("_.:/+;$()-", c)))
            return false;
    }
    return true;
}

bool job_id_is_valid(struct bytes id)
{
    if (!has_valid_length(id) || is_dots(id))
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] <= ' ' || id.at[i] > '~')
            return false;
    }
    return true;
}

/* ---- checks ---- */

#define ALL_STATES (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD)

static bool is_within(int64_t value, int64_t max)
{
    return value >= 0 && value <= max;
}

/* A cap is for rests that grow. */
static bool cap_is_valid(const struct backoff *backoff)
{
    return backoff->cap_ms == 0 ||
           (backoff->kind == BACKOFF_EXPONENTIAL && backoff->cap_ms >= backoff->base_ms &&
            backoff->cap_ms <= RULES_BACKOFF_MAX_MS);
}

static bool backoff_is_valid(const struct backoff *backoff)
{
    if (backoff->kind == BACKOFF_NONE)
        return !backoff->base_ms && !backoff->cap_ms && !backoff->jitter_percent;
    return (backoff->kind == BACKOFF_FIXED || backoff->kind == BACKOFF_EXPONENTIAL) &&
           backoff->base_ms > 0 && is_within(backoff->base_ms, RULES_BACKOFF_MAX_MS) &&
           cap_is_valid(backoff) && backoff->jitter_percent <= 100;
}

static bool setting_is_valid(const struct topic_settings *s, enum setting setting)
{
    if (setting_kind(setting) == SETTING_BACKOFFS)
        return backoff_is_valid(&s->backoff);
    return is_within(setting_number(s, setting), setting_max(setting));
}

/* Looks at those that are set; the others mean nothing. */
static bool settings_are_valid(const struct topic_settings *s, unsigned set)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (set & 1u << i && !setting_is_valid(s, i))
            return false;
    }
    return true;
}

static enum status check_push(const struct op *op)
{
    const struct topic_settings given = {
        .ttr_ms = op->in.push.ttr_ms,
        .max_tries = op->in.push.rules.max_tries,
        .backoff = op->in.push.rules.backoff,
        .ttl_ms = op->in.push.ttl_ms,
    };

    if (op->id.len > 0 && !job_id_is_valid(op->id))
        return STATUS_BAD_ID;
    if (!is_within(op->in.push.delay_ms, JOB_DELAY_MAX_MS) ||
        !is_within(op->in.push.at_ms, QUEUE_AT_MAX_MS) || op->in.push.mode > PUSH_IGNORE ||
        !settings_are_valid(&given, op->in.push.given))
        return STATUS_OUT_OF_RANGE;
    if (!attributes_are_valid(op->in.push.attributes))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_id(const struct op *op)
{
    return job_id_is_valid(op->id) ? STATUS_OK : STATUS_BAD_ID;
}

static enum status check_lease(const struct op *op)
{
    if (!is_within(op->in.lease.stamp, JOB_STAMP_MAX) ||
        !is_within(op->in.lease.delay_ms, JOB_DELAY_MAX_MS) ||
        !is_within(op->in.lease.ttr_ms, QUEUE_TTR_MAX_MS))
        return STATUS_OUT_OF_RANGE;
    if (op->in.lease.has_priority && op->verb != OP_RELEASE && op->verb != OP_BURY)
        return STATUS_OUT_OF_RANGE;
    if (op->in.lease.is_end && (op->verb != OP_RELEASE || op->in.lease.delay_ms != 0))
        return STATUS_OUT_OF_RANGE;
    if (op->in.lease.worker)
        return STATUS_OUT_OF_RANGE; /* the engine's alone */
    return check_id(op);
}

static enum status check_release(const struct op *op)
{
    struct op given = *op;

    if (op->in.lease.delay_ms == -1 && !op->in.lease.is_end) /* as its backoff says */
        given.in.lease.delay_ms = 0;
    return check_lease(&given);
}

static enum status check_move(const struct op *op)
{
    if (!is_within(op->in.move.delay_ms, JOB_DELAY_MAX_MS) ||
        !is_within(op->in.move.at_ms, QUEUE_AT_MAX_MS) || op->in.move.states & ~ALL_STATES)
        return STATUS_OUT_OF_RANGE;
    return check_id(op);
}

static enum status check_cancel(const struct op *op)
{
    return op->in.cancel.states & ~ALL_STATES ? STATUS_OUT_OF_RANGE : check_id(op);
}

static bool is_a_state(enum job_state state)
{
    return state >= JOB_DELAYED && state <= JOB_DEAD;
}

static bool times_are_valid(int64_t since_ms, int64_t before_ms)
{
    return is_within(since_ms, QUEUE_AT_MAX_MS) && is_within(before_ms, QUEUE_AT_MAX_MS);
}

/* Of jobs that are kicked. */
static bool new_rules_are_valid(int64_t ttl_ms, unsigned tries)
{
    return is_within(ttl_ms, setting_max(SETTING_TTL)) &&
           is_within(tries, setting_max(SETTING_MAX_TRIES));
}

static enum status check_chunk(const struct op *op)
{
    if (op->in.chunk.limit < 1 || op->in.chunk.limit > OP_CHUNK_MAX ||
        !times_are_valid(op->in.chunk.since_ms, op->in.chunk.before_ms) ||
        (op->verb == OP_PURGE && !is_a_state(op->in.chunk.state)))
        return STATUS_OUT_OF_RANGE;
    if (op->verb == OP_KICK && !new_rules_are_valid(op->in.chunk.ttl_ms, op->in.chunk.tries))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_list(const struct op *op)
{
    if (op->in.list.limit < 1 || op->in.list.limit > OP_LIST_MAX ||
        !is_a_state(op->in.list.state) || op->in.list.after.len > OP_CURSOR_MAX)
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_configure(const struct op *op)
{
    const struct topic_settings *settings = &op->in.configure.settings;
    unsigned mask = op->in.configure.mask;

    if (mask & ~SETTINGS_ALL || !settings_are_valid(settings, settings->set & mask))
        return STATUS_OUT_OF_RANGE;
    if (op->in.configure.has_pause &&
        (!is_within(settings->paused_until_ms, SETTINGS_FOREVER) ||
         !is_within(op->in.configure.pause_ms, SETTINGS_FOREVER)))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_settings(const struct op *op)
{
    return op->in.settings.after.len > OP_CURSOR_MAX ? STATUS_OUT_OF_RANGE : STATUS_OK;
}

static enum status check_page(const struct op *op)
{
    if (op->in.topics.limit < 1 || op->in.topics.limit > OP_TOPICS_MAX)
        return STATUS_OUT_OF_RANGE;
    if (op->in.topics.after.len && !topic_name_is_valid(op->in.topics.after))
        return STATUS_BAD_TOPIC;
    return STATUS_OK;
}

static enum status check_identities(const struct op *op)
{
    return op->in.identities.known.len > OP_IDENTITY_ID_CHARS ? STATUS_OUT_OF_RANGE : STATUS_OK;
}

static bool identity_name_is_valid(struct bytes name)
{
    if (name.len < 1 || name.len > OP_IDENTITY_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!is_alphanumeric(name.at[i]) && (!name.at[i] || !strchr("_.-", name.at[i])))
            return false;
    }
    return true;
}

static bool change_id_is_valid(struct bytes id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (!id.at[i] || !strchr("0123456789abcdef", id.at[i]))
            return false;
    }
    return id.len == OP_IDENTITY_ID_CHARS;
}

static bool marks_are_valid(const struct bytes *marks, unsigned count)
{
    for (unsigned i = 0; i < count && count <= OP_IDENTITY_MARKS_MAX; i++) {
        if (marks[i].len < 1 || marks[i].len > OP_IDENTITY_MARK_MAX)
            return false;
    }
    return count <= OP_IDENTITY_MARKS_MAX;
}

static enum status check_identify(const struct op *op)
{
    const typeof(op->in.identify) *in = &op->in.identify;

    if (!identity_name_is_valid(op->id) || !change_id_is_valid(in->id))
        return STATUS_BAD_REQUEST;
    if (in->line.len > OP_IDENTITY_LINE_MAX || !is_within(in->as, OP_IDENTITY_VERSION_MAX) ||
        !is_within(in->floor, OP_IDENTITY_VERSION_MAX) ||
        !is_within(in->expected + 1, OP_IDENTITY_VERSION_MAX) ||
        !marks_are_valid(in->marks, in->mark_count))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_nothing(const struct op *op)
{
    return STATUS_OK;
}

/* The operations that a protocol may submit; the others are the engine's own. */
static enum status (*const checks[OP_COUNT])(const struct op *) = {
    [OP_PUSH] = check_push,         [OP_ACK] = check_lease,
    [OP_RELEASE] = check_release,   [OP_TOUCH] = check_lease,
    [OP_BURY] = check_lease,        [OP_CANCEL] = check_cancel,
    [OP_MOVE] = check_move,         [OP_KICK] = check_chunk,
    [OP_PURGE] = check_chunk,       [OP_GET] = check_id,
    [OP_LIST] = check_list,         [OP_STATS] = check_nothing,
    [OP_TOPICS] = check_page,       [OP_CONFIGURE] = check_configure,
    [OP_SETTINGS] = check_settings, [OP_IDENTITIES] = check_identities,
    [OP_IDENTIFY] = check_identify,
};

static bool op_is_of_identities(const struct op *op)
{
    return op->verb == OP_IDENTITIES || op->verb == OP_IDENTIFY;
}

bool op_is_of_a_topic(const struct op *op)
{
    return op->verb != OP_TOPICS && !op_is_of_identities(op) &&
           !(op->verb == OP_SETTINGS && op->topic.len == 0);
}

enum status check_op(const struct op *op, const struct queue_options *options, unsigned buckets)
{
    assert(op->verb < OP_COUNT && checks[op->verb]);
    if (op_is_of_a_topic(op) && !topic_name_is_valid(op->topic))
        return STATUS_BAD_TOPIC;
    if (!op_is_of_a_topic(op) && op->bucket >= buckets)
        return STATUS_OUT_OF_RANGE;
    if (op->verb == OP_PUSH && op->in.push.body.len > options->body_max_bytes)
        return STATUS_TOO_LARGE;
    return checks[op->verb](op);
}

enum status check_pop(const struct pop *pop)
{
    if (pop->topic_count < 1 || pop->topic_count > QUEUE_TOPICS_PER_POP_MAX)
        return STATUS_OUT_OF_RANGE;
    if (pop->count < 1 || pop->count > OP_ITEMS_MAX || pop->wait_ms < 0)
        return STATUS_OUT_OF_RANGE;
    if (pop->take_id.len && (pop->topic_count != 1 || pop->count != 1 || pop->wait_ms != 0))
        return STATUS_OUT_OF_RANGE;
    if (pop->take_id.len && !job_id_is_valid(pop->take_id))
        return STATUS_BAD_ID;
    if (pop->has_ttr && !is_within(pop->ttr_ms, QUEUE_TTR_MAX_MS))
        return STATUS_OUT_OF_RANGE;
    for (unsigned i = 0; i < pop->topic_count; i++) {
        if (!topic_name_is_valid(pop->topics[i]))
            return STATUS_BAD_TOPIC;
    }
    return STATUS_OK;
}

static enum status check_sweep(const struct sweep *sweep)
{
    assert(sweep->verb == OP_KICK || sweep->verb == OP_PURGE);
    if (!topic_name_is_valid(sweep->topic))
        return STATUS_BAD_TOPIC;
    if (!times_are_valid(sweep->since_ms, sweep->before_ms))
        return STATUS_OUT_OF_RANGE;
    if (sweep->verb == OP_KICK && (sweep->states & ~(1u << JOB_DELAYED | 1u << JOB_DEAD) ||
                                   !new_rules_are_valid(sweep->ttl_ms, sweep->tries)))
        return STATUS_OUT_OF_RANGE;
    if (sweep->verb == OP_PURGE && (sweep->states == 0 || sweep->states & ~ALL_STATES))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_follow(const struct follow *follow)
{
    if (follow->max < 1 || follow->max > QUEUE_FOLLOW_MAX || follow->wait_ms < 0)
        return STATUS_OUT_OF_RANGE;
    if (follow->topic.len && !topic_name_is_valid(follow->topic))
        return STATUS_BAD_TOPIC;
    return STATUS_OK;
}

enum status check_trace(const struct trace *trace)
{
    if (!topic_name_is_valid(trace->topic))
        return STATUS_BAD_TOPIC;
    if (!job_id_is_valid(trace->id))
        return STATUS_BAD_ID;
    if (trace->limit < 1 || trace->limit > QUEUE_TRACE_MAX)
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

/* ---- adoption ---- */

static void on_bucket(struct op *op);

static void prepare(struct adoption *a, unsigned bucket, bool adopts)
{
    a->op = (struct op){.verb = OP_FENCE,
                        .bucket = bucket,
                        .token = bytes_of_text(a->token),
                        .on_done = on_bucket};
    a->op.in.fence.adopts = adopts;
}

static void adoption_end(struct adoption *a, enum status status)
{
    if (status == STATUS_OK)
        LOG_WARN("queue", "the store is now %s%s: an operator wants it",
                 *a->token ? "led with the token " : "given to standalone nodes", a->token);
    a->status = status;
    a->on_done(a);
}

/* In the second round the bucket follows another ensemble, or standalone nodes: another
 * adoption ran at the same time. */
static bool is_lost(const struct adoption *a)
{
    return a->op.status == STATUS_FENCED && !a->op.in.fence.adopts &&
           !bytes_equal(op_token_ensemble(a->op.token),
                        op_token_ensemble(a->op.out.fenced.seen));
}

static void count_lost(struct adoption *a)
{
    struct bytes seen = a->op.out.fenced.seen;

    assert(seen.len < sizeof(a->lost_to));
    memcpy(a->lost_to, seen.at, seen.len);
    a->lost_to[seen.len] = '\0';
    a->lost++;
}

static void on_bucket(struct op *op)
{
    struct adoption *a = CONTAINER_OF(op, struct adoption, op);
    struct core *core = op->core;
    unsigned next = (op->bucket + 1) % core->store->buckets;
    bool adopts = op->in.fence.adopts, is_over = next == 0 && !adopts;

    if (is_lost(a))
        count_lost(a);
    else if (op->status != STATUS_OK)
        is_over = true;
    if (!is_over) {
        prepare(a, next, adopts && next != 0);
        core_send(core, op);
        return;
    }
    adoption_end(a, op->status == STATUS_OK && a->lost ? STATUS_FENCED : op->status);
}

/* ---- queue ---- */

static enum status check(const struct queue *q, const struct op *op)
{
    return engine_is_over(q) ? STATUS_SHUTTING_DOWN
                             : check_op(op, &q->core.options, q->core.store->buckets);
}

void queue_submit(struct queue *q, struct op *op)
{
    enum status status = check(q, op);

    if (status != STATUS_OK) {
        core_refuse(&q->core, op, status);
        return;
    }
    if (op_is_of_a_topic(op))
        op->bucket = core_bucket_of(&q->core, op->topic);
    if (op_is_of_identities(op))
        op->bucket = 0;
    if (op->verb == OP_PUSH)
        op->in.push.is_indexed |= q->core.options.index_ids;
    if (op->verb == OP_PUSH)
        settings_send_push(&q->settings, op);
    else if (op_has(op->verb, TRAIT_BY_LEASE))
        lease_checks_send(&q->lease_checks, op);
    else
        core_send(&q->core, op);
}

void queue_adopt(struct queue *q, struct adoption *adoption)
{
    adoption->lost = 0;
    adoption->lost_to[0] = '\0';
    prepare(adoption, 0, true);
    if (engine_is_over(q))
        core_refuse(&q->core, &adoption->op, STATUS_SHUTTING_DOWN);
    else
        core_send(&q->core, &adoption->op);
}

void queue_abandon(struct queue *q, struct op *op)
{
    if (op->verb != OP_ACK)
        core_abandon(&q->core, op);
}

unsigned queue_buckets(const struct queue *q)
{
    return q->core.store->buckets;
}

struct bytes queue_topic_preferred(struct queue *q, struct bytes topic)
{
    const struct shares *shares = queue_shares(q);

    return shares ? shares_preferred(shares, core_bucket_of(&q->core, topic), share_of(topic))
                  : BYTES("");
}

void queue_pop(struct queue *q, struct pop *pop)
{
    enum status status = engine_is_over(q) ? STATUS_SHUTTING_DOWN : check_pop(pop);

    if (status == STATUS_OK)
        waiters_add(&q->waiters, pop);
    else
        waiters_refuse(&q->waiters, pop, status);
}

void queue_delivered(struct queue *q, struct delivery *d)
{
    deliveries_confirm(&q->deliveries, d);
    engine_check_stopped(q);
}

void queue_returned(struct queue *q, struct delivery *d)
{
    deliveries_return(&q->deliveries, d);
    engine_check_stopped(q);
}

void queue_left_open(struct queue *q, struct delivery *d)
{
    deliveries_leave_open(&q->deliveries, d);
    engine_check_stopped(q);
}

bool queue_lease_checks(struct queue *q, const struct pop *pop, uint64_t *to)
{
    return lease_checks_make(&q->lease_checks, pop, to);
}

void queue_ask_lease_readers(struct queue *q, enum lease_readers (*read)(void *arg), void *arg)
{
    q->lease_checks.read_readers = read;
    q->lease_checks.readers_arg = arg;
}

void queue_ack_by_id(struct queue *q, struct id_ack *ack)
{
    if (engine_is_over(q))
        ids_refuse(&q->ids, ack, STATUS_SHUTTING_DOWN);
    else if (!job_id_is_valid(ack->id))
        ids_refuse(&q->ids, ack, STATUS_BAD_ID);
    else
        ids_ack(&q->ids, ack);
}

void queue_find(struct queue *q, struct id_find *find)
{
    if (engine_is_over(q))
        ids_refuse_find(&q->ids, find, STATUS_SHUTTING_DOWN);
    else if (!job_id_is_valid(find->id))
        ids_refuse_find(&q->ids, find, STATUS_BAD_ID);
    else
        ids_find(&q->ids, find);
}

void queue_sweep(struct queue *q, struct sweep *sweep)
{
    enum status status = engine_is_over(q) ? STATUS_SHUTTING_DOWN : check_sweep(sweep);

    if (status == STATUS_OK)
        sweeps_begin(&q->sweeps, sweep);
    else
        sweeps_refuse(&q->sweeps, sweep, status);
}

void queue_settings(struct queue *q, struct bytes topic, struct topic_settings *settings)
{
    settings_cache_get(&q->settings, topic, settings);
}

void queue_configured_settings(struct queue *q, struct bytes topic,
                               struct topic_settings *settings)
{
    settings_cache_configured(&q->settings, topic, settings);
}

int64_t queue_paused_until(struct queue *q, struct bytes topic, int64_t now_ms)
{
    return settings_cache_paused_until(&q->settings, topic, now_ms);
}

void queue_trace(struct queue *q, struct trace *trace)
{
    enum status status = engine_is_over(q) ? STATUS_SHUTTING_DOWN : check_trace(trace);

    if (status == STATUS_OK)
        traces_begin(&q->traces, trace);
    else
        traces_refuse(&q->traces, trace, status);
}

void queue_follow(struct queue *q, struct follow *follow)
{
    enum status status = engine_is_over(q) ? STATUS_SHUTTING_DOWN : check_follow(follow);

    if (status == STATUS_OK)
        feed_follow(&q->feed, follow);
    else
        feed_refuse(&q->feed, follow, status);
}

void queue_census(struct queue *q, struct census_call *call)
{
    if (engine_is_over(q))
        censuses_refuse(&q->censuses, call, STATUS_SHUTTING_DOWN);
    else
        censuses_ask(&q->censuses, call);
}

const struct queue_stats *queue_stats(struct queue *q)
{
    q->core.stats.in_flight = q->core.in_flight;
    q->core.stats.following = q->feed.count;
    q->core.stats.unconfirmed = q->deliveries.held_count + q->deliveries.pending_count;
    return &q->core.stats;
}
