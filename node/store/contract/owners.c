/* Owners: which topic and which reservation an id belongs to, for acknowledgements by id. */
#include "node/store/contract/contract.h"

static struct job pop_remembered(struct bytes topic)
{
    struct op op = run_well(
        (struct op){.verb = OP_POP, .topic = topic, .in.pop = {.count = 1, .id_only = true}});
    assert_int_equal(op.out.pop.count, 1);
    return op.out.pop.jobs[0];
}

static struct op owner(const char *id)
{
    return run(
        (struct op){.verb = OP_OWNER, .bucket = bucket_of(TOPIC), .id = bytes_of_text(id)});
}

static void assert_owner(const char *id, struct bytes topic, int64_t stamp)
{
    struct op op = owner(id);

    assert_status(op, OK);
    assert_bytes(op.out.owner.topic, topic);
    assert_int_equal(op.out.owner.stamp, stamp);
    assert_int_equal(op.now_ms, 0);
    assert_int_equal(op.wait_ms, -1);
}

/* Nobody, or a reservation that is over. */
static void assert_owner_is_stale(const char *id, int64_t live_stamp)
{
    struct op op = owner(id);

    if (op.status != STATUS_NOT_FOUND) {
        assert_status(op, OK);
        assert_int_not_equal(op.out.owner.stamp, live_stamp);
    }
}

static void a_pop_by_id_only_is_remembered(void **state)
{
    struct job job;

    push("a");
    job = pop_remembered(TOPIC);
    assert_owner("a", TOPIC, job.stamp);
    assert_bytes(job.body, BODY);
    assert_bytes(get("a").body, BODY);
    assert_status(ack(&job), OK);
    assert_status(owner("a"), NOT_FOUND);
}

static void every_job_of_the_pop_is_remembered(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 3, .id_only = true}};

    push_letters(3);
    op = run_well(op);
    assert_int_equal(op.out.pop.count, 3);
    assert_owner("a", TOPIC, op.out.pop.jobs[0].stamp);
    assert_owner("b", TOPIC, op.out.pop.jobs[1].stamp);
    assert_owner("c", TOPIC, op.out.pop.jobs[2].stamp);
}

static void other_pops_and_pushes_are_not_remembered(void **state)
{
    push("popped");
    pop_one();
    push("ready");
    assert_status(owner("popped"), NOT_FOUND);
    assert_status(owner("ready"), NOT_FOUND);
    assert_status(owner("missing"), NOT_FOUND);
}

static void an_owner_goes_with_its_job(void **state)
{
    struct job job;

    push_ttr("delivered", 0);
    job = pop_remembered(TOPIC);
    delivered(&job, 1);
    assert_status(owner("delivered"), NOT_FOUND);

    push("cancelled");
    pop_remembered(TOPIC);
    assert_status(cancel("cancelled"), OK);
    assert_status(owner("cancelled"), NOT_FOUND);
}

static void a_released_job_has_no_owner(void **state)
{
    struct job job = (push("a"), pop_remembered(TOPIC));

    assert_status(release(&job, 0), OK);
    assert_status(owner("a"), NOT_FOUND);
    job = pop_remembered(TOPIC);
    assert_owner("a", TOPIC, job.stamp);
    assert_status(release(&job, FAR_MS), OK);
    assert_status(owner("a"), NOT_FOUND);
}

static void a_buried_or_moved_job_has_no_owner(void **state)
{
    struct job job = (push("buried"), pop_remembered(TOPIC));

    assert_status(bury(&job), OK);
    assert_status(owner("buried"), NOT_FOUND);
    push("moved");
    pop_remembered(TOPIC);
    assert_status(move("moved", FAR_MS, FROM(RESERVED)), OK);
    assert_status(owner("moved"), NOT_FOUND);
}

static void a_delivery_and_a_touch_keep_the_owner(void **state)
{
    struct job job = (push("a"), pop_remembered(TOPIC));

    delivered(&job, 1);
    assert_owner("a", TOPIC, job.stamp);
    assert_status(touch(&job, 0), OK);
    assert_owner("a", TOPIC, job.stamp);
}

static void the_owner_of_a_returned_job_is_stale(void **state)
{
    struct job job = (push("a"), pop_remembered(TOPIC));

    returned(&job, 1);
    assert_owner_is_stale("a", get("a").stamp);
    job = pop_one();
    assert_owner_is_stale("a", job.stamp);
    returned(&job, 1);
    job = pop_remembered(TOPIC);
    assert_owner("a", TOPIC, job.stamp);
}

static void the_owner_of_an_expired_job_is_stale(void **state)
{
    struct job job = (push_ttr("a", 1), pop_remembered(TOPIC));

    delivered(&job, 1);
    scan_at(store_now() + 2);
    assert_state("a", JOB_READY);
    assert_owner_is_stale("a", get("a").stamp);
    job = pop_remembered(TOPIC);
    assert_owner("a", TOPIC, job.stamp);
}

/* One bucket, one entry an id: the last pop has it, and only its own topic removes it. */
static void the_same_id_in_two_topics_belongs_to_the_last_pop(void **state)
{
    struct job mine, theirs;

    push("a");
    run_well(push_op(OTHER, "a"));
    mine = pop_remembered(TOPIC);
    theirs = pop_remembered(OTHER);
    assert_owner("a", OTHER, theirs.stamp);
    assert_status(ack(&mine), OK);
    assert_owner("a", OTHER, theirs.stamp);
}

static const struct CMUnitTest tests[] = {
    TEST(a_pop_by_id_only_is_remembered),
    TEST(every_job_of_the_pop_is_remembered),
    TEST(other_pops_and_pushes_are_not_remembered),
    TEST(an_owner_goes_with_its_job),
    TEST(a_released_job_has_no_owner),
    TEST(a_buried_or_moved_job_has_no_owner),
    TEST(a_delivery_and_a_touch_keep_the_owner),
    TEST(the_owner_of_a_returned_job_is_stale),
    TEST(the_owner_of_an_expired_job_is_stale),
    TEST(the_same_id_in_two_topics_belongs_to_the_last_pop),
};

const struct contract_part contract_owners = {tests, sizeof(tests) / sizeof(*tests)};
