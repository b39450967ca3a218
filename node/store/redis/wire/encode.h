/* How a command is put together: its arguments, and the names of the keys. For scripts.c and
 * requests.c only.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ENCODE_H
#define DUEQ_NODE_STORE_REDIS_ENCODE_H

#include <assert.h>

#include "node/store/packed.h"
#include "node/store/redis/wire/scripts.h"

/* Empties the call; the room is left as it is. */
static inline void call_init(struct script_call *call)
{
    call->argc = 0;
    call->used = 0;
}

/* `at` is borrowed. Inline because a push has a dozen arguments. */
static inline void call_add(struct script_call *call, const char *at, size_t len)
{
    assert(call->argc < SCRIPT_ARGS_MAX);
    call->argv[call->argc] = at ? at : "";
    call->lens[call->argc++] = len;
}

static inline void call_add_bytes(struct script_call *call, struct bytes bytes)
{
    call_add(call, bytes.at, bytes.len);
}

void call_add_text(struct script_call *call, const char *text);
__attribute__((format(printf, 2, 3))) void call_add_format(struct script_call *call,
                                                           const char *format, ...);

/* `number`, not negative, in decimal. */
void call_add_number(struct script_call *call, int64_t number);

/* ---- keys ---- */

/* A key for each letter: of the op's topic, or of its bucket alone. */
void call_add_keys(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *letters);

/* The worker's ring in that bucket, see push_ledger.h. */
void call_add_ring(struct script_call *call, const struct script_keys *keys, unsigned bucket,
                   uint64_t worker);

/* The keys and arguments of each verb's script, as the script's top lists them. */

struct script_args {
    const char *keys; /* their letters; "" when it has no script */
    void (*add)(struct script_call *, const struct script_keys *, const struct op *);
};

extern const struct script_args script_args[OP_COUNT];

/* The arguments of OP_PUSH, with the ledger's note. */
void script_args_add_push(struct script_call *call, const struct script_keys *keys,
                          const struct op *op, const struct push_note *note);

/* Offsets of the first and the last byte of the push's entry in the ring. */
void script_args_add_place(struct script_call *call, const struct push_note *note);

#endif
