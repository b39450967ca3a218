/* All nodes scan, each its own topics: how far a scan looks, and what it does not believe. */
#include "node/store/contract/locks.h"

#include <stdio.h>

static struct sharer a, b;

static struct op scan_by(struct sharer *s)
{
    return run_well(sharer_scan_op(s));
}

static void be_two(char mark_of_a, char mark_of_b)
{
    sharer_init(&a, "node-a", "00000000000000aa", mark_of_a, 7);
    sharer_init(&b, "node-b", "00000000000000bb", mark_of_b, 7);
}

/* ---- whose a topic is ---- */

/* Names of all lengths about which the counting differs, and one as long as names can be. */
static void node_and_store_agree_on_a_topics_share(void **state)
{
    char room[200];

    be_two('-', '-');
    for (size_t len = 1; len <= sizeof(room); len = len == 40 ? sizeof(room) : len + 1) {
        struct bytes topic = bytes_of(room, len);

        for (size_t i = 0; i < len; i++)
            room[i] = (char)(255 - (i * 37 + len) % 200);
        while (bucket_of(topic) != bucket_of(TOPIC))
            room[len / 2] = (char)(room[len / 2] == (char)255 ? 33 : room[len / 2] + 1);
        memset(a.marks, '-', SHARES);
        sharer_mark(&a, topic, '+');
        let_due(topic, "a");
        assert_int_equal(scan_by(&a).out.scan.moved, 1);
    }
}

/* ---- more topics of others than it looks at ---- */

/* TOPIC is a's, and the last one that is due; some of the crowd may be of the same share. */
static void crowd_before_topic(unsigned count)
{
    be_two('-', '-');
    wait_until(crowd(count, 0, 1));
    let_due(TOPIC, "own");
    sharer_mark(&a, TOPIC, '+');
}

static void past_a_thousand_it_comes_back_soon_but_not_at_once(void **state)
{
    crowd_before_topic(1100);
    assert_int_equal(scan_by(&a).out.scan.next_ms, 100);
}

static bool is_moved(void)
{
    return run_well((struct op){.verb = OP_STATS, .topic = TOPIC}).out.stats.ready > 0;
}

/* Four scans would do if the clock stood right each time; by chance it takes some more. */
static void what_is_hidden_behind_them_is_found_with_time(void **state)
{
    crowd_before_topic(2100);
    for (unsigned i = 0; i < 200 && !is_moved(); i++) {
        struct op op = scan_by(&a);

        assert_int_equal(op.out.scan.next_ms, 100);
        wait_until(op.now_ms + op.out.scan.next_ms);
    }
    assert_true(is_moved());
}

/* ---- what it does not believe ---- */

static void a_lock_that_lasts_longer_than_any_may_does_not_count(void **state)
{
    struct op op;

    be_two('+', '+');
    b.share.lock_ms = FAR_MS;
    let_due(TOPIC, "a");
    assert_int_equal(scan_by(&b).out.scan.moved, 1);
    a.share.lock_ms = SHARE_LOCK_MAX_MS;
    let_due(TOPIC, "b");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.taken, 1);
    assert_int_equal(op.out.scan.taken_over, 0);
    assert_in_range(lock_of(TOPIC).left_ms, 1, SHARE_LOCK_MAX_MS);
}

static void the_longest_that_may_be_counts(void **state)
{
    be_two('+', '+');
    b.share.lock_ms = SHARE_LOCK_MAX_MS;
    let_due(TOPIC, "a");
    assert_int_equal(scan_by(&b).out.scan.moved, 1);
    a.share.lock_ms = 1;
    let_due(TOPIC, "b");
    assert_int_equal(scan_by(&a).out.scan.conflicts, 1);
}

static const struct CMUnitTest tests[] = {
    TEST(node_and_store_agree_on_a_topics_share),
    TEST(past_a_thousand_it_comes_back_soon_but_not_at_once),
    TEST(what_is_hidden_behind_them_is_found_with_time),
    TEST(a_lock_that_lasts_longer_than_any_may_does_not_count),
    TEST(the_longest_that_may_be_counts),
};

const struct contract_part contract_locks_limits = {tests, sizeof(tests) / sizeof(*tests)};
