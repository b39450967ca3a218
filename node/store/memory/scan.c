/* The scan of a bucket moves what is due, after the fence: all topics by one node, or each node
 * its own topics by their locks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/store/history.h"
#include "node/store/memory/ops.h"
#include "node/store/memory/topic.h"
#include "node/store/memory/places.h"

#define MEMORY_SCAN_TOPICS_MAX 100

/* What the scan's share says of a topic that is due. From HELD on: it moves. */
enum claim {
    CLAIM_NONE,
    CLAIM_CONFLICT, /* its own, but another node has the lock */
    CLAIM_HELD,     /* as the lock is */
    CLAIM_RENEW,
    CLAIM_TAKE, /* nobody has it */
    CLAIM_TAKE_OVER,
    CLAIM_STEAL,
};

static int memory_by_event(const void *left, const void *right);

/* ---- the fence ---- */

static bool is_the_same(struct bytes token, struct bytes seen)
{
    return bytes_equal(token, seen) ||
           (token.len == 0 && bytes_equal(seen, BYTES(OP_TOKEN_STANDALONE)));
}

static bool is_outdated(struct bytes token, struct bytes seen)
{
    return token.len == 0 ||
           (seen.len > 0 && (!bytes_equal(op_token_ensemble(token), op_token_ensemble(seen)) ||
                             bytes_compare(token, seen) < 0));
}

static void keep(struct bucket *bucket, struct bytes token)
{
    assert(token.len <= sizeof(bucket->token));
    memcpy(bucket->token, token.at, token.len);
    bucket->token_len = token.len;
}

enum status memory_fence(struct call *c)
{
    struct bucket *bucket = c->bucket;
    struct bytes token = c->op->token, seen = bytes_of(bucket->token, bucket->token_len);

    if (is_the_same(token, seen))
        return STATUS_OK;
    if (is_outdated(token, seen)) {
        c->op->out.fenced.seen = room_copy(c->room, seen);
        return STATUS_FENCED;
    }
    keep(bucket, token);
    return STATUS_OK;
}

enum status memory_run_fence(struct call *c)
{
    struct bytes seen = bytes_of(c->bucket->token, c->bucket->token_len);
    struct bytes mine = c->op->token.len ? c->op->token : BYTES(OP_TOKEN_STANDALONE);

    if (c->op->in.fence.adopts &&
        !bytes_equal(op_token_ensemble(mine), op_token_ensemble(seen)))
        keep(c->bucket, mine);
    return memory_fence(c);
}

/* ---- a lock ---- */

static char mark_of(const struct call *c, const struct topic *topic)
{
    struct bytes marks = c->op->in.scan.share->marks;

    assert(marks.len == SHARES);
    return marks.at[share_of(topic->name)];
}

static bool is_held(const struct call *c, const struct topic *topic)
{
    return topic->lock.until_ms > c->now_ms;
}

/* ---- locks ---- */

/* Is the lock in force? One that ends later than any may was written by another clock. */
static bool counts(const struct call *c, const struct topic *topic)
{
    int64_t left_ms = topic->lock.until_ms - c->now_ms;
    int64_t lock_ms = c->op->in.scan.share->lock_ms;

    return left_ms > 0 &&
           left_ms <= (lock_ms > SHARE_LOCK_MAX_MS ? lock_ms : SHARE_LOCK_MAX_MS);
}

static bool is_mine(const struct call *c, const struct topic *topic)
{
    struct bytes owner = c->op->in.scan.share->owner;

    return bytes_equal(bytes_of(topic->lock.owner, SHARE_OWNER_LEN), owner);
}

static enum claim claim_own(const struct call *c, const struct topic *topic)
{
    const struct scan_share *share = c->op->in.scan.share;
    const struct lock *lock = &topic->lock;

    if (!counts(c, topic))
        return CLAIM_TAKE;
    if (!is_mine(c, topic))
        return lock->view < share->view ? CLAIM_TAKE_OVER : CLAIM_CONFLICT;
    if (lock->view > share->view) /* the scan comes late */
        return CLAIM_HELD;
    if (lock->view < share->view || (lock->until_ms - c->now_ms) * 2 < share->lock_ms)
        return CLAIM_RENEW;
    return CLAIM_HELD;
}

static enum claim memory_lock_claim(const struct call *c, const struct topic *topic)
{
    bool is_late = topic->event.due_mono_ms <= c->now_ms - c->op->in.scan.share->late_ms;
    char mark = mark_of(c, topic);

    if (mark == SHARE_OWN)
        return claim_own(c, topic);
    if (mark != SHARE_KEPT && !is_late)
        return CLAIM_NONE;
    if (counts(c, topic))
        return is_mine(c, topic) ? CLAIM_HELD : CLAIM_NONE;
    return is_late ? CLAIM_STEAL : CLAIM_NONE;
}

static void write_lock(struct call *c, struct topic *topic, uint64_t view, int64_t token)
{
    const struct scan_share *share = c->op->in.scan.share;
    struct bytes node = c->op->in.scan.node;
    struct lock *lock = &topic->lock;

    assert(share->owner.len == SHARE_OWNER_LEN && node.len <= OP_NODE_MAX);
    lock->until_ms = c->now_ms + share->lock_ms;
    lock->token = token;
    lock->view = view;
    memcpy(lock->owner, share->owner.at, SHARE_OWNER_LEN);
    lock->node_len = node.len;
    if (node.len)
        memcpy(lock->node, node.at, node.len);
}

/* After the scan of all topics: takes or renews the lock, and counts it. A topic that has come
 * to its end gets none. */
static void memory_lock_settle(struct call *c, struct topic *topic, enum claim claim)
{
    struct op *op = c->op;
    uint64_t view = op->in.scan.share->view;

    if (!memory_topic_exists(topic)) {
        topic->lock.until_ms = 0;
        return;
    }
    if (claim == CLAIM_RENEW)
        write_lock(c, topic, view, topic->lock.token);
    if (claim < CLAIM_TAKE)
        return;
    op->out.scan.taken += claim != CLAIM_TAKE_OVER;
    op->out.scan.taken_over += claim == CLAIM_TAKE_OVER;
    op->out.scan.stolen += claim == CLAIM_STEAL;
    write_lock(c, topic, claim == CLAIM_STEAL ? 0 : view, ++c->bucket->n);
}

/* Is the node to wait for the topic's events? */
static bool memory_lock_expects(const struct call *c, const struct topic *topic)
{
    return mark_of(c, topic) != SHARE_OTHERS;
}

struct topic_lock memory_lock_tell(const struct call *c, const struct topic *topic)
{
    const struct lock *lock = &topic->lock;

    if (!is_held(c, topic))
        return (struct topic_lock){0};
    return (struct topic_lock){.node = room_copy(c->room, bytes_of(lock->node, lock->node_len)),
                               .view = lock->view,
                               .token = lock->token,
                               .left_ms = lock->until_ms - c->now_ms};
}

/* ---- one topic ----
 *
 * What a SCAN does in one that is due: its jobs in the order of the contract (what has
 * expired, what is due, what nobody acknowledged, dead ones beyond the limits), and the end of
 * its pause. */

#define STUCK_RETRY_MS 1000
#define TRIM_EVERY     17 /* ms, and then */
#define TRIM_LOOK_MAX  100

struct scan {
    int64_t *lateness_ms;
    struct topic *to_pop[OP_SCAN_POPS_MAX]; /* got ready jobs, and the scan brings their pops */
    unsigned to_pop_count;
};

/* One topic in its turn. */
struct visit {
    struct call *c;
    struct topic *topic;
    struct topic_settings settings; /* the topic's, and where it has none the configuration's */
    struct scan *scan;
    bool has_readied;
    struct record **dead; /* the dead before this scan: only these are pruned */
    size_t dead_count;
    int64_t expiry_ms; /* the next to expire, even if it dies of its tries right now, as in
                        * Redis: the next event is a lower bound */
};

/* The pop of the topic that the scan brings; NULL: none. */
static struct op *pop_of(const struct call *c, const struct topic *topic)
{
    for (unsigned i = 0; i < c->op->in.scan.pop_count; i++) {
        if (bytes_equal(c->op->in.scan.pops[i]->topic, topic->name))
            return c->op->in.scan.pops[i];
    }
    return NULL;
}

static struct topic_settings settings_for(const struct op *op, const struct topic *topic)
{
    struct topic_settings settings = topic->settings;

    for (unsigned i = 0; i < op->in.scan.rule_count; i++)
        if (settings_rule_matches(&op->in.scan.rules[i], topic->name))
            settings_fill(&settings, &op->in.scan.rules[i].settings);
    return settings;
}

static int64_t set_or_zero(const struct visit *v, unsigned bit, int64_t value)
{
    return v->settings.set & bit ? value : 0;
}

static int64_t dead_max(const struct visit *v)
{
    return set_or_zero(v, SETTING_BIT(DEAD_MAX), v->settings.dead_max);
}

static int64_t dead_age_ms(const struct visit *v)
{
    return set_or_zero(v, SETTING_BIT(DEAD_AGE), v->settings.dead_age_ms);
}

static bool has_room(const struct visit *v)
{
    return v->c->op->out.scan.moved < v->c->op->in.scan.limit;
}

/* ---- history ---- */

static void note(struct visit *v, enum job_event event, const struct record *record,
                 int64_t at_ms)
{
    const struct op *op = v->c->op;
    const struct job *job = &record->job;
    struct history_item item = {.event = event,
                                .death = event == EVENT_DIED ? job->death : DEATH_NONE,
                                .time_ms = v->c->now_ms,
                                .at_ms = at_ms,
                                .tries = job->tries,
                                .topic = v->topic->name,
                                .id = job->id,
                                .node = op->in.scan.node};

    if (!set_or_zero(v, SETTING_BIT(HISTORY), v->settings.history) ||
        op->in.scan.history_bytes <= 0)
        return;
    if (v->topic->name.len > HISTORY_NAME_MAX || job->id.len > HISTORY_NAME_MAX)
        return; /* no room in a line of Redis's */
    if (event != EVENT_DUE)
        item.client = job->holder;
    memory_history_add(&v->c->bucket->history, &item);
}

/* ---- one job ---- */

static void die(struct visit *v, struct record *record, enum death death)
{
    record_leave(v->topic, record);
    enter_dead(v->topic, record, death, v->c->now_ms);
    v->c->op->out.scan.died[death]++;
    note(v, EVENT_DIED, record, 0);
}

/* Where the scan brings a pop of the topic, that comes before the wake-up. */
static void get_ready(struct visit *v, struct record *record)
{
    struct scan *scan = v->scan;

    if (!v->has_readied && pop_of(v->c, v->topic)) {
        v->topic->is_muted = true;
        scan->to_pop[scan->to_pop_count++] = v->topic;
    }
    v->has_readied = true;
    enter_ready_last(v->topic, record);
}

static void become_due(struct visit *v, struct record *record)
{
    struct op *op = v->c->op;

    v->scan->lateness_ms[op->out.scan.lateness_count++] = v->c->now_ms - record->job.due_ms;
    record_leave(v->topic, record);
    get_ready(v, record);
    note(v, EVENT_DUE, record, 0);
}

/* An unconfirmed reservation has used no try, and has no backoff. */
static void time_out(struct visit *v, struct record *record)
{
    const struct job *job = &record->job;
    bool was_confirmed = record->is_confirmed;
    int64_t rest_ms = 0;

    v->c->op->out.scan.expired++;
    if (was_confirmed && memory_is_used_up(job)) {
        die(v, record, DEATH_TRIES);
        return;
    }
    if (was_confirmed)
        rest_ms = backoff_rest_ms(&job->rules.backoff, job->tries, job->stamp);
    record_leave(v->topic, record);
    if (rest_ms > 0)
        enter_delayed(v->topic, record, memory_after(v->c, rest_ms));
    else
        get_ready(v, record);
    note(v, EVENT_TIMED_OUT, record, job->due_ms);
}

static void expire(struct visit *v, struct record *record)
{
    die(v, record, DEATH_EXPIRED);
}

/* ---- the dead ---- */

static bool is_too_old(const struct visit *v, int64_t died_ms)
{
    return dead_age_ms(v) && died_ms <= v->c->now_ms - dead_age_ms(v);
}

/* Is the oldest dead job beyond a limit? */
static bool is_beyond(const struct visit *v)
{
    const struct order *dead = &v->topic->places[JOB_DEAD];

    if (dead_max(v) && (int64_t)dead->count > dead_max(v))
        return true;
    return dead->count && is_too_old(v, order_first_ms(dead));
}

static void note_dead(struct visit *v)
{
    const struct order *dead = &v->topic->places[JOB_DEAD];

    if (!dead_max(v) && !dead_age_ms(v))
        return;
    v->dead_count = dead->count;
    v->dead = room_get(v->c->room, dead->count * sizeof(struct record *));
    for (size_t i = 0; i < dead->count; i++)
        v->dead[i] = order_at(dead, i)->record;
}

static void prune(struct visit *v)
{
    for (size_t i = 0; i < v->dead_count && has_room(v) && is_beyond(v); i++) {
        v->c->op->out.scan.moved++;
        v->c->op->out.scan.pruned++;
        record_delete(v->topic, v->dead[i]);
    }
}

/* ---- tombstones ---- */

static size_t tombstones_at_head(const struct topic *topic, struct span list)
{
    size_t count = 0;

    while (count < TRIM_LOOK_MAX && list.from + count < list.to &&
           !order_at(&topic->places[JOB_READY], list.from + count)->record)
        count++;
    return count;
}

static void trim(struct visit *v, struct span before, size_t tombstones)
{
    struct span now = ready_default_span(v->topic);
    bool has_grown = now.to - now.from > before.to - before.from;

    if (!has_grown || v->c->now_ms % TRIM_EVERY != 0)
        return;
    for (size_t i = 0; i < tombstones; i++)
        order_remove(&v->topic->places[JOB_READY], now.from);
}

/* ---- one topic ---- */

static void move_due(struct visit *v, const struct order *order,
                     void (*move)(struct visit *v, struct record *record))
{
    while (has_room(v) && order_first_ms(order) <= v->c->now_ms) {
        v->c->op->out.scan.moved++;
        move(v, order_at(order, 0)->record);
    }
}

static void end_pause(struct visit *v)
{
    int64_t *until_ms = &v->topic->settings.paused_until_ms;

    if (!*until_ms || *until_ms > v->c->now_ms)
        return;
    *until_ms = 0;
    memory_topic_announce(v->topic);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_event_ms(const struct visit *v)
{
    const struct order *places = v->topic->places, *dead = &places[JOB_DEAD];
    int64_t until_ms = v->topic->settings.paused_until_ms;
    int64_t next_ms = v->expiry_ms;

    next_ms = sooner(next_ms, order_first_ms(&places[JOB_DELAYED]));
    next_ms = sooner(next_ms, order_first_ms(&places[JOB_RESERVED]));
    if (until_ms && until_ms != SETTINGS_FOREVER)
        next_ms = sooner(next_ms, until_ms);
    if (is_beyond(v))
        next_ms = sooner(next_ms, v->c->now_ms);
    else if (dead->count && dead_age_ms(v))
        next_ms = sooner(next_ms, order_first_ms(dead) + dead_age_ms(v));
    return next_ms;
}

static void visit(struct visit *v)
{
    struct span list = ready_default_span(v->topic);
    size_t tombstones = tombstones_at_head(v->topic, list);
    int64_t next_ms;

    note_dead(v);
    move_due(v, &v->topic->expiring, expire);
    v->expiry_ms = order_first_ms(&v->topic->expiring);
    move_due(v, &v->topic->places[JOB_DELAYED], become_due);
    move_due(v, &v->topic->places[JOB_RESERVED], time_out);
    prune(v);
    trim(v, list, tombstones);
    end_pause(v);
    next_ms = next_event_ms(v);
    memory_topic_set_next(v->topic, next_ms);
    if (next_ms == MEMORY_NEVER)
        memory_topic_release(v->topic);
}

/* Stricter than Redis, which moves what is due before the orphan if the limit ends there. */
static bool is_stuck(const struct visit *v)
{
    return lost_is_due(v->topic, v->c->now_ms) || (lost_is_dead(v->topic) && is_beyond(v));
}

static void leave_alone(struct call *c, struct topic *topic)
{
    if (c->op->out.scan.stuck++ == 0)
        c->op->out.scan.wrong = BYTES("a job is in its place, but missing in its topic");
    memory_topic_set_next(topic, c->now_ms + STUCK_RETRY_MS);
}

/* A job that the limit leaves out keeps its time. */
static void memory_visit_topic(struct call *c, struct topic *topic, struct scan *scan)
{
    struct visit v = {.c = c, .topic = topic, .scan = scan};

    v.settings = settings_for(c->op, topic);
    if (!has_room(&v))
        memory_topic_set_next(topic, topic->event.due_mono_ms);
    else if (is_stuck(&v))
        leave_alone(c, topic);
    else
        visit(&v);
}

/* ---- the pops that a scan brings ---- */

static void begin_pop(const struct call *c, struct op *pop)
{
    pop->status = STATUS_OK;
    pop->now_ms = c->now_ms;
    pop->wait_ms = -1;
    memset(&pop->out.pop, 0, sizeof(pop->out.pop));
}

static void run_pops(struct call *c, struct scan *scan)
{
    size_t left = OP_SCAN_BYTES_MAX;

    for (unsigned i = 0; i < scan->to_pop_count; i++) {
        struct topic *topic = scan->to_pop[i];
        struct call of_topic = *c;

        of_topic.topic = topic;
        of_topic.op = pop_of(c, topic);
        topic->is_muted = false;
        memory_pop_in_scan(&of_topic, &left);
        if (topic->is_to_announce && of_topic.op->out.pop.has_more)
            memory_topic_announce(topic);
        topic->is_to_announce = false;
    }
}

/* ---- many nodes ---- */

/* The scan of one node of many: its own topics move, by their locks. */

/* First all due topics are looked at, and some claimed; then these are scanned; then their
 * locks are written, and the next event is found.
 */

#define LOOK_MAX        1000 /* topics that are due, */
#define HALF            (LOOK_MAX / 2)
#define AHEAD_MAX       256 /* and that will be */
#define AGAIN_MS        100 /* where more are due: the next scan not before */
#define CONFLICT_MAX_MS 1000

struct shared_scan {
    struct call *c;
    struct topic **topics; /* with an event, by event and name */
    unsigned count, due;
    struct topic *claimed[MEMORY_SCAN_TOPICS_MAX];
    enum claim claims[MEMORY_SCAN_TOPICS_MAX];
    unsigned claim_count, scanned;
    int64_t next_ms; /* or MEMORY_NEVER */
};

static void expect(struct shared_scan *s, int64_t wait_ms)
{
    if (wait_ms < s->next_ms)
        s->next_ms = or_zero(wait_ms);
}

static int64_t wait_for(const struct shared_scan *s, const struct topic *topic)
{
    return topic->event.due_mono_ms - s->c->now_ms;
}

static void sort(struct shared_scan *s)
{
    const struct timers *index = &s->c->bucket->index;

    s->count = (unsigned)index->count;
    s->topics = room_get(s->c->room, s->count * sizeof(struct topic *));
    for (unsigned i = 0; i < s->count; i++)
        s->topics[i] = CONTAINER_OF(index->heap[i + 1], struct topic, event);
    qsort(s->topics, s->count, sizeof(struct topic *), memory_by_event);
    for (s->due = 0; s->due < s->count && wait_for(s, s->topics[s->due]) <= 0;)
        s->due++;
}

/* ---- what is due ---- */

static void bar(struct shared_scan *s, const struct topic *topic)
{
    int64_t left_ms = topic->lock.until_ms - s->c->now_ms;

    s->c->op->out.scan.conflicts++;
    expect(s, left_ms < CONFLICT_MAX_MS ? left_ms : CONFLICT_MAX_MS);
}

/* Where the second half of the look begins: if not all fit, somewhere else each time, so that
 * topics of others hide none of the node's own for long. */
static unsigned second_half(const struct shared_scan *s)
{
    unsigned windows;

    if (s->due <= LOOK_MAX)
        return HALF;
    windows = (s->due - 1) / HALF; /* of what is behind the first half */
    return HALF + (unsigned)(s->c->now_ms / AGAIN_MS % windows) * HALF;
}

static void claim_due(struct shared_scan *s)
{
    unsigned second = second_half(s);

    for (unsigned looked = 0; looked < LOOK_MAX; looked++) {
        unsigned i = looked < HALF ? looked : second + looked - HALF;
        enum claim claim;

        if (i >= s->due)
            break;
        claim = memory_lock_claim(s->c, s->topics[i]);
        if (claim == CLAIM_CONFLICT)
            bar(s, s->topics[i]);
        if (claim < CLAIM_HELD)
            continue;
        if (s->claim_count == MEMORY_SCAN_TOPICS_MAX) {
            expect(s, 0);
            return;
        }
        s->claimed[s->claim_count] = s->topics[i];
        s->claims[s->claim_count++] = claim;
    }
    if (s->due >= LOOK_MAX)
        expect(s, AGAIN_MS);
}

static void scan_claimed(struct shared_scan *s, struct scan *scan)
{
    struct op *op = s->c->op;

    while (s->scanned < s->claim_count && op->out.scan.moved < op->in.scan.limit) {
        struct topic *topic = s->claimed[s->scanned++];

        timer_disarm(&s->c->bucket->index, &topic->event);
        memory_visit_topic(s->c, topic, scan);
        if (timer_is_armed(&topic->event) && wait_for(s, topic) <= 0)
            expect(s, 0);
    }
    if (s->scanned < s->claim_count)
        expect(s, 0);
}

/* ---- what comes next ---- */

static void look_ahead(struct shared_scan *s)
{
    unsigned end;

    sort(s);
    end = s->count - s->due < AHEAD_MAX ? s->count : s->due + AHEAD_MAX;
    for (unsigned i = s->due; i < end; i++) {
        if (memory_lock_expects(s->c, s->topics[i])) {
            expect(s, wait_for(s, s->topics[i]));
            return;
        }
    }
    if (end == s->due + AHEAD_MAX) {
        int64_t wait_ms = wait_for(s, s->topics[end - 1]);

        expect(s, wait_ms > AGAIN_MS ? wait_ms : AGAIN_MS);
    }
}

static void memory_shared_scan(struct call *c, struct scan *scan)
{
    struct shared_scan s = {.c = c, .next_ms = MEMORY_NEVER};

    sort(&s);
    claim_due(&s);
    scan_claimed(&s, scan);
    for (unsigned i = 0; i < s.scanned; i++)
        memory_lock_settle(c, s.claimed[i], s.claims[i]);
    run_pops(c, scan);
    look_ahead(&s);
    c->op->out.scan.next_ms = s.next_ms == MEMORY_NEVER ? -1 : s.next_ms;
}

/* ---- scan ---- */

/* Orders pointers to topics by their events, and then by name. */
static int memory_by_event(const void *left, const void *right)
{
    const struct topic *a = *(struct topic *const *)left, *b = *(struct topic *const *)right;

    if (a->event.due_mono_ms != b->event.due_mono_ms)
        return a->event.due_mono_ms < b->event.due_mono_ms ? -1 : 1;
    return bytes_compare(a->name, b->name);
}

/* Takes the first topic out of the index, if it is due. */
static struct topic *take_due(struct call *c)
{
    struct timers *index = &c->bucket->index;
    struct topic *topic;

    if (!index->count || index->heap[1]->due_mono_ms > c->now_ms)
        return NULL;
    topic = CONTAINER_OF(index->heap[1], struct topic, event);
    timer_disarm(index, &topic->event);
    return topic;
}

/* Takes all due topics, by time and name. */
static unsigned take_all_due(struct call *c, struct topic *topics[MEMORY_SCAN_TOPICS_MAX])
{
    unsigned count = 0;

    while (count < MEMORY_SCAN_TOPICS_MAX && (topics[count] = take_due(c)))
        count++;
    qsort(topics, count, sizeof(*topics), memory_by_event);
    return count;
}

static int64_t next_ms(const struct call *c)
{
    const struct timers *index = &c->bucket->index;

    return index->count ? or_zero(index->heap[1]->due_mono_ms - c->now_ms) : -1;
}

/* Visits each topic once, even one that has more to do. */
static void scan_all(struct call *c, struct scan *scan)
{
    struct topic *topics[MEMORY_SCAN_TOPICS_MAX];
    unsigned count = take_all_due(c, topics);

    for (unsigned i = 0; i < count; i++)
        memory_visit_topic(c, topics[i], scan);
    run_pops(c, scan);
    c->op->out.scan.next_ms = next_ms(c);
}

enum status memory_run_scan(struct call *c)
{
    struct op *op = c->op;
    struct scan scan = {.lateness_ms =
                            room_get(c->room, op->in.scan.limit * sizeof(*scan.lateness_ms))};

    op->out.scan.lateness_ms = scan.lateness_ms;
    for (unsigned i = 0; i < op->in.scan.pop_count; i++)
        begin_pop(c, op->in.scan.pops[i]);
    if (op->in.scan.share)
        memory_shared_scan(c, &scan);
    else
        scan_all(c, &scan);
    if (op->in.scan.history_bytes > 0)
        memory_history_cut(&c->bucket->history, op->in.scan.history_bytes);
    return STATUS_OK;
}
