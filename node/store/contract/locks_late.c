/* All nodes scan, each its own topics: what a scan does with topics that are not its node's, or
 * not any more.
 *
 * Whatever must last in a test lasts FAR_MS; the tests wait for what must be over.
 */
#include "node/store/contract/locks_two.h"

static void assert_left_alone(struct op op)
{
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.conflicts, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_unlocked(TOPIC);
}

/* ---- kept, and the others' ---- */

static void what_is_kept_goes_on_and_is_not_renewed(void **state)
{
    struct op op;

    be_two('+', 7, '+', 8);
    assert_true(moves(&a));
    be_two('~', 8, '+', 8);
    a.share.lock_ms = 3 * FAR_MS;
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_moved(op, 1, 0, 0, 0);
    a.share.lock_ms = FAR_MS;
    assert_locked(TOPIC, &a, 7);
    assert_true(moves(&b));
    assert_false(moves(&a));
    assert_locked(TOPIC, &b, 8);
}

static void what_was_kept_and_not_had_is_left_alone(void **state)
{
    struct op op;

    be_two('~', 8, '+', 8);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_left_alone(op);
}

static void the_events_of_what_is_kept_are_waited_for(void **state)
{
    be_two('~', 8, '-', 8);
    push_delayed("a", FAR_MS);
    assert_in_range(scan_by(&a).out.scan.next_ms, 1, FAR_MS + BEGUN_MS);
    assert_int_equal(scan_by(&b).out.scan.next_ms, -1);
}

static void the_topics_of_others_are_left_alone(void **state)
{
    struct op op;

    be_two('-', 7, '+', 7);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_left_alone(op);
    assert_counts(TOPIC, 1, 0, 0);
}

static void what_is_late_is_taken_by_anyone(void **state)
{
    static const char marks[] = "-~";

    for (unsigned i = 0; i < 2; i++) {
        struct op op;

        be_two(marks[i], 7, '+', 7 - i);
        a.share.late_ms = 1;
        a.share.lock_ms = 1;
        let_due(TOPIC, i ? "a" : "b");
        wait_until(store_now() + 1);
        op = scan_by(&a);
        assert_moved(op, 1, 1, 0, 1);
        wait_until(store_now() + 1);
    }
}

static void what_is_late_and_locked_is_left_to_the_lock(void **state)
{
    struct op op;

    be_two('-', 9, '+', 7);
    a.share.late_ms = 0;
    assert_true(moves(&b));
    assert_false(moves(&a)); /* though its view is newer: the topic is not its own */
    op = scan_by(&a);
    assert_int_equal(op.out.scan.conflicts, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_locked(TOPIC, &b, 7);
}

static void what_was_taken_late_is_gone_on_with_while_it_is_late(void **state)
{
    struct topic_lock first;

    be_two('-', 7, '+', 7);
    a.share.late_ms = 0;
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    assert_true(moves(&a));
    assert_int_equal(lock_of(TOPIC).token, first.token);
    a.share.late_ms = LATE_MS;
    assert_false(moves(&a));
}

/* Else all topics would stay with the first node that comes back after an outage. */
static void whose_it_is_takes_over_what_was_taken_late(void **state)
{
    struct topic_lock late;
    struct op op;

    be_two('-', 7, '+', 7);
    a.share.late_ms = 0;
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 0);
    late = lock_of(TOPIC);
    let_due(TOPIC, "a");
    op = scan_by(&b);
    assert_moved(op, 1, 0, 1, 0);
    assert_locked(TOPIC, &b, 7);
    assert_true(lock_of(TOPIC).token > late.token);
    assert_false(moves(&a));
}

static void a_late_topic_is_done_to_its_end(void **state)
{
    be_two('-', 7, '+', 7);
    a.share.late_ms = 0;
    let_due(TOPIC, "a");
    let_due(TOPIC, "b");
    assert_int_equal(scan_by_at_most(&a, 1).out.scan.next_ms, 0);
    assert_int_equal(scan_by_at_most(&a, 1).out.scan.moved, 1);
}

static const struct CMUnitTest tests[] = {
    TEST(what_is_kept_goes_on_and_is_not_renewed),
    TEST(what_was_kept_and_not_had_is_left_alone),
    TEST(the_events_of_what_is_kept_are_waited_for),
    TEST(the_topics_of_others_are_left_alone),
    TEST(what_is_late_is_taken_by_anyone),
    TEST(what_is_late_and_locked_is_left_to_the_lock),
    TEST(what_was_taken_late_is_gone_on_with_while_it_is_late),
    TEST(whose_it_is_takes_over_what_was_taken_late),
    TEST(a_late_topic_is_done_to_its_end),
};

const struct contract_part contract_locks_late = {tests, sizeof(tests) / sizeof(*tests)};
