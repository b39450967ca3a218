/* Quotas: how many jobs and bytes a topic may have, and what is refused for it. */
#include "node/store/contract/whole.h"

static char zeros[OP_BODY_SMALL_MAX * 4];

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

/* ---- bytes ---- */

#define BYTES_MAX 3000

/* Into a topic that may have BYTES_MAX. */
static struct op heavy_push(const char *id, size_t bytes)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.bytes_max = BYTES_MAX;
    op.in.push.body = bytes_of(zeros, bytes);
    return op;
}

static void fill(const char *id, size_t bytes)
{
    run_well(heavy_push(id, bytes));
}

/* There is room for so many bytes, and not for one more. */
static void assert_room(size_t bytes)
{
    assert_status(run(heavy_push("probe", bytes + 1)), TOPIC_FULL_BYTES);
    run_well(heavy_push("probe", bytes));
    assert_status(cancel("probe"), OK);
}

static void a_body_more_than_its_topic_may_have_is_refused(void **state)
{
    assert_status(run(heavy_push("a", BYTES_MAX + 1)), TOPIC_FULL_BYTES);
    fill("a", 1000);
    assert_room(2000);
    fill("b", 1500); /* a script keeps it apart */
    assert_room(500);
    fill("c", 500);
    assert_status(run(heavy_push("", 1)), TOPIC_FULL_BYTES);
    fill("empty", 0);
    assert_counts(TOPIC, 0, 4, 0);
}

/* Each of two jobs that go so, a small and a large one, gives back what it took. */
static void assert_given_back(void (*go)(struct job *two))
{
    struct job two[2];

    fill("a", 700);
    fill("b", 1300);
    for (unsigned i = 0; i < 2; i++)
        two[i] = pop_one();
    assert_room(BYTES_MAX - 2100);
    go(two);
    assert_gone("a");
    assert_gone("b");
    assert_room(BYTES_MAX - 100);
}

static void go_by_ack(struct job *two)
{
    assert_status(ack(&two[0]), OK);
    assert_room(BYTES_MAX - 1400);
    assert_status(ack(&two[1]), OK);
}

static void go_by_acks_of_a_turn(struct job *two)
{
    struct op ops[] = {lease_op(OP_ACK, &two[0]), lease_op(OP_ACK, &two[1])};

    run_all(ops, 2);
    assert_status(ops[0], OK);
    assert_status(ops[1], OK);
}

static void go_by_cancel(struct job *two)
{
    assert_status(cancel("a"), OK);
    assert_status(cancel("b"), OK);
}

static void go_by_delivery(struct job *two)
{
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(delivered_for(&two[i], 0).out.leases.stale, 0);
}

static void go_by_purge(struct job *two)
{
    assert_int_equal(purge(JOB_RESERVED, 9).out.chunk.count, 2);
}

/* One stays: of a topic without a job nothing counts, whatever was counted. */
static void a_job_that_is_gone_gives_back_its_bytes(void **state)
{
    struct op op = heavy_push("stays", 100);

    op.in.push.delay_ms = FAR_MS;
    run_well(op);
    assert_given_back(go_by_ack);
    assert_given_back(go_by_acks_of_a_turn);
    assert_given_back(go_by_cancel);
    assert_given_back(go_by_delivery);
    assert_given_back(go_by_purge);
}

static void dead_jobs_take_room_until_they_are_deleted(void **state)
{
    struct job job;

    set_dead_max(1);
    fill("a", 700);
    job = pop_one();
    assert_status(bury(&job), OK);
    scan_all();
    assert_room(BYTES_MAX - 700);
    fill("b", 1300);
    job = pop_one();
    wait_until(job.due_ms + 2);
    assert_status(bury(&job), OK);
    scan_at(store_now() + 1000);
    assert_gone("a");
    assert_dead("b", DEATH_BURIED);
    assert_room(BYTES_MAX - 1300);
}

static void what_changes_a_job_leaves_its_bytes(void **state)
{
    struct job job;

    fill("a", 1000);
    job = pop_one();
    delivered(&job, 1);
    assert_status(touch(&job, FAR_MS), OK);
    assert_status(release(&job, 0), OK);
    assert_status(move("a", FAR_MS, FROM_ANYWHERE), OK);
    assert_int_equal(look("a").job.delay_ms, 0);
    assert_room(BYTES_MAX - 1000);
    assert_status(cancel("a"), OK);
    assert_room(BYTES_MAX);
}

static void a_replaced_job_makes_room_for_the_bytes_of_the_new_one(void **state)
{
    struct op op = heavy_push("a", 2000);

    fill("a", 1000);
    fill("b", 1500);
    op.in.push.mode = PUSH_REPLACE;
    assert_status(run(op), TOPIC_FULL_BYTES);
    assert_int_equal(look("a").job.body.len, 1000);
    op.in.push.body.len = 1500;
    run_well(op);
    assert_room(0);
    op.in.push.body.len = 100;
    run_well(op);
    assert_room(1400);
}

/* A lower limit refuses what adds, not what takes away. */
static void a_smaller_body_may_replace_one_in_a_topic_above_its_limit(void **state)
{
    struct op op = heavy_push("a", 999);

    fill("a", 1000);
    fill("b", 1500);
    op.in.push.mode = PUSH_REPLACE;
    op.in.push.bytes_max = 100;
    run_well(op);
    op.in.push.body.len = 1000;
    assert_status(run(op), TOPIC_FULL_BYTES);
    assert_room(501);
}

/* The same where the one that is replaced does not count: the topic takes less than before. */
static void a_smaller_body_may_replace_one_that_does_not_count(void **state)
{
    static const size_t sizes[] = {1000, 2000}; /* in the value, and beside it */

    fill("full", BYTES_MAX);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct op op = push_op(TOPIC, "before");

        op.in.push.body = bytes_of(zeros, sizes[i]);
        op.in.push.mode = PUSH_REPLACE;
        run_well(op);
        op.in.push.bytes_max = BYTES_MAX;
        op.in.push.body.len = sizes[i] + 1;
        assert_status(run(op), TOPIC_FULL_BYTES);
        op.in.push.body.len = sizes[i] - 1;
        run_well(op);
        assert_status(cancel("before"), OK);
        assert_room(0);
    }
}

/* Those that came while nothing was limited do not count, and go without a trace. */
static void only_what_came_under_a_limit_counts(void **state)
{
    struct op op = push_op(TOPIC, "before");

    op.in.push.body = bytes_of(zeros, 2000);
    run_well(op);
    fill("a", 1000);
    op.id = BYTES("between");
    run_well(op);
    assert_room(2000);
    assert_status(cancel("before"), OK);
    assert_room(2000);
    op.id = BYTES("a");
    op.in.push.mode = PUSH_REPLACE;
    run_well(op); /* does not count any more */
    assert_room(BYTES_MAX);
}

static void topics_count_their_bytes_apart(void **state)
{
    struct op op = heavy_push("a", 2000);

    op.topic = OTHER;
    run_well(op);
    assert_room(BYTES_MAX);
    fill("a", 1000);
    op.id = BYTES("b");
    op.in.push.body.len = 1001;
    assert_status(run(op), TOPIC_FULL_BYTES);
}

static void a_job_tells_its_delay_whether_it_counts_or_not(void **state)
{
    struct op op = heavy_push("a", 10), ops[2];

    op.in.push.delay_ms = JOB_DELAY_MAX_MS;
    run_well(op);
    ops[0] = ops[1] = op;
    ops[0].id = BYTES("b");
    ops[1].id = BYTES("c");
    run_all(ops, 2);
    assert_int_equal(get("a").delay_ms, JOB_DELAY_KEPT_MAX_MS);
    assert_int_equal(get("c").delay_ms, JOB_DELAY_KEPT_MAX_MS);
    assert_int_equal(list(JOB_DELAYED, BYTES(""), 9).out.list.rows[0].job.delay_ms,
                     JOB_DELAY_KEPT_MAX_MS);
}

/* ---- several at once ---- */

static void bodies_that_come_together_are_judged_in_their_order(void **state)
{
    static const enum status expected[] = {STATUS_OK, STATUS_TOPIC_FULL_BYTES, STATUS_OK,
                                           STATUS_DUPLICATE, STATUS_TOPIC_FULL_BYTES};
    struct op ops[] = {heavy_push("a", 900), heavy_push("", 2001), heavy_push("b", 1600),
                       heavy_push("a", 9), heavy_push("c", 401)};

    fill("before", 100);
    run_all(ops, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(ops[i].status, expected[i]);
    assert_room(400);
    assert_status(cancel("a"), OK);
    assert_room(1300);
    assert_status(cancel("b"), OK);
    assert_room(2900);
}

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
    struct op ops[] = {limited_push("a", 0), limited_push("b", 1), limited_push("c", 3),
                       heavy_push("d", 4), heavy_push("e", 4)};

    ops[4].in.push.bytes_max = 7;
    run_all(ops, 5);
    assert_status(ops[0], OK);
    assert_status(ops[1], TOPIC_FULL);
    assert_status(ops[2], OK);
    assert_status(ops[3], OK);
    assert_status(ops[4], TOPIC_FULL_BYTES);
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_more_than_its_topic_may_have_is_refused),
    TEST(jobs_take_room_in_every_state),
    TEST(room_comes_back_when_a_job_is_gone),
    TEST(other_topics_take_no_room),
    TEST(a_full_topic_goes_on_with_the_jobs_it_has),
    TEST(a_replaced_job_makes_room_for_the_new_one),
    TEST(a_full_topic_answers_for_ids_that_live_as_always),
    TEST(a_body_more_than_its_topic_may_have_is_refused),
    TEST(a_job_that_is_gone_gives_back_its_bytes),
    TEST(dead_jobs_take_room_until_they_are_deleted),
    TEST(what_changes_a_job_leaves_its_bytes),
    TEST(a_replaced_job_makes_room_for_the_bytes_of_the_new_one),
    TEST(a_smaller_body_may_replace_one_in_a_topic_above_its_limit),
    TEST(a_smaller_body_may_replace_one_that_does_not_count),
    TEST(only_what_came_under_a_limit_counts),
    TEST(topics_count_their_bytes_apart),
    TEST(a_job_tells_its_delay_whether_it_counts_or_not),
    TEST(bodies_that_come_together_are_judged_in_their_order),
    TEST(pushes_that_come_together_are_judged_in_their_order),
    TEST(each_of_two_that_come_together_has_its_own_limit),
};

const struct contract_part contract_quotas = {tests, sizeof(tests) / sizeof(*tests)};
