/* From operations to Redis commands: which script, with the keys and arguments of args.h.
 *
 * Pure: no connection, no memory of its own, so that a load generator can drive Redis with
 * exactly the commands the store sends:
 *
 *     struct script_call call;
 *     script_encode(&call, &keys, &op, sha);
 *     redisCommandArgv(..., call.argc, call.argv, call.lens);
 *
 * decode.h reads the answers.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ENCODE_H
#define DUEQ_NODE_STORE_REDIS_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/store/op.h"
#include "node/store/redis/wire/args.h"
#include "node/store/redis/wire/call.h"

#define SCRIPT_SHA_CHARS 40

/* All scripts, with all that they need, ended by a row of NULLs. Made at build time. */
struct script_text {
    const char *name; /* script_word(); or "meta", "raise" */
    const char *text;
};

extern const struct script_text script_texts[];

#define SCRIPT_MANY_MAX 64 /* requests that travel in one call */

/* The scripts: of each verb, and behind them those for several requests that travel in one
 * call. OWNER and PLACES have none: they are a plain HGET and a plain SCAN. */
enum { SCRIPT_PUSH_MANY = OP_COUNT, SCRIPT_ACK_MANY, SCRIPT_COUNT };

/* The script that takes several of this verb: of RELEASE its own; SCRIPT_COUNT: there is none.
 */
unsigned script_of_many(enum op_verb verb);

/* The script's name; its text, NULL where it has none. */
const char *script_word(unsigned script);
const char *script_text(unsigned script);

/* NULL when there is none of this name. */
const char *script_text_by_name(const char *name);

/* EVALSHA with the script's 40 characters (SCRIPT LOAD gives them), or with `sha` NULL EVAL
 * with its text. The op's inputs must be within the limits of op.h. A push sent so is not noted
 * in the ledger. */
void script_encode(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *sha);

/* The same for a push that is to be noted in the ledger. */
void script_encode_push(struct script_call *call, const struct script_keys *keys,
                        const struct op *op, const struct push_note *note, const char *sha);

/* 2 to SCRIPT_MANY_MAX of one topic and one verb, in one call. The notes of pushes follow each
 * other in the ledger, and do not wrap around its end: `note` is the first one's; its `renews`
 * is the call's. */
void script_encode_many(struct script_call *call, const struct script_keys *keys,
                        const struct op *const *ops, unsigned count,
                        const struct push_note *note, const char *sha);

/* The commands of the handshake: `dq:meta` is looked at or made, with the key `lease_key` for
 * leases' checks where it has none (borrowed), and told that leases without are out (has_bare);
 * the bucket's counter is raised when it is below `seen`, and the last push that was done
 * (number 0: none) is looked for in the ring. */
#define SCRIPT_SCHEMA 2

void script_encode_meta(struct script_call *call, const struct script_keys *keys,
                        struct bytes lease_key, bool has_bare);

struct script_raise { /* the texts are copied */
    int64_t seen;
    struct push_note last;
    const char *incarnation; /* of this Redis: process:history, without a space */
    const char *goes_on; /* a stored one that begins with this and a space is the same one */
    bool is_known;       /* the caller has raised in this incarnation */
};

void script_encode_raise(struct script_call *call, const struct script_keys *keys,
                         unsigned bucket, const struct script_raise *raise);

/* The bytes a call brings to Redis, about: what the store's limits are counted in. */
size_t script_bytes(const struct op *op);

#endif
