/* A bucket's history: what happened to its jobs, the newest last, bounded in bytes. */
#ifndef DUEQ_NODE_STORE_MEMORY_HISTORY_H
#define DUEQ_NODE_STORE_MEMORY_HISTORY_H

#include <stdint.h>

#include "base/list.h"
#include "node/store/op.h"

struct history_line {
    struct list link;
    int64_t number;           /* one more than the line before */
    struct history_item item; /* points to `bytes` */
    char bytes[];
};

struct memory_history {
    struct list lines; /* oldest first */
    int64_t last_number;
    int64_t bytes; /* what they would need in Redis, about */
};

void memory_history_init(struct memory_history *history);
void memory_history_fini(struct memory_history *history);

/* Copies the item. */
void memory_history_add(struct memory_history *history, const struct history_item *item);

/* Drops the oldest until the others need no more than so many bytes. */
void memory_history_cut(struct memory_history *history, int64_t bytes_max);

#endif
