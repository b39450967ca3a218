/* A line of the history as it lies in the bucket's stream.
 *
 *   offset  bytes  field (big-endian)
 *        0      1  event
 *        1      1  death
 *        2      6  time, ms since 1970 on Redis's clock
 *        8      6  at, the same; 0: none
 *       14      2  tries
 *       16   1, n  topic, id, node, client: each its length, then its bytes
 *
 * Pure.
 */
#ifndef DUEQ_NODE_STORE_HISTORY_H
#define DUEQ_NODE_STORE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "node/store/op.h"

#define HISTORY_NAME_MAX  200 /* bytes of a topic or an id */
#define HISTORY_BYTES_MAX (16 + 4 + 2 * HISTORY_NAME_MAX + OP_NODE_MAX + JOB_HOLDER_MAX)

/* Returns how many bytes it wrote. The texts must be within their limits. */
size_t history_pack(const struct history_item *item, char packed[HISTORY_BYTES_MAX]);

/* The texts borrow from `packed`. False: not written by dueq; `item` is untouched then. */
bool history_unpack(struct bytes packed, struct history_item *item) MUST_CHECK;

#endif
