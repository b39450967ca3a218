/* Tests of the contract that need a hand on Redis itself. */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_REDIS_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_REDIS_H

#include "node/store/contract/contract.h"
#include "node/store/redis/tests/server_fixture.h"

extern const struct contract_part contract_wrong, contract_left, contract_twins,
    contract_repair, contract_wide, contract_single, contract_fences_redis,
    contract_pushes_redis;

/* Before each of them: where the store under test keeps its keys. Both are borrowed. */
void contract_redis_begin(struct redis_fixture *fixture, const char *key_prefix);

struct redis_fixture *contract_redis_fixture(void);

/* From now on Redis is full, or is not; the next test finds it with room. */
void contract_fill(void);
void contract_make_room(void);

/* After each of them, failed ones too: Redis refuses nothing any more. */
void contract_redis_end(void);

/* The name of a key: of TOPIC, or where `letter` is one of t, n, o, a, c, w, h, f, i of its
 * bucket. It is there for a few more calls. */
const char *contract_key(char letter);

/* Where the store under test keeps its keys. */
const char *contract_prefix(void);

/* One digest a key of TOPIC and its bucket, but for the counter, the history and `except`. */
#define CONTRACT_DIGESTS 1024
void contract_digests(char except, char digests[CONTRACT_DIGESTS]);

/* The operation is refused, and all keys but `except`, and but for the counter and the history,
 * stay as they are. */
void contract_refused(struct op op, char except);

/* The key is of a wrong type until contract_restore(); returns which. One key at a time. */
const char *contract_spoil(char letter);
void contract_restore(char letter);

/* For each of these keys: while it is of a wrong type, the operation is refused, and all other
 * keys stay as they are. */
void contract_all_or_nothing(struct op op, const char *letters);

/* The same for one or two of one verb, which travel in one call. */
void contract_all_or_nothing_together(const struct op *ops, unsigned count,
                                      const char *letters);

/* For each of these keys: while it is of a wrong type, a scan leaves TOPIC alone, says why, and
 * goes on: where `moved` is 1 a job of OTHER becomes ready. */
void contract_stops_its_topic(struct op scan, const char *letters, unsigned moved);

/* TOPIC has an event that is over. */
void contract_call_scan(void);

/* While Redis refuses PUBLISH, the operation is refused, and all keys stay as they are. */
void contract_refused_unheard(struct op op);
void contract_refused_unheard_together(const struct op *ops, unsigned count); /* as above */

/* A limit of bytes that no test reaches; with it a body counts in w. */
#define CONTRACT_BYTES_MAX (INT64_C(1) << 40)

/* TOPIC's first ready job, popped to be acknowledged by its id alone: with an entry in o. */
struct job contract_pop_indexed(void);

struct op contract_push_sized(const char *id, size_t body_bytes, int64_t delay_ms,
                              int64_t ttr_ms);

/* Jobs in every place, big and small ones, whose bodies count, and the leases on those that are
 * reserved. */
struct contract_scene {
    struct job small, big, done;
};
struct contract_scene contract_set_the_scene(void);

/* After each: prints what the twins did last, if a difference has ended them. */
void contract_twins_end(void);

#endif
