/* Pop, cancel, ack, get, stats: a job's place, and what takes it from there. */
#include "node/store/contract/contract.h"

/* ---- pop ---- */

static void a_popped_job_is_reserved_with_a_new_stamp(void **state)
{
    struct op pushed = push("a"), popped;
    int64_t number = get("a").stamp - JOB_KEY_MIDDLE;
    struct job job;

    popped = pop(1);
    job = popped.out.pop.jobs[0];
    assert_int_equal(job.state, JOB_RESERVED);
    assert_int_equal(job.tries, 0);
    assert_int_equal(job.ttr_ms, TTR_MS);
    assert_int_equal(job.due_ms, pushed.out.push.due_ms);
    assert_bytes(job.body, BODY);
    assert_true(job.stamp > number);
    assert_int_equal(get("a").stamp, job.stamp);
    assert_state("a", JOB_RESERVED);
    assert_true(popped.now_ms >= pushed.now_ms);
}

static void a_pop_from_nothing_is_ok_and_empty(void **state)
{
    struct op op = pop(3);

    assert_int_equal(op.out.pop.count, 0);
    assert_int_equal(op.wait_ms, -1);
    assert_true(op.now_ms > 0);
}

static void a_pop_sees_neither_delayed_jobs_nor_other_topics(void **state)
{
    push_delayed("delayed", FAR_MS);
    run_well(push_op(OTHER, "neighbour"));
    run_well(push_op(ELSEWHERE, "stranger"));
    assert_int_equal(pop(BATCH_MAX).out.pop.count, 0);
    assert_counts(OTHER, 0, 1, 0);
    assert_counts(ELSEWHERE, 0, 1, 0);
}

static void a_pop_can_take_a_whole_batch(void **state)
{
    struct op op = (push_numbered(TOPIC, 0, BATCH_MAX + 1, 0), pop(BATCH_MAX));

    assert_int_equal(op.out.pop.count, BATCH_MAX);
    for (unsigned i = 0; i < BATCH_MAX; i++) {
        assert_bytes(op.out.pop.jobs[i].id, bytes_of_text(numbered(i)));
        assert_int_equal(op.out.pop.jobs[i].stamp, op.out.pop.jobs[0].stamp + i);
    }
    assert_counts(TOPIC, 0, 1, BATCH_MAX);
}

/* ---- cancel, and the tombstones it leaves ---- */

static void a_cancelled_job_is_gone_from_every_state(void **state)
{
    struct job reserved = (make_dead("dead"), push("reserved"), pop_one());

    push("ready");
    push_delayed("delayed", FAR_MS);
    assert_status(cancel("dead"), OK);
    assert_status(cancel("reserved"), OK);
    assert_status(cancel("ready"), OK);
    assert_status(cancel("delayed"), OK);
    assert_gone("dead");
    assert_gone("reserved");
    assert_gone("ready");
    assert_gone("delayed");
    assert_counts(TOPIC, 0, 0, 0);
    assert_status(ack(&reserved), NOT_FOUND);
    assert_int_equal(pop(1).out.pop.count, 0);
}

static void there_is_nothing_to_cancel_twice(void **state)
{
    assert_status(cancel("a"), NOT_FOUND);
    push("a");
    assert_status(cancel("a"), OK);
    assert_status(cancel("a"), NOT_FOUND);
}

static void a_cancelled_id_may_be_pushed_again_and_comes_once(void **state)
{
    struct op again = push_op(TOPIC, "a"), popped;

    push_letters(2);
    assert_status(cancel("a"), OK);
    again.in.push.body = BYTES("second");
    run_well(again);
    popped = pop(BATCH_MAX);
    ASSERT_POPPED(popped, "b", "a");
    assert_bytes(popped.out.pop.jobs[1].body, BYTES("second"));
}

static void an_id_cancelled_and_delayed_is_not_ready(void **state)
{
    push("a");
    assert_status(cancel("a"), OK);
    push_delayed("a", FAR_MS);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_counts(TOPIC, 1, 0, 0);
}

static void an_old_lease_does_not_fit_the_same_id_again(void **state)
{
    struct job old = (push("a"), pop_one()), young;

    assert_status(cancel("a"), OK);
    push("a");
    assert_status(ack(&old), NOT_RESERVED);
    young = pop_one();
    assert_status(ack(&old), NOT_OWNER);
    assert_status(ack(&young), OK);
}

static void leave_tombstones(unsigned count)
{
    push_numbered(TOPIC, 0, count, 0);
    cancel_numbered(TOPIC, 0, count);
}

static void a_pop_finds_the_job_behind_many_tombstones(void **state)
{
    leave_tombstones(2500);
    push("a");
    assert_counts(TOPIC, 0, 1, 0);
    ASSERT_READY("a");
}

static void a_pop_of_tombstones_alone_is_empty(void **state)
{
    leave_tombstones(2500);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_counts(TOPIC, 0, 0, 0);
}

static void a_short_pop_means_an_empty_list_or_says_that_there_is_more(void **state)
{
    struct op op;

    push("a");
    leave_tombstones(1500);
    push("b");
    op = pop(2);
    assert_in_range(op.out.pop.count, 1, 2);
    if (op.out.pop.count == 1) {
        assert_true(op.out.pop.has_more);
        op = pop(1);
    }
    assert_bytes(op.out.pop.jobs[op.out.pop.count - 1].id, BYTES("b"));
    assert_false(pop(1).out.pop.has_more);
}

/* ---- ack, get, stats ---- */

static void a_look_tells_the_time_of_the_place(void **state)
{
    struct op op = push_delayed("delayed", FAR_MS);
    struct job job;

    assert_int_equal(look("delayed").place_ms, after(&op, FAR_MS));
    op = push("a");
    assert_int_equal(look("a").place_ms, op.now_ms);
    op = pop(1);
    assert_int_equal(look("a").place_ms, op.now_ms + OP_UNCONFIRMED_MS);
    job = op.out.pop.jobs[0];
    op = delivered(&job, 1);
    assert_int_equal(look("a").place_ms, after(&op, TTR_MS));
    op = bury(&job);
    assert_int_equal(look("a").place_ms, op.now_ms);
}

static void what_is_not_there_is_not_found(void **state)
{
    struct op op;

    push("a");
    op = run(id_op(OP_GET, "b"));
    assert_status(op, NOT_FOUND);
    assert_true(op.now_ms > 0);
    assert_int_equal(op.wait_ms, -1);
    op = id_op(OP_GET, "a");
    op.topic = OTHER;
    assert_status(run(op), NOT_FOUND);
}

static void stats_count_each_place(void **state)
{
    push_letters(3);
    pop_one();
    push_delayed("d", FAR_MS);
    push_delayed("e", FAR_MS);
    push_delayed("f", FAR_MS);
    assert_counts(TOPIC, 3, 2, 1);
    assert_counts(OTHER, 0, 0, 0);
    cancel("b");
    assert_counts(TOPIC, 3, 1, 1);
}

static const struct CMUnitTest tests[] = {
    TEST(a_popped_job_is_reserved_with_a_new_stamp),
    TEST(a_pop_from_nothing_is_ok_and_empty),
    TEST(a_pop_sees_neither_delayed_jobs_nor_other_topics),
    TEST(a_pop_can_take_a_whole_batch),
    TEST(a_cancelled_job_is_gone_from_every_state),
    TEST(there_is_nothing_to_cancel_twice),
    TEST(a_cancelled_id_may_be_pushed_again_and_comes_once),
    TEST(an_id_cancelled_and_delayed_is_not_ready),
    TEST(an_old_lease_does_not_fit_the_same_id_again),
    TEST(a_pop_finds_the_job_behind_many_tombstones),
    TEST(a_pop_of_tombstones_alone_is_empty),
    TEST(a_short_pop_means_an_empty_list_or_says_that_there_is_more),
    TEST(a_look_tells_the_time_of_the_place),
    TEST(what_is_not_there_is_not_found),
    TEST(stats_count_each_place),
};

const struct contract_part contract_places = {tests, sizeof(tests) / sizeof(*tests)};
