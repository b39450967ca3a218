/* Has a push happened whose answer was lost? The node's side of the ledger (doc/redis.md).
 *
 * Each push of this worker gets a nonce: 4 bytes at random for the worker's life, then the
 * count of its pushes in the bucket. The push script notes nonce, id and due in a ring in
 * Redis, at the count's last ten bits. A push that is said again brings its nonce, and the
 * script finds what it has noted, or nothing.
 *
 * The ledger also remembers, of each bucket, the last push that was acknowledged. Where the
 * ring has lost it, Redis came back older.
 */
#ifndef DUEQ_NODE_STORE_REDIS_PUSH_LEDGER_H
#define DUEQ_NODE_STORE_REDIS_PUSH_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#define PUSH_LEDGER_RING     1024     /* entries; a power of two */
#define PUSH_LEDGER_KEEP_MS  86400000 /* a ring that nobody writes to goes after that */
#define PUSH_LEDGER_RENEW_MS 3600000  /* and is told so each hour, not with each push */

struct push_ledger;

/* 1 to 128 buckets. */
struct push_ledger *push_ledger_new(unsigned buckets);
void push_ledger_free(struct push_ledger *l); /* NULL is fine */

/* The nonce of the bucket's next push, not 0. `renews`: this one shall also say how long the
 * ring is kept; so does the first. */
uint64_t push_ledger_next(struct push_ledger *l, unsigned bucket, int64_t now_mono_ms,
                          bool *renews);

/* Is its place in the ring still its own? Else nobody can tell any more. */
bool push_ledger_can_tell(const struct push_ledger *l, unsigned bucket, uint64_t nonce);

/* It was answered OK: Redis has it. In the order of the answers. */
void push_ledger_done(struct push_ledger *l, unsigned bucket, uint64_t nonce);

/* The last one that was, 0: none yet. The entry is at `nonce % PUSH_LEDGER_RING`. */
uint64_t push_ledger_last_done(const struct push_ledger *l, unsigned bucket);

#endif
