/* Move: due at another time, or now, from any state. */
#include "node/store/contract/contract.h"

static void a_delayed_job_is_run_now(void **state)
{
    struct op op;

    push_delayed("a", FAR_MS);
    push("b");
    op = move("a", 0, FROM(DELAYED));
    assert_status(op, OK);
    assert_false(op.out.change.stays);
    assert_int_equal(op.out.change.due_ms, op.now_ms);
    assert_int_equal(op.wait_ms, -1);
    assert_int_equal(get("a").due_ms, op.now_ms);
    assert_int_equal(get("a").delay_ms, FAR_MS);
    assert_counts(TOPIC, 0, 2, 0);
    ASSERT_READY("b", "a");
}

static void a_delayed_job_is_put_off_or_brought_forward(void **state)
{
    struct op op;

    push_delayed("a", FAR_MS);
    op = move("a", 2 * FAR_MS, FROM(DELAYED));
    assert_status(op, OK);
    assert_int_equal(op.out.change.due_ms, after(&op, 2 * FAR_MS));
    assert_int_equal(next_event_ms(), op.out.change.due_ms);
    op = move("a", 1000, FROM(DELAYED));
    assert_int_equal(op.wait_ms, 1000 + BEGUN_MS);
    assert_int_equal(get("a").due_ms, after(&op, 1000));
    assert_counts(TOPIC, 1, 0, 0);
    op = move("a", SOON_MS, FROM(DELAYED));
    assert_int_equal(scan_at(op.out.change.due_ms).out.scan.moved, 1);
    ASSERT_READY("a");
}

static void a_job_is_moved_to_a_time_of_the_clock(void **state)
{
    struct op op = id_op(OP_MOVE, "a");

    push("a");
    op.in.move.states = FROM_ANYWHERE;
    op.in.move.at_ms = store_now() + FAR_MS;
    op.in.move.delay_ms = 1;
    op = run_well(op);
    assert_int_equal(op.out.change.due_ms, op.in.move.at_ms);
    assert_int_equal(get("a").due_ms, op.in.move.at_ms);
    assert_state("a", JOB_DELAYED);
    op.in.move.at_ms = 1234567;
    op = run_well(op);
    assert_int_equal(op.out.change.due_ms, 1234567);
    assert_int_equal(get("a").due_ms, 1234567);
    ASSERT_READY("a");
}

static void a_ready_job_is_put_off_and_comes_once(void **state)
{
    struct op op;

    push("a");
    push_ranked("urgent", 3);
    push("b");
    assert_status(move("urgent", FAR_MS, FROM(READY)), OK);
    op = move("a", SOON_MS, FROM(READY));
    assert_status(op, OK);
    assert_counts(TOPIC, 2, 1, 0);
    ASSERT_READY("b");
    scan_at(op.out.change.due_ms);
    ASSERT_READY("a");
    assert_status(move("urgent", 0, FROM(DELAYED)), OK);
    ASSERT_READY("urgent");
}

static void a_ready_job_that_is_run_keeps_its_place(void **state)
{
    struct job before;
    struct op op;

    push_letters(2);
    before = get("a");
    wait_until(before.due_ms + 2);
    op = move("a", 0, FROM(READY));
    assert_status(op, OK);
    assert_true(op.out.change.stays);
    assert_int_equal(op.out.change.due_ms, before.due_ms);
    assert_int_equal(get("a").stamp, before.stamp);
    assert_int_equal(get("a").due_ms, before.due_ms);
    ASSERT_READY("a", "b");
}

static void a_move_ends_a_lease(void **state)
{
    struct job job = hold("a", TTR_MS);

    assert_status(move("a", FAR_MS, FROM(RESERVED)), OK);
    assert_counts(TOPIC, 1, 0, 0);
    assert_status(ack(&job), NOT_RESERVED);
    assert_int_equal(get("a").tries, 1);
    assert_status(move("a", 0, FROM(DELAYED)), OK);
    job = pop_one();
    assert_int_equal(job.tries, 1);
    assert_status(move("a", 0, FROM(RESERVED)), OK);
    assert_status(ack(&job), NOT_RESERVED);
    assert_int_equal(get("a").tries, 1);
    job = pop_one();
    delivered(&job, 1);
    assert_int_equal(get("a").tries, 2);
}

static void a_dead_job_begins_anew(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.rules.max_tries = 1;
    op.in.push.rules.priority = 9;
    op.in.push.ttl_ms = FAR_MS;
    job = reserve(op);
    assert_status(release(&job, 0), OK);
    assert_dead("a", DEATH_TRIES);
    op = move("a", 0, FROM(DEAD));
    assert_status(op, OK);
    assert_int_equal(op.out.change.due_ms, op.now_ms);
    assert_all_counts(0, 1, 0, 0);
    job = pop_one();
    assert_int_equal(job.tries, 0);
    assert_int_equal(job.rules.expires_ms, 0);
    assert_int_equal(job.rules.priority, 9);
    assert_int_equal(job.rules.max_tries, 1);
    assert_bytes(job.body, BODY);
    assert_int_equal(get("a").death, DEATH_NONE);
}

static void a_dead_job_is_to_come_later(void **state)
{
    struct op op;

    make_dead("a");
    op = move("a", FAR_MS, FROM(DEAD));
    assert_status(op, OK);
    assert_all_counts(1, 0, 0, 0);
    assert_int_equal(get("a").due_ms, after(&op, FAR_MS));
    assert_int_equal(get("a").tries, 0);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
}

/* ---- refused ---- */

static void assert_not_moved_but_from(const char *id, enum job_state state)
{
    struct job before = get(id);

    assert_int_equal(before.state, state);
    assert_status(move(id, 0, FROM_ANYWHERE & ~(1u << state)), WRONG_STATE);
    assert_status(move(id, FAR_MS, FROM_ANYWHERE & ~(1u << state)), WRONG_STATE);
    assert_status(move(id, 0, 0), WRONG_STATE);
    assert_int_equal(get(id).state, state);
    assert_int_equal(get(id).stamp, before.stamp);
    assert_int_equal(get(id).due_ms, before.due_ms);
}

static void only_from_the_states_asked_for(void **state)
{
    make_dead("dead");
    push("reserved");
    pop_one();
    push("ready");
    push_delayed("delayed", FAR_MS);
    assert_not_moved_but_from("dead", JOB_DEAD);
    assert_not_moved_but_from("reserved", JOB_RESERVED);
    assert_not_moved_but_from("ready", JOB_READY);
    assert_not_moved_but_from("delayed", JOB_DELAYED);
    assert_all_counts(1, 1, 1, 1);
}

static void what_is_not_there_is_not_moved(void **state)
{
    push("a");
    assert_status(move("b", 0, FROM_ANYWHERE), NOT_FOUND);
}

static void a_time_too_far_ahead_moves_nothing(void **state)
{
    struct op op = id_op(OP_MOVE, "a");
    struct job job = (push("a"), get("a"));

    assert_status(move("a", JOB_DELAY_MAX_MS + 1, FROM_ANYWHERE), OUT_OF_RANGE);
    op.in.move.states = FROM_ANYWHERE;
    op.in.move.at_ms = store_now() + JOB_DELAY_MAX_MS + 10000;
    assert_status(run(op), OUT_OF_RANGE);
    assert_int_equal(get("a").stamp, job.stamp);
    assert_status(move("a", JOB_DELAY_MAX_MS, FROM_ANYWHERE), OK);
}

static struct op cancel_from(const char *id, unsigned states)
{
    struct op op = id_op(OP_CANCEL, id);

    op.in.cancel.states = states;
    return run(op);
}

static void a_cancel_may_be_for_some_states_only(void **state)
{
    static const struct {
        const char *id;
        enum job_state state;
    } rows[] = {{"dead", JOB_DEAD},
                {"reserved", JOB_RESERVED},
                {"ready", JOB_READY},
                {"delayed", JOB_DELAYED}};

    make_dead("dead");
    push("reserved");
    pop_one();
    push("ready");
    push_delayed("delayed", FAR_MS);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned own = 1u << rows[i].state;

        assert_status(cancel_from(rows[i].id, FROM_ANYWHERE & ~own), WRONG_STATE);
        assert_state(rows[i].id, rows[i].state);
    }
    assert_all_counts(1, 1, 1, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_status(cancel_from(rows[i].id, 1u << rows[i].state), OK);
    assert_all_counts(0, 0, 0, 0);
    assert_status(cancel_from("dead", FROM_ANYWHERE), NOT_FOUND);
}

static struct op cancel_seen(const struct job *job)
{
    struct op op = {.verb = OP_CANCEL, .topic = TOPIC, .id = job->id};

    op.in.cancel.is_as_seen = true;
    op.in.cancel.due_ms = job->due_ms;
    op.in.cancel.delay_ms = job->delay_ms;
    op.in.cancel.created_ms = job->extra.is_there ? job->extra.created_ms : 0;
    return op;
}

/* Whatever the one says that the other does not is another push. */
static void a_cancel_may_be_of_the_job_that_was_seen_only(void **state)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        struct op push = push_op(TOPIC, "a"), op;
        struct job job;

        push.in.push.has_extra = kind > 0;
        push.in.push.delay_ms = kind == 2 ? FAR_MS : 0;
        push.in.push.bytes_max = kind * 1000; /* its body counts: a bit of the delay */
        run_well(push);
        job = get("a");
        op = cancel_seen(&job);
        op.in.cancel.due_ms++;
        assert_status(run(op), WRONG_STATE);
        op = cancel_seen(&job);
        op.in.cancel.delay_ms++;
        assert_status(run(op), WRONG_STATE);
        op = cancel_seen(&job);
        op.in.cancel.created_ms++;
        assert_status(run(op), WRONG_STATE);
        if (kind == 1)
            pop_one(); /* a pop is no push */
        assert_status(run(cancel_seen(&job)), OK);
        assert_status(cancel("a"), NOT_FOUND);
    }
}

/* ---- what a move tells ---- */

static void what_becomes_ready_is_announced(void **state)
{
    push_delayed("a", FAR_MS);
    push_delayed("b", FAR_MS);
    assert_int_equal(wake_ups(TOPIC), 0);
    assert_status(move("a", 0, FROM_ANYWHERE), OK);
    assert_int_equal(wake_ups(TOPIC), 1);
    assert_status(move("b", 0, FROM_ANYWHERE), OK);
    assert_int_equal(wake_ups(TOPIC), 1);
    ASSERT_READY("a", "b");
    assert_status(move("b", FAR_MS, FROM_ANYWHERE), OK);
    assert_int_equal(wake_ups(TOPIC), 1);
}

static void a_large_body_moves_along(void **state)
{
    struct op op = large_op("a");
    run_well(op);
    assert_status(move("a", FAR_MS, FROM_ANYWHERE), OK);
    assert_bytes(get("a").body, op.in.push.body);
    assert_status(move("a", 0, FROM_ANYWHERE), OK);
    assert_bytes(pop_one().body, op.in.push.body);
}

static const struct CMUnitTest tests[] = {
    TEST(a_delayed_job_is_run_now),
    TEST(a_delayed_job_is_put_off_or_brought_forward),
    TEST(a_job_is_moved_to_a_time_of_the_clock),
    TEST(a_ready_job_is_put_off_and_comes_once),
    TEST(a_ready_job_that_is_run_keeps_its_place),
    TEST(a_move_ends_a_lease),
    TEST(a_dead_job_begins_anew),
    TEST(a_dead_job_is_to_come_later),
    TEST(only_from_the_states_asked_for),
    TEST(what_is_not_there_is_not_moved),
    TEST(a_cancel_may_be_for_some_states_only),
    TEST(a_cancel_may_be_of_the_job_that_was_seen_only),
    TEST(a_time_too_far_ahead_moves_nothing),
    TEST(what_becomes_ready_is_announced),
    TEST(a_large_body_moves_along),
};

const struct contract_part contract_moves = {tests, sizeof(tests) / sizeof(*tests)};
