/* Priorities: which job is served first, wherever it comes from. */
#include "node/store/contract/contract.h"
#include "node/store/contract/whole.h"

#include <stdio.h>

/* Jobs in the order in which they are pushed, named by their number. */
static void push_many(unsigned count, const uint32_t *priorities)
{
    char id[16];

    for (unsigned i = 0; i < count; i++) {
        snprintf(id, sizeof(id), "%u", i);
        push_ranked(id, priorities[i]);
    }
}

static void the_most_urgent_is_served_first(void **state)
{
    push_ranked("low", 1025);
    push("common");
    push_ranked("lowest", RULES_PRIORITY_MAX);
    push_ranked("high", 1023);
    push_ranked("highest", 0);
    assert_counts(TOPIC, 0, 5, 0);
    ASSERT_READY("highest", "high", "common", "low", "lowest");
}

static void it_is_so_one_by_one_too(void **state)
{
    push_ranked("low", 5000);
    push("common");
    push_ranked("high", 7);
    assert_bytes(pop_one().id, BYTES("high"));
    push_ranked("late but high", 7);
    assert_bytes(pop_one().id, BYTES("late but high"));
    assert_bytes(pop_one().id, BYTES("common"));
    assert_bytes(pop_one().id, BYTES("low"));
    assert_int_equal(pop(1).out.pop.count, 0);
}

static void within_a_priority_they_come_first_in_first_out(void **state)
{
    static const uint32_t priorities[] = {2, 9, 1024, 5000, 2, 1024, 5000, 9, 2};

    push_many(9, priorities);
    ASSERT_READY("0", "4", "8", "1", "7", "2", "5", "3", "6");
}

static void a_pop_takes_no_more_than_its_count_over_all_priorities(void **state)
{
    static const uint32_t priorities[] = {5000, 1024, 3, 1024, 3, 5000};
    struct op op;

    push_many(6, priorities);
    op = pop(3);
    ASSERT_POPPED(op, "2", "4", "1");
    assert_counts(TOPIC, 0, 3, 3);
    ASSERT_READY("3", "0", "5");
}

static void a_priority_like_all_others_makes_no_difference(void **state)
{
    push("a");
    push_ranked("b", RULES_PRIORITY_DEFAULT);
    push("c");
    assert_int_equal(get("a").rules.priority, RULES_PRIORITY_DEFAULT);
    ASSERT_READY("a", "b", "c");
}

static void a_job_keeps_its_priority_wherever_it_goes(void **state)
{
    struct job job = (push_ranked("a", 77), pop_one());

    assert_int_equal(job.rules.priority, 77);
    delivered(&job, 1);
    assert_int_equal(get("a").rules.priority, 77);
    assert_status(release(&job, FAR_MS), OK);
    assert_int_equal(get("a").rules.priority, 77);
    assert_status(move("a", 0, FROM_ANYWHERE), OK);
    job = pop_one();
    assert_status(bury(&job), OK);
    assert_int_equal(get("a").rules.priority, 77);
    assert_bytes(get("a").body, BODY);
}

/* ---- another one ---- */

static struct op give_back(enum op_verb verb, const struct job *job, uint32_t priority)
{
    struct op op = lease_op(verb, job);

    op.in.lease.has_priority = true;
    op.in.lease.priority = priority;
    return run(op);
}

static void a_released_job_may_have_another_priority_from_then_on(void **state)
{
    struct op op;

    push("a");
    push("b");
    push_ranked("c", 7);
    op = pop(3); /* c, a, b */
    assert_status(give_back(OP_RELEASE, &op.out.pop.jobs[0], 5000), OK);
    assert_status(give_back(OP_RELEASE, &op.out.pop.jobs[1], RULES_PRIORITY_DEFAULT), OK);
    assert_status(give_back(OP_RELEASE, &op.out.pop.jobs[2], 0), OK);
    assert_int_equal(get("b").rules.priority, 0);
    assert_bytes(get("b").body, BODY);
    assert_int_equal(get("c").rules.priority, 5000);
    assert_counts(TOPIC, 0, 3, 0);
    ASSERT_READY("b", "a", "c");
}

static void one_that_rests_has_it_when_it_is_due(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = lease_op(OP_RELEASE, &job);

    push("b");
    op.in.lease.delay_ms = SOON_MS;
    op.in.lease.has_priority = true;
    op.in.lease.priority = 3;
    op = run_well(op);
    scan_at(op.out.change.due_ms);
    ASSERT_READY("a", "b");
}

static void a_buried_job_may_have_another_priority_too(void **state)
{
    struct op op = large_op("a");
    struct job job;

    op.in.push.ttl_ms = FAR_MS;
    job = reserve(op);
    assert_status(give_back(OP_BURY, &job, 3), OK);
    assert_dead("a", DEATH_BURIED);
    assert_int_equal(get("a").rules.priority, 3);
    assert_int_equal(get("a").body.len, LARGE_BYTES);
    push("b");
    kick(1);
    ASSERT_READY("a", "b");
}

static void the_urgent_ones_are_counted(void **state)
{
    static const uint32_t priorities[] = {0, 7, 1023, 1024, 1025, 7};
    struct op op = {.verb = OP_STATS, .topic = TOPIC};

    assert_int_equal(run_well(op).out.stats.urgent, 0);
    push_many(6, priorities);
    assert_int_equal(run_well(op).out.stats.urgent, 4);
    pop(1);
    assert_int_equal(run_well(op).out.stats.urgent, 3);
    op = run_well((struct op){
        .verb = OP_TOPICS, .bucket = bucket_of(TOPIC), .in.topics.limit = OP_TOPICS_MAX});
    assert_int_equal(op.out.topics.rows[0].stats.urgent, 3);
    pop(BATCH_MAX);
    op = run_well((struct op){.verb = OP_STATS, .topic = TOPIC});
    assert_int_equal(op.out.stats.urgent, 0);
}

static void what_becomes_due_is_served_by_its_priority(void **state)
{
    struct op op = push_op(TOPIC, "urgent");

    push("common");
    op.in.push.delay_ms = SOON_MS;
    op.in.push.rules.priority = 5;
    scan_at(run_well(op).out.push.due_ms);
    ASSERT_READY("urgent", "common");
}

static void a_released_job_is_the_last_of_its_priority(void **state)
{
    static const uint32_t priorities[] = {5, 5, 1024, 5000};
    struct job job;

    push_many(4, priorities);
    job = pop_one();
    assert_status(release(&job, 0), OK);
    ASSERT_READY("1", "0", "2", "3");
}

static void a_returned_job_is_the_first_of_its_priority(void **state)
{
    static const uint32_t priorities[] = {5, 1024, 5000, 5, 1024, 5000};
    struct job jobs[5];

    push_many(6, priorities);
    memcpy(jobs, pop(5).out.pop.jobs, sizeof(jobs)); /* 0 3 1 4 2 */
    assert_int_equal(returned(&jobs[1], 4).out.leases.stale, 0);
    ASSERT_READY("3", "1", "4", "2", "5");
}

static struct op pop_whole_batch(void)
{
    struct op popped = pop(BATCH_MAX);

    assert_int_equal(popped.out.pop.count, BATCH_MAX);
    for (unsigned i = 1; i < BATCH_MAX; i++) {
        const struct job *jobs = popped.out.pop.jobs;

        assert_true(jobs[i - 1].rules.priority < jobs[i].rules.priority ||
                    (jobs[i - 1].rules.priority == jobs[i].rules.priority &&
                     bytes_compare(jobs[i - 1].id, jobs[i].id) < 0));
    }
    return popped;
}

/* Of all priorities, on all ways on which many become ready at once: none is left behind. */
static void a_whole_batch_of_priorities_becomes_ready_again(void **state)
{
    static const uint32_t cycle[] = {5, 7, 1023, 1025, 5000};
    struct op popped, last;
    char id[16];

    for (unsigned i = 0; i < BATCH_MAX; i++) {
        snprintf(id, sizeof(id), "%02u", i);
        push_ranked(id, cycle[i % 5]);
    }
    popped = pop_whole_batch();
    assert_int_equal(returned(popped.out.pop.jobs, BATCH_MAX).out.leases.stale, 0);
    popped = pop_whole_batch();
    for (unsigned i = 0; i < BATCH_MAX; i++)
        last = delivered_for(&popped.out.pop.jobs[i], i == 0 ? 1 : TTR_MS);
    for (unsigned i = 1; i < BATCH_MAX; i++)
        last = touch(&popped.out.pop.jobs[i], 1);
    assert_int_equal(scan_at(after(&last, 1)).out.scan.expired, BATCH_MAX);
    popped = pop(BATCH_MAX);
    assert_int_equal(popped.out.pop.count, BATCH_MAX);
    for (unsigned i = 0; i < BATCH_MAX; i++)
        assert_status(bury(&popped.out.pop.jobs[i]), OK);
    assert_int_equal(kick(BATCH_MAX).out.chunk.count, BATCH_MAX);
    assert_int_equal(pop(BATCH_MAX).out.pop.count, BATCH_MAX);
    assert_counts(TOPIC, 0, 0, BATCH_MAX);
}

static void what_is_returned_twice_is_first_again(void **state)
{
    struct op popped = (push_ranked("a", 5), push_ranked("b", 5), push_ranked("c", 5), pop(2));

    returned(popped.out.pop.jobs, 2);
    popped = pop(2);
    assert_bytes(popped.out.pop.jobs[0].id, BYTES("a"));
    assert_bytes(popped.out.pop.jobs[1].id, BYTES("b"));
    returned(popped.out.pop.jobs, 1);
    ASSERT_READY("a", "c");
}

static void a_reservation_that_ran_out_is_the_last_of_its_priority(void **state)
{
    struct op op = push_op(TOPIC, "first");
    struct job job;

    op.in.push.rules.priority = 5;
    op.in.push.ttr_ms = 1;
    job = reserve(op);
    delivered(&job, 1);
    push_ranked("second", 5);
    push("common");
    scan_at(store_now() + 2);
    ASSERT_READY("second", "first", "common");
}

static void a_cancelled_job_is_not_served_whatever_its_priority(void **state)
{
    push_ranked("a", 5);
    push_ranked("b", 5);
    push_ranked("c", 5000);
    assert_status(cancel("a"), OK);
    assert_status(cancel("c"), OK);
    assert_counts(TOPIC, 0, 1, 0);
    push_ranked("a", 6);
    ASSERT_READY("b", "a");
}

static void every_priority_announces_its_first_job(void **state)
{
    push_ranked("a", 5);
    assert_int_equal(wake_ups(TOPIC), 1);
    push_ranked("b", 6);
    assert_int_equal(wake_ups(TOPIC), 1);
    ASSERT_READY("a", "b");
    push_ranked("c", 5000);
    assert_int_equal(wake_ups(TOPIC), 2);
}

static void a_whole_batch_is_served_in_order(void **state)
{
    struct op ops[BATCH_MAX], op;
    char ids[BATCH_MAX][8];

    for (unsigned i = 0; i < BATCH_MAX; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%u", i);
        ops[i] = push_op(TOPIC, ids[i]);
        ops[i].in.push.rules.priority = 1000 + (i * 37) % BATCH_MAX; /* each once */
    }
    run_all(ops, BATCH_MAX);
    op = pop(BATCH_MAX);
    assert_int_equal(op.out.pop.count, BATCH_MAX);
    for (unsigned i = 0; i < BATCH_MAX; i++)
        assert_int_equal(op.out.pop.jobs[i].rules.priority, 1000 + i);
    for (unsigned i = 1; i < BATCH_MAX; i++)
        assert_int_equal(op.out.pop.jobs[i].stamp, op.out.pop.jobs[i - 1].stamp + 1);
}

static const struct CMUnitTest tests[] = {
    TEST(the_most_urgent_is_served_first),
    TEST(it_is_so_one_by_one_too),
    TEST(within_a_priority_they_come_first_in_first_out),
    TEST(a_pop_takes_no_more_than_its_count_over_all_priorities),
    TEST(a_priority_like_all_others_makes_no_difference),
    TEST(a_job_keeps_its_priority_wherever_it_goes),
    TEST(a_released_job_may_have_another_priority_from_then_on),
    TEST(one_that_rests_has_it_when_it_is_due),
    TEST(a_buried_job_may_have_another_priority_too),
    TEST(the_urgent_ones_are_counted),
    TEST(what_becomes_due_is_served_by_its_priority),
    TEST(a_released_job_is_the_last_of_its_priority),
    TEST(a_returned_job_is_the_first_of_its_priority),
    TEST(a_whole_batch_of_priorities_becomes_ready_again),
    TEST(what_is_returned_twice_is_first_again),
    TEST(a_reservation_that_ran_out_is_the_last_of_its_priority),
    TEST(a_cancelled_job_is_not_served_whatever_its_priority),
    TEST(every_priority_announces_its_first_job),
    TEST(a_whole_batch_is_served_in_order),
};

const struct contract_part contract_priorities = {tests, sizeof(tests) / sizeof(*tests)};
