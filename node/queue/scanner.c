#include "node/queue/scanner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/waiters.h"

#define SHARING_LATE_MS 1000 /* then another's topic is taken, */
#define SHARING_REST_MS \
    1000 /* and found by a safety scan: at most so long apart, on all nodes */

static int64_t *new_memory(const struct hints *h)
{
    size_t count = (size_t)h->core->store->buckets * (h->are_shared ? SHARES : 1);
    int64_t *said_mono_ms = must(malloc(count * sizeof(*said_mono_ms)));

    for (size_t i = 0; i < count; i++)
        said_mono_ms[i] = INT64_MIN;
    return said_mono_ms;
}

/* The longest rest of the scanner that is told; with shares it is another node's, with options
 * of its own.
 */
static int64_t rest_ms(const struct hints *h)
{
    return h->are_shared ? SHARING_REST_MS : h->core->options.scan_interval_ms;
}

void hints_tell(struct hints *h, unsigned bucket, unsigned share, int64_t wait_ms)
{
    int64_t now_mono_ms = timers_now(h->core->timers), due_mono_ms = now_mono_ms + wait_ms;
    int64_t *said_mono_ms =
        &h->said_mono_ms[h->are_shared ? (size_t)bucket * SHARES + share : bucket];

    if (wait_ms >= rest_ms(h) || (*said_mono_ms > now_mono_ms && *said_mono_ms <= due_mono_ms))
        return;
    *said_mono_ms = due_mono_ms;
    store_hint(h->core->store, bucket, share, wait_ms);
}

void hints_share(struct hints *h)
{
    free(h->said_mono_ms);
    h->are_shared = true;
    h->said_mono_ms = new_memory(h);
}

void hints_init(struct hints *h, struct core *core)
{
    *h = (struct hints){.core = core};
    h->said_mono_ms = new_memory(h);
}

void hints_fini(struct hints *h)
{
    free(h->said_mono_ms);
}

/* ---- scanner ---- */

#define NO_HINT INT64_MAX

#define AGAIN_MIN_MS   10  /* after the first scan that failed, then twice as long each time, */
#define AGAIN_MAX_MS   250 /* at most: a Redis that takes writes again is soon found */
#define NOT_ALLOWED_MS 1000 /* after a scan that was not allowed */

struct scanned_bucket {
    struct scanner *scanner;
    struct timer timer;
    struct op op;
    bool is_on;
    bool is_scanning;
    int64_t again_ms;              /* the rest after the next failure */
    int64_t hint_mono_ms;          /* earliest event heard of, until a scan after it; NO_HINT */
    int64_t hints_mono_ms[SHARES]; /* the same, of each share */

    /* Where all nodes scan: what the scan in flight brings of this node's shares. */
    struct scan_share share;
    char marks[SHARES];

    struct op *pops[OP_SCAN_POPS_MAX]; /* that the scan in flight brings */
};

static void scan(struct scanned_bucket *b);

static struct timers *timers_of(struct scanned_bucket *b)
{
    return b->scanner->core->timers;
}

static void on_timer(struct timer *timer)
{
    scan(CONTAINER_OF(timer, struct scanned_bucket, timer));
}

/* With shares the safety scan finds other nodes' late topics: SHARING_REST_MS at most, on all
 * nodes. */
static int64_t interval_of(const struct scanner *s)
{
    int64_t interval_ms = s->core->options.scan_interval_ms;

    return s->shares && interval_ms > SHARING_REST_MS ? SHARING_REST_MS : interval_ms;
}

/* Rests until the next event, a hint heard meanwhile, or the safety interval. */
static void rest(struct scanned_bucket *b, int64_t next_ms)
{
    int64_t interval_ms = interval_of(b->scanner);
    int64_t wait_ms = next_ms >= 0 && next_ms < interval_ms ? next_ms : interval_ms;

    if (b->hint_mono_ms != NO_HINT) {
        int64_t hint_ms = b->hint_mono_ms - timers_now(timers_of(b));

        if (hint_ms < wait_ms)
            wait_ms = hint_ms;
    }
    timer_arm(timers_of(b), &b->timer, wait_ms);
}

/* A failure may pass in a moment, as where Redis has lost the script and gets it with the next
 * scan. Or it lasts. */
static void rest_after_failure(struct scanned_bucket *b)
{
    int64_t again_ms = b->again_ms;

    b->again_ms = again_ms * 2 < AGAIN_MAX_MS ? again_ms * 2 : AGAIN_MAX_MS;
    rest(b, again_ms);
}

static void remember_scan(struct scanned_bucket *b, int64_t due_mono_ms)
{
    if (due_mono_ms < b->hint_mono_ms)
        b->hint_mono_ms = due_mono_ms;
}

static void remember_hint(struct scanned_bucket *b, unsigned share, int64_t due_mono_ms)
{
    if (due_mono_ms < b->hints_mono_ms[share])
        b->hints_mono_ms[share] = due_mono_ms;
    remember_scan(b, due_mono_ms);
}

static void forget_hints(struct scanned_bucket *b)
{
    b->hint_mono_ms = NO_HINT;
    for (unsigned i = 0; i < SHARES; i++)
        b->hints_mono_ms[i] = NO_HINT;
}

/* Forgets hints whose time has come: the scan comes after them. */
static void forget_past_hints(struct scanned_bucket *b)
{
    int64_t now_mono_ms = timers_now(timers_of(b));

    if (b->hint_mono_ms > now_mono_ms)
        return;
    b->hint_mono_ms = NO_HINT;
    for (unsigned i = 0; i < SHARES; i++) {
        if (b->hints_mono_ms[i] <= now_mono_ms)
            b->hints_mono_ms[i] = NO_HINT;
        else
            remember_scan(b, b->hints_mono_ms[i]);
    }
}

static void count_moves(struct queue_stats *stats, const struct op *op)
{
    for (unsigned i = 0; i < op->out.scan.lateness_count; i++)
        histogram_add(&stats->move_lateness, op->out.scan.lateness_ms[i]);
    stats->expired_jobs += op->out.scan.expired;
    stats->pruned_jobs += op->out.scan.pruned;
    for (unsigned i = 0; i < DEATH_COUNT; i++)
        stats->died[i] += op->out.scan.died[i];
}

/* Of a scan that ended well. */
static void count_locks(struct scanner *s, const struct op *op)
{
    struct queue_stats *stats = &s->core->stats;

    stats->locks_taken += op->out.scan.taken;
    stats->locks_taken_over += op->out.scan.taken_over;
    stats->locks_stolen += op->out.scan.stolen;
    stats->lock_conflicts += op->out.scan.conflicts;
    if (op->out.scan.conflicts > 0)
        s->doubted_until_mono_ms = timers_now(s->core->timers) + s->core->options.lock_ms;
}

/* The consumers' callbacks run here, so the bucket counts as being scanned until all have
 * ended. */
static void end_pops(struct scanned_bucket *b)
{
    for (unsigned i = 0; i < b->op.in.scan.pop_count; i++)
        core_carried(b->pops[i], b->op.status);
}

static void on_scanned(struct op *op)
{
    struct scanned_bucket *b = CONTAINER_OF(op, struct scanned_bucket, op);

    end_pops(b);
    b->is_scanning = false;
    if (op->status == STATUS_OK) {
        b->again_ms = AGAIN_MIN_MS;
        count_moves(&b->scanner->core->stats, op);
        if (op->in.scan.share)
            count_locks(b->scanner, op);
    }
    if (!b->is_on)
        return;
    if (op->status != STATUS_OK) {
        LOG_DEBUG("scanner", "bucket %u: %s", op->bucket, status_text(op->status));
        rest_after_failure(b);
    } else if (op->out.scan.next_ms == 0) {
        scan(b);
    } else {
        rest(b, op->out.scan.next_ms);
    }
}

/* The marks as of now: the store may hold the scan while the view changes. */
static void fill_in_share(struct scanned_bucket *b)
{
    struct scanner *s = b->scanner;
    struct bytes marks = shares_marks(s->shares, b->op.bucket, timers_now(timers_of(b)));

    memcpy(b->marks, marks.at, SHARES);
    b->share = (struct scan_share){.view = shares_number(s->shares),
                                   .owner = bytes_of(s->owner, sizeof(s->owner)),
                                   .marks = bytes_of(b->marks, SHARES),
                                   .lock_ms = s->core->options.lock_ms,
                                   .late_ms = SHARING_LATE_MS};
    b->op.in.scan.share = &b->share;
}

static void fill_in(struct scanned_bucket *b)
{
    struct core *core = b->scanner->core;

    b->op.verb = OP_SCAN;
    b->op.bucket = (unsigned)(b - b->scanner->buckets);
    b->op.token = core->token;
    b->op.in.scan.limit = core->options.scan_batch;
    b->op.in.scan.rules = core->options.rules;
    b->op.in.scan.rule_count = core->options.rule_count;
    b->op.in.scan.node = core->options.node;
    b->op.in.scan.history_bytes = core->options.history_bytes;
    b->op.in.scan.share = NULL;
    b->op.on_done = on_scanned;
    b->op.is_alone = true;
    if (b->scanner->shares)
        fill_in_share(b);
    b->op.in.scan.pops = b->pops;
    b->op.in.scan.pop_count = waiters_carry(b->scanner->waiters, b->op.bucket,
                                            b->scanner->shares ? b->marks : NULL, b->pops);
}

static void scan(struct scanned_bucket *b)
{
    struct core *core = b->scanner->core;

    if (b->is_scanning || !b->is_on)
        return;
    /* With a share the lead does not matter. */
    if (!b->scanner->shares && !core_may_act(core)) {
        forget_hints(b);
        rest(b, NOT_ALLOWED_MS);
        return;
    }
    timer_disarm(core->timers, &b->timer);
    b->is_scanning = true;
    forget_past_hints(b);
    fill_in(b);
    core_send(core, &b->op);
}

/* Scans now; where a scan is in flight, once more after it. */
static void look(struct scanned_bucket *b)
{
    if (b->is_scanning)
        remember_scan(b, timers_now(timers_of(b)));
    else
        scan(b);
}

/* ---- what the engine calls ---- */

void scanner_begin(struct scanner *s, unsigned bucket)
{
    s->buckets[bucket].is_on = true;
    look(&s->buckets[bucket]);
}

void scanner_end(struct scanner *s, unsigned bucket)
{
    struct scanned_bucket *b = &s->buckets[bucket];

    b->is_on = false;
    forget_hints(b);
    timer_disarm(s->core->timers, &b->timer);
}

void scanner_end_all(struct scanner *s)
{
    for (unsigned i = 0; i < s->count; i++)
        scanner_end(s, i);
}

static void begin_sharing(struct scanner *s)
{
    char text[SHARE_OWNER_LEN + 1];
    uint64_t number;

    arc4random_buf(&number, sizeof(number));
    snprintf(text, sizeof(text), "%016" PRIx64, number);
    memcpy(s->owner, text, sizeof(s->owner));
    s->shares = shares_new(s->count, s->core->options.node, s->core->options.lock_ms);
}

void scanner_share(struct scanner *s, const struct shares_view *view)
{
    if (!s->shares)
        begin_sharing(s);
    shares_see(s->shares, view, timers_now(s->core->timers));
    for (unsigned i = 0; i < s->count; i++)
        look(&s->buckets[i]);
}

/* ---- events ---- */

/* A kept share is scanned here, while its locks are this node's, and by its new node. */
static char mark_of(struct scanner *s, unsigned bucket, unsigned share)
{
    return s->shares ? shares_mark(s->shares, bucket, share, timers_now(s->core->timers))
                     : SHARE_OWN;
}

bool scanner_has(struct scanner *s, unsigned bucket, unsigned share)
{
    return s->buckets[bucket].is_on && mark_of(s, bucket, share) == SHARE_OWN &&
           timers_now(s->core->timers) >= s->doubted_until_mono_ms;
}

void scanner_note(struct scanner *s, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct scanned_bucket *b = &s->buckets[bucket];
    int64_t due_mono_ms = timers_now(s->core->timers) + wait_ms;

    if (!b->is_on || mark_of(s, bucket, share) == SHARE_OTHERS)
        return;
    if (b->is_scanning)
        remember_hint(b, share, due_mono_ms);
    else if (!timer_is_armed(&b->timer) || due_mono_ms < b->timer.due_mono_ms)
        timer_arm(s->core->timers, &b->timer, wait_ms);
}

void scanner_hear(struct scanner *s, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct scanned_bucket *b = &s->buckets[bucket];

    if (!b->is_on || mark_of(s, bucket, share) == SHARE_OTHERS)
        return;
    remember_hint(b, share, timers_now(s->core->timers) + wait_ms);
    scanner_note(s, bucket, share, wait_ms);
}

/* ---- life ---- */

void scanner_init(struct scanner *s, struct core *core, struct waiters *waiters)
{
    *s = (struct scanner){.core = core,
                          .waiters = waiters,
                          .count = core->store->buckets,
                          .doubted_until_mono_ms = INT64_MIN};
    s->buckets = must(calloc(s->count, sizeof(*s->buckets)));
    for (unsigned i = 0; i < s->count; i++) {
        s->buckets[i].scanner = s;
        s->buckets[i].again_ms = AGAIN_MIN_MS;
        forget_hints(&s->buckets[i]);
        timer_init(&s->buckets[i].timer, on_timer);
    }
}

void scanner_fini(struct scanner *s)
{
    scanner_end_all(s);
    shares_free(s->shares);
    free(s->buckets);
}
