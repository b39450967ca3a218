/* Quotas: how many jobs a topic may have, and what is refused for it. */
#include "node/store/contract/whole.h"

static struct op limited_push(const char *id, int64_t jobs_max)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.jobs_max = jobs_max;
    return op;
}

/* Three jobs are there, the fourth has no room. */
static void assert_full_at_three(void)
{
    assert_status(run(limited_push("one more", 3)), TOPIC_FULL);
    assert_status(run(limited_push("", 3)), TOPIC_FULL);
    assert_gone("one more");
}

/* ---- jobs ---- */

static void a_job_more_than_its_topic_may_have_is_refused(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        assert_status(run(limited_push("", 3)), OK);
    assert_full_at_three();
    assert_counts(TOPIC, 0, 3, 0);
    assert_status(run(limited_push("a", 4)), OK);
}

static void jobs_take_room_in_every_state(void **state)
{
    make_dead("dead");
    push("reserved");
    pop_one();
    push_delayed("delayed", FAR_MS);
    assert_all_counts(1, 0, 1, 1);
    assert_full_at_three();
}

static void room_comes_back_when_a_job_is_gone(void **state)
{
    struct job job;

    push_letters(3);
    assert_full_at_three();
    assert_status(cancel("b"), OK);
    assert_status(run(limited_push("d", 3)), OK);
    assert_full_at_three();
    job = pop_one();
    assert_full_at_three();
    assert_status(ack(&job), OK);
    assert_status(run(limited_push("e", 3)), OK);
    assert_full_at_three();
}

static void other_topics_take_no_room(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        run_well(push_op(OTHER, ""));
    assert_status(run(limited_push("a", 1)), OK);
}

static void a_full_topic_goes_on_with_the_jobs_it_has(void **state)
{
    struct job job;

    make_dead("a");
    push("b");
    job = pop_one();
    push("c");
    assert_full_at_three();
    assert_status(release(&job, 0), OK);
    assert_status(move("b", FAR_MS, FROM_ANYWHERE), OK);
    assert_int_equal(kick(9).out.chunk.count, 1);
    assert_all_counts(1, 2, 0, 0);
    assert_full_at_three();
}

/* ---- an id that lives ---- */

static void a_replaced_job_makes_room_for_the_new_one(void **state)
{
    struct op op = limited_push("b", 3);

    push_letters(3);
    op.in.push.mode = PUSH_REPLACE;
    assert_true(run_well(op).out.push.existed);
    op.id = BYTES("d");
    assert_status(run(op), TOPIC_FULL);
    assert_counts(TOPIC, 0, 3, 0);
}

static void a_full_topic_answers_for_ids_that_live_as_always(void **state)
{
    struct op op = limited_push("a", 3);

    push_letters(3);
    assert_status(run(op), DUPLICATE);
    op.in.push.mode = PUSH_IGNORE;
    assert_true(run_well(op).out.push.existed);
    op.id = BYTES("d");
    assert_status(run(op), TOPIC_FULL);
}

/* ---- several at once ---- */

static void pushes_that_come_together_are_judged_in_their_order(void **state)
{
    static const enum status expected[] = {
        STATUS_OK,         STATUS_DUPLICATE,  STATUS_OK,       STATUS_OK,
        STATUS_TOPIC_FULL, STATUS_TOPIC_FULL, STATUS_DUPLICATE};
    struct op ops[] = {limited_push("a", 4), limited_push("a", 4), limited_push("", 4),
                       limited_push("b", 4), limited_push("", 4),  limited_push("c", 4),
                       limited_push("b", 4)};

    push("before");
    ops[2].in.push.delay_ms = FAR_MS;
    run_all(ops, 7);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(ops[i].status, expected[i]);
    assert_counts(TOPIC, 1, 3, 0);
}

/* The settings were read between the two. */
static void each_of_two_that_come_together_has_its_own_limit(void **state)
{
    struct op ops[] = {limited_push("a", 0), limited_push("b", 1), limited_push("c", 3)};

    run_all(ops, 3);
    assert_status(ops[0], OK);
    assert_status(ops[1], TOPIC_FULL);
    assert_status(ops[2], OK);
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_more_than_its_topic_may_have_is_refused),
    TEST(jobs_take_room_in_every_state),
    TEST(room_comes_back_when_a_job_is_gone),
    TEST(other_topics_take_no_room),
    TEST(a_full_topic_goes_on_with_the_jobs_it_has),
    TEST(a_replaced_job_makes_room_for_the_new_one),
    TEST(a_full_topic_answers_for_ids_that_live_as_always),
    TEST(pushes_that_come_together_are_judged_in_their_order),
    TEST(each_of_two_that_come_together_has_its_own_limit),
};

const struct contract_part contract_quotas = {tests, sizeof(tests) / sizeof(*tests)};
