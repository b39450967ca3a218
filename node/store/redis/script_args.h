/* Which keys and arguments each verb's script takes, as its top says. */
#ifndef DUEQ_NODE_STORE_REDIS_SCRIPT_ARGS_H
#define DUEQ_NODE_STORE_REDIS_SCRIPT_ARGS_H

#include "node/store/redis/scripts.h"

struct script_args {
    const char *keys; /* their letters; "" when it has no script */
    void (*add)(struct script_call *, const struct script_keys *, const struct op *);
};

extern const struct script_args script_args[OP_COUNT];

/* OP_PUSH's, with what the ledger wants of it. */
void script_args_add_push(struct script_call *call, const struct script_keys *keys,
                          const struct op *op, const struct push_note *note);

/* The first and the last byte of its entry in the ring. */
void script_args_add_place(struct script_call *call, const struct push_note *note);

#endif
