/* The jobs of the in-memory stores, in the part that Redis and its scripts have for
 * redis_store.
 *
 * A memory_db runs one operation at a time, at the time it is given, and keeps every promise of
 * doc/store.md, even those outsiders can hardly see: tombstones stay in the ready list, and a
 * topic's next event is a lower bound. Not for production: only jobs' memory is ever freed.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_DB_H
#define DUEQ_NODE_STORE_MEMORY_DB_H

#include <stdint.h>

#include "base/list.h"
#include "node/store/memory/room.h"
#include "node/store/op.h"
#include "node/store/store.h"

struct memory_listener {
    struct list link;
    /* Called in the middle of an operation: take note, do nothing else. The topic's bytes
     * live as long as the db. */
    void (*on_ready)(struct memory_listener *listener, struct bytes topic);
    void (*on_settings)(struct memory_listener *listener, struct bytes topic);
    void (*on_identities)(struct memory_listener *listener);
    void (*on_hint)(struct memory_listener *listener, unsigned bucket, unsigned share,
                    int64_t wait_ms);
};

struct memory_db;

struct memory_db *memory_db_new(unsigned buckets);
unsigned memory_db_buckets(const struct memory_db *db);

/* A number that no other process on the db has. */
uint64_t memory_db_new_worker(struct memory_db *db);

/* Made with the db; borrowed. */
const struct store_lease_key *memory_db_lease_key(const struct memory_db *db);

/* Each user of the db is a listener; the db is freed when the last one leaves. */
void memory_db_join(struct memory_db *db, struct memory_listener *listener);
void memory_db_leave(struct memory_db *db, struct memory_listener *listener);

/* Runs the operation of this process and fills in its outputs, which borrow from `room`. */
void memory_db_run(struct memory_db *db, struct op *op, uint64_t worker, int64_t now_us,
                   struct room *room);

/* Tells all listeners the hint. */
void memory_db_hint(struct memory_db *db, unsigned bucket, unsigned share, int64_t wait_ms);

/* Nothing is known of identities any more, as in a Redis that has lost its writes; nobody is
 * told. */
void memory_db_lose_identities(struct memory_db *db);

/* lose: makes a job that is not ready an orphan: its value is gone, its place still names it.
 * repair: the place forgets it, too. */
void memory_db_lose(struct memory_db *db, unsigned bucket, struct bytes name, struct bytes id);
void memory_db_repair(struct memory_db *db, unsigned bucket, struct bytes name,
                      struct bytes id);

#endif
