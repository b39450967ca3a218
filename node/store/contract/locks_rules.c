/* All nodes scan, each its own topics: which node gets and keeps the lock of its topic, by the
 * rule of doc/cluster.md, row by row.
 *
 * Whatever must last in a test lasts FAR_MS; the tests wait for what must be over. Where half
 * of a lock's time matters, the next scan's lock_ms changes, not the clock.
 */
#include "node/store/contract/locks_two.h"

/* ---- own ---- */

static void an_own_topic_that_is_due_is_locked_and_moves(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.lateness_count, 1);
    assert_int_equal(op.out.scan.conflicts, 0);
    assert_taken(op, 1, 0, 0);
    assert_locked(TOPIC, &a, 7);
    ASSERT_READY("a");
}

static void a_topic_with_nothing_due_is_not_locked(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    push_delayed("later", FAR_MS);
    push("now");
    op = scan_by(&a);
    assert_moved(op, 0, 0, 0, 0);
    assert_in_range(op.out.scan.next_ms, 1, FAR_MS + BEGUN_MS);
    assert_unlocked(TOPIC);
}

static void the_lock_is_told_only_where_it_is_asked_for(void **state)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC), .in.topics.limit = 9};

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    op = run_well(op);
    assert_int_equal(op.out.topics.count, 1);
    assert_int_equal(op.out.topics.rows[0].lock.node.len, 0);
    assert_int_equal(op.out.topics.rows[0].lock.token, 0);
}

static void a_lock_of_its_own_is_gone_on_with(void **state)
{
    struct topic_lock first, second;
    struct op op;

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    wait_until(store_now() + 2);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_moved(op, 1, 0, 0, 0);
    second = lock_of(TOPIC);
    assert_int_equal(second.token, first.token);
    assert_true(second.left_ms < first.left_ms);
}

static void after_half_of_its_time_it_is_renewed(void **state)
{
    struct topic_lock first, second;

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    a.share.lock_ms = 3 * FAR_MS;
    let_due(TOPIC, "a");
    assert_taken(scan_by(&a), 0, 0, 0);
    second = lock_of(TOPIC);
    assert_int_equal(second.token, first.token);
    assert_true(second.left_ms > 2 * FAR_MS);
    assert_locked(TOPIC, &a, 7);
}

static void in_a_newer_view_it_is_renewed(void **state)
{
    struct topic_lock first;

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    a.share.view = 8;
    assert_taken(scan_by(&a), 0, 0, 0);
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 8);
    assert_int_equal(lock_of(TOPIC).token, first.token);
}

/* The calls in the order in which Redis gets them when a's link is cut: a scan of view 7 comes
 * last, by the old connection, when the node is in view 9 already. */
static void a_scan_that_comes_late_renews_nothing(void **state)
{
    struct sharer before;
    struct topic_lock taken;
    struct op op;

    be_two('+', 7, '+', 8);
    assert_true(moves(&a));
    before = a;
    before.share.marks = bytes_of(before.marks, SHARES);
    before.share.lock_ms = 3 * FAR_MS; /* half of the lock's time is over for it */
    assert_true(moves(&b));
    a.share.view = 9;
    assert_true(moves(&a));
    taken = lock_of(TOPIC);
    let_due(TOPIC, "late");
    op = scan_by(&before);
    assert_moved(op, 1, 0, 0, 0);
    assert_locked(TOPIC, &a, 9);
    assert_int_equal(lock_of(TOPIC).token, taken.token);
    assert_true(lock_of(TOPIC).left_ms <= taken.left_ms);
    assert_false(moves(&b)); /* view 8 is not newer than what a has */
    assert_locked(TOPIC, &a, 9);
}

/* ZooKeeper was set up anew: its numbers are lower. */
static void in_an_older_view_it_is_gone_on_with_and_then_taken_anew(void **state)
{
    int64_t token;

    be_two('+', 9, '-', 9);
    assert_true(moves(&a));
    token = lock_of(TOPIC).token;
    a.share.view = 1;
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 9);
    assert_int_equal(lock_of(TOPIC).token, token);
    a.share.view = 10;
    a.share.lock_ms = 2;
    assert_true(moves(&a)); /* it is written anew, for 2 ms */
    wait_until(store_now() + 3);
    a.share.view = 1;
    a.share.lock_ms = FAR_MS;
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 1);
    assert_true(lock_of(TOPIC).token > token);
}

static void a_lock_ends_by_the_clock_of_the_store(void **state)
{
    int64_t token;

    be_two('+', 7, '+', 7);
    assert_true(moves(&a));
    token = lock_of(TOPIC).token;
    a.share.lock_ms = 2;
    a.share.view = 8;
    assert_true(moves(&a)); /* it is written anew, for 2 ms */
    wait_until(store_now() + 3);
    assert_unlocked(TOPIC);
    assert_true(moves(&b));
    assert_locked(TOPIC, &b, 7);
    assert_true(lock_of(TOPIC).token > token);
}

/* ---- two nodes ---- */

static void a_newer_view_takes_over_and_bars_the_older(void **state)
{
    struct topic_lock first;
    struct op op;

    be_two('+', 7, '+', 8);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    let_due(TOPIC, "a");
    op = scan_by(&b);
    assert_moved(op, 1, 0, 1, 0);
    assert_locked(TOPIC, &b, 8);
    assert_true(lock_of(TOPIC).token > first.token);
    let_due(TOPIC, "b");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.conflicts, 1);
    assert_int_equal(op.out.scan.next_ms, 1000);
    assert_locked(TOPIC, &b, 8);
}

/* Digits and letters, in the order of numbers. */
static void views_are_compared_as_numbers(void **state)
{
    static const uint64_t views[] = {1,         9, 10, 16, 0x99, 0xa0, 0xf9, UINT64_MAX - 1,
                                     UINT64_MAX};
    struct sharer *who[] = {&a, &b};

    be_two('+', 0, '+', 0);
    for (unsigned i = 0; i < sizeof(views) / sizeof(*views); i++) {
        struct sharer *now = who[i % 2];

        now->share.view = views[i];
        assert_true(moves(now));
        assert_locked(TOPIC, now, views[i]);
        assert_false(moves(who[(i + 1) % 2]));
    }
}

static void in_the_same_view_the_first_one_keeps_it(void **state)
{
    be_two('+', 7, '+', 7);
    assert_true(moves(&b));
    assert_false(moves(&a));
    assert_true(moves(&b));
    assert_locked(TOPIC, &b, 7);
}

static void who_is_barred_comes_back_when_the_lock_ends(void **state)
{
    struct op op;

    be_two('+', 7, '+', 7);
    b.share.lock_ms = ROOM_MS;
    assert_true(moves(&b));
    let_due(TOPIC, "a");
    for (op = scan_by(&a); op.out.scan.conflicts; op = scan_by(&a)) {
        assert_int_equal(op.out.scan.moved, 0);
        assert_in_range(op.out.scan.next_ms, 1, 1000);
        wait_until(op.now_ms + op.out.scan.next_ms);
    }
    assert_int_equal(op.out.scan.moved, 1);
    assert_locked(TOPIC, &a, 7);
}

static void each_topic_has_a_lock_of_its_own(void **state)
{
    be_two('+', 7, '-', 7);
    sharer_mark(&a, OTHER, '-');
    sharer_mark(&b, OTHER, '+');
    let_due(TOPIC, "a");
    let_due(OTHER, "b");
    assert_int_equal(scan_by(&a).out.scan.moved, 1);
    assert_int_equal(scan_by(&b).out.scan.moved, 1);
    assert_locked(TOPIC, &a, 7);
    assert_locked(OTHER, &b, 7);
    assert_true(lock_of(TOPIC).token != lock_of(OTHER).token);
}

static const struct CMUnitTest tests[] = {
    TEST(an_own_topic_that_is_due_is_locked_and_moves),
    TEST(a_topic_with_nothing_due_is_not_locked),
    TEST(the_lock_is_told_only_where_it_is_asked_for),
    TEST(a_lock_of_its_own_is_gone_on_with),
    TEST(after_half_of_its_time_it_is_renewed),
    TEST(in_a_newer_view_it_is_renewed),
    TEST(a_scan_that_comes_late_renews_nothing),
    TEST(in_an_older_view_it_is_gone_on_with_and_then_taken_anew),
    TEST(a_lock_ends_by_the_clock_of_the_store),
    TEST(a_newer_view_takes_over_and_bars_the_older),
    TEST(views_are_compared_as_numbers),
    TEST(in_the_same_view_the_first_one_keeps_it),
    TEST(who_is_barred_comes_back_when_the_lock_ends),
    TEST(each_topic_has_a_lock_of_its_own),
};

const struct contract_part contract_locks_rules = {tests, sizeof(tests) / sizeof(*tests)};
