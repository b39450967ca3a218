/* First all topics that are due are looked at, and some claimed; then these are scanned; then
 * their locks are written, and it is seen what comes next.
 */
#include "node/store/memory/shared_scan.h"

#include "node/store/memory/locks.h"
#include "node/store/memory/scan.h"
#include "node/store/memory/visit.h"

#define LOOK_MAX        1000 /* topics that are due, */
#define HALF            (LOOK_MAX / 2)
#define AHEAD_MAX       256 /* and that will be */
#define AGAIN_MS        100 /* where there are more: not before */
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

/* Where the second half of what is looked at begins: if that is not all, somewhere else each
 * time, so that topics of others hide none of the node's own for long. */
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

static void scan_claimed(struct shared_scan *s, int64_t *lateness_ms)
{
    struct op *op = s->c->op;

    while (s->scanned < s->claim_count && op->out.scan.moved < op->in.scan.limit) {
        struct topic *topic = s->claimed[s->scanned++];

        timer_disarm(&s->c->bucket->index, &topic->event);
        memory_visit_topic(s->c, topic, lateness_ms);
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

void memory_shared_scan(struct call *c, int64_t *lateness_ms)
{
    struct shared_scan s = {.c = c, .next_ms = MEMORY_NEVER};

    sort(&s);
    claim_due(&s);
    scan_claimed(&s, lateness_ms);
    for (unsigned i = 0; i < s.scanned; i++)
        memory_lock_settle(c, s.claimed[i], s.claims[i]);
    look_ahead(&s);
    c->op->out.scan.next_ms = s.next_ms == MEMORY_NEVER ? -1 : s.next_ms;
}
