#include "node/store/redis/push_ledger.h"

#include <stdlib.h>

struct bucket {
    uint32_t count; /* pushes that were given a nonce */
    uint64_t last_done;
    int64_t renewed_mono_ms;
};

struct push_ledger {
    uint32_t worker; /* at random; never 0, so that no nonce is */
    struct bucket buckets[];
};

struct push_ledger *push_ledger_new(unsigned buckets)
{
    struct push_ledger *l = calloc(1, sizeof(*l) + buckets * sizeof(l->buckets[0]));

    if (!l)
        abort();
    l->worker = 1 + arc4random_uniform(UINT32_MAX);
    return l;
}

void push_ledger_free(struct push_ledger *l)
{
    free(l);
}

uint64_t push_ledger_next(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms,
                          bool *renews)
{
    struct bucket *b = &l->buckets[bucket];

    *renews = b->count == 0 || now_mono_ms >= b->renewed_mono_ms + PUSH_LEDGER_RENEW_MS;
    if (*renews)
        b->renewed_mono_ms = now_mono_ms;
    return (uint64_t)l->worker << 32 | ++b->count;
}

bool push_ledger_can_tell(const struct push_ledger *l, unsigned bucket, uint64_t nonce)
{
    return l->buckets[bucket].count - (uint32_t)nonce < PUSH_LEDGER_RING;
}

void push_ledger_done(struct push_ledger *l, unsigned bucket, uint64_t nonce)
{
    l->buckets[bucket].last_done = nonce;
}

uint64_t push_ledger_last_done(const struct push_ledger *l, unsigned bucket)
{
    return l->buckets[bucket].last_done;
}
