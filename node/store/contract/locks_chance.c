/* Random lives of some nodes that scan: nodes join and leave, learn of it in any order, are
 * late or slow, or a scan sent before comes late. No node moves a topic without a valid lock,
 * no two nodes have a topic's lock at one time, and no lock is renewed in an older view.
 *
 * DUEQ_SEED=n repeats the choices of a run.
 */
#include "node/store/contract/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NODES   3
#define TOPICS  5
#define STEPS   250
#define LONG_MS SHARE_LOCK_MAX_MS /* longer than a life takes */

static struct {
    unsigned random;
    unsigned members; /* of the newest view, a bit for each node */
    uint64_t view;
    struct sharer nodes[NODES];
    struct sharer before[NODES]; /* as they were before they learned of a view */
    struct bytes topics[TOPICS];
    struct topic_lock locks[TOPICS]; /* as last seen */
    int64_t delayed[TOPICS];
} life;

/* xorshift */
static unsigned below(unsigned n)
{
    life.random ^= life.random << 13;
    life.random ^= life.random >> 17;
    life.random ^= life.random << 5;
    return life.random % n;
}

static void keep_as_before(unsigned node)
{
    struct sharer *kept = &life.before[node];

    *kept = life.nodes[node];
    kept->share.marks = bytes_of(kept->marks, SHARES);
}

static void begin(void)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const owners[] = {"00000000000000aa", "00000000000000bb",
                                         "00000000000000cc"};
    const char *seed = getenv("DUEQ_SEED");
    unsigned number = 0;

    memset(&life, 0, sizeof(life));
    life.random = seed ? (unsigned)atol(seed) : (unsigned)time(NULL);
    print_message("seed %u\n", life.random);
    life.random += life.random == 0;
    life.members = 1;
    for (unsigned i = 0; i < NODES; i++) {
        sharer_init(&life.nodes[i], names[i], owners[i], SHARE_OTHERS, 0);
        keep_as_before(i);
    }
    for (unsigned i = 0; i < TOPICS; i++) {
        life.topics[i] = crowd_name(&number);
        push_delayed_in(life.topics[i], "stays", FAR_MS);
    }
}

/* The node that the topic belongs to in the newest view. */
static unsigned preferred(unsigned topic)
{
    unsigned i = topic % NODES;

    while (!(life.members & 1u << i))
        i = (i + 1) % NODES;
    return i;
}

/* ---- the steps ---- */

static void change_members(void)
{
    unsigned members = life.members ^ 1u << below(NODES);

    if (!members)
        return;
    life.members = members;
    life.view++;
}

/* The node learns of the newest view, and keeps its lost shares for a while. */
static void learn(unsigned node)
{
    struct sharer *s = &life.nodes[node];

    if (s->share.view != life.view)
        keep_as_before(node);
    s->share.view = life.view;
    for (unsigned i = 0; i < TOPICS; i++) {
        char *mark = &s->marks[share_of(life.topics[i])];

        if (preferred(i) == node)
            *mark = SHARE_OWN;
        else
            *mark = *mark != SHARE_OTHERS && below(2) ? SHARE_KEPT : SHARE_OTHERS;
    }
}

static void push_some(void)
{
    static unsigned number;
    char id[16];

    for (unsigned i = 0; i < TOPICS; i++) {
        snprintf(id, sizeof(id), "job-%u", number++);
        if (below(2))
            let_due(life.topics[i], id);
    }
}

/* ---- what is seen ---- */

static void look_at_all(int64_t delayed[TOPICS], struct topic_lock locks[TOPICS])
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC)};

    op.in.topics.limit = OP_TOPICS_MAX;
    op.in.topics.owners = true;
    op = run_well(op);
    assert_int_equal(op.out.topics.count, TOPICS);
    for (unsigned i = 0; i < TOPICS; i++) {
        unsigned k = 0;

        while (!bytes_equal(op.out.topics.rows[i].topic, life.topics[k]))
            assert_true(++k < TOPICS);
        delayed[k] = op.out.topics.rows[i].stats.delayed;
        locks[k] = op.out.topics.rows[i].lock;
    }
}

static bool is_of(const struct topic_lock *lock, unsigned node)
{
    return bytes_equal(lock->node, bytes_of_text(life.nodes[node].name));
}

/* The holder of a lock that ends at once may be gone; a holder that does not renew goes on with
 * its lock.
 */
static void check(unsigned node, bool is_short, const int64_t *delayed,
                  const struct topic_lock *locks)
{
    for (unsigned i = 0; i < TOPICS; i++) {
        const struct topic_lock *before = &life.locks[i], *after = &locks[i];

        if (delayed[i] < life.delayed[i] && !is_of(after, node))
            assert_true((is_short || (before->node.len && before->left_ms <= 1)) &&
                        !after->node.len);
        if (after->node.len && before->node.len) {
            if (after->token == before->token)
                assert_true(after->view >= before->view);
            if (bytes_equal(after->node, before->node))
                assert_true(after->token >= before->token);
            else
                assert_true(is_of(after, node) && after->token > before->token);
        }
    }
}

static void scan_by(unsigned node)
{
    struct sharer *s = below(4) ? &life.nodes[node] : &life.before[node];
    struct topic_lock locks[TOPICS];
    int64_t delayed[TOPICS];

    s->share.lock_ms = below(4) ? LONG_MS : 1;
    s->share.late_ms = below(8) ? LATE_MS : 0;
    look_at_all(life.delayed, life.locks);
    run_well(sharer_scan_op(s));
    look_at_all(delayed, locks);
    check(node, s->share.lock_ms < LONG_MS, delayed, locks);
}

static void no_topic_is_moved_without_its_lock(void **state)
{
    begin();
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned node = below(NODES);

        if (!below(6))
            change_members();
        if (!below(3))
            learn(node);
        if (!below(4))
            push_some();
        scan_by(node);
    }
}

/* All nodes hear the newest view: then each topic is moved by the node that it belongs to. */
static void whose_it_is_moves_it_at_once_in_a_newer_view(void **state)
{
    begin();
    for (unsigned step = 0; step < 40; step++) {
        change_members();
        life.view++;
        for (unsigned i = 0; i < NODES; i++)
            learn(i);
        push_some();
        for (unsigned i = 0; i < NODES; i++)
            run_well(sharer_scan_op(&life.nodes[i]));
        look_at_all(life.delayed, life.locks);
        for (unsigned i = 0; i < TOPICS; i++)
            assert_int_equal(life.delayed[i], 1);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(no_topic_is_moved_without_its_lock),
    TEST(whose_it_is_moves_it_at_once_in_a_newer_view),
};

const struct contract_part contract_locks_chance = {tests, sizeof(tests) / sizeof(*tests)};
