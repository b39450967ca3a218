#include "node/store/redis/push_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "node/store/packed.h"

struct bucket {
    uint64_t count;                     /* pushes that were given a number */
    uint64_t last_done;                 /* the highest; 0: none */
    int64_t kept_from_mono_ms;          /* when the ring's expiry was last renewed */
    bool is_kept;                       /* renewed since push_ledger_forget() */
    uint8_t done[PUSH_LEDGER_RING / 8]; /* a bit for each entry: its last push has happened */
};

struct push_ledger {
    uint64_t worker;
    unsigned bucket_count;
    struct bucket buckets[];
};

struct push_ledger *push_ledger_new(unsigned buckets)
{
    struct push_ledger *l = must(calloc(1, sizeof(*l) + buckets * sizeof(l->buckets[0])));

    arc4random_buf(&l->worker, sizeof(l->worker));
    l->bucket_count = buckets;
    return l;
}

void push_ledger_free(struct push_ledger *l)
{
    free(l);
}

uint64_t push_ledger_worker(const struct push_ledger *l)
{
    return l->worker;
}

/* ---- entries of the ring ---- */

static unsigned entry_of(uint64_t number)
{
    return (unsigned)(number % PUSH_LEDGER_RING);
}

static bool is_done(const struct bucket *b, unsigned entry)
{
    return b->done[entry / 8] >> entry % 8 & 1;
}

static void set_done(struct bucket *b, unsigned entry, bool is_done)
{
    uint8_t bit = (uint8_t)(1 << entry % 8);

    b->done[entry / 8] = (uint8_t)((b->done[entry / 8] & ~bit) | (is_done ? bit : 0));
}

/* ---- pushes ---- */

/* Has no later push the number's entry? */
static bool is_its_own(const struct bucket *b, uint64_t number)
{
    return b->count - number < PUSH_LEDGER_RING;
}

/* Half the time is a margin for clocks that go wrong, and for machines that sleep. */
static bool may_have_gone(const struct bucket *b, int64_t now_mono_ms)
{
    return !b->is_kept || now_mono_ms >= b->kept_from_mono_ms + PUSH_LEDGER_KEEP_MS / 2;
}

struct push_note push_ledger_next(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms)
{
    struct bucket *b = &l->buckets[bucket];
    struct push_note note = {.worker = l->worker, .number = ++b->count};

    note.renews = !b->is_kept || now_mono_ms >= b->kept_from_mono_ms + PUSH_LEDGER_RENEW_MS;
    set_done(b, entry_of(note.number), false);
    return note;
}

unsigned push_ledger_room(const struct push_ledger *l, unsigned bucket)
{
    return PUSH_LEDGER_RING - entry_of(l->buckets[bucket].count + 1);
}

bool push_ledger_retry(const struct push_ledger *l, unsigned bucket, struct push_note *note,
                       int64_t now_mono_ms)
{
    if (!is_its_own(&l->buckets[bucket], note->number))
        return false;
    note->is_retry = true;
    note->was_there = !may_have_gone(&l->buckets[bucket], now_mono_ms);
    return true;
}

void push_ledger_kept(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms)
{
    struct bucket *b = &l->buckets[bucket];

    if (may_have_gone(b, now_mono_ms)) { /* the ring is a new one, with this push alone */
        memset(b->done, 0, sizeof(b->done));
        b->last_done = 0;
    }
    b->is_kept = true;
    b->kept_from_mono_ms = now_mono_ms;
}

void push_ledger_done(struct push_ledger *l, unsigned bucket, const struct push_note *note,
                      int64_t now_mono_ms)
{
    struct bucket *b = &l->buckets[bucket];

    if (note->renews)
        push_ledger_kept(l, bucket, now_mono_ms);
    if (note->number > b->last_done)
        b->last_done = note->number;
    if (is_its_own(b, note->number))
        set_done(b, entry_of(note->number), true);
}

/* ---- what Redis has of them ---- */

uint64_t push_ledger_last_done(const struct push_ledger *l, unsigned bucket,
                               int64_t now_mono_ms)
{
    const struct bucket *b = &l->buckets[bucket];

    return may_have_gone(b, now_mono_ms) ? 0 : b->last_done;
}

static uint64_t number_at(struct bytes ring, unsigned entry)
{
    size_t at = (size_t)entry * PUSH_LEDGER_ENTRY;

    return ring.len < at + PUSH_LEDGER_ENTRY ? 0 : (uint64_t)packed_get(ring.at + at, 6);
}

unsigned push_ledger_lost(const struct push_ledger *l, unsigned bucket, struct bytes ring,
                          bool *may_be_more)
{
    const struct bucket *b = &l->buckets[bucket];
    unsigned lost = 0, done = 0;

    for (uint64_t i = 0; i < PUSH_LEDGER_RING && i < b->count; i++) {
        uint64_t number = b->count - i;

        if (!is_done(b, entry_of(number)))
            continue;
        done++;
        lost += number_at(ring, entry_of(number)) < number;
    }
    *may_be_more = lost == done && b->last_done > 0 && b->count > PUSH_LEDGER_RING;
    return lost;
}

void push_ledger_forget(struct push_ledger *l, unsigned bucket)
{
    struct bucket *b = &l->buckets[bucket];

    b->last_done = 0;
    b->is_kept = false;
    memset(b->done, 0, sizeof(b->done));
}
