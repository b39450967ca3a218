#include "node/queue/scanner.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"

#define NO_HINT INT64_MAX

#define AGAIN_MIN_MS 10   /* after the first scan that failed, then twice as long each time, */
#define AGAIN_MAX_MS 1000 /* at most; and after one that was not allowed */

struct scanned_bucket {
    struct scanner *scanner;
    struct timer timer;
    struct op op;
    bool is_scanning;
    int64_t again_ms;     /* the rest after the next failure */
    int64_t hint_mono_ms; /* earliest event heard of during the scan, or NO_HINT */
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

/* Rests until the next event, a hint heard meanwhile, or the safety interval. */
static void rest(struct scanned_bucket *b, int64_t next_ms)
{
    int64_t interval_ms = b->scanner->core->options.scan_interval_ms;
    int64_t wait_ms = next_ms >= 0 && next_ms < interval_ms ? next_ms : interval_ms;

    if (b->hint_mono_ms != NO_HINT) {
        int64_t hint_ms = b->hint_mono_ms - timers_now(timers_of(b));

        if (hint_ms < wait_ms)
            wait_ms = hint_ms;
    }
    timer_arm(timers_of(b), &b->timer, wait_ms);
}

/* What has failed may pass in a moment: a Redis has forgotten the script, and gets it with the
 * next scan. Or it lasts. */
static void rest_after_failure(struct scanned_bucket *b)
{
    int64_t again_ms = b->again_ms;

    b->again_ms = again_ms * 2 < AGAIN_MAX_MS ? again_ms * 2 : AGAIN_MAX_MS;
    rest(b, again_ms);
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

static void on_scanned(struct op *op)
{
    struct scanned_bucket *b = CONTAINER_OF(op, struct scanned_bucket, op);

    b->is_scanning = false;
    if (op->status == STATUS_OK) {
        b->again_ms = AGAIN_MIN_MS;
        count_moves(&b->scanner->core->stats, op);
    }
    if (!b->scanner->is_active)
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

static void scan(struct scanned_bucket *b)
{
    struct core *core = b->scanner->core;

    if (b->is_scanning || !b->scanner->is_active)
        return;
    if (!core_may_act(core)) {
        b->hint_mono_ms = NO_HINT;
        rest(b, AGAIN_MAX_MS);
        return;
    }
    timer_disarm(core->timers, &b->timer);
    b->is_scanning = true;
    b->hint_mono_ms = NO_HINT;
    b->op.verb = OP_SCAN;
    b->op.bucket = (unsigned)(b - b->scanner->buckets);
    b->op.token = core->token;
    b->op.in.scan.limit = core->options.scan_batch;
    b->op.in.scan.rules = core->options.rules;
    b->op.in.scan.rule_count = core->options.rule_count;
    b->op.in.scan.node = core->options.node;
    b->op.in.scan.history_bytes = core->options.history_bytes;
    b->op.on_done = on_scanned;
    core_send(core, &b->op);
}

void scanner_init(struct scanner *s, struct core *core)
{
    *s = (struct scanner){.core = core, .count = core->store->buckets};
    s->buckets = calloc(s->count, sizeof(*s->buckets));
    if (!s->buckets)
        abort();
    for (unsigned i = 0; i < s->count; i++) {
        s->buckets[i].scanner = s;
        s->buckets[i].again_ms = AGAIN_MIN_MS;
        timer_init(&s->buckets[i].timer, on_timer);
    }
}

void scanner_fini(struct scanner *s)
{
    scanner_deactivate(s);
    free(s->buckets);
}

void scanner_activate(struct scanner *s)
{
    s->is_active = true;
    scanner_scan_all(s);
}

void scanner_deactivate(struct scanner *s)
{
    s->is_active = false;
    for (unsigned i = 0; i < s->count; i++)
        timer_disarm(s->core->timers, &s->buckets[i].timer);
}

void scanner_hint(struct scanner *s, unsigned bucket, int64_t wait_ms)
{
    struct scanned_bucket *b = &s->buckets[bucket];
    int64_t due_mono_ms = timers_now(s->core->timers) + wait_ms;

    if (!s->is_active)
        return;
    if (b->is_scanning) {
        if (due_mono_ms < b->hint_mono_ms)
            b->hint_mono_ms = due_mono_ms;
    } else if (!timer_is_armed(&b->timer) || due_mono_ms < b->timer.due_mono_ms) {
        timer_arm(s->core->timers, &b->timer, wait_ms);
    }
}

void scanner_scan_all(struct scanner *s)
{
    for (unsigned i = 0; i < s->count; i++)
        scan(&s->buckets[i]);
}
