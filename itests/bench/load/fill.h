/* Many jobs, straight into the store: the push script in a pipeline. Says its progress. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_FILL_H
#define DUEQ_ITESTS_BENCH_LOAD_FILL_H

#include <stdint.h>

struct fill {
    int64_t count, topics;
    int64_t depth;    /* pushes in flight */
    int64_t first_id; /* 0: the store's own ids */
    int64_t at_ms;    /* when the first is due; 0: all after --delay */
    int64_t rate;     /* so many are due each second from then on; 0: all at once */
};

/* On the open link to Redis (redis.h). */
void fill(const struct fill *f);

#endif
