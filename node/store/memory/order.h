/* Records in an order: what a sorted set, or a ready list, is in Redis.
 *
 * A sorted array. Each record has a spot, by score, then key, then id: jobs at a place with
 * times have those as score, and no key; ready ones their priority, and their key. A spot of
 * the ready ones may be without a record: a tombstone. So whatever Redis does by rank, by
 * score or by name is done here by an index.
 *
 * The records are borrowed; an index is valid until the order changes.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_ORDER_H
#define DUEQ_NODE_STORE_MEMORY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define MEMORY_NEVER INT64_MAX

struct record;

struct spot {
    int64_t score;
    int64_t key;           /* 0 where the order is by time */
    struct record *record; /* NULL: a tombstone */
};

/* All zero: empty. */
struct order {
    struct spot *spots;
    size_t first; /* in front of it is only room */
    size_t count;
    size_t room;
};

void order_fini(struct order *order);

/* The spot at an index below the count. */
struct spot *order_at(const struct order *order, size_t index);

/* The index of the first spot that is there or behind it; the count where there is none. */
size_t order_find(const struct order *order, int64_t score, int64_t key, struct bytes id);

/* The same, for the first spot of a score. */
size_t order_find_score(const struct order *order, int64_t score);

void order_add(struct order *order, int64_t score, int64_t key, struct record *record);
void order_remove(struct order *order, size_t index);

/* The first score, MEMORY_NEVER when there is none. */
int64_t order_first_ms(const struct order *order);

#endif
