/* The scan of a bucket moves what is due, after the fence: all topics by one node, or each node
 * its own topics by their locks. */
#include "node/store/memory/scan.h"

#include <stdlib.h>
#include <string.h>

#include "node/store/memory/topic.h"

#define MEMORY_SCAN_TOPICS_MAX 100

/* Orders pointers to topics by their events, and then by name. */
static int by_event(const void *left, const void *right)
{
    const struct topic *a = *(struct topic *const *)left, *b = *(struct topic *const *)right;

    if (a->event.due_mono_ms != b->event.due_mono_ms)
        return a->event.due_mono_ms < b->event.due_mono_ms ? -1 : 1;
    return bytes_compare(a->name, b->name);
}

/* ---- the scan of one node of many ----
 *
 * First all due topics are looked at, and some claimed; then these are scanned; then their
 * locks are written, and the next event is found. */

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
    qsort(s->topics, s->count, sizeof(struct topic *), by_event);
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
    memory_run_scan_pops(c, scan);
    look_ahead(&s);
    c->op->out.scan.next_ms = s.next_ms == MEMORY_NEVER ? -1 : s.next_ms;
}

/* ---- scan ---- */

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
    qsort(topics, count, sizeof(*topics), by_event);
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
    memory_run_scan_pops(c, scan);
    c->op->out.scan.next_ms = next_ms(c);
}

static void begin_pop(const struct call *c, struct op *pop)
{
    pop->status = STATUS_OK;
    pop->now_ms = c->now_ms;
    pop->wait_ms = -1;
    memset(&pop->out.pop, 0, sizeof(pop->out.pop));
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
