#include "node/store/contract/locks_two.h"

#include <stdio.h>

void sharer_init(struct sharer *s, const char *name, const char *owner, char mark,
                 uint64_t view)
{
    s->name = name;
    memset(s->marks, mark, SHARES);
    s->share = (struct scan_share){.view = view,
                                   .owner = bytes_of_text(owner),
                                   .marks = bytes_of(s->marks, SHARES),
                                   .lock_ms = FAR_MS,
                                   .late_ms = LATE_MS};
}

void sharer_mark(struct sharer *s, struct bytes topic, char mark)
{
    s->marks[share_of(topic)] = mark;
}

struct op sharer_scan_op(const struct sharer *s)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC)};

    op.in.scan.limit = 1000;
    op.in.scan.node = bytes_of_text(s->name);
    op.in.scan.share = &s->share;
    return op;
}

struct sharer a, b;

void be_two(char mark_of_a, uint64_t view_of_a, char mark_of_b, uint64_t view_of_b)
{
    sharer_init(&a, "node-a", "00000000000000aa", mark_of_a, view_of_a);
    sharer_init(&b, "node-b", "00000000000000bb", mark_of_b, view_of_b);
}

struct op scan_by_at_most(struct sharer *s, unsigned limit)
{
    struct op op = sharer_scan_op(s);

    op.in.scan.limit = limit;
    op = run_well(op);
    assert_int_equal(op.wait_ms, -1);
    return op;
}

struct op scan_by(struct sharer *s)
{
    return scan_by_at_most(s, 1000);
}

void let_due(struct bytes topic, const char *id)
{
    wait_until(push_delayed_in(topic, id, 1).out.push.due_ms);
}

bool moves(struct sharer *s)
{
    static unsigned number;
    char id[16];

    snprintf(id, sizeof(id), "job-%u", number++);
    let_due(TOPIC, id);
    return scan_by(s).out.scan.moved > 0;
}

struct topic_lock lock_of(struct bytes topic)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(topic)};

    op.in.topics.limit = OP_TOPICS_MAX;
    op.in.topics.owners = true;
    do {
        op = run_well(op);
        for (unsigned i = 0; i < op.out.topics.count; i++)
            if (bytes_equal(op.out.topics.rows[i].topic, topic))
                return op.out.topics.rows[i].lock;
        op.in.topics.after = op.out.topics.next;
    } while (op.out.topics.next.len);
    fail_msg("no such topic");
    return (struct topic_lock){0};
}

void assert_locked(struct bytes topic, const struct sharer *s, uint64_t view)
{
    struct topic_lock lock = lock_of(topic);

    assert_bytes(lock.node, bytes_of_text(s->name));
    assert_int_equal(lock.view, view);
    assert_in_range(lock.left_ms, 1, s->share.lock_ms);
    assert_true(lock.token > 0);
}

void assert_unlocked(struct bytes topic)
{
    struct topic_lock lock = lock_of(topic);

    assert_int_equal(lock.node.len, 0);
    assert_int_equal(lock.view, 0);
    assert_int_equal(lock.token, 0);
    assert_int_equal(lock.left_ms, 0);
}

void assert_taken(struct op op, unsigned taken, unsigned over, unsigned late)
{
    assert_int_equal(op.out.scan.taken, taken);
    assert_int_equal(op.out.scan.taken_over, over);
    assert_int_equal(op.out.scan.stolen, late);
}

void assert_moved(struct op op, unsigned moved, unsigned taken, unsigned over, unsigned late)
{
    assert_int_equal(op.out.scan.moved, moved);
    assert_taken(op, taken, over, late);
}
