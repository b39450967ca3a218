/* How a command is put together: its arguments, and the names of the keys. For scripts.c and
 * script_args.c only.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SCRIPT_CALL_H
#define DUEQ_NODE_STORE_REDIS_SCRIPT_CALL_H

#include <assert.h>

#include "node/store/packed.h"
#include "node/store/redis/scripts.h"

/* Empties it; the room is left as it is. */
static inline void call_init(struct script_call *call)
{
    call->argc = 0;
    call->used = 0;
}

/* Borrowed. Here, as is packing, because a push has a dozen of them. */
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

/* In decimal; not negative. */
void call_add_number(struct script_call *call, int64_t number);

/* ---- a packed argument: call_pack_begin, then what is in it, then call_pack_end ---- */

static inline char *call_pack_begin(struct script_call *call)
{
    return call->room + call->used;
}

/* To be written by the caller. */
static inline char *call_pack_room(struct script_call *call, size_t bytes)
{
    char *at = call->room + call->used;

    assert(call->used + bytes <= sizeof(call->room));
    call->used += bytes;
    return at;
}

/* Big-endian; not negative, and it fits. */
static inline void call_pack(struct script_call *call, unsigned bytes, int64_t number)
{
    assert(number >= 0 && number >> (8 * bytes) == 0);
    packed_put(call_pack_room(call, bytes), bytes, number);
}

static inline void call_pack_end(struct script_call *call, const char *begin)
{
    call_add(call, begin, (size_t)(call->room + call->used - begin));
}

/* ---- keys ---- */

/* A key for each letter: of the op's topic, or of its bucket alone. */
void call_add_keys(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *letters);

/* The worker's ring in that bucket, see push_ledger.h. */
void call_add_ring(struct script_call *call, const struct script_keys *keys, unsigned bucket,
                   uint64_t worker);

#endif
