#include "node/patience.h"

#define PARTS 3

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void patience_init(struct patience *p, int64_t now_mono_ms, int64_t stop_timeout_ms)
{
    *p = (struct patience){.part_ms = stop_timeout_ms / PARTS,
                           .end_mono_ms = now_mono_ms + stop_timeout_ms};
}

/* A request that was sent a moment ago is no silence. */
static int64_t silent_for_ms(struct patience *p, int64_t now_mono_ms, uint64_t pending,
                             uint64_t answers)
{
    if (!pending)
        p->silent_since_mono_ms = 0;
    else if (answers != p->answers || !p->silent_since_mono_ms)
        p->silent_since_mono_ms = now_mono_ms;
    p->answers = answers;
    return pending ? now_mono_ms - p->silent_since_mono_ms : 0;
}

bool patience_is_over(struct patience *p, int64_t now_mono_ms, uint64_t pending,
                      uint64_t answers)
{
    int64_t silent_ms = silent_for_ms(p, now_mono_ms, pending, answers);

    return silent_ms >= least(PATIENCE_SILENT_MS, p->part_ms / 4 + 1) ||
           now_mono_ms >= p->end_mono_ms - p->part_ms / 2;
}

int64_t patience_for_answers_ms(const struct patience *p, int64_t now_mono_ms, int64_t kept_ms)
{
    int64_t left_ms = p->end_mono_ms - kept_ms - now_mono_ms;

    return left_ms > 0 ? least(p->part_ms, left_ms / 2) : 0;
}
