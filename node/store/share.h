/* Which share of its bucket a topic belongs to: doc/cluster.md. Pure; scan.lua counts alike.
 *
 * Fifteen bytes decide: the last three, and twelve from a quarter of the name on. So in
 * numbered names most digits of the number count, wherever it stands. The spread need not be
 * good: shares of all 64 buckets are mixed, and a bucket is a hash of the whole name.
 */
#ifndef DUEQ_NODE_STORE_SHARE_H
#define DUEQ_NODE_STORE_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define SHARES 256 /* of a bucket */

/* What a node may do with a share; a scan brings one for each. */
#define SHARE_OWN    '+'
#define SHARE_KEPT   '~' /* its own in an earlier view */
#define SHARE_OTHERS '-'

#define SHARE_OWNER_LEN 16 /* hex digits: of a process, for its life */

/* The longest lock time a node may have. A lock with a later end was written by another clock,
 * and does not count. */
#define SHARE_LOCK_MAX_MS 60000

/* The node that scans, for a script that looks for this node's topics only. */
struct scan_share {
    uint64_t view;      /* grows with each change of who scans */
    struct bytes owner; /* SHARE_OWNER_LEN hex digits */
    struct bytes marks; /* SHARES of them */
    int64_t lock_ms;    /* how long a lock lasts that nobody renews */
    int64_t late_ms;    /* another's topic is taken when its event is so late */
};

#define SHARE_WINDOW 12 /* bytes, */
#define SHARE_WORD   6  /* in words of so many; a script reads them at once */

/* Byte `at`; before the name there are zeros. */
static inline uint64_t share_byte(struct bytes topic, ptrdiff_t at)
{
    return at >= 0 ? (unsigned char)topic.at[at] : 0;
}

static inline uint64_t share_word(struct bytes topic, ptrdiff_t at)
{
    uint64_t word = 0;

    for (ptrdiff_t i = 0; i < SHARE_WORD; i++)
        word = word << 8 | share_byte(topic, at + i);
    return word % 65521; /* a prime: all of its bytes count */
}

static inline unsigned share_of(struct bytes topic)
{
    ptrdiff_t len = (ptrdiff_t)topic.len;
    ptrdiff_t at = len - SHARE_WINDOW < len / 4 ? len - SHARE_WINDOW : len / 4;
    uint64_t sum = share_word(topic, at) * 31 + share_word(topic, at + SHARE_WORD);

    for (ptrdiff_t i = len - 3; i < len; i++)
        sum = sum * 31 + share_byte(topic, i);
    return (unsigned)(sum % SHARES);
}

#endif
