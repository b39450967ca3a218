/* Topics: which there are, page after page, and how their jobs are counted. */
#include "node/store/contract/locks.h"

static struct op topics(struct bytes after, unsigned limit)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC)};

    op.in.topics.after = after;
    op.in.topics.limit = limit;
    op = run_well(op);
    assert_int_equal(op.wait_ms, -1);
    return op;
}

static struct topic_stats stats_of(struct bytes topic)
{
    struct op op = run_well((struct op){.verb = OP_STATS, .topic = topic});
    return op.out.stats;
}

/* TOPIC alone is told in its bucket. */
static void assert_told(void)
{
    struct op op = topics(BYTES(""), OP_TOPICS_MAX);

    assert_int_equal(op.out.topics.count, 1);
    assert_bytes(op.out.topics.rows[0].topic, TOPIC);
    assert_int_equal(op.out.topics.total, 1);
    assert_int_equal(op.out.topics.next.len, 0);
}

/* None is told; `left` have had a job, and no scan since. */
static void assert_none_told(int left)
{
    struct op op = topics(BYTES(""), OP_TOPICS_MAX);

    assert_int_equal(op.out.topics.count, 0);
    assert_int_equal(op.out.topics.total, left);
}

/* ---- while it has a job ---- */

static void a_bucket_without_jobs_has_no_topics(void **state)
{
    struct op op = topics(BYTES(""), 1);

    assert_int_equal(op.out.topics.count, 0);
    assert_int_equal(op.out.topics.total, 0);
    assert_int_equal(op.out.topics.next.len, 0);
    stats_of(TOPIC); /* to ask for it does not make it */
    assert_none_told(0);
}

static void a_topic_is_told_wherever_its_job_is(void **state)
{
    struct op pushed = push_delayed("a", SOON_MS);
    struct job job;

    assert_told();
    scan_at(pushed.out.push.due_ms);
    assert_told();
    job = pop_one();
    assert_told();
    delivered(&job, 1);
    assert_told();
    assert_status(release(&job, FAR_MS), OK);
    assert_told();
}

static void an_ended_reservation_leaves_a_topic_to_the_scan(void **state)
{
    struct job job = hold("a", 1);
    int64_t ends_ms = store_now() + 1 + BEGUN_MS;

    assert_status(ack(&job), OK);
    assert_none_told(1);
    scan_at(ends_ms);
    assert_none_told(0);
    push("b");
    assert_told();
}

/* The scan looks at the topic, and finds nothing that happens soon. */
static void put_the_scan_off(void)
{
    struct op marker = push_delayed("marker", 1);

    scan_at(marker.out.push.due_ms);
    assert_status(cancel("marker"), OK);
    scan_at(store_now());
}

static struct job hold_past_a_scan(const char *id)
{
    struct job job = hold(id, FAR_MS);

    put_the_scan_off();
    return job;
}

static void the_scan_is_called_with_the_ack_of_the_last_job(void **state)
{
    struct job job = hold_past_a_scan("a");
    struct op op = ack(&job);

    assert_status(op, OK);
    assert_int_equal(op.wait_ms, 5000);
    assert_in_range(scan(1).out.scan.next_ms, 1, 5000);
    assert_none_told(1);
}

static void the_scan_is_called_with_the_delivery_of_a_last_job_that_was_touched(void **state)
{
    struct job job = (push_ttr("a", 0), pop_one());

    assert_status(touch(&job, FAR_MS), OK);
    put_the_scan_off();
    assert_int_equal(delivered(&job, 1).wait_ms, 5000);
    assert_none_told(1);
}

static void the_scan_is_not_called_while_there_is_another_job(void **state)
{
    struct job first = hold("a", FAR_MS), last = hold_past_a_scan("b");
    struct op op = ack(&first);

    assert_status(op, OK);
    assert_int_equal(op.wait_ms, -1);
    assert_true(scan(1).out.scan.next_ms > 5000);
    assert_int_equal(ack(&last).wait_ms, 5000);
}

static void a_job_that_is_ready_for_long_keeps_its_topic(void **state)
{
    struct job job = hold("a", 1);

    push("b");
    assert_status(ack(&job), OK);
    assert_int_equal(scan_at(store_now() + 1 + BEGUN_MS).out.scan.next_ms, -1);
    assert_told();
    assert_status(cancel("b"), OK);
    assert_none_told(0);
}

static void the_cancel_of_the_last_job_ends_its_topic_at_once(void **state)
{
    push("ready");
    assert_status(cancel("ready"), OK);
    assert_none_told(0);
    push_delayed("delayed", FAR_MS);
    assert_status(cancel("delayed"), OK);
    assert_none_told(0);
    push("reserved");
    pop_one();
    assert_status(cancel("reserved"), OK);
    assert_none_told(0);
    assert_int_equal(next_event_ms(), -1);
}

static void the_cancel_of_another_job_does_not(void **state)
{
    push("a");
    push_delayed("b", FAR_MS);
    assert_status(cancel("a"), OK);
    assert_told();
}

/* Remains of an earlier life of the topic: tombstones, a stale event. */
static void a_topic_is_told_again_when_it_comes_back(void **state)
{
    struct job job = hold("a", 1);

    push("b");
    assert_status(cancel("b"), OK); /* a tombstone stays */
    assert_status(ack(&job), OK);
    push("c");
    assert_told();
    scan_at(store_now() + 1 + BEGUN_MS);
    assert_told();
    assert_status(cancel("c"), OK);
    assert_none_told(0);
    push_delayed("d", FAR_MS);
    assert_told();
    assert_status(cancel("d"), OK);
    push("e");
    assert_told();
}

/* The tombstones went with the topic: else a push would think that the topic is still
 * listed. */
static void a_topic_the_scan_let_go_is_told_again(void **state)
{
    struct job job = hold("a", 1);

    push("b");
    assert_status(cancel("b"), OK);
    assert_status(ack(&job), OK);
    scan_at(store_now() + 1 + BEGUN_MS);
    assert_none_told(0);
    push("c");
    assert_told();
}

/* A topic that has gone is announced anew, also where it left tombstones. */
static void a_topic_that_comes_back_is_announced(void **state)
{
    unsigned before;

    push("a");
    assert_status(cancel("a"), OK);
    before = wake_ups(TOPIC);
    push("b");
    assert_int_equal(wake_ups(TOPIC), before + 1);
}

/* ---- page after page ---- */

static void pages_tell_each_topic_once_and_in_order(void **state)
{
    struct bytes after = BYTES(""), last = BYTES("");
    unsigned number = 0, count = 0, pages = 0;

    for (unsigned i = 0; i < 9; i++)
        run_well(push_op(crowd_name(&number), "a"));
    do {
        struct op op = topics(after, 2);

        assert_int_equal(op.out.topics.total, 9);
        for (unsigned i = 0; i < op.out.topics.count; i++, count++) {
            assert_true(bytes_compare(last, op.out.topics.rows[i].topic) < 0);
            last = op.out.topics.rows[i].topic; /* kept until the test is over */
        }
        after = op.out.topics.next;
        pages++;
    } while (after.len);
    assert_int_equal(count, 9);
    assert_int_equal(pages, 5);
}

static void a_page_goes_on_behind_a_topic_that_is_gone(void **state)
{
    struct op op;

    run_well(push_op(OTHER, "a"));
    push("a");
    op = topics(BYTES(""), 1);
    assert_bytes(op.out.topics.rows[0].topic, OTHER);
    run_well((struct op){.verb = OP_CANCEL, .topic = OTHER, .id = BYTES("a")});
    op = topics(op.out.topics.next, 1);
    assert_bytes(op.out.topics.rows[0].topic, TOPIC);
}

static void other_buckets_keep_theirs(void **state)
{
    run_well(push_op(ELSEWHERE, "a"));
    assert_none_told(0);
}

static void a_full_page_is_the_last_where_no_more_are_behind(void **state)
{
    struct op op = (push("a"), topics(BYTES(""), 1));

    assert_int_equal(op.out.topics.count, 1);
    assert_int_equal(op.out.topics.next.len, 0);
    run_well(push_op(OTHER, "a"));
    op = topics(BYTES(""), 1);
    assert_bytes(op.out.topics.next, OTHER);
    op = topics(op.out.topics.next, 1);
    assert_bytes(op.out.topics.rows[0].topic, TOPIC);
    assert_int_equal(op.out.topics.next.len, 0);
}

/* ---- counted ---- */

static void a_page_counts_as_stats_does(void **state)
{
    struct topic_stats told, asked;

    push_letters(3);
    pop_one();
    push_delayed("d", FAR_MS);
    told = topics(BYTES(""), 1).out.topics.rows[0].stats;
    asked = stats_of(TOPIC);
    assert_int_equal(told.delayed, 1);
    assert_int_equal(told.ready, 2);
    assert_int_equal(told.reserved, 1);
    assert_int_equal(told.dead, 0);
    assert_int_equal(asked.ready, told.ready);
    assert_in_range(told.next_due_ms, 1, FAR_MS + BEGUN_MS);
    assert_true(asked.next_due_ms <= told.next_due_ms);
    assert_true(asked.oldest_ready_ms >= told.oldest_ready_ms);
}

static void a_topic_without_jobs_has_no_ages(void **state)
{
    assert_int_equal(stats_of(TOPIC).oldest_ready_ms, -1);
    assert_int_equal(stats_of(TOPIC).next_due_ms, -1);
}

static void the_oldest_ready_job_is_as_old_as_it_is_overdue(void **state)
{
    struct op old = push_op(TOPIC, "old"), op;

    old.in.push.at_ms = store_now() - FAR_MS;
    run_well(old);
    push("young");
    op = run((struct op){.verb = OP_STATS, .topic = TOPIC});
    assert_int_equal(op.out.stats.oldest_ready_ms, op.now_ms - old.in.push.at_ms);
    assert_int_equal(op.out.stats.next_due_ms, -1);
    assert_status(cancel("old"), OK);
    assert_in_range(stats_of(TOPIC).oldest_ready_ms, 0, FAR_MS - 1);
}

static void a_job_that_is_due_has_no_time_left(void **state)
{
    wait_until(push_delayed("a", 1).out.push.due_ms + 1);
    assert_int_equal(stats_of(TOPIC).next_due_ms, 0);
    push_delayed("b", FAR_MS);
    assert_int_equal(stats_of(TOPIC).next_due_ms, 0);
}

/* One job of the topic, behind so many that are cancelled. */
static void leave_tombstones(struct bytes topic, unsigned count)
{
    push_numbered(topic, 0, count, 0);
    run_well(push_op(topic, "alive"));
    cancel_numbered(topic, 0, count);
}

static void the_oldest_is_found_behind_some_that_were_cancelled(void **state)
{
    struct op op;

    leave_tombstones(TOPIC, 99);
    leave_tombstones(OTHER, 99);
    assert_true(stats_of(TOPIC).oldest_ready_ms >= 0);
    op = topics(BYTES(""), 2);
    assert_true(op.out.topics.rows[0].stats.oldest_ready_ms >= 0);
    assert_true(op.out.topics.rows[1].stats.oldest_ready_ms >= 0);
}

/* Those that are hidden must not use up the looks of a whole page. */
static void topics_whose_oldest_is_hidden_hide_no_others(void **state)
{
    enum { HIDDEN = 12, ALL = HIDDEN + 1 };
    unsigned number = 0;
    struct bytes last;
    struct op op;

    for (unsigned i = 0; i < HIDDEN; i++)
        leave_tombstones(crowd_name(&number), 100);
    last = crowd_name(&number);
    run_well(push_op(last, "a"));
    op = topics(BYTES(""), OP_TOPICS_MAX);
    assert_int_equal(op.out.topics.count, ALL);
    for (unsigned i = 0; i < ALL; i++)
        assert_int_equal(op.out.topics.rows[i].stats.oldest_ready_ms >= 0,
                         bytes_equal(op.out.topics.rows[i].topic, last));
}

static void the_oldest_is_not_looked_for_behind_many(void **state)
{
    leave_tombstones(TOPIC, 100);
    assert_int_equal(stats_of(TOPIC).oldest_ready_ms, -1);
    assert_int_equal(stats_of(TOPIC).ready, 1);
}

static const struct CMUnitTest tests[] = {
    TEST(a_bucket_without_jobs_has_no_topics),
    TEST(a_topic_is_told_wherever_its_job_is),
    TEST(an_ended_reservation_leaves_a_topic_to_the_scan),
    TEST(the_scan_is_called_with_the_ack_of_the_last_job),
    TEST(the_scan_is_called_with_the_delivery_of_a_last_job_that_was_touched),
    TEST(the_scan_is_not_called_while_there_is_another_job),
    TEST(a_job_that_is_ready_for_long_keeps_its_topic),
    TEST(the_cancel_of_the_last_job_ends_its_topic_at_once),
    TEST(the_cancel_of_another_job_does_not),
    TEST(a_topic_is_told_again_when_it_comes_back),
    TEST(a_topic_the_scan_let_go_is_told_again),
    TEST(a_topic_that_comes_back_is_announced),
    TEST(pages_tell_each_topic_once_and_in_order),
    TEST(a_page_goes_on_behind_a_topic_that_is_gone),
    TEST(other_buckets_keep_theirs),
    TEST(a_full_page_is_the_last_where_no_more_are_behind),
    TEST(a_page_counts_as_stats_does),
    TEST(a_topic_without_jobs_has_no_ages),
    TEST(the_oldest_ready_job_is_as_old_as_it_is_overdue),
    TEST(a_job_that_is_due_has_no_time_left),
    TEST(the_oldest_is_found_behind_some_that_were_cancelled),
    TEST(topics_whose_oldest_is_hidden_hide_no_others),
    TEST(the_oldest_is_not_looked_for_behind_many),
};

const struct contract_part contract_topics = {tests, sizeof(tests) / sizeof(*tests)};
