/* Has a push happened whose answer was lost? The node's side of the ledger (doc/redis.md).
 *
 * Each push of a worker gets a number, counted in each bucket. The push script notes number, id
 * and due in the worker's ring in that bucket, at the number's last twelve bits. A push that is
 * retried brings its number, and the script finds what it has noted, or nothing.
 *
 * A ring is one worker's, for its life: its key ends with 8 bytes at random, so that no two
 * workers write to the same one. It is there from the handshake on (raise.lua).
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
#include "node/store/redis/wire/scripts.h"

#define PUSH_LEDGER_RENEW_MS 600000 /* and is told so now and then, not with each push */

struct push_ledger;

/* 1 to 128 buckets. */
struct push_ledger *push_ledger_new(unsigned buckets);
void push_ledger_free(struct push_ledger *l); /* NULL is fine */

uint64_t push_ledger_worker(const struct push_ledger *l);

/* The ring was just told how long to stay, and made where there was none. */
void push_ledger_kept(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms);

/* Of the bucket's next push. */
struct push_note push_ledger_next(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms);

/* Of one that was sent before, to be retried. False: its place in the ring is not its own
 * any more, and nobody can tell. */
bool push_ledger_retry(const struct push_ledger *l, unsigned bucket, struct push_note *note,
                       int64_t now_mono_ms) MUST_CHECK;

/* Redis has answered that it has happened, and noted it. */
void push_ledger_done(struct push_ledger *l, unsigned bucket, const struct push_note *note,
                      int64_t now_mono_ms);

/* The highest number that was done and must be in the ring; 0: none, or the ring may have gone
 * by itself. */
uint64_t push_ledger_last_done(const struct push_ledger *l, unsigned bucket,
                               int64_t now_mono_ms);

/* How many of those that were done are not in this ring (as it is in Redis, perhaps ""). Only
 * the last ones are remembered: `may_be_more` says that all of these are lost, and that there
 * were others before. */
unsigned push_ledger_lost(const struct push_ledger *l, unsigned bucket, struct bytes ring,
                          bool *may_be_more);

/* What was done may be lost, and the ring with it: nothing is expected of it any more. */
void push_ledger_forget(struct push_ledger *l, unsigned bucket);

#endif
