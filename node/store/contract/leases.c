/* Leases: what their holder may do, how they end, and that no stamp comes twice. */
#include "node/store/contract/contract.h"

static struct job with_stamp(struct job job, int64_t stamp)
{
    job.stamp = stamp;
    return job;
}

/* ---- stamps ---- */

/* The number of TOPIC's ready job in the line; of one that comes first it is negative. */
static int64_t number_of(const char *id)
{
    return get(id).stamp - JOB_KEY_MIDDLE;
}

static void every_stay_in_ready_or_reserved_has_a_higher_number(void **state)
{
    int64_t last = 0;

    for (unsigned i = 0; i < 5; i++) {
        int64_t ready = (push("a"), number_of("a"));
        struct job job = pop_one();

        assert_true(ready > last);
        assert_true(job.stamp > ready);
        returned(&job, 1);
        assert_true(-number_of("a") > job.stamp);
        last = -number_of("a");
        job = pop_one();
        assert_true(job.stamp > last);
        assert_status(release(&job, 0), OK);
        assert_true(number_of("a") > job.stamp);
        last = number_of("a");
        job = pop_one();
        assert_true(job.stamp > last);
        last = job.stamp;
        assert_status(ack(&job), OK);
    }
}

static void ids_and_stamps_of_a_bucket_never_meet(void **state)
{
    struct job job;
    int64_t stamp;

    push("a");
    stamp = pop_one().stamp;
    push("");
    job = pop_one();
    assert_true(job.stamp > stamp);
    stamp = job.stamp;
    push("b");
    assert_true(pop_one().stamp > stamp);
}

/* ---- delivered ---- */

static void the_time_to_run_begins_with_the_delivery(void **state)
{
    struct job job = (push_ttr("a", FAR_MS), pop_one());
    struct op op = delivered(&job, 1);

    assert_int_equal(op.out.leases.stale, 0);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
    assert_state("a", JOB_RESERVED);
    assert_int_equal(get("a").stamp, job.stamp);
    assert_status(ack(&job), OK);
}

static void a_delivery_counts_as_a_try(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_int_equal(get("a").tries, 0);
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 1);
    assert_status(release(&job, 0), OK);
    job = pop_one();
    assert_int_equal(job.tries, 1);
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 2);
}

static void a_delivered_job_without_ttr_is_gone(void **state)
{
    struct job job = (push_ttr("a", 0), pop_one());

    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    assert_gone("a");
    assert_counts(TOPIC, 0, 0, 0);
    assert_status(ack(&job), NOT_FOUND);
    assert_int_equal(next_event_ms(), -1);
}

static void a_delivery_confirms_what_is_valid_and_counts_the_rest(void **state)
{
    struct job jobs[5];
    struct op popped;

    push("kept");
    push_ttr("done", 0);
    push("acked");
    push("released");
    popped = pop(4);
    memcpy(jobs, popped.out.pop.jobs, 4 * sizeof(*jobs));
    jobs[4] = with_stamp(jobs[0], jobs[0].stamp + 1000);
    assert_status(ack(&jobs[2]), OK);
    assert_status(release(&jobs[3], 0), OK);
    assert_int_equal(delivered(jobs, 5).out.leases.stale, 3);
    assert_int_equal(get("kept").tries, 1);
    assert_int_equal(get("released").tries, 1);
    assert_gone("done");
    assert_counts(TOPIC, 0, 1, 1);
}

static void a_delivery_of_nothing_valid_changes_nothing(void **state)
{
    struct job job = (push("a"), get("a"));
    struct op op = delivered(&job, 1);

    assert_int_equal(op.out.leases.stale, 1);
    assert_int_equal(op.wait_ms, -1);
    assert_state("a", JOB_READY);
}

static struct op reserve_numbered(unsigned count)
{
    struct op popped = (push_numbered(TOPIC, 0, count, 0), pop(count));

    assert_int_equal(popped.out.pop.count, count);
    return popped;
}

static void a_whole_batch_is_delivered_at_once(void **state)
{
    struct op popped = reserve_numbered(BATCH_MAX);

    assert_int_equal(delivered(popped.out.pop.jobs, BATCH_MAX).out.leases.stale, 0);
    assert_int_equal(get(numbered(0)).tries, 1);
    assert_int_equal(get(numbered(BATCH_MAX - 1)).tries, 1);
    assert_counts(TOPIC, 0, 0, BATCH_MAX);
}

/* ---- confirmed once ---- */

static void a_delivery_said_twice_counts_once(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = delivered(&job, 1);

    wait_until(op.now_ms + 1);
    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    assert_int_equal(delivered_for(&job, FAR_MS).out.leases.stale, 0);
    assert_state("a", JOB_RESERVED);
    assert_int_equal(get("a").tries, 1);
    assert_int_equal(next_event_ms(), after(&op, TTR_MS));
}

static void a_delivery_said_late_does_not_undo_a_touch(void **state)
{
    struct job job = hold("a", 100);
    struct op op = touch(&job, FAR_MS);

    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    assert_int_equal(get("a").tries, 1);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
}

/* It was touched while its consumer was still reading. */
static void without_a_time_to_run_the_delivery_is_the_end_touched_or_not(void **state)
{
    struct job none = (push_ttr("none", 0), pop_one()), some = (push("some"), pop_one());

    assert_status(touch(&none, FAR_MS), OK);
    assert_status(touch(&some, FAR_MS), OK);
    assert_int_equal(delivered(&none, 1).out.leases.stale, 0);
    assert_int_equal(delivered_for(&some, 0).out.leases.stale, 0);
    assert_gone("none");
    assert_gone("some");
    assert_counts(TOPIC, 0, 0, 0);
    assert_status(ack(&none), NOT_FOUND);
}

static void a_touch_confirms_what_was_not_delivered_yet(void **state)
{
    struct job job = (push_ttr("a", 100), pop_one());
    struct op op = touch(&job, FAR_MS);

    assert_status(op, OK);
    assert_int_equal(get("a").tries, 1);
    assert_int_equal(touch(&job, FAR_MS).status, STATUS_OK);
    assert_int_equal(get("a").tries, 1);
    op = touch(&job, FAR_MS);
    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    assert_int_equal(get("a").tries, 1);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
    assert_bytes(get("a").body, BODY);
}

static void a_release_is_a_try_delivered_or_not(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_status(release(&job, 0), OK);
    assert_int_equal(get("a").tries, 1);
    job = pop_one();
    delivered(&job, 1);
    assert_status(release(&job, 0), OK);
    assert_int_equal(get("a").tries, 2);
    job = pop_one();
    assert_status(touch(&job, 0), OK);
    assert_status(release(&job, SOON_MS), OK);
    assert_int_equal(get("a").tries, 3);
}

/* However the last reservation ended. */
static void each_reservation_is_confirmed_anew(void **state)
{
    struct job job = hold("a", 1);

    scan_at(store_now() + 2);
    job = pop_one();
    assert_int_equal(job.tries, 1);
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 2);
    assert_status(release(&job, 0), OK);
    job = pop_one();
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 3);
    assert_status(release(&job, 1), OK);
    scan_at(store_now() + 2);
    job = pop_one();
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 4);
}

/* ---- delivered, with a TTR for this once ---- */

static void a_ttr_of_its_own_replaces_the_jobs_for_this_reservation(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = delivered_for(&job, SOON_MS);

    assert_int_equal(op.out.leases.stale, 0);
    assert_int_equal(scan_at(after(&op, SOON_MS)).out.scan.expired, 1);
    assert_int_equal(get("a").ttr_ms, TTR_MS);
    assert_int_equal(get("a").tries, 1);
    job = pop_one();
    op = delivered_for(&job, FAR_MS);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
}

static void a_ttr_of_its_own_keeps_a_job_that_has_none(void **state)
{
    struct job job = (push_ttr("a", 0), pop_one());
    struct op op = delivered_for(&job, SOON_MS);

    assert_state("a", JOB_RESERVED);
    op = scan_at(after(&op, SOON_MS));
    assert_int_equal(op.out.scan.expired, 1);
    assert_int_equal(get("a").ttr_ms, 0);
    job = pop_one();
    assert_int_equal(job.tries, 1);
    delivered(&job, 1);
    assert_gone("a");
}

static void no_time_to_run_means_done_with_the_delivery(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_int_equal(delivered_for(&job, 0).out.leases.stale, 0);
    assert_gone("a");
    assert_counts(TOPIC, 0, 0, 0);
    assert_int_equal(delivered_for(&job, 0).out.leases.stale, 1);
}

static void a_ttr_of_its_own_needs_a_valid_lease(void **state)
{
    struct job job = with_stamp((push("a"), pop_one()), 1);

    assert_int_equal(delivered_for(&job, 0).out.leases.stale, 1);
    assert_state("a", JOB_RESERVED);
}

/* ---- keep ---- */

static void what_is_kept_is_reserved_for_five_seconds_more(void **state)
{
    struct op popped = reserve_numbered(3), op;

    wait_until(popped.now_ms + 2);
    op = kept(popped.out.pop.jobs, 3);
    assert_int_equal(op.out.leases.stale, 0);
    assert_int_equal(op.wait_ms, -1); /* the bucket looks earlier, and finds nothing */
    assert_int_equal(next_event_ms(), op.now_ms + OP_UNCONFIRMED_MS);
    assert_int_equal(get(numbered(0)).tries, 0);
    assert_int_equal(get(numbered(0)).stamp, popped.out.pop.jobs[0].stamp);
}

static void a_job_kept_for_a_while_is_delivered_as_ever(void **state)
{
    struct job jobs[2];
    struct op op;

    push_ttr("a", FAR_MS);
    push_ttr("none", 0);
    memcpy(jobs, pop(2).out.pop.jobs, sizeof(jobs));
    kept(jobs, 2);
    op = delivered(jobs, 2);
    assert_int_equal(op.out.leases.stale, 0);
    assert_int_equal(get("a").tries, 1);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
    assert_gone("none");
}

/* However late the confirmation comes. */
static void keeping_changes_nothing_that_is_confirmed(void **state)
{
    struct job delivered_one = hold("a", FAR_MS), touched = (push("b"), pop_one());
    struct op op = touch(&touched, OP_UNCONFIRMED_MS - 1);

    assert_int_equal(kept(&delivered_one, 1).out.leases.stale, 0);
    assert_int_equal(kept(&touched, 1).out.leases.stale, 0);
    assert_int_equal(next_event_ms(), after(&op, OP_UNCONFIRMED_MS - 1));
    assert_status(ack(&touched), OK);
    assert_true(next_event_ms() > store_now() + OP_UNCONFIRMED_MS);
}

static void only_what_is_still_reserved_is_kept(void **state)
{
    const struct job *jobs = reserve_letters(3);

    assert_status(ack(&jobs[0]), OK);
    returned(&jobs[2], 1);
    assert_int_equal(kept(jobs, 3).out.leases.stale, 2);
    assert_counts(TOPIC, 0, 1, 1);
    assert_status(ack(&jobs[1]), OK);
    assert_int_equal(kept(jobs, 3).out.leases.stale, 3);
    assert_int_equal(next_event_ms(), -1);
}

/* ---- return ---- */

static void returned_jobs_come_first_again_in_their_order(void **state)
{
    struct op popped;

    push_letters(3);
    popped = pop(2);
    assert_int_equal(returned(popped.out.pop.jobs, 2).out.leases.stale, 0);
    assert_counts(TOPIC, 0, 3, 0);
    ASSERT_READY("a", "b", "c");
}

static void returned_jobs_have_stamps_in_the_order_of_the_line(void **state)
{
    struct op popped = (push("a"), push("b"), push("c"), pop(3));

    returned(popped.out.pop.jobs, 3);
    assert_int_equal(get("b").stamp, get("a").stamp + 1);
    assert_int_equal(get("c").stamp, get("b").stamp + 1);
}

static void a_whole_batch_is_returned_at_once(void **state)
{
    struct op popped = reserve_numbered(BATCH_MAX);
    struct op again;

    assert_int_equal(returned(popped.out.pop.jobs, BATCH_MAX).out.leases.stale, 0);
    again = pop(BATCH_MAX);
    assert_int_equal(again.out.pop.count, BATCH_MAX);
    for (unsigned i = 0; i < BATCH_MAX; i++)
        assert_bytes(again.out.pop.jobs[i].id, popped.out.pop.jobs[i].id);
}

static void a_returned_job_has_lost_no_try_and_keeps_its_due_time(void **state)
{
    struct op pushed = push("a");
    struct job job = pop_one(), again;

    returned(&job, 1);
    assert_state("a", JOB_READY);
    again = pop_one();
    assert_int_equal(again.tries, 0);
    assert_int_equal(again.due_ms, pushed.out.push.due_ms);
    assert_true(again.stamp > job.stamp);
    assert_status(ack(&job), NOT_OWNER);
}

static void stale_leases_are_not_returned(void **state)
{
    const struct job *jobs = reserve_letters(3);

    assert_status(ack(&jobs[0]), OK);
    assert_status(release(&jobs[2], FAR_MS), OK);
    assert_int_equal(returned(jobs, 3).out.leases.stale, 2);
    assert_counts(TOPIC, 1, 1, 0);
    assert_int_equal(returned(jobs, 3).out.leases.stale, 3);
    ASSERT_READY("b");
}

/* The consumer left before the end of its reply, but has the jobs that it had read. */
static void a_job_that_its_consumer_has_touched_is_not_returned(void **state)
{
    const struct job *jobs = reserve_letters(2);

    assert_status(touch(&jobs[0], FAR_MS), OK);
    assert_int_equal(returned(jobs, 2).out.leases.stale, 0);
    assert_state("a", JOB_RESERVED);
    assert_int_equal(get("a").tries, 1);
    ASSERT_READY("b");
    assert_status(ack(&jobs[0]), OK);
}

/* ---- release ---- */

static void a_released_job_is_last_in_line_and_due_now(void **state)
{
    struct job job = (push("a"), push("b"), pop_one());
    struct op op = release(&job, 0);

    assert_status(op, OK);
    assert_int_equal(op.wait_ms, -1);
    assert_int_equal(op.out.change.due_ms, op.now_ms);
    assert_state("a", JOB_READY);
    assert_int_equal(get("a").due_ms, op.now_ms);
    assert_counts(TOPIC, 0, 2, 0);
    ASSERT_READY("b", "a");
}

static void a_job_released_with_a_delay_is_delayed_and_due_anew(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = release(&job, FAR_MS);

    assert_status(op, OK);
    assert_state("a", JOB_DELAYED);
    assert_int_equal(get("a").due_ms, after(&op, FAR_MS));
    assert_int_equal(get("a").stamp, 0);
    assert_counts(TOPIC, 1, 0, 0);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
    assert_status(ack(&job), NOT_RESERVED);
}

static void a_release_keeps_body_ttr_tries_and_the_first_delay(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.delay_ms = SOON_MS;
    op.in.push.ttr_ms = 777;
    op = run(op);
    scan_at(op.out.push.due_ms);
    job = pop_one();
    delivered(&job, 1);
    assert_status(release(&job, FAR_MS), OK);
    assert_int_equal(get("a").delay_ms, SOON_MS);
    assert_int_equal(get("a").ttr_ms, 777);
    assert_int_equal(get("a").tries, 1);
    assert_bytes(get("a").body, BODY);
}

static void a_delay_that_does_not_fit_releases_nothing(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_status(release(&job, JOB_DELAY_MAX_MS + 1), OUT_OF_RANGE);
    assert_state("a", JOB_RESERVED);
    assert_status(release(&job, JOB_DELAY_MAX_MS), OK);
}

/* Whether they go together or not. */
static void a_delay_that_does_not_fit_leaves_its_lease_to_the_next(void **state)
{
    struct job a = (push("a"), pop_one()), b = (push("b"), pop_one());
    struct op ops[] = {lease_op(OP_RELEASE, &a), lease_op(OP_RELEASE, &a),
                       lease_op(OP_RELEASE, &b)};

    ops[0].in.lease.delay_ms = JOB_DELAY_MAX_MS + 1;
    ops[1].in.lease.delay_ms = JOB_DELAY_MAX_MS;
    run_all(ops, 3);
    assert_status(ops[0], OUT_OF_RANGE);
    assert_status(ops[1], OK);
    assert_status(ops[2], OK);
    assert_state("a", JOB_DELAYED);
    assert_state("b", JOB_READY);
}

/* ---- touch ---- */

static void a_touch_moves_the_deadline(void **state)
{
    struct job job = hold("a", TTR_MS);
    struct op op = touch(&job, FAR_MS);

    assert_status(op, OK);
    assert_int_equal(op.out.change.deadline_ms, after(&op, FAR_MS));
    assert_int_equal(look("a").place_ms, after(&op, FAR_MS));
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
    op = touch(&job, TTR_MS / 2);
    assert_int_equal(next_event_ms(), after(&op, TTR_MS / 2));
    assert_int_equal(get("a").ttr_ms, TTR_MS);
    assert_int_equal(get("a").stamp, job.stamp);
}

static void a_touch_without_a_time_gives_the_jobs_own(void **state)
{
    struct job job = hold("a", TTR_MS);
    struct op op;

    assert_status(touch(&job, FAR_MS), OK);
    op = touch(&job, 0);
    assert_int_equal(next_event_ms(), after(&op, TTR_MS));
}

static void a_touch_of_a_job_without_ttr_gives_five_seconds(void **state)
{
    struct job job = (push_ttr("a", 0), pop_one());
    struct op op;

    assert_status(touch(&job, FAR_MS), OK);
    op = touch(&job, 0);
    assert_int_equal(next_event_ms(), after(&op, 5000));
}

/* ---- every verb that needs a lease ---- */

static void no_verb_accepts_a_wrong_lease(void **state)
{
    static const enum op_verb verbs[] = {OP_ACK, OP_RELEASE, OP_TOUCH, OP_BURY};
    struct job reserved = hold("reserved", TTR_MS), ready, delayed;
    struct job older = with_stamp(reserved, reserved.stamp - 1);
    struct job newer = with_stamp(reserved, reserved.stamp + 1);
    struct job missing = {.id = BYTES("missing"), .stamp = reserved.stamp};

    push("ready");
    push_delayed("delayed", FAR_MS);
    ready = get("ready");
    delayed = get("delayed");
    for (unsigned i = 0; i < 4; i++) {
        assert_status(run(lease_op(verbs[i], &older)), NOT_OWNER);
        assert_status(run(lease_op(verbs[i], &newer)), NOT_OWNER);
        assert_status(run(lease_op(verbs[i], &missing)), NOT_FOUND);
        assert_status(run(lease_op(verbs[i], &ready)), NOT_RESERVED);
        assert_status(run(lease_op(verbs[i], &delayed)), NOT_RESERVED);
    }
    assert_counts(TOPIC, 1, 1, 1);
    assert_int_equal(get("reserved").stamp, reserved.stamp);
}

static void a_lease_holds_until_the_scan_whatever_the_deadline_says(void **state)
{
    struct job job = hold("a", 1);

    wait_until(store_now() + 2);
    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    wait_until(store_now() + 2);
    assert_status(touch(&job, 1), OK);
    wait_until(store_now() + 2);
    assert_status(ack(&job), OK);
}

/* So an ack needs no clock, which would be a tenth of its cost. */
static void an_acknowledgement_does_not_say_when_it_was(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_int_equal(ack(&job).now_ms, 0);
    assert_status(ack(&job), NOT_FOUND);
    assert_int_equal(ack(&job).now_ms, 0);
}

static void a_lease_ends_with_the_scan_after_its_deadline(void **state)
{
    struct job job = hold("a", 1), again;

    scan_at(store_now() + 2);
    assert_state("a", JOB_READY);
    assert_status(ack(&job), NOT_RESERVED);
    assert_int_equal(delivered(&job, 1).out.leases.stale, 1);
    assert_int_equal(returned(&job, 1).out.leases.stale, 1);
    again = pop_one();
    assert_status(touch(&job, 0), NOT_OWNER);
    assert_status(release(&job, 0), NOT_OWNER);
    assert_status(ack(&job), NOT_OWNER);
    assert_status(ack(&again), OK);
}

static const struct CMUnitTest tests[] = {
    TEST(every_stay_in_ready_or_reserved_has_a_higher_number),
    TEST(ids_and_stamps_of_a_bucket_never_meet),
    TEST(a_ttr_of_its_own_replaces_the_jobs_for_this_reservation),
    TEST(a_ttr_of_its_own_keeps_a_job_that_has_none),
    TEST(no_time_to_run_means_done_with_the_delivery),
    TEST(a_ttr_of_its_own_needs_a_valid_lease),
    TEST(the_time_to_run_begins_with_the_delivery),
    TEST(a_delivery_counts_as_a_try),
    TEST(a_delivered_job_without_ttr_is_gone),
    TEST(a_delivery_confirms_what_is_valid_and_counts_the_rest),
    TEST(a_delivery_of_nothing_valid_changes_nothing),
    TEST(a_whole_batch_is_delivered_at_once),
    TEST(a_delivery_said_twice_counts_once),
    TEST(a_delivery_said_late_does_not_undo_a_touch),
    TEST(without_a_time_to_run_the_delivery_is_the_end_touched_or_not),
    TEST(a_touch_confirms_what_was_not_delivered_yet),
    TEST(a_release_is_a_try_delivered_or_not),
    TEST(each_reservation_is_confirmed_anew),
    TEST(what_is_kept_is_reserved_for_five_seconds_more),
    TEST(a_job_kept_for_a_while_is_delivered_as_ever),
    TEST(keeping_changes_nothing_that_is_confirmed),
    TEST(only_what_is_still_reserved_is_kept),
    TEST(a_job_that_its_consumer_has_touched_is_not_returned),
    TEST(returned_jobs_come_first_again_in_their_order),
    TEST(returned_jobs_have_stamps_in_the_order_of_the_line),
    TEST(a_whole_batch_is_returned_at_once),
    TEST(a_returned_job_has_lost_no_try_and_keeps_its_due_time),
    TEST(stale_leases_are_not_returned),
    TEST(a_released_job_is_last_in_line_and_due_now),
    TEST(a_job_released_with_a_delay_is_delayed_and_due_anew),
    TEST(a_release_keeps_body_ttr_tries_and_the_first_delay),
    TEST(a_delay_that_does_not_fit_releases_nothing),
    TEST(a_delay_that_does_not_fit_leaves_its_lease_to_the_next),
    TEST(a_touch_moves_the_deadline),
    TEST(a_touch_without_a_time_gives_the_jobs_own),
    TEST(a_touch_of_a_job_without_ttr_gives_five_seconds),
    TEST(no_verb_accepts_a_wrong_lease),
    TEST(a_lease_holds_until_the_scan_whatever_the_deadline_says),
    TEST(an_acknowledgement_does_not_say_when_it_was),
    TEST(a_lease_ends_with_the_scan_after_its_deadline),
};

const struct contract_part contract_leases = {tests, sizeof(tests) / sizeof(*tests)};
