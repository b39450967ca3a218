/* The store port in memory: for tests and simulation, with a hand on everything that can go
 * wrong between a node and its Redis.
 *
 * An operation takes effect when it is submitted; its answer, like every event, comes in a
 * later turn of `timers`. So a test can look at the moment in between: answers can be held back
 * while wake-ups arrive, and a lost link ends operations in flight with UNKNOWN, reads with
 * UNAVAILABLE.
 *
 * Time is that of `timers`, plus an offset: Redis's clock is not the node's. It reads
 * microseconds, as Redis's does.
 *
 *     struct timers timers;
 *     timers_init(&timers, 0);
 *     struct memory_store *ms = memory_store_new(&timers, 4);
 *     store_submit(memory_store_port(ms), &op);
 *     timers_run(&timers, 0);          (op.on_done was called)
 */
#ifndef DUEQ_NODE_STORE_MEMORY_STORE_H
#define DUEQ_NODE_STORE_MEMORY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "node/store/store.h"

#define MEMORY_STORE_EPOCH_MS INT64_C(1800000000000) /* Redis's clock when `timers` say 0 */

struct memory_store;

/* `timers` are borrowed for the store's life. The first turn brings on_up. */
struct memory_store *memory_store_new(struct timers *timers, unsigned buckets);

/* Another node's store on the same jobs, with its own link and its own faults. */
struct memory_store *memory_store_join(struct memory_store *other, struct timers *timers);

/* Only when nothing is in flight, and from no callback. The jobs go with the last store on
 * them. NULL is fine. */
void memory_store_free(struct memory_store *ms);

struct store *memory_store_port(struct memory_store *ms);

/* ---- the clock, as this store sees it ---- */

int64_t memory_store_now(const struct memory_store *ms);
void memory_store_set_now(struct memory_store *ms, int64_t now_ms); /* it goes on from there */
void memory_store_set_now_us(struct memory_store *ms, int64_t now_us);

/* ---- faults ---- */

enum memory_effect { MEMORY_UNDONE, MEMORY_DONE };

/* The next `count` operations end with `status`; with UNKNOWN they may have taken effect, and
 * reads end with UNAVAILABLE. */
void memory_store_fail(struct memory_store *ms, unsigned count, enum status status,
                       enum memory_effect effect);

/* Keeps all answers back (events still come), and lets the first `count` of them go. */
void memory_store_hold(struct memory_store *ms);
void memory_store_release(struct memory_store *ms, unsigned count);
void memory_store_unhold(struct memory_store *ms);

/* Down: operations in flight end UNKNOWN (reads UNAVAILABLE), new ones UNAVAILABLE; wake-ups
 * are lost. */
void memory_store_take_down(struct memory_store *ms);

/* let_wait: from now on operations submitted while the store is down wait until it is up again,
 * but for those of TRAIT_FENCED. dropped: how many of them were abandoned (store_abandon). */
void memory_store_let_wait(struct memory_store *ms);
unsigned long memory_store_dropped(const struct memory_store *ms);

void memory_store_bring_up(struct memory_store *ms);

/* A single bucket out of reach, with all that take_down does to its operations and its topics'
 * wake-ups, and back again. The bucket stays away through a bring_up. */
void memory_store_take_away(struct memory_store *ms, unsigned bucket);
void memory_store_give_back(struct memory_store *ms, unsigned bucket);

/* The store has lost all that it knew of identities. Nobody is told. */
void memory_store_lose_identities(struct memory_store *ms);

/* An orphan: a job that is not ready, whose value is gone, while its place still names it; and
 * its repair, after which the place does not. */
void memory_store_lose(struct memory_store *ms, unsigned bucket, struct bytes topic,
                       struct bytes id);
void memory_store_repair(struct memory_store *ms, unsigned bucket, struct bytes topic,
                         struct bytes id);

/* ---- what was asked of it ---- */

unsigned long memory_store_count(const struct memory_store *ms, enum op_verb verb);
unsigned memory_store_in_flight(const struct memory_store *ms);

#endif
