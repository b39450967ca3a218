#include "node/store/redis/locks.h"

#include <assert.h>
#include <string.h>

#include "node/store/packed.h"

#define VIEW_LEN   16
#define LOCK_UNTIL (VIEW_LEN + SHARE_OWNER_LEN)
#define LOCK_TOKEN (LOCK_UNTIL + 6)
#define LOCK_NODE  (LOCK_TOKEN + 7)

/* Digits of fixed width, so that a script orders views by their bytes. */
static void put_view(char *to, uint64_t view)
{
    for (unsigned i = VIEW_LEN; i-- > 0; view >>= 4)
        to[i] = "0123456789abcdef"[view & 15];
}

static bool get_view(const char *from, uint64_t *view)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < VIEW_LEN; i++) {
        if (from[i] >= '0' && from[i] <= '9')
            value = value << 4 | (uint64_t)(from[i] - '0');
        else if (from[i] >= 'a' && from[i] <= 'f')
            value = value << 4 | (uint64_t)(from[i] - 'a' + 10);
        else
            return false;
    }
    *view = value;
    return true;
}

void share_pack(const struct scan_share *share, char *to)
{
    assert(share->owner.len == SHARE_OWNER_LEN && share->marks.len == SHARES);
    put_view(to, share->view);
    memcpy(to + VIEW_LEN, share->owner.at, SHARE_OWNER_LEN);
    packed_put(to + LOCK_UNTIL, 6, share->lock_ms);
    packed_put(to + LOCK_UNTIL + 6, 6, share->late_ms);
    memcpy(to + LOCK_UNTIL + 12, share->marks.at, SHARES);
}

struct topic_lock lock_unpack(struct bytes packed, int64_t now_ms)
{
    struct topic_lock lock = {0};

    if (packed.len < LOCK_NODE || packed.len > LOCK_NODE + OP_NODE_MAX)
        return lock;
    lock.left_ms = packed_get(packed.at + LOCK_UNTIL, 6) - now_ms;
    if (lock.left_ms <= 0 || !get_view(packed.at, &lock.view))
        return (struct topic_lock){0};
    lock.token = packed_get(packed.at + LOCK_TOKEN, 7);
    lock.node = bytes_of(packed.at + LOCK_NODE, packed.len - LOCK_NODE);
    return lock;
}
