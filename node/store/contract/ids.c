/* The index of ids: which topic has a job, for those who know its id alone; and who has
 * reserved the job. */
#include "node/store/contract/contract.h"

static struct job pop_indexed(struct bytes topic)
{
    struct op op = run_well(
        (struct op){.verb = OP_POP, .topic = topic, .in.pop = {.count = 1, .id_only = true}});
    assert_int_equal(op.out.pop.count, 1);
    return op.out.pop.jobs[0];
}

static struct op indexed_op(const char *id)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.is_indexed = true;
    return op;
}

static struct op push_indexed(const char *id)
{
    return run_well(indexed_op(id));
}

static struct op owner(const char *id)
{
    return run(
        (struct op){.verb = OP_OWNER, .bucket = bucket_of(TOPIC), .id = bytes_of_text(id)});
}

static void assert_indexed(const char *id, struct bytes topic)
{
    struct op op = owner(id);

    assert_status(op, OK);
    assert_bytes(op.out.owner.topic, topic);
    assert_int_equal(op.out.owner.stamp, 0);
    assert_int_equal(op.now_ms, 0);
    assert_int_equal(op.wait_ms, -1);
}

static void a_pushed_job_is_found_as_long_as_it_lives(void **state)
{
    struct job job;

    push_indexed("a");
    assert_indexed("a", TOPIC);
    job = pop_one();
    assert_indexed("a", TOPIC);
    assert_bytes(job.body, BODY);
    assert_bytes(get("a").body, BODY);
    assert_status(ack(&job), OK);
    assert_status(owner("a"), NOT_FOUND);
}

static void an_id_that_the_store_makes_is_found_too(void **state)
{
    struct op op = push_indexed("");
    struct op large = large_op("");
    struct op found;

    found =
        run((struct op){.verb = OP_OWNER, .bucket = bucket_of(TOPIC), .id = op.out.push.id});
    assert_status(found, OK);
    assert_bytes(found.out.owner.topic, TOPIC);
    large.in.push.is_indexed = true;
    large.in.push.delay_ms = FAR_MS;
    large = run_well(large);
    found =
        run((struct op){.verb = OP_OWNER, .bucket = bucket_of(TOPIC), .id = large.out.push.id});
    assert_status(found, OK);
    op = run_well((struct op){.verb = OP_GET, .topic = TOPIC, .id = large.out.push.id});
    assert_int_equal(op.out.row.job.body.len, LARGE_BYTES);
}

static void pushes_that_meet_are_all_found(void **state)
{
    struct op ops[] = {indexed_op("a"), indexed_op("b"), large_op("c"), indexed_op("a"),
                       push_op(TOPIC, "d")};

    ops[2].in.push.is_indexed = true;
    ops[1].in.push.delay_ms = FAR_MS;
    run_all(ops, 5);
    assert_status(ops[3], DUPLICATE);
    assert_indexed("a", TOPIC);
    assert_indexed("b", TOPIC);
    assert_indexed("c", TOPIC);
    assert_status(owner("d"), NOT_FOUND);
    assert_bytes(get("a").body, BODY);
    assert_int_equal(get("c").body.len, LARGE_BYTES);
}

static void a_pop_indexes_too(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 3, .id_only = true}};

    push_letters(2);
    push_indexed("c");
    op = run_well(op);
    assert_int_equal(op.out.pop.count, 3);
    assert_indexed("a", TOPIC);
    assert_indexed("b", TOPIC);
    assert_indexed("c", TOPIC);
    assert_status(ack(&op.out.pop.jobs[2]), OK);
    assert_status(ack(&op.out.pop.jobs[0]), OK);
    assert_status(owner("a"), NOT_FOUND);
    assert_indexed("b", TOPIC);
    assert_status(owner("c"), NOT_FOUND);
}

static void other_pops_and_pushes_do_not(void **state)
{
    push("popped");
    pop_one();
    push("ready");
    assert_status(owner("popped"), NOT_FOUND);
    assert_status(owner("ready"), NOT_FOUND);
    assert_status(owner("missing"), NOT_FOUND);
}

static void an_entry_stays_wherever_its_job_goes(void **state)
{
    struct job job;

    push_indexed("a");
    job = pop_one();
    delivered(&job, 1);
    assert_status(touch(&job, 0), OK);
    assert_status(release(&job, FAR_MS), OK);
    assert_indexed("a", TOPIC);
    assert_status(move("a", 0, FROM_ANYWHERE), OK);
    job = pop_one();
    returned(&job, 1);
    job = pop_one();
    assert_status(bury(&job), OK);
    assert_indexed("a", TOPIC);
    run_well((struct op){.verb = OP_KICK, .topic = TOPIC, .in.chunk.limit = 1});
    assert_indexed("a", TOPIC);
    job = pop_one();
    assert_status(release(&job, 0), OK);
    assert_indexed("a", TOPIC);
    assert_status(cancel("a"), OK);
    assert_status(owner("a"), NOT_FOUND);
}

static void an_entry_stays_where_a_reservation_runs_out(void **state)
{
    struct op op = indexed_op("a");
    struct job job;

    op.in.push.ttr_ms = 1;
    run_well(op);
    job = pop_one();
    delivered(&job, 1);
    scan_at(store_now() + 2);
    assert_state("a", JOB_READY);
    assert_indexed("a", TOPIC);
}

static void an_entry_goes_with_its_job(void **state)
{
    struct op op = indexed_op("delivered");
    struct job job;

    op.in.push.ttr_ms = 0;
    run_well(op);
    job = pop_one();
    delivered(&job, 1);
    assert_status(owner("delivered"), NOT_FOUND);

    push_indexed("purged");
    op = (struct op){
        .verb = OP_PURGE, .topic = TOPIC, .in.chunk = {.state = JOB_READY, .limit = 10}};
    assert_int_equal(run_well(op).out.chunk.count, 1);
    assert_status(owner("purged"), NOT_FOUND);
}

static void a_new_job_of_the_id_has_the_entry_if_it_is_to(void **state)
{
    struct op op = indexed_op("a");

    op.in.push.mode = PUSH_REPLACE;
    run_well(op);
    assert_true(run_well(op).out.push.existed);
    assert_indexed("a", TOPIC);
    op.in.push.is_indexed = false;
    run_well(op);
    assert_status(owner("a"), NOT_FOUND);
    op.in.push.is_indexed = true;
    op.in.push.mode = PUSH_IGNORE;
    run_well(op); /* leaves it as it is */
    assert_status(owner("a"), NOT_FOUND);
}

/* One bucket, one entry an id: the last one has it, and only its own topic removes it. */
static void the_same_id_in_two_topics_belongs_to_the_last(void **state)
{
    struct op op = indexed_op("a");
    struct job mine;

    push_indexed("a");
    op.topic = OTHER;
    run_well(op);
    mine = pop_one();
    assert_indexed("a", OTHER);
    assert_status(ack(&mine), OK);
    assert_indexed("a", OTHER);
    push("a");
    pop_indexed(TOPIC);
    assert_indexed("a", TOPIC);
}

static void assert_reserved(const char *id, int64_t stamp)
{
    struct op op = run(id_op(OP_OWNER, id));

    assert_status(op, OK);
    assert_bytes(op.out.owner.topic, TOPIC);
    assert_int_equal(op.out.owner.stamp, stamp);
    assert_int_equal(op.now_ms, 0);
}

/* Whether it is indexed or not. */
static void with_its_topic_it_is_told_who_has_reserved_a_job(void **state)
{
    struct job job;

    assert_status(run(id_op(OP_OWNER, "a")), NOT_FOUND);
    run_well(large_op("a"));
    assert_reserved("a", 0);
    job = pop_one();
    assert_reserved("a", job.stamp);
    delivered(&job, 1);
    assert_reserved("a", job.stamp);
    assert_status(bury(&job), OK);
    assert_reserved("a", 0);
}

static const struct CMUnitTest tests[] = {
    TEST(a_pushed_job_is_found_as_long_as_it_lives),
    TEST(an_id_that_the_store_makes_is_found_too),
    TEST(pushes_that_meet_are_all_found),
    TEST(a_pop_indexes_too),
    TEST(other_pops_and_pushes_do_not),
    TEST(an_entry_stays_wherever_its_job_goes),
    TEST(an_entry_stays_where_a_reservation_runs_out),
    TEST(an_entry_goes_with_its_job),
    TEST(a_new_job_of_the_id_has_the_entry_if_it_is_to),
    TEST(the_same_id_in_two_topics_belongs_to_the_last),
    TEST(with_its_topic_it_is_told_who_has_reserved_a_job),
};

const struct contract_part contract_ids = {tests, sizeof(tests) / sizeof(*tests)};
