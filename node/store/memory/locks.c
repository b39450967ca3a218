/* May a node scan? The fence of a bucket says so, and where all nodes scan the locks of its
 * topics. */
#include <assert.h>
#include <string.h>

#include "node/store/memory/scan.h"
#include "node/store/memory/topic.h"

/* ---- the fence ---- */

static bool is_the_same(struct bytes token, struct bytes seen)
{
    return bytes_equal(token, seen) ||
           (token.len == 0 && bytes_equal(seen, BYTES(OP_TOKEN_STANDALONE)));
}

static bool is_outdated(struct bytes token, struct bytes seen)
{
    return token.len == 0 ||
           (seen.len > 0 && (!bytes_equal(op_token_ensemble(token), op_token_ensemble(seen)) ||
                             bytes_compare(token, seen) < 0));
}

static void keep(struct bucket *bucket, struct bytes token)
{
    assert(token.len <= sizeof(bucket->token));
    memcpy(bucket->token, token.at, token.len);
    bucket->token_len = token.len;
}

enum status memory_fence(struct call *c)
{
    struct bucket *bucket = c->bucket;
    struct bytes token = c->op->token, seen = bytes_of(bucket->token, bucket->token_len);

    if (is_the_same(token, seen))
        return STATUS_OK;
    if (is_outdated(token, seen)) {
        c->op->out.fenced.seen = room_copy(c->room, seen);
        return STATUS_FENCED;
    }
    keep(bucket, token);
    return STATUS_OK;
}

enum status memory_run_fence(struct call *c)
{
    struct bytes seen = bytes_of(c->bucket->token, c->bucket->token_len);
    struct bytes mine = c->op->token.len ? c->op->token : BYTES(OP_TOKEN_STANDALONE);

    if (c->op->in.fence.adopts &&
        !bytes_equal(op_token_ensemble(mine), op_token_ensemble(seen)))
        keep(c->bucket, mine);
    return memory_fence(c);
}

/* ---- locks ---- */

static char mark_of(const struct call *c, const struct topic *topic)
{
    struct bytes marks = c->op->in.scan.share->marks;

    assert(marks.len == SHARES);
    return marks.at[share_of(topic->name)];
}

static bool is_held(const struct call *c, const struct topic *topic)
{
    return topic->lock.until_ms > c->now_ms;
}

/* Is the lock in force? One that ends later than any may was written by another clock. */
static bool counts(const struct call *c, const struct topic *topic)
{
    int64_t left_ms = topic->lock.until_ms - c->now_ms;
    int64_t lock_ms = c->op->in.scan.share->lock_ms;

    return left_ms > 0 &&
           left_ms <= (lock_ms > SHARE_LOCK_MAX_MS ? lock_ms : SHARE_LOCK_MAX_MS);
}

static bool is_mine(const struct call *c, const struct topic *topic)
{
    struct bytes owner = c->op->in.scan.share->owner;

    return bytes_equal(bytes_of(topic->lock.owner, SHARE_OWNER_LEN), owner);
}

static enum claim claim_own(const struct call *c, const struct topic *topic)
{
    const struct scan_share *share = c->op->in.scan.share;
    const struct lock *lock = &topic->lock;

    if (!counts(c, topic))
        return CLAIM_TAKE;
    if (!is_mine(c, topic))
        return lock->view < share->view ? CLAIM_TAKE_OVER : CLAIM_CONFLICT;
    if (lock->view > share->view) /* the scan comes late */
        return CLAIM_HELD;
    if (lock->view < share->view || (lock->until_ms - c->now_ms) * 2 < share->lock_ms)
        return CLAIM_RENEW;
    return CLAIM_HELD;
}

enum claim memory_lock_claim(const struct call *c, const struct topic *topic)
{
    bool is_late = topic->event.due_mono_ms <= c->now_ms - c->op->in.scan.share->late_ms;
    char mark = mark_of(c, topic);

    if (mark == SHARE_OWN)
        return claim_own(c, topic);
    if (mark != SHARE_KEPT && !is_late)
        return CLAIM_NONE;
    if (counts(c, topic))
        return is_mine(c, topic) ? CLAIM_HELD : CLAIM_NONE;
    return is_late ? CLAIM_STEAL : CLAIM_NONE;
}

static void write_lock(struct call *c, struct topic *topic, uint64_t view, int64_t token)
{
    const struct scan_share *share = c->op->in.scan.share;
    struct bytes node = c->op->in.scan.node;
    struct lock *lock = &topic->lock;

    assert(share->owner.len == SHARE_OWNER_LEN && node.len <= OP_NODE_MAX);
    lock->until_ms = c->now_ms + share->lock_ms;
    lock->token = token;
    lock->view = view;
    memcpy(lock->owner, share->owner.at, SHARE_OWNER_LEN);
    lock->node_len = node.len;
    if (node.len)
        memcpy(lock->node, node.at, node.len);
}

void memory_lock_settle(struct call *c, struct topic *topic, enum claim claim)
{
    struct op *op = c->op;
    uint64_t view = op->in.scan.share->view;

    if (!memory_topic_exists(topic)) {
        topic->lock.until_ms = 0;
        return;
    }
    if (claim == CLAIM_RENEW)
        write_lock(c, topic, view, topic->lock.token);
    if (claim < CLAIM_TAKE)
        return;
    op->out.scan.taken += claim != CLAIM_TAKE_OVER;
    op->out.scan.taken_over += claim == CLAIM_TAKE_OVER;
    op->out.scan.stolen += claim == CLAIM_STEAL;
    write_lock(c, topic, claim == CLAIM_STEAL ? 0 : view, ++c->bucket->n);
}

bool memory_lock_expects(const struct call *c, const struct topic *topic)
{
    return mark_of(c, topic) != SHARE_OTHERS;
}

struct topic_lock memory_lock_tell(const struct call *c, const struct topic *topic)
{
    const struct lock *lock = &topic->lock;

    if (!is_held(c, topic))
        return (struct topic_lock){0};
    return (struct topic_lock){.node = room_copy(c->room, bytes_of(lock->node, lock->node_len)),
                               .view = lock->view,
                               .token = lock->token,
                               .left_ms = lock->until_ms - c->now_ms};
}
