#include "node/store/redis/past.h"

#include <stdlib.h>

struct redis_past *redis_past_new(unsigned buckets)
{
    struct redis_past *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    p->ledger = push_ledger_new(buckets);
    return p;
}

void redis_past_free(struct redis_past *p)
{
    if (!p)
        return;
    push_ledger_free(p->ledger);
    free(p);
}
