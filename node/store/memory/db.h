/* The jobs of the in-memory stores: what Redis and its scripts are to redis_store.
 *
 * It runs one operation at a time, at the time it is told, and keeps every promise of
 * doc/store.md, down to what outsiders can hardly see: tombstones stay in the ready list, and
 * a topic's next event is a lower bound. Not for production: nothing is ever given back to
 * the system but jobs.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_DB_H
#define DUEQ_NODE_STORE_MEMORY_DB_H

#include <stdint.h>

#include "base/list.h"
#include "node/store/memory/room.h"
#include "node/store/op.h"

struct memory_listener {
    struct list link;
    /* Called in the middle of an operation: take note, do nothing else. The topic's bytes
     * live as long as the db. */
    void (*on_ready)(struct memory_listener *listener, struct bytes topic);
    void (*on_settings)(struct memory_listener *listener, struct bytes topic);
    void (*on_hint)(struct memory_listener *listener, unsigned bucket, unsigned share,
                    int64_t wait_ms);
};

struct memory_db;

struct memory_db *memory_db_new(unsigned buckets);
unsigned memory_db_buckets(const struct memory_db *db);

/* Whoever uses the db listens to it; it is freed when the last one leaves. */
void memory_db_join(struct memory_db *db, struct memory_listener *listener);
void memory_db_leave(struct memory_db *db, struct memory_listener *listener);

/* Runs the operation and fills in its outputs, which borrow from `room`. */
void memory_db_run(struct memory_db *db, struct op *op, int64_t now_us, struct room *room);

/* Tells all listeners. */
void memory_db_hint(struct memory_db *db, unsigned bucket, unsigned share, int64_t wait_ms);

/* Makes a job that is not ready an orphan: its value is gone, its place still names it. And
 * the repair: the place forgets it too. */
void memory_db_lose(struct memory_db *db, unsigned bucket, struct bytes name, struct bytes id);
void memory_db_repair(struct memory_db *db, unsigned bucket, struct bytes name,
                      struct bytes id);

#endif
