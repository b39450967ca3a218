/* Time to live: a job not done by then is dead, in whatever state it was. */
#include "node/store/contract/contract.h"

#define SHORT_MS 100 /* nothing has to be done before it */

static void a_ttl_begins_with_the_push(void **state)
{
    struct op op = push_mortal("a", 0, FAR_MS);

    assert_int_equal(get("a").rules.expires_ms, after(&op, FAR_MS));
    assert_int_equal(op.wait_ms, FAR_MS + BEGUN_MS);
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
    push("b");
    assert_int_equal(get("b").rules.expires_ms, 0);
}

static void a_delayed_job_is_due_before_it_expires(void **state)
{
    struct op op = push_mortal("a", 1000, FAR_MS);

    assert_int_equal(op.wait_ms, 1000 + BEGUN_MS);
    assert_int_equal(get("a").rules.expires_ms, after(&op, FAR_MS));
}

static void a_job_that_expires_before_it_is_due_is_refused(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.delay_ms = 1000;
    op.in.push.ttl_ms = 1000;
    assert_status(run(op), OUT_OF_RANGE);
    op.in.push.ttl_ms = 999;
    assert_status(run(op), OUT_OF_RANGE);
    assert_gone("a");
    op.in.push.ttl_ms = 1001;
    run_well(op);
}

static void a_ttl_may_count_from_when_the_job_is_due(void **state)
{
    struct op op = push_op(TOPIC, "a"), pushed;

    op.in.push.ttl_from_due = true;
    op.in.push.ttl_ms = 1;
    op.in.push.delay_ms = FAR_MS;
    pushed = run_well(op);
    assert_int_equal(get("a").rules.expires_ms, pushed.out.push.due_ms + 1);

    op.in.push.mode = PUSH_REPLACE;
    op.in.push.at_ms = pushed.now_ms + 2 * FAR_MS;
    run_well(op);
    assert_int_equal(get("a").rules.expires_ms, pushed.now_ms + 2 * FAR_MS + 1);

    op.in.push.ttl_ms = FAR_MS;
    op.in.push.at_ms = 1; /* long over: then from now */
    pushed = run_well(op);
    assert_true(pushed.out.push.existed);
    assert_int_equal(get("a").rules.expires_ms, after(&pushed, FAR_MS));

    op.in.push.ttl_ms = 0;
    run_well(op);
    assert_int_equal(get("a").rules.expires_ms, 0);
    op.in.push.mode = PUSH_REJECT;
    assert_status(run(op), DUPLICATE);
}

/* Scans when it has expired: the only job that moves. */
static void assert_expires(const char *id, int64_t expires_ms)
{
    struct op op = scan_at(expires_ms);

    assert_int_equal(op.out.scan.died[DEATH_EXPIRED], 1);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.lateness_count, 0);
    assert_dead(id, DEATH_EXPIRED);
    assert_int_equal(look(id).place_ms, op.now_ms);
}

static void what_expires_while_it_is_ready_is_dead(void **state)
{
    static const uint32_t priorities[] = {RULES_PRIORITY_DEFAULT, 5};

    for (unsigned i = 0; i < 2; i++) {
        struct op op = push_op(TOPIC, "a");

        op.in.push.rules.priority = priorities[i];
        op.in.push.ttl_ms = SHORT_MS;
        op = run_well(op);
        assert_expires("a", after(&op, SHORT_MS));
        assert_all_counts(0, 0, 0, 1);
        assert_int_equal(pop(1).out.pop.count, 0);
        assert_status(cancel("a"), OK);
    }
}

static void what_expires_while_it_is_reserved_is_dead_and_its_lease_void(void **state)
{
    struct op op = push_mortal("a", 0, ROOM_MS);
    int64_t expires_ms = after(&op, ROOM_MS);
    struct job job = pop_one();

    delivered(&job, 1);
    assert_expires("a", expires_ms);
    assert_all_counts(0, 0, 0, 1);
    assert_int_equal(get("a").tries, 1);
    assert_status(ack(&job), NOT_RESERVED);
    assert_status(touch(&job, 0), NOT_RESERVED);
}

static void what_expires_while_it_is_delayed_is_dead(void **state)
{
    struct op op = push_mortal("a", 0, ROOM_MS);
    int64_t expires_ms = after(&op, ROOM_MS);
    struct job job = pop_one();

    assert_status(release(&job, FAR_MS), OK);
    assert_expires("a", expires_ms);
    assert_all_counts(0, 0, 0, 1);
}

/* ---- the scan has not come yet ---- */

static void what_has_expired_is_not_handed_out(void **state)
{
    struct op op = push_mortal("a", 0, SHORT_MS);

    wait_until(after(&op, SHORT_MS));
    op = pop(1);
    assert_int_equal(op.out.pop.count, 0);
    assert_false(op.out.pop.has_more);
    assert_dead("a", DEATH_EXPIRED);
    assert_int_equal(look("a").place_ms, op.now_ms);
    assert_bytes(get("a").body, BODY);
    assert_all_counts(0, 0, 0, 1);
    assert_int_equal(scan(1000).out.scan.moved, 0);
}

static void a_pop_takes_what_stands_between_the_expired(void **state)
{
    struct op op = push_op(TOPIC, "urgent"), popped;

    op.in.push.rules.priority = 5;
    op.in.push.ttl_ms = SHORT_MS;
    run_well(op);
    push_ranked("after", 5);
    push_mortal("b", 0, SHORT_MS);
    push("c");
    push_mortal("d", 0, SHORT_MS);
    op = push_mortal("e", 0, FAR_MS);
    wait_until(after(&op, SHORT_MS));
    popped = pop(3);
    ASSERT_POPPED(popped, "after", "c", "e");
    assert_all_counts(0, 0, 3, 3);
    assert_dead("urgent", DEATH_EXPIRED);
    assert_dead("b", DEATH_EXPIRED);
    assert_dead("d", DEATH_EXPIRED);
}

/* ---- when nothing is left to expire ---- */

static void who_is_done_in_time_does_not_expire(void **state)
{
    struct job job = (push_mortal("acked", 0, FAR_MS), pop_one());
    struct op none = push_op(TOPIC, "none");

    assert_status(ack(&job), OK);
    push_mortal("cancelled", 0, FAR_MS);
    assert_status(cancel("cancelled"), OK);
    none.in.push.ttr_ms = 0;
    none.in.push.ttl_ms = FAR_MS;
    run_well(none);
    job = pop_one();
    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    assert_gone("none");
    assert_int_equal(next_event_ms(), -1);
}

static void a_job_dies_once(void **state)
{
    struct op op = push_mortal("a", 0, ROOM_MS);
    int64_t expires_ms = after(&op, ROOM_MS);
    struct job job = pop_one();

    assert_status(bury(&job), OK);
    op = scan_at(expires_ms);
    assert_int_equal(op.out.scan.moved, 0);
    assert_dead("a", DEATH_BURIED);
    assert_int_equal(op.out.scan.next_ms, -1);
}

static void a_ttl_stays_with_a_job_that_comes_back(void **state)
{
    struct op op = push_mortal("a", 0, FAR_MS);
    int64_t expires_ms = after(&op, FAR_MS);
    struct job job = pop_one();

    returned(&job, 1);
    job = pop_one();
    delivered(&job, 1);
    assert_status(release(&job, 0), OK);
    assert_status(move("a", 1000, FROM_ANYWHERE), OK);
    assert_int_equal(get("a").rules.expires_ms, expires_ms);
}

static const struct CMUnitTest tests[] = {
    TEST(a_ttl_begins_with_the_push),
    TEST(a_delayed_job_is_due_before_it_expires),
    TEST(a_job_that_expires_before_it_is_due_is_refused),
    TEST(a_ttl_may_count_from_when_the_job_is_due),
    TEST(what_expires_while_it_is_ready_is_dead),
    TEST(what_expires_while_it_is_reserved_is_dead_and_its_lease_void),
    TEST(what_expires_while_it_is_delayed_is_dead),
    TEST(what_has_expired_is_not_handed_out),
    TEST(a_pop_takes_what_stands_between_the_expired),
    TEST(who_is_done_in_time_does_not_expire),
    TEST(a_job_dies_once),
    TEST(a_ttl_stays_with_a_job_that_comes_back),
};

const struct contract_part contract_expiry = {tests, sizeof(tests) / sizeof(*tests)};
