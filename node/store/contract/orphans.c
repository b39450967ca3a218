/* Orphans: a place names a job that is gone. dueq makes none, but a change of the data by hand
 * may; and then an orphan must stop no more than its own topic.
 */
#include "node/store/contract/whole.h"

static void assert_is_left_alone(struct op op)
{
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.stuck, 1);
    assert_true(op.out.scan.wrong.len > 0);
    assert_in_range(op.out.scan.next_ms, 1, 1000); /* looked at again, but not at once */
}

static void assert_is_moved(struct op op, unsigned moved)
{
    assert_int_equal(op.out.scan.moved, moved);
    assert_int_equal(op.out.scan.stuck, 0);
    assert_int_equal(op.out.scan.wrong.len, 0);
}

static void a_delayed_orphan_stops_its_topic_and_no_other(void **state)
{
    struct op lost = push_delayed("lost", 1), op;

    push_delayed("a", 1);
    lose("lost");
    assert_is_left_alone(scan_at(lost.now_ms + 10));
    op = scan_at(push_delayed_in(OTHER, "b", 1).out.push.due_ms);
    assert_int_equal(op.out.scan.moved, 1);
    assert_in_range(op.out.scan.next_ms, 1, 1000);
    assert_counts(OTHER, 0, 1, 0);
    assert_int_equal(pop(1).out.pop.count, 0);
    repair("lost");
    push_delayed("c", 1);
    assert_is_moved(scan_at(store_now() + 1 + BEGUN_MS), 2);
    ASSERT_READY("a", "c");
}

static void a_reserved_orphan_stops_its_topic_and_no_other(void **state)
{
    hold("lost", 1);
    hold("a", 1);
    lose("lost");
    assert_is_left_alone(scan_at(store_now() + 1 + BEGUN_MS));
    assert_int_equal(scan_at(push_delayed_in(OTHER, "b", 1).out.push.due_ms).out.scan.moved, 1);
    repair("lost");
    push_delayed("c", 1);
    assert_is_moved(scan_at(store_now() + 1 + BEGUN_MS), 2);
    ASSERT_READY("c", "a");
}

static void an_orphan_that_is_not_due_is_in_nobodys_way(void **state)
{
    struct op pushed;

    push_delayed("lost", FAR_MS);
    lose("lost");
    pushed = push_delayed("a", 1);
    assert_is_moved(scan_at(pushed.out.push.due_ms), 1);
    assert_gone("lost");
    run_well((struct op){.verb = OP_STATS, .topic = TOPIC});
}

static void an_orphan_keeps_its_topic_when_the_last_job_is_cancelled(void **state)
{
    struct op lost = push_delayed("lost", 1);

    push("a");
    lose("lost");
    assert_status(cancel("a"), OK);
    assert_is_left_alone(scan_at(lost.out.push.due_ms));
    repair("lost");
    assert_int_equal(next_event_ms(), -1);
}

static void an_orphan_keeps_its_topic_when_the_last_jobs_are_purged(void **state)
{
    struct op lost = push_delayed("lost", 1);

    push("a");
    lose("lost");
    assert_int_equal(purge(JOB_READY, 10).out.chunk.count, 1);
    assert_is_left_alone(scan_at(lost.out.push.due_ms));
    repair("lost");
    assert_int_equal(next_event_ms(), -1);
}

static const struct CMUnitTest tests[] = {
    TEST(a_delayed_orphan_stops_its_topic_and_no_other),
    TEST(a_reserved_orphan_stops_its_topic_and_no_other),
    TEST(an_orphan_that_is_not_due_is_in_nobodys_way),
    TEST(an_orphan_keeps_its_topic_when_the_last_job_is_cancelled),
    TEST(an_orphan_keeps_its_topic_when_the_last_jobs_are_purged),
};

const struct contract_part contract_orphans = {tests, sizeof(tests) / sizeof(*tests)};
