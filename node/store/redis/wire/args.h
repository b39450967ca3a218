/* What the scripts are given: for each verb the keys' letters and the arguments, as the
 * script's top in lua/ lists them.
 *
 * Texts are borrowed from the op, numbers that a script compares byte by byte are packed, the
 * rest is decimal. Pure.
 *
 * encode.h makes whole commands of them.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ARGS_H
#define DUEQ_NODE_STORE_REDIS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/op.h"
#include "node/store/redis/wire/call.h"

/* A node's share (doc/cluster.md) as scan.lua takes it: view and owner as a lock has them, how
 * long a lock lasts, from when on a topic is late, marks. Longer than OP_TOKEN_MAX: the script
 * tells shares from a token by the length. */
#define SHARE_BYTES (16 + SHARE_OWNER_LEN + 6 + 6 + SHARES)

/* Writes SHARE_BYTES. */
void share_pack(const struct scan_share *share, char *to);

/* Entries; a power of two. As many as pushes may be in flight (redis_store_options.flight_max),
 * because all may be of one bucket, and lost together. */
#define PUSH_LEDGER_RING    4096
#define PUSH_LEDGER_ENTRY   20      /* bytes: number 6, id 7, due 6, flags 1; see push.lua */
#define PUSH_LEDGER_KEEP_MS 3600000 /* a ring that nobody writes to goes after that */

/* What a push brings for the ledger (push_ledger.h). */
struct push_note {
    uint64_t worker; /* whose ring */
    uint64_t number; /* from 1 */
    bool renews;     /* it also says how long the ring is kept */
    bool is_retry;   /* the push may have happened */
    bool was_there;  /* a retry, and the ring must be there */
};

/* The letters of the verb's keys, which come first; "" where it has no script. */
const char *args_keys(enum op_verb verb);

/* The process whose notes the op is about: its key z follows the keys. 0: nobody's. */
uint64_t args_worker(const struct script_keys *keys, const struct op *op);

/* The arguments of one; a push added so is not noted in the ledger. */
void args_add(struct script_call *call, const struct script_keys *keys, const struct op *op);
void args_add_push(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const struct push_note *note);

/* The arguments of several of one topic and one verb, behind the topic. `note` is the first
 * push's. */
void args_add_many(struct script_call *call, const struct script_keys *keys,
                   const struct op *const *ops, unsigned count, const struct push_note *note);

/* Where `count` pushes' entries are in the ring: offsets of the first and the last byte. */
void args_add_entries(struct script_call *call, const struct push_note *note, unsigned count);

#endif
