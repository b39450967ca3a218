/* Records in an order, like a sorted set or a ready list of Redis.
 *
 * A sorted array. Each record has a spot, ordered by score, then key, then id. A place with
 * times has the time as score, and no key; the ready place has priority and key. A ready spot
 * without a record is a tombstone. An index into the array stands for Redis's rank, score or
 * name.
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
    size_t first; /* index of the first spot; before it is free room */
    size_t count;
    size_t room;
};

void order_fini(struct order *order);

/* The spot at an index below the count. */
struct spot *order_at(const struct order *order, size_t index);

/* The index of the first spot at this position or behind it; the count where there is none. */
size_t order_find(const struct order *order, int64_t score, int64_t key, struct bytes id);

/* The same, for the first spot of a score. */
size_t order_find_score(const struct order *order, int64_t score);

void order_add(struct order *order, int64_t score, int64_t key, struct record *record);
void order_remove(struct order *order, size_t index);

/* The first score, MEMORY_NEVER when there is none. */
int64_t order_first_ms(const struct order *order);

#endif
