#include "node/queue/sharing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "node/queue/core.h"

struct sharing_scan {
    struct scan_share share;
    char marks[SHARES];
};

static void draw_owner(struct sharing *s)
{
    char text[SHARE_OWNER_LEN + 1];
    uint64_t number;

    arc4random_buf(&number, sizeof(number));
    snprintf(text, sizeof(text), "%016" PRIx64, number);
    memcpy(s->owner, text, sizeof(s->owner));
}

void sharing_see(struct sharing *s, const struct shares_view *view)
{
    shares_see(s->shares, view, timers_now(s->core->timers));
}

void sharing_mark(struct sharing *s, struct op *scan)
{
    struct sharing_scan *mine = &s->scans[scan->bucket];
    struct bytes marks = shares_marks(s->shares, scan->bucket, timers_now(s->core->timers));

    memcpy(mine->marks, marks.at, SHARES);
    mine->share = (struct scan_share){.view = shares_number(s->shares),
                                      .owner = bytes_of(s->owner, sizeof(s->owner)),
                                      .marks = bytes_of(mine->marks, SHARES),
                                      .lock_ms = s->core->options.lock_ms,
                                      .late_ms = SHARING_LATE_MS};
    scan->in.scan.share = &mine->share;
}

char sharing_mark_of(struct sharing *s, unsigned bucket, unsigned share)
{
    return shares_mark(s->shares, bucket, share, timers_now(s->core->timers));
}

void sharing_count(struct queue_stats *stats, const struct op *scan)
{
    stats->locks_taken += scan->out.scan.taken;
    stats->locks_taken_over += scan->out.scan.taken_over;
    stats->locks_taken_late += scan->out.scan.taken_late;
    stats->locks_barred += scan->out.scan.barred;
}

struct sharing *sharing_new(struct core *core)
{
    struct sharing *s = calloc(1, sizeof(*s));
    unsigned buckets = core->store->buckets;

    if (!s)
        abort();
    s->core = core;
    s->shares = shares_new(buckets, core->options.node, core->options.lock_ms);
    s->scans = calloc(buckets, sizeof(*s->scans));
    if (!s->scans)
        abort();
    draw_owner(s);
    return s;
}

void sharing_free(struct sharing *s)
{
    if (!s)
        return;
    shares_free(s->shares);
    free(s->scans);
    free(s);
}
