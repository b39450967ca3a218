/* Scan: what is due becomes ready, in order, never early, and no more than asked. */
#include "node/store/contract/contract.h"

/* ---- delayed jobs ---- */

static void an_empty_bucket_has_nothing_to_scan(void **state)
{
    struct op op = scan(1000);

    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.expired, 0);
    assert_int_equal(op.out.scan.lateness_count, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_int_equal(op.wait_ms, -1);
}

static void a_scan_says_how_long_until_the_next_event(void **state)
{
    struct op pushed = push_delayed("a", FAR_MS), op;

    push_delayed("b", 2 * FAR_MS);
    op = scan(1000);
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.now_ms + op.out.scan.next_ms, pushed.out.push.due_ms);
}

static void a_delayed_job_is_moved_when_due_and_not_before(void **state)
{
    struct op pushed = push_delayed("a", SOON_MS), op;
    int64_t due_ms = pushed.out.push.due_ms;

    wait_until(due_ms - 1);
    while ((op = scan(1000)).now_ms < due_ms) {
        assert_int_equal(op.out.scan.moved, 0);
        assert_int_equal(op.out.scan.next_ms, due_ms - op.now_ms);
        wait_until(op.now_ms + 1);
    }
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.expired, 0);
    assert_int_equal(op.out.scan.lateness_count, 1);
    assert_int_equal(op.out.scan.lateness_ms[0], op.now_ms - due_ms);
    assert_int_equal(op.out.scan.next_ms, -1);
    ASSERT_READY("a");
}

static void a_moved_job_keeps_all_but_its_state_and_stamp(void **state)
{
    struct op pushed = push_delayed("a", SOON_MS);
    struct job job;

    scan_at(pushed.out.push.due_ms);
    job = get("a");
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.due_ms, pushed.out.push.due_ms);
    assert_int_equal(job.delay_ms, SOON_MS);
    assert_int_equal(job.ttr_ms, TTR_MS);
    assert_int_equal(job.tries, 0);
    assert_true(job.stamp > 0);
    assert_bytes(job.body, BODY);
}

static void a_released_job_comes_back_when_its_delay_is_over(void **state)
{
    struct job job = hold("a", TTR_MS);
    struct op released = release(&job, SOON_MS), op;

    assert_status(released, OK);
    op = scan_at(after(&released, SOON_MS));
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.lateness_ms[0], op.now_ms - after(&released, SOON_MS));
    ASSERT_READY("a");
}

/* Pushes jobs named "a", "b", ... with these delays, and waits until all are due. `order`
 * takes their names in the order of their due times: however slow the pushes were, and with
 * equal times in the order of their names. */
static void push_due(unsigned count, const int64_t *delays_ms, struct op *pushes,
                     const char **order)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    int64_t last_ms = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned place = i;

        pushes[i] = push_delayed(names[i], delays_ms[i]);
        if (pushes[i].out.push.due_ms > last_ms)
            last_ms = pushes[i].out.push.due_ms;
        for (; place > 0; place--) {
            const struct op *before = &pushes[order[place - 1][0] - 'a'];

            if (before->out.push.due_ms <= pushes[i].out.push.due_ms)
                break;
            order[place] = order[place - 1];
        }
        order[place] = names[i];
    }
    wait_until(last_ms);
}

static void due_jobs_become_ready_in_the_order_of_their_due_times(void **state)
{
    static const int64_t delays_ms[] = {8, 2, 6, 4};
    struct op pushes[4];
    const char *order[5] = {"first"};

    push("first");
    push_due(4, delays_ms, pushes, order + 1);
    assert_int_equal(scan(1000).out.scan.moved, 4);
    assert_ready(5, order);
}

static void the_lateness_of_every_moved_job_is_told(void **state)
{
    static const int64_t delays_ms[] = {4, 1, 3};
    struct op pushes[3], op;
    const char *order[3];

    push_due(3, delays_ms, pushes, order);
    op = scan(1000);
    assert_int_equal(op.out.scan.moved, 3);
    assert_int_equal(op.out.scan.lateness_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(op.out.scan.lateness_ms[i],
                         op.now_ms - pushes[order[i][0] - 'a'].out.push.due_ms);
}

/* ---- expired reservations ---- */

static void an_expired_reservation_is_ready_again_at_the_back(void **state)
{
    struct job job = hold("a", 1), again;
    struct op op;

    push("b");
    op = scan_at(store_now() + 2);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.expired, 1);
    assert_int_equal(op.out.scan.lateness_count, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_bytes(pop_one().id, BYTES("b"));
    again = pop_one();
    assert_bytes(again.id, BYTES("a"));
    assert_true(again.stamp > job.stamp);
    assert_int_equal(again.due_ms, job.due_ms);
    assert_int_equal(again.tries, 1);
}

static void a_reservation_is_not_ended_before_its_deadline(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = touch(&job, SOON_MS);
    int64_t deadline_ms = after(&op, SOON_MS);

    assert_status(op, OK);
    while ((op = scan(1000)).now_ms < deadline_ms) {
        assert_int_equal(op.out.scan.moved, 0);
        wait_until(op.now_ms + 1);
    }
    assert_int_equal(op.out.scan.expired, 1);
}

static void a_deadline_moved_away_does_not_expire(void **state)
{
    struct job job = hold("a", SOON_MS);
    struct op touched = touch(&job, FAR_MS), op;

    assert_status(touched, OK);
    op = scan_at(after(&touched, SOON_MS));
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.now_ms + op.out.scan.next_ms, after(&touched, FAR_MS));
    assert_status(ack(&job), OK);
}

static void an_ended_reservation_does_not_expire(void **state)
{
    struct job acked = hold("acked", SOON_MS), released = hold("released", SOON_MS);
    struct job returns = (push("returned"), pop_one());

    hold("cancelled", SOON_MS);
    assert_status(ack(&acked), OK);
    returned(&returns, 1);
    assert_status(release(&released, 0), OK);
    assert_status(cancel("cancelled"), OK);
    assert_int_equal(scan_at(store_now() + SOON_MS).out.scan.moved, 0);
    assert_counts(TOPIC, 0, 2, 0);
    ASSERT_READY("returned", "released");
}

/* ---- limits ---- */

static void a_scan_moves_no_more_than_its_limit(void **state)
{
    static const int64_t delays_ms[] = {3, 1, 5, 4, 2};
    struct op pushes[5];
    const char *order[5];

    push_due(5, delays_ms, pushes, order);
    assert_int_equal(scan(2).out.scan.next_ms, 0);
    assert_counts(TOPIC, 3, 2, 0);
    assert_int_equal(scan(2).out.scan.next_ms, 0);
    assert_counts(TOPIC, 1, 4, 0);
    assert_int_equal(scan(2).out.scan.next_ms, -1);
    assert_ready(5, order);
}

static void the_limit_counts_delayed_and_expired_of_all_topics(void **state)
{
    unsigned moved = 0;

    hold("held", 1);
    push_delayed("a", 1);
    push_delayed_in(OTHER, "b", 1);
    wait_until(push_delayed_in(OTHER, "c", 1).out.push.due_ms);
    for (unsigned i = 0; i < 4; i++) {
        struct op op = scan(1);

        assert_in_range(op.out.scan.moved, 0, 1);
        moved += op.out.scan.moved;
        if (i < 3)
            assert_int_equal(op.out.scan.next_ms, 0);
    }
    assert_int_equal(moved, 4);
    assert_int_equal(scan(1).out.scan.moved, 0);
    assert_counts(TOPIC, 0, 2, 0);
    assert_counts(OTHER, 0, 2, 0);
}

static void a_burst_is_moved_in_batches_and_in_order(void **state)
{
    unsigned popped = 0;

    push_numbered(TOPIC, 0, 1500, 1);
    wait_until(store_now() + 1 + BEGUN_MS);
    assert_int_equal(scan(1000).out.scan.lateness_count, 1000);
    assert_int_equal(scan(1000).out.scan.lateness_count, 500);
    assert_int_equal(scan(1000).out.scan.moved, 0);
    while (popped < 1500) {
        struct op op = pop(BATCH_MAX);

        assert_true(op.out.pop.count > 0);
        for (unsigned i = 0; i < op.out.pop.count; i++)
            assert_bytes(op.out.pop.jobs[i].id, bytes_of_text(numbered(popped++)));
    }
    assert_counts(TOPIC, 0, 0, 1500);
}

/* ---- topics and buckets ---- */

static void the_first_event_of_all_topics_is_next(void **state)
{
    struct op sooner, op;

    push_delayed("a", FAR_MS);
    sooner = push_delayed_in(OTHER, "b", FAR_MS / 2);
    op = scan(1000);
    assert_int_equal(op.now_ms + op.out.scan.next_ms, sooner.out.push.due_ms);
}

static void a_bucket_is_scanned_alone(void **state)
{
    struct op op = scan_at(push_delayed_in(ELSEWHERE, "a", SOON_MS).out.push.due_ms);

    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    op = run(
        (struct op){.verb = OP_SCAN, .bucket = bucket_of(ELSEWHERE), .in.scan.limit = 1000});
    assert_int_equal(op.out.scan.moved, 1);
    assert_counts(ELSEWHERE, 0, 1, 0);
}

static void the_event_of_a_cancelled_job_fades_away(void **state)
{
    struct op pushed = push_delayed("a", SOON_MS), op;

    push_delayed("b", FAR_MS);
    assert_status(cancel("a"), OK);
    op = scan_at(pushed.out.push.due_ms);
    assert_int_equal(op.out.scan.moved, 0);
    assert_true(op.out.scan.next_ms > FAR_MS / 2);
    assert_status(cancel("b"), OK);
    assert_int_equal(next_event_ms(), -1);
}

static int64_t oldest_ready_ms(void)
{
    return run_well((struct op){.verb = OP_STATS, .topic = TOPIC}).out.stats.oldest_ready_ms;
}

/* Nobody pops: the oldest job is hidden behind tombstones of jobs that were put off, until
 * scans have cleared these away. The others stay as they are. */
static void tombstones_at_the_head_of_the_line_go(void **state)
{
    enum { MANY = 100 }; /* as many as are looked at: what goes ends just before the oldest */
    unsigned dues = 0;

    push_numbered(TOPIC, 0, MANY, 0);
    push("oldest");
    push("gone");
    push("second");
    cancel("gone");
    for (unsigned i = 0; i < MANY; i++)
        assert_status(move(numbered(i), FAR_MS, FROM(READY)), OK);
    assert_int_equal(oldest_ready_ms(), -1);
    for (; oldest_ready_ms() < 0 && dues < 1000; dues++) /* one in 17 looks */
        assert_int_equal(scan_at(push_delayed("", 1).out.push.due_ms).out.scan.moved, 1);
    assert_true(oldest_ready_ms() >= 0);
    assert_counts(TOPIC, MANY, 2 + (int)dues, 0);
    assert_bytes(pop_one().id, BYTES("oldest"));
    assert_bytes(pop_one().id, BYTES("second"));
}

static const struct CMUnitTest tests[] = {
    TEST(an_empty_bucket_has_nothing_to_scan),
    TEST(a_scan_says_how_long_until_the_next_event),
    TEST(a_delayed_job_is_moved_when_due_and_not_before),
    TEST(a_moved_job_keeps_all_but_its_state_and_stamp),
    TEST(a_released_job_comes_back_when_its_delay_is_over),
    TEST(due_jobs_become_ready_in_the_order_of_their_due_times),
    TEST(the_lateness_of_every_moved_job_is_told),
    TEST(an_expired_reservation_is_ready_again_at_the_back),
    TEST(a_reservation_is_not_ended_before_its_deadline),
    TEST(a_deadline_moved_away_does_not_expire),
    TEST(an_ended_reservation_does_not_expire),
    TEST(a_scan_moves_no_more_than_its_limit),
    TEST(the_limit_counts_delayed_and_expired_of_all_topics),
    TEST(a_burst_is_moved_in_batches_and_in_order),
    TEST(the_first_event_of_all_topics_is_next),
    TEST(a_bucket_is_scanned_alone),
    TEST(the_event_of_a_cancelled_job_fades_away),
    TEST(tombstones_at_the_head_of_the_line_go),
};

const struct contract_part contract_scans = {tests, sizeof(tests) / sizeof(*tests)};
