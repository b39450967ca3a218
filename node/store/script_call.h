/* How a command is put together: its arguments, and the names of the keys. For scripts.c and
 * script_args.c only.
 */
#ifndef DUEQ_NODE_STORE_SCRIPT_CALL_H
#define DUEQ_NODE_STORE_SCRIPT_CALL_H

#include "node/store/scripts.h"

/* Empties it; the room is left as it is. */
void call_init(struct script_call *call);

/* Borrowed. */
void call_add(struct script_call *call, const char *at, size_t len);
void call_add_bytes(struct script_call *call, struct bytes bytes);
void call_add_text(struct script_call *call, const char *text);

__attribute__((format(printf, 2, 3))) void call_add_format(struct script_call *call,
                                                           const char *format, ...);

/* In decimal; not negative. */
void call_add_number(struct script_call *call, int64_t number);

/* A packed argument: call_pack_begin, then what is in it, then call_pack_end. */
char *call_pack_begin(struct script_call *call);
void call_pack(struct script_call *call, unsigned bytes, int64_t number); /* big-endian */
char *call_pack_room(struct script_call *call, size_t bytes); /* to be written by the caller */
void call_pack_end(struct script_call *call, const char *begin);

/* A key for each letter: of the op's topic, or of its bucket alone. */
void call_add_keys(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *letters);

#endif
