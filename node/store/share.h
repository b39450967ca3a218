/* Which share of its bucket a topic belongs to: doc/cluster.md. Pure; scan.lua counts alike.
 *
 * Four bytes decide: the last three, where names that are counted differ, and the one in the
 * middle. It need not spread well: shares of all 64 buckets are mixed, and a bucket is a hash
 * of the whole name.
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

/* Who scans, to a script that looks for its own topics only. */
struct scan_share {
    uint64_t view;      /* grows with each change of who scans */
    struct bytes owner; /* SHARE_OWNER_LEN hex digits */
    struct bytes marks; /* SHARES of them */
    int64_t lock_ms;    /* how long a lock lasts that nobody renews */
    int64_t late_ms;    /* another's topic is taken when its event is so late */
};

/* Byte `from_end` before the end, 0 where there is none. */
static inline unsigned share_byte(struct bytes topic, size_t from_end)
{
    return topic.len >= from_end ? (unsigned char)topic.at[topic.len - from_end] : 0;
}

static inline unsigned share_of(struct bytes topic)
{
    unsigned middle = topic.len ? (unsigned char)topic.at[topic.len / 2] : 0;

    return (((middle * 31 + share_byte(topic, 3)) * 31 + share_byte(topic, 2)) * 31 +
            share_byte(topic, 1)) %
           SHARES;
}

#endif
