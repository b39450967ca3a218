/* What only some jobs have: attributes, counters, and an order by their ids. */
#include "node/store/contract/contract.h"
#include "node/store/contract/whole.h"

#include <stdio.h>

static struct op extra_op(const char *id)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.has_extra = true;
    return op;
}

static struct op by_id_op(const char *id)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.by_id = true;
    return op;
}

static struct job_extra extra_of(const char *id)
{
    return get(id).extra;
}

/* ---- what it is ---- */

static void a_job_has_nothing_extra_unless_it_is_asked_for(void **state)
{
    push("a");
    assert_false(extra_of("a").is_there);
    assert_int_equal(extra_of("a").created_ms, 0);
    push_ranked("b", 7);
    assert_false(extra_of("b").is_there);
}

static void attributes_come_back_with_the_job(void **state)
{
    struct attributes some = {0};
    struct op op = large_op("a"), pushed;
    struct job job;

    attributes_add(&some, BYTES("name"), BYTES("value"));
    attributes_add(&some, BYTES("other"), BYTES(""));
    op.in.push.attributes = attributes_packed(&some);
    pushed = run_well(op);
    job = get("a");
    assert_bytes(job.extra.attributes, attributes_packed(&some));
    assert_bytes(job.body, op.in.push.body);
    job = pop_one();
    assert_bytes(job.extra.attributes, attributes_packed(&some));
    assert_int_equal(job.extra.created_ms, pushed.now_ms);
    assert_bytes(job.body, op.in.push.body);
    assert_true(rules_are_default(&job.rules));
    job = list(JOB_RESERVED, BYTES(""), 1).out.list.rows[0].job;
    assert_bytes(job.extra.attributes, attributes_packed(&some));
}

static void the_most_attributes_find_room(void **state)
{
    static char value[ATTRIBUTES_MAX_BYTES - 4];
    struct attributes some = {0};
    struct op op = push_op(TOPIC, "a");
    struct job job;

    assert_true(attributes_add(&some, BYTES("n"), bytes_of(value, sizeof(value))));
    op.in.push.attributes = attributes_packed(&some);
    op.in.push.rules.max_tries = 3;
    op.in.push.rules.backoff = (struct backoff){.kind = BACKOFF_FIXED, .base_ms = 1000};
    op.in.push.ttl_ms = FAR_MS;
    job = reserve(op);
    assert_bytes(job.extra.attributes, op.in.push.attributes);
    delivered(&job, 1);
    job = get("a");
    assert_bytes(job.extra.attributes, op.in.push.attributes);
    assert_bytes(job.body, BODY);
    assert_int_equal(job.rules.max_tries, 3);
    assert_int_equal(job.rules.backoff.kind, BACKOFF_FIXED);
    assert_status(release(&job, -1), OK);
    assert_state("a", JOB_DELAYED);
}

static void the_holder_stands_behind_it(void **state)
{
    struct job job = reserve(extra_op("a"));
    struct lease lease = {.id = job.id, .stamp = job.stamp, .holder = BYTES("alice")};

    run_well((struct op){
        .verb = OP_DELIVERED, .topic = TOPIC, .in.leases = {.items = &lease, .count = 1}});
    assert_bytes(get("a").holder, BYTES("alice"));
    assert_bytes(get("a").body, BODY);
    assert_int_equal(extra_of("a").reserves, 1);
    assert_status(release(&job, 0), OK);
    job = pop_one();
    lease = (struct lease){.id = job.id, .stamp = job.stamp};
    run_well((struct op){
        .verb = OP_DELIVERED, .topic = TOPIC, .in.leases = {.items = &lease, .count = 1}});
    assert_bytes(get("a").holder, BYTES(""));
    assert_bytes(get("a").body, BODY);
    assert_int_equal(extra_of("a").reserves, 2);
}

static void who_replaces_a_job_brings_its_own(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job = reserve(extra_op("a"));

    delivered(&job, 1);
    assert_int_equal(extra_of("a").reserves, 1);
    op.in.push.mode = PUSH_REPLACE;
    run_well(op);
    assert_false(extra_of("a").is_there);
    op.in.push.by_id = true;
    run_well(op);
    assert_true(extra_of("a").by_id);
    assert_int_equal(extra_of("a").reserves, 0);
    ASSERT_READY("a");
}

/* ---- counters ---- */

static void assert_counted(const char *id, unsigned reserves, unsigned timeouts,
                           unsigned releases, unsigned buries, unsigned kicks)
{
    struct job_extra extra = extra_of(id);

    assert_int_equal(extra.reserves, reserves);
    assert_int_equal(extra.timeouts, timeouts);
    assert_int_equal(extra.releases, releases);
    assert_int_equal(extra.buries, buries);
    assert_int_equal(extra.kicks, kicks);
}

static void it_is_counted_what_happens_to_a_job(void **state)
{
    struct job job = reserve(extra_op("a"));
    struct op op;

    assert_counted("a", 0, 0, 0, 0, 0);
    delivered(&job, 1);
    delivered(&job, 1);
    assert_counted("a", 1, 0, 0, 0, 0);
    op = touch(&job, 1);
    scan_at(after(&op, 1));
    assert_counted("a", 1, 1, 0, 0, 0);
    job = pop_one();
    assert_status(release(&job, FAR_MS), OK);
    assert_counted("a", 2, 1, 1, 0, 0);
    assert_status(move("a", 0, FROM_ANYWHERE), OK);
    assert_counted("a", 2, 1, 1, 0, 1);
    job = pop_one();
    assert_status(touch(&job, 0), OK);
    assert_status(bury(&job), OK);
    assert_counted("a", 3, 1, 1, 1, 1);
    kick(1);
    assert_counted("a", 3, 1, 1, 1, 2);
    assert_int_equal(get("a").tries, 0);
    job = pop_one();
    assert_status(bury(&job), OK);
    assert_status(move("a", 0, FROM(DEAD)), OK);
    assert_counted("a", 4, 1, 1, 2, 3);
}

/* The consumer never had it. */
static void what_was_not_confirmed_is_not_counted(void **state)
{
    struct job job = reserve(extra_op("a"));

    returned(&job, 1);
    assert_counted("a", 0, 0, 0, 0, 0);
    job = pop_one();
    scan_at(look("a").place_ms);
    assert_counted("a", 0, 0, 0, 0, 0);
    assert_state("a", JOB_READY);
}

static void a_last_try_is_counted_too(void **state)
{
    struct op op = extra_op("a");
    struct job job;

    op.in.push.rules.max_tries = 1;
    job = reserve(op);
    op = touch(&job, 1);
    scan_at(after(&op, 1));
    assert_dead("a", DEATH_TRIES);
    assert_counted("a", 1, 1, 0, 0, 0);
    assert_status(move("a", FAR_MS, FROM(DEAD)), OK);
    assert_counted("a", 1, 1, 0, 0, 0);
}

static void it_is_counted_where_a_job_rests(void **state)
{
    struct op op = extra_op("a");
    struct job job;

    op.in.push.rules.backoff = (struct backoff){.kind = BACKOFF_FIXED, .base_ms = FAR_MS};
    job = reserve(op);
    op = touch(&job, 1);
    scan_at(after(&op, 1));
    assert_state("a", JOB_DELAYED);
    assert_counted("a", 1, 1, 0, 0, 0);
    move("a", 0, FROM(DELAYED));
    job = pop_one();
    assert_status(release(&job, -1), OK);
    assert_state("a", JOB_DELAYED);
    assert_counted("a", 2, 1, 1, 0, 1);
}

/* ---- a holder that is gone ---- */

static struct op end(const struct job *job)
{
    struct op op = lease_op(OP_RELEASE, job);

    op.in.lease.is_end = true;
    return run(op);
}

static void the_end_of_its_holder_is_no_release(void **state)
{
    struct job job = reserve(extra_op("a"));

    assert_status(end(&job), OK);
    assert_counted("a", 0, 0, 0, 0, 0);
    assert_int_equal(get("a").tries, 0);
    job = pop_one();
    delivered(&job, 1);
    assert_status(end(&job), OK);
    assert_counted("a", 1, 0, 0, 0, 0);
    assert_int_equal(get("a").tries, 1);
    assert_status(end(&job), NOT_RESERVED);
    ASSERT_READY("a");
}

/* Else a consumer that is gone before it has the job would end it. */
static void it_ends_a_job_only_by_a_try_that_was_one(void **state)
{
    struct job job = (push_limited("a", 1), pop_one());

    assert_status(end(&job), OK);
    assert_state("a", JOB_READY);
    job = pop_one();
    delivered(&job, 1);
    assert_int_equal(end(&job).out.change.death, DEATH_TRIES);
    assert_dead("a", DEATH_TRIES);
}

/* ---- the order of ids ---- */

/* An id that the store makes. */
static struct bytes push_numbered_by_id(uint32_t priority, int64_t delay_ms)
{
    struct op op = by_id_op("");

    op.in.push.rules.priority = priority;
    op.in.push.delay_ms = delay_ms;
    return run_well(op).out.push.id;
}

static void assert_served(unsigned count, const struct bytes *ids)
{
    struct op op = pop(BATCH_MAX);

    for (unsigned i = 0; i < count && i < op.out.pop.count; i++)
        assert_bytes(op.out.pop.jobs[i].id, ids[i]);
    assert_int_equal(op.out.pop.count, count);
}

static void test_order_of_ids(uint32_t priority)
{
    struct bytes ids[6];
    struct job jobs[3];
    struct op op;

    for (unsigned i = 0; i < 6; i++)
        ids[i] = push_numbered_by_id(priority, i == 3 ? SOON_MS : 0);
    memcpy(jobs, pop(3).out.pop.jobs, sizeof(jobs));
    op = run_well((struct op){.verb = OP_GET, .topic = TOPIC, .id = ids[3]});
    scan_at(op.out.row.job.due_ms);
    assert_status(release(&jobs[2], 0), OK);
    assert_status(bury(&jobs[1]), OK);
    returned(&jobs[0], 1);
    kick(1);
    assert_served(6, ids);
    assert_counts(TOPIC, 0, 0, 6);
}

static void jobs_by_id_come_back_to_their_place(void **state)
{
    test_order_of_ids(7);
}

static void so_they_do_at_the_priority_of_most_jobs(void **state)
{
    test_order_of_ids(RULES_PRIORITY_DEFAULT);
}

static void so_they_do_behind_it(void **state)
{
    test_order_of_ids(RULES_PRIORITY_MAX);
}

static void one_that_timed_out_comes_back_to_its_place(void **state)
{
    struct bytes ids[2] = {push_numbered_by_id(1024, 0), push_numbered_by_id(1024, 0)};
    struct job job = pop_one();
    struct op op = touch(&job, 1);

    scan_at(after(&op, 1));
    assert_served(2, ids);
}

static void one_that_rests_comes_back_to_its_place(void **state)
{
    struct bytes ids[2] = {push_numbered_by_id(1024, 0), push_numbered_by_id(1024, 0)};
    struct job job = pop_one();
    struct op op = release(&job, 1);

    scan_at(op.out.change.due_ms);
    assert_served(2, ids);
}

static void one_that_is_run_comes_to_its_place(void **state)
{
    struct bytes ids[2] = {push_numbered_by_id(1024, FAR_MS), push_numbered_by_id(1024, 0)};
    struct op op = {.verb = OP_MOVE, .topic = TOPIC, .id = ids[0]};

    op.in.move.states = FROM_ANYWHERE;
    run_well(op);
    assert_served(2, ids);
}

/* Of jobs whose ids are given by clients the order of pushes counts. */
static void a_given_id_has_the_place_of_its_push(void **state)
{
    struct op op = by_id_op("delayed");
    struct job job;

    op.in.push.delay_ms = SOON_MS;
    op = run_well(op);
    run_well(by_id_op("b"));
    run_well(by_id_op("a"));
    job = pop_one();
    assert_bytes(job.id, BYTES("b"));
    scan_at(op.out.push.due_ms);
    assert_status(release(&job, 0), OK);
    ASSERT_READY("delayed", "b", "a");
}

/* In one call, where the store can. */
static void pushes_that_come_together_have_their_order(void **state)
{
    static const uint32_t priorities[] = {1024, 7, 1024, 1024, 5000, 7};
    struct bytes ids[6];
    struct op ops[6], popped;

    for (unsigned i = 0; i < 6; i++) {
        ops[i] = i == 2 ? push_op(TOPIC, "") : by_id_op(i == 3 ? "given" : "");
        ops[i].in.push.rules.priority = priorities[i];
        ops[i].in.push.delay_ms = i == 3 ? SOON_MS : 0;
    }
    run_all(ops, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_status(ops[i], OK);
        ids[i] = ops[i].out.push.id;
    }
    scan_at(ops[3].out.push.due_ms);
    popped = pop(2);
    for (unsigned i = 0; i < 2; i++)
        assert_status(release(&popped.out.pop.jobs[i], 0), OK);
    assert_served(6, (struct bytes[]){ids[1], ids[5], ids[0], ids[2], ids[3], ids[4]});
}

/* ---- together with others of the same priority ---- */

static void push_mixed(void)
{
    run_well(by_id_op("a"));
    push("b");
    push("c");
    run_well(by_id_op("d"));
    run_well(by_id_op("e"));
    push("f");
    push_ranked("low", 1025);
    push_ranked("high", 1023);
}

static void both_kinds_are_served_as_they_came(void **state)
{
    push_mixed();
    ASSERT_READY("high", "a", "b", "c", "d", "e", "f", "low");
}

static void both_kinds_are_served_one_by_one_too(void **state)
{
    static const char *const ids[] = {"high", "a", "b", "c", "d", "e", "f", "low"};

    push_mixed();
    for (unsigned i = 0; i < 8; i++)
        assert_bytes(pop_one().id, bytes_of_text(ids[i]));
    assert_int_equal(pop(1).out.pop.count, 0);
}

static void others_go_to_the_end_and_jobs_by_id_do_not(void **state)
{
    struct op popped = (push_mixed(), pop(7));

    for (unsigned i = 0; i < 7; i++)
        assert_status(release(&popped.out.pop.jobs[i], 0), OK);
    ASSERT_READY("high", "a", "d", "e", "b", "c", "f", "low");
}

static void tombstones_between_them_are_passed(void **state)
{
    push_mixed();
    assert_status(cancel("b"), OK);
    assert_status(cancel("d"), OK);
    assert_counts(TOPIC, 0, 6, 0);
    assert_bytes(pop_one().id, BYTES("high"));
    assert_bytes(pop_one().id, BYTES("a"));
    assert_bytes(pop_one().id, BYTES("c"));
    ASSERT_READY("e", "f", "low");
}

static void a_long_mixed_line_is_served_in_order(void **state)
{
    enum { COUNT = 300 };
    unsigned served = 0;

    for (unsigned i = 0; i < COUNT; i++)
        run_well(i % 3 ? push_op(TOPIC, numbered(i)) : by_id_op(numbered(i)));
    while (served < COUNT) {
        struct op op = pop(50);

        assert_int_equal(op.out.pop.count, 50);
        for (unsigned i = 0; i < 50; i++)
            assert_bytes(op.out.pop.jobs[i].id, bytes_of_text(numbered(served++)));
        assert_int_equal(op.out.pop.has_more, served < COUNT);
    }
}

static void both_kinds_are_listed_as_they_are_served(void **state)
{
    push_mixed();
    ASSERT_LIST(JOB_READY, "high", "a", "b", "c", "d", "e", "f", "low");
    assert_status(cancel("a"), OK);
    assert_status(cancel("b"), OK);
    ASSERT_LIST(JOB_READY, "high", "c", "d", "e", "f", "low");
}

static void both_kinds_are_purged_as_they_are_served(void **state)
{
    struct op op;

    push_mixed();
    op = purge(JOB_READY, 4);
    assert_int_equal(op.out.chunk.count, 4);
    assert_true(op.out.chunk.has_more);
    ASSERT_LIST(JOB_READY, "d", "e", "f", "low");
    op = purge(JOB_READY, 100);
    assert_int_equal(op.out.chunk.count, 4);
    assert_false(op.out.chunk.has_more);
    assert_counts(TOPIC, 0, 0, 0);
}

/* One in the line is told where the other kind was there before, too: in Redis each has a place
 * of its own. */
static void each_kind_announces_its_first_job(void **state)
{
    push("a");
    assert_int_equal(wake_ups(TOPIC), 1);
    run_well(by_id_op("b"));
    assert_int_equal(wake_ups(TOPIC), 2);
    run_well(by_id_op("c"));
    push("d");
    assert_int_equal(wake_ups(TOPIC), 2);
    ASSERT_READY("a", "b", "c", "d");
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_has_nothing_extra_unless_it_is_asked_for),
    TEST(attributes_come_back_with_the_job),
    TEST(the_most_attributes_find_room),
    TEST(the_holder_stands_behind_it),
    TEST(who_replaces_a_job_brings_its_own),
    TEST(it_is_counted_what_happens_to_a_job),
    TEST(what_was_not_confirmed_is_not_counted),
    TEST(a_last_try_is_counted_too),
    TEST(it_is_counted_where_a_job_rests),
    TEST(the_end_of_its_holder_is_no_release),
    TEST(it_ends_a_job_only_by_a_try_that_was_one),
    TEST(jobs_by_id_come_back_to_their_place),
    TEST(so_they_do_at_the_priority_of_most_jobs),
    TEST(so_they_do_behind_it),
    TEST(one_that_timed_out_comes_back_to_its_place),
    TEST(one_that_rests_comes_back_to_its_place),
    TEST(one_that_is_run_comes_to_its_place),
    TEST(a_given_id_has_the_place_of_its_push),
    TEST(pushes_that_come_together_have_their_order),
    TEST(both_kinds_are_served_as_they_came),
    TEST(both_kinds_are_served_one_by_one_too),
    TEST(others_go_to_the_end_and_jobs_by_id_do_not),
    TEST(tombstones_between_them_are_passed),
    TEST(a_long_mixed_line_is_served_in_order),
    TEST(both_kinds_are_listed_as_they_are_served),
    TEST(both_kinds_are_purged_as_they_are_served),
    TEST(each_kind_announces_its_first_job),
};

const struct contract_part contract_extras = {tests, sizeof(tests) / sizeof(*tests)};
