/* A command for Redis on its way to being one: its keys and arguments, put together without any
 * memory of its own. Pure.
 *
 * encode.h makes the calls of all scripts with it.
 */
#ifndef DUEQ_NODE_STORE_REDIS_CALL_H
#define DUEQ_NODE_STORE_REDIS_CALL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/store/history.h"
#include "node/store/op.h"
#include "node/store/packed.h"

#define SCRIPT_PREFIX_MAX 32 /* bytes of store.prefix */
#define SCRIPT_TOPIC_MAX  200
#define SCRIPT_KEYS_MAX   11
#define SCRIPT_ARGS_MAX   (3 + SCRIPT_KEYS_MAX + 4 + 2 * OP_RULES_MAX) /* a scan has most */

/* How the keys are named; the prefix is borrowed. */
struct script_keys {
    const char *prefix; /* 1 to SCRIPT_PREFIX_MAX of [A-Za-z0-9_.-] */
    unsigned buckets;   /* 1 to 128 */
    uint64_t worker;    /* this process, whose reservations for owners are noted */
};

/* One command. The arguments point into it (so it cannot be copied) and into the op. It is
 * large: a caller that sends many keeps one, and need not clear it; unused parts are not
 * read. */
struct script_call {
    int argc;
    const char *argv[SCRIPT_ARGS_MAX];
    size_t lens[SCRIPT_ARGS_MAX];
    size_t used;
    /* The keys, then packed arguments (records are the most) or numbers. */
    char room[SCRIPT_KEYS_MAX * (SCRIPT_PREFIX_MAX + SCRIPT_TOPIC_MAX + 16) +
              OP_RECORDS_MAX * HISTORY_BYTES_MAX + 256];
};

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

static inline char *call_pack_begin(struct script_call *call)
{
    return call->room + call->used;
}

/* Room for the caller to write to. */
static inline char *call_pack_room(struct script_call *call, size_t bytes)
{
    char *at = call->room + call->used;

    assert(call->used + bytes <= sizeof(call->room));
    call->used += bytes;
    return at;
}

/* Big-endian; `number` is not negative, and fits. */
static inline void call_pack(struct script_call *call, unsigned bytes, int64_t number)
{
    assert(number >= 0 && number >> (8 * bytes) == 0);
    packed_put(call_pack_room(call, bytes), bytes, number);
}

static inline void call_pack_end(struct script_call *call, const char *begin)
{
    call_add(call, begin, (size_t)(call->room + call->used - begin));
}

/* Packed arguments, keys and numbers lie in the call's room. */

void call_add_format(struct script_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `number`, not negative, in decimal. */
void call_add_number(struct script_call *call, int64_t number);

/* A key for each letter: of the op's topic, or of its bucket alone. */
void call_add_keys(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *letters);

/* A key of the worker's in that bucket: u, the ring of its pushes (push_ledger.h); z, its
 * notes. */
void call_add_worker_key(struct script_call *call, const struct script_keys *keys,
                         unsigned bucket, char letter, uint64_t worker);

/* 16 hex digits. */
void call_add_worker(struct script_call *call, uint64_t worker);

#endif
