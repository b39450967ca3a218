/* All nodes scan, each its own topics: the next event that a scan tells, and what stays as
 * without shares.
 *
 * Whatever must last in a test lasts FAR_MS; the tests wait for what must be over.
 */
#include "node/store/contract/locks_two.h"

#include <stdio.h>

/* ---- what comes next ---- */

static void the_next_event_is_that_of_its_own_topics(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    sharer_mark(&a, OTHER, '-');
    push_delayed_in(OTHER, "sooner", FAR_MS);
    push_delayed("later", 2 * FAR_MS);
    op = scan_by(&a);
    assert_in_range(op.out.scan.next_ms, FAR_MS + 1 + BEGUN_MS, 2 * FAR_MS + BEGUN_MS);
    let_due(OTHER, "now");
    assert_in_range(scan_by(&a).out.scan.next_ms, FAR_MS + 1 + BEGUN_MS, 2 * FAR_MS + BEGUN_MS);
}

static void while_its_own_work_is_left_it_comes_back_at_once(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    let_due(TOPIC, "a");
    let_due(OTHER, "b");
    op = scan_by_at_most(&a, 1);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.next_ms, 0);
    assert_taken(op, 1, 0, 0); /* a topic not reached is not locked */
    assert_unlocked(OTHER);
    op = scan_by_at_most(&a, 1);
    assert_moved(op, 1, 1, 0, 0);
    assert_int_equal(scan_by_at_most(&a, 1).out.scan.next_ms, -1);
}

struct bytes crowd_name(unsigned *number)
{
    static char names[CROWD_MAX * CONTRACT_BUCKETS * 2][16];
    struct bytes name;

    do {
        assert_in_range(*number, 0, CROWD_MAX * CONTRACT_BUCKETS * 2 - 1);
        snprintf(names[*number], sizeof(names[0]), "crowd-%u", *number);
        name = bytes_of_text(names[(*number)++]);
    } while (bucket_of(name) != bucket_of(TOPIC));
    return name;
}

int64_t crowd(unsigned count, unsigned number, int64_t delay_ms)
{
    struct op ops[100];
    int64_t due_ms = 0;

    for (; count > 0; count -= 100) {
        for (unsigned i = 0; i < 100; i++) {
            ops[i] = push_op(crowd_name(&number), "a");
            ops[i].in.push.delay_ms = delay_ms;
        }
        run_all(ops, 100);
        for (unsigned i = 0; i < 100; i++)
            assert_status(ops[i], OK);
        due_ms = ops[99].out.push.due_ms;
    }
    return due_ms;
}

/* TOPIC is a's, whatever the crowd; some of it may be of the same share. */
static void crowd_before_topic(unsigned count)
{
    be_two('-', 7, '-', 7);
    wait_until(crowd(count, 0, 1));
    let_due(TOPIC, "own");
    sharer_mark(&a, TOPIC, '+');
}

static void it_looks_past_the_topics_of_others(void **state)
{
    struct op op;

    crowd_before_topic(900);
    op = scan_by(&a);
    assert_true(op.out.scan.moved > 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_counts(TOPIC, 0, 1, 0);
    assert_locked(TOPIC, &a, 7);
}

static void a_scan_takes_a_hundred_topics_and_the_next_goes_on(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    wait_until(crowd(200, 0, 1));
    op = scan_by(&a);
    assert_moved(op, 100, 100, 0, 0);
    assert_int_equal(op.out.scan.next_ms, 0);
    op = scan_by(&a);
    assert_moved(op, 100, 100, 0, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
}

/* The scan answers the time of the last topic that it has looked at. */
static void far_ahead_it_does_not_look_for_its_own(void **state)
{
    be_two('-', 7, '-', 7);
    crowd(200, 0, FAR_MS);
    assert_int_equal(scan_by(&a).out.scan.next_ms, -1);
    crowd(100, CROWD_MAX * CONTRACT_BUCKETS, FAR_MS);
    assert_in_range(scan_by(&a).out.scan.next_ms, 1, FAR_MS + BEGUN_MS);
    push_delayed("own", FAR_MS / 2);
    sharer_mark(&a, TOPIC, '+');
    assert_in_range(scan_by(&a).out.scan.next_ms, 1, FAR_MS / 2 + BEGUN_MS);
}

/* ---- as without a share ---- */

static void the_fence_does_not_matter(void **state)
{
    struct bytes token = BYTES("11111111111111111111111111111111:0020000000000009");
    struct op op = {.verb = OP_FENCE, .bucket = bucket_of(TOPIC), .token = token};

    be_two('+', 7, '-', 7);
    run_well(op);
    let_due(TOPIC, "a");
    assert_int_equal(scan_by(&a).out.scan.moved, 1);
    op.verb = OP_SCAN;
    op.in.scan = (typeof(op.in.scan)){.limit = 9};
    op.token = BYTES("");
    assert_status(run(op), FENCED);
}

static void who_scans_without_a_share_scans_all(void **state)
{
    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    let_due(TOPIC, "a");
    assert_int_equal(scan(1000).out.scan.moved, 1);
    assert_locked(TOPIC, &a, 7);
}

static void a_topic_that_is_stuck_is_left_alone_for_a_second(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    push_delayed("lost", 1);
    lose("lost");
    let_due(OTHER, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.stuck, 1);
    assert_true(op.out.scan.wrong.len > 0);
    assert_in_range(op.out.scan.next_ms, 1, 1000);
    repair("lost");
}

/* TOPIC's only job is acknowledged, and a scan is called. */
static void end_the_topic(void)
{
    struct op popped = pop(1), call = id_op(OP_REPAIR, "");

    call.in.repair.calls_scan = true;
    assert_int_equal(run_well(call).wait_ms, 0);
    assert_status(ack(popped.out.pop.jobs), OK);
}

static void a_topic_that_ends_leaves_no_lock(void **state)
{
    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 7);
    end_the_topic();
    assert_int_equal(scan_by(&a).out.scan.next_ms, -1);
    push("again");
    assert_unlocked(TOPIC);
}

static void a_topic_that_ends_takes_no_lock(void **state)
{
    be_two('+', 7, '-', 7);
    push("a");
    end_the_topic();
    assert_taken(scan_by(&a), 0, 0, 0);
    push("again");
    assert_unlocked(TOPIC);
}

/* ---- whose a topic is ---- */

/* Names of all lengths about which the counting differs, and one as long as names can be. */
static void node_and_store_agree_on_a_topics_share(void **state)
{
    char room[200];

    for (size_t len = 1; len <= sizeof(room); len = len == 40 ? sizeof(room) : len + 1) {
        struct bytes topic = bytes_of(room, len);

        for (size_t i = 0; i < len; i++)
            room[i] = (char)(255 - (i * 37 + len) % 200);
        while (bucket_of(topic) != bucket_of(TOPIC))
            room[len / 2] = (char)(room[len / 2] == (char)255 ? 33 : room[len / 2] + 1);
        be_two('-', 7, '+', 7);
        sharer_mark(&a, topic, '+');
        sharer_mark(&b, topic, '-');
        let_due(topic, "a");
        assert_int_equal(scan_by(&b).out.scan.moved, 0);
        assert_int_equal(scan_by(&a).out.scan.moved, 1);
    }
}

/* ---- more topics of others than it looks at ---- */

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

    be_two('+', 7, '+', 7);
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
    be_two('+', 7, '+', 7);
    b.share.lock_ms = SHARE_LOCK_MAX_MS;
    let_due(TOPIC, "a");
    assert_int_equal(scan_by(&b).out.scan.moved, 1);
    a.share.lock_ms = 1;
    let_due(TOPIC, "b");
    assert_int_equal(scan_by(&a).out.scan.conflicts, 1);
}

static const struct CMUnitTest tests[] = {
    TEST(the_next_event_is_that_of_its_own_topics),
    TEST(while_its_own_work_is_left_it_comes_back_at_once),
    TEST(it_looks_past_the_topics_of_others),
    TEST(a_scan_takes_a_hundred_topics_and_the_next_goes_on),
    TEST(far_ahead_it_does_not_look_for_its_own),
    TEST(the_fence_does_not_matter),
    TEST(who_scans_without_a_share_scans_all),
    TEST(a_topic_that_is_stuck_is_left_alone_for_a_second),
    TEST(a_topic_that_ends_leaves_no_lock),
    TEST(a_topic_that_ends_takes_no_lock),
    TEST(node_and_store_agree_on_a_topics_share),
    TEST(past_a_thousand_it_comes_back_soon_but_not_at_once),
    TEST(what_is_hidden_behind_them_is_found_with_time),
    TEST(a_lock_that_lasts_longer_than_any_may_does_not_count),
    TEST(the_longest_that_may_be_counts),
};

const struct contract_part contract_locks = {tests, sizeof(tests) / sizeof(*tests)};
