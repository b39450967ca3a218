/* Has a push happened whose answer was lost? The node's side of the ledger (doc/redis.md).
 *
 * Each push of a worker gets a number, counted in each bucket. The push script notes number, id
 * and due in the worker's ring in that bucket, at the number's last twelve bits. A push that is
 * retried brings its number, and the script finds what it has noted, or nothing.
 *
 * A ring belongs to one worker, for the worker's life: its key ends with 8 random bytes, so
 * that no two workers share one. The ring is there from the handshake on (raise.lua).
 *
 * The ledger also remembers which of the last pushes have happened. Where the ring has lost
 * one of them, Redis has rolled back.
 */
#ifndef DUEQ_NODE_STORE_REDIS_PUSH_LEDGER_H
#define DUEQ_NODE_STORE_REDIS_PUSH_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/redis/wire/encode.h"

#define PUSH_LEDGER_RENEW_MS 600000 /* a ring's expiry is renewed so often */

struct push_ledger;

/* 1 to 128 buckets. */
struct push_ledger *push_ledger_new(unsigned buckets);
void push_ledger_free(struct push_ledger *l); /* NULL is fine */

uint64_t push_ledger_worker(const struct push_ledger *l);

/* The ring's expiry was just renewed, and the ring made where there was none. */
void push_ledger_kept(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms);

/* The note of the bucket's next push. */
struct push_note push_ledger_next(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms);

/* How many next pushes have their entries side by side, before the ring begins anew. */
unsigned push_ledger_room(const struct push_ledger *l, unsigned bucket);

/* Turns the note of a push that was sent into that of its retry. False: its entry in the ring
 * is another's by now, and nobody can tell whether it happened. */
bool push_ledger_retry(const struct push_ledger *l, unsigned bucket, struct push_note *note,
                       int64_t now_mono_ms) MUST_CHECK;

/* Redis has answered that the push has happened, and is in the ring. */
void push_ledger_done(struct push_ledger *l, unsigned bucket, const struct push_note *note,
                      int64_t now_mono_ms);

/* The highest number that was done and must be in the ring; 0: none, or the ring may have gone
 * by itself. */
uint64_t push_ledger_last_done(const struct push_ledger *l, unsigned bucket,
                               int64_t now_mono_ms);

/* How many done pushes are missing in `ring` (as it is in Redis, perhaps ""). Only the last
 * ones are remembered: `may_be_more` says that all of these are missing, and that there were
 * others before. */
unsigned push_ledger_lost(const struct push_ledger *l, unsigned bucket, struct bytes ring,
                          bool *may_be_more);

/* The done pushes may be lost, and the ring with them: nothing is expected of it any more. */
void push_ledger_forget(struct push_ledger *l, unsigned bucket);

#endif
