/* Take: one job reserved by its id, wherever it is. */
#include "node/store/contract/contract.h"
#include "node/store/contract/whole.h"

static struct op take_op(const char *id)
{
    struct op op = id_op(OP_TAKE, id);

    op.in.pop.count = 1;
    return op;
}

static struct op take(const char *id)
{
    return run(take_op(id));
}

/* It has been taken as a pop would have done. */
static struct job assert_taken(const struct op *op, const char *id)
{
    assert_status(*op, OK);
    ASSERT_POPPED(*op, id);
    assert_false(op->out.pop.has_more);
    assert_int_equal(op->out.pop.jobs[0].state, JOB_RESERVED);
    assert_state(id, JOB_RESERVED);
    assert_int_equal(look(id).place_ms, op->now_ms + OP_UNCONFIRMED_MS);
    assert_int_equal(op->out.pop.jobs[0].stamp, get(id).stamp);
    return op->out.pop.jobs[0];
}

static void a_ready_job_is_taken_from_between_others(void **state)
{
    struct op op;
    struct job job;

    push_letters(3);
    op = take("b");
    job = assert_taken(&op, "b");
    assert_bytes(job.body, BODY);
    assert_int_equal(job.tries, 0);
    assert_int_equal(job.due_ms, get("b").due_ms);
    ASSERT_READY("a", "c");
    assert_status(ack(&job), OK);
    assert_gone("b");
}

static void a_ready_job_of_a_priority_is_taken(void **state)
{
    struct op op;

    push_ranked("a", 5);
    push_ranked("b", 5);
    push_ranked("c", 5);
    op = take("b");
    assert_taken(&op, "b");
    ASSERT_READY("a", "c");
    assert_all_counts(0, 0, 3, 0);
}

static void a_delayed_job_is_taken_before_its_time(void **state)
{
    struct op op, due = push_delayed("a", FAR_MS);
    struct job job;

    op = take("a");
    job = assert_taken(&op, "a");
    assert_int_equal(job.due_ms, op.now_ms);
    assert_in_range(job.due_ms, due.now_ms, due.out.push.due_ms - 1);
    assert_all_counts(0, 0, 1, 0);
    assert_status(release(&job, 0), OK);
    ASSERT_READY("a");
}

static void a_dead_job_is_taken_and_begins_anew(void **state)
{
    struct op op;
    struct job job;

    make_dead("a");
    assert_int_equal(get("a").tries, 1);
    op = take("a");
    job = assert_taken(&op, "a");
    assert_int_equal(job.tries, 0);
    assert_int_equal(get("a").death, DEATH_NONE);
    assert_all_counts(0, 0, 1, 0);
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 1);
}

static void a_dead_job_does_not_expire_again(void **state)
{
    struct op op = push_mortal("a", 0, SOON_MS), taken;

    scan_at(after(&op, SOON_MS));
    assert_dead("a", DEATH_EXPIRED);
    taken = take("a");
    assert_taken(&taken, "a");
    assert_int_equal(get("a").rules.expires_ms, 0);
    assert_int_equal(scan_at(store_now()).out.scan.died[DEATH_EXPIRED], 0);
}

static void an_expired_job_is_not_taken(void **state)
{
    struct op op = push_mortal("a", 0, SOON_MS);

    wait_until(after(&op, SOON_MS));
    assert_status(take("a"), NOT_FOUND);
    scan_at(store_now());
    assert_dead("a", DEATH_EXPIRED);
}

static void a_job_that_will_expire_is_taken(void **state)
{
    struct op op;
    struct job job;

    push_mortal("a", 0, FAR_MS);
    op = take("a");
    job = assert_taken(&op, "a");
    assert_int_not_equal(job.rules.expires_ms, 0);
    assert_status(ack(&job), OK);
    assert_gone("a");
}

static void a_reserved_job_is_not_taken(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = take("a");

    assert_status(op, WRONG_STATE);
    assert_int_equal(op.wait_ms, -1);
    assert_int_equal(get("a").stamp, job.stamp);
    assert_status(take("b"), NOT_FOUND);
    assert_status(ack(&job), OK);
    assert_status(take("a"), NOT_FOUND);
}

static void a_large_body_comes_with_it(void **state)
{
    struct op op = large_op("a");

    op.in.push.delay_ms = FAR_MS;
    run_well(op);
    op = take("a");
    assert_int_equal(assert_taken(&op, "a").body.len, LARGE_BYTES);
    assert_int_equal(get("a").body.len, LARGE_BYTES);
}

static void a_pause_does_not_matter(void **state)
{
    struct op op;

    run_well(pause_op(TOPIC, SETTINGS_FOREVER, 0));
    push("a");
    op = take("a");
    assert_taken(&op, "a");
}

static void it_can_be_indexed(void **state)
{
    struct op owner = {.verb = OP_OWNER, .bucket = bucket_of(TOPIC), .id = BYTES("a")};
    struct op op = take_op("a");

    push("a");
    assert_status(run(owner), NOT_FOUND);
    op.in.pop.id_only = true;
    op = run_well(op);
    assert_bytes(run_well(owner).out.owner.topic, TOPIC);
    assert_status(ack(&op.out.pop.jobs[0]), OK);
    assert_status(run(owner), NOT_FOUND);
}

static void one_whose_consumer_never_got_it_is_ready(void **state)
{
    struct job job;
    struct op op;

    push("a");
    push_delayed("b", FAR_MS);
    op = take("b");
    job = assert_taken(&op, "b");
    assert_int_equal(returned(&job, 1).out.leases.stale, 0);
    ASSERT_READY("b", "a");
}

static void the_scan_comes_when_the_reservation_ends(void **state)
{
    struct op op;

    push("a");
    op = take("a");
    assert_int_equal(op.wait_ms, OP_UNCONFIRMED_MS);
    assert_int_equal(next_event_ms(), op.now_ms + OP_UNCONFIRMED_MS);
}

/* The topic is announced when it turns from empty to not empty, and so must have become empty.
 */
static void the_last_ready_job_leaves_the_line_empty(void **state)
{
    unsigned before;
    struct op op;

    push_ranked("a", 5);
    op = take("a");
    assert_taken(&op, "a");
    before = wake_ups(TOPIC);
    push_ranked("b", 5);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    assert_int_equal(pop(1).out.pop.count, 1);
    assert_int_equal(pop(1).out.pop.count, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(a_ready_job_is_taken_from_between_others),
    TEST(a_ready_job_of_a_priority_is_taken),
    TEST(a_delayed_job_is_taken_before_its_time),
    TEST(a_dead_job_is_taken_and_begins_anew),
    TEST(a_dead_job_does_not_expire_again),
    TEST(an_expired_job_is_not_taken),
    TEST(a_job_that_will_expire_is_taken),
    TEST(a_reserved_job_is_not_taken),
    TEST(a_large_body_comes_with_it),
    TEST(a_pause_does_not_matter),
    TEST(it_can_be_indexed),
    TEST(one_whose_consumer_never_got_it_is_ready),
    TEST(the_scan_comes_when_the_reservation_ends),
    TEST(the_last_ready_job_leaves_the_line_empty),
};

const struct contract_part contract_takes = {tests, sizeof(tests) / sizeof(*tests)};
