/* As wrong.c, for a single job with rules: what its verbs leave behind when they are refused,
 * because a key is of a wrong type, PUBLISH is forbidden, or Redis is full.
 */
#include "node/store/contract/redis/plant.h"

#define PRIORITY 5

/* Large, of another priority, with a ttl: it needs every key there is. */
static struct op rich_op(const char *id)
{
    struct op op = large_op(id);
    op.in.push.rules.priority = PRIORITY;
    op.in.push.ttl_ms = FAR_MS;
    op.in.push.bytes_max = CONTRACT_BYTES_MAX;
    return op;
}

static struct job reserve_rich(const char *id)
{
    struct job job;

    run_well(rich_op(id));
    job = contract_pop_indexed();
    assert_bytes(job.id, bytes_of_text(id));
    return job;
}

/* The topic has an earlier event than any that comes with a verb. */
static void begin(void)
{
    push_delayed("early", 1);
    wait_until(store_now() + 2);
}

/* ---- a key of a wrong type ---- */

static void no_push_with_rules_happens_when_a_key_is_wrong(void **state)
{
    struct op op = rich_op("new");

    begin();
    contract_all_or_nothing(op, "jpqenw");
    op.in.push.delay_ms = 1000;
    contract_all_or_nothing(op, "jpdetw");
    run_well(op);
}

/* One goes into the list, the other one is ranked. */
static void no_push_by_id_happens_when_a_key_is_wrong(void **state)
{
    struct op two[2] = {push_op(TOPIC, ""), push_op(TOPIC, "")};

    two[1].in.push.by_id = true;
    begin();
    contract_all_or_nothing(two[1], "jqn");
    contract_all_or_nothing_together(two, 2, "jrqn");
    contract_refused_unheard_together(two, 2);
    two[1].id = BYTES("b");
    two[1].in.push.delay_ms = 1000;
    contract_all_or_nothing(two[1], "jdtn");
}

/* A dead job, a reserved one, and a ready one. */
static void begin_with_three(void)
{
    struct job job;

    begin();
    job = reserve_rich("dead");
    assert_status(bury(&job), OK);
    reserve_rich("reserved");
    run_well(rich_op("ready"));
}

/* Pushed over itself, with as little in common as can be. */
static void assert_replaced_or_left(const char *id, const char *letters)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.mode = PUSH_REPLACE;
    contract_all_or_nothing(op, letters);
    op.in.push.delay_ms = 1000;
    contract_all_or_nothing(op, letters);
    run_well(op);
    op = rich_op(id);
    op.in.push.mode = PUSH_REPLACE;
    contract_all_or_nothing(op, "jpqednw");
    run_well(op);
}

static void nothing_is_replaced_when_a_key_is_wrong(void **state)
{
    begin_with_three();
    assert_replaced_or_left("dead", "jpx");
    assert_replaced_or_left("reserved", "jpveo");
    assert_replaced_or_left("ready", "jpqe");
}

static void no_pop_by_priority_happens_when_a_key_is_wrong(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 9, .id_only = true}};

    begin();
    run_well(rich_op("urgent"));
    push("common");
    contract_all_or_nothing(op, "jprvtnoq");
    push_mortal("mortal", 0, 1);
    wait_until(store_now() + 2);
    contract_all_or_nothing(op, "jprvtnoqxe");
    assert_int_equal(run_well(op).out.pop.count, 2);
    assert_dead("mortal", DEATH_EXPIRED);
}

static void no_lease_ends_when_a_key_is_wrong(void **state)
{
    struct job job = (begin(), reserve_rich("a"));
    struct lease lease = {.id = job.id, .stamp = job.stamp, .has_ttr = true};
    struct op op = {.verb = OP_RETURN,
                    .topic = TOPIC,
                    .in.leases = {.items = &lease, .count = 1}},
              two[2];
    struct job other;

    contract_all_or_nothing(op, "jqvn");
    op.verb = OP_DELIVERED;
    contract_all_or_nothing(op, "jpveow");
    contract_all_or_nothing(lease_op(OP_ACK, &job), "jpveow");
    contract_all_or_nothing(lease_op(OP_BURY, &job), "jvtxe");
    op = lease_op(OP_RELEASE, &job);
    contract_all_or_nothing(op, "jvqn");
    push("b");
    other = pop_one();
    two[0] = op;
    two[1] = lease_op(OP_RELEASE, &other);
    contract_all_or_nothing_together(two, 2, "jrqvn");
    assert_status(ack(&other), OK);
    op.in.lease.delay_ms = 1000;
    contract_all_or_nothing(op, "jvtd");
    assert_status(ack(&job), OK);
}

static void no_last_try_ends_when_a_key_is_wrong(void **state)
{
    struct op op = rich_op("a"), two[2];
    struct job job, other;

    begin();
    op.in.push.rules.max_tries = 1;
    run_well(op);
    job = contract_pop_indexed();
    contract_all_or_nothing(lease_op(OP_RELEASE, &job), "jvtxe");
    push("b");
    other = pop_one();
    two[0] = lease_op(OP_RELEASE, &job);
    two[1] = lease_op(OP_RELEASE, &other);
    contract_all_or_nothing_together(two, 2, "jrvntxe");
    two[1].in.lease.delay_ms = 1000;
    contract_all_or_nothing_together(two, 2, "jdvtxe");
    assert_status(ack(&other), OK);
    assert_status(release(&job, 0), OK);
    assert_dead("a", DEATH_TRIES);
}

static void assert_moved_or_left(const char *id, const char *now, const char *later)
{
    struct op op = id_op(OP_MOVE, id);

    op.in.move.states = FROM_ANYWHERE;
    contract_all_or_nothing(op, now);
    op.in.move.delay_ms = 1000;
    contract_all_or_nothing(op, later);
    run_well(op);
}

static void no_move_happens_when_a_key_is_wrong(void **state)
{
    begin_with_three();
    assert_moved_or_left("dead", "jqxn", "jdtx");
    assert_moved_or_left("reserved", "jqvn", "jdtv");
    assert_moved_or_left("ready", "j", "jdtq");
    assert_moved_or_left("ready", "jqdn", "jdt");
}

static void assert_taken_or_left(const char *id, const char *letters)
{
    struct op op = id_op(OP_TAKE, id);

    op.in.pop = (typeof(op.in.pop)){.count = 1, .id_only = true};
    contract_all_or_nothing(op, letters);
    run_well(op);
}

static void no_job_is_taken_when_a_key_is_wrong(void **state)
{
    struct op op = rich_op("delayed");

    begin_with_three();
    op.in.push.delay_ms = 1000;
    run_well(op);
    assert_taken_or_left("dead", "jpxvton");
    assert_taken_or_left("delayed", "jpdvton");
    assert_taken_or_left("ready", "jpqvton");
}

static void no_cancel_of_a_job_with_rules_happens_when_a_key_is_wrong(void **state)
{
    struct job job;

    begin();
    job = reserve_rich("dead");
    assert_status(bury(&job), OK);
    run_well(rich_op("ready"));
    contract_all_or_nothing(id_op(OP_CANCEL, "dead"), "jpxw");
    contract_all_or_nothing(id_op(OP_CANCEL, "ready"), "jpqew");
}

static void nothing_of_a_job_with_rules_stays_when_it_is_gone(void **state)
{
    struct job job = reserve_rich("acked");
    struct op op = rich_op("replaced");

    assert_status(ack(&job), OK);
    job = reserve_rich("delivered");
    delivered_for(&job, 0);
    run_well(op);
    op = push_op(TOPIC, "replaced");
    op.in.push.mode = PUSH_REPLACE;
    run_well(op);
    assert_status(cancel("replaced"), OK);
    job = reserve_rich("buried");
    assert_status(bury(&job), OK);
    assert_status(cancel("buried"), OK);
    run_well(rich_op("cancelled"));
    assert_status(cancel("cancelled"), OK);
    assert_nothing_stays();
}

/* ---- nobody may be told; Redis is full ---- */

static void nothing_happens_by_priority_that_cannot_be_announced(void **state)
{
    struct job job = reserve_rich("a"), other = reserve_rich("b");
    struct lease lease = {.id = job.id, .stamp = job.stamp};
    struct op op = {
        .verb = OP_RETURN, .topic = TOPIC, .in.leases = {.items = &lease, .count = 1}};
    struct op two[] = {lease_op(OP_RELEASE, &job), lease_op(OP_RELEASE, &other)};

    contract_refused_unheard(op);
    contract_refused_unheard(lease_op(OP_RELEASE, &job));
    contract_refused_unheard_together(two, 2);
    contract_refused_unheard(rich_op("new"));
    op = id_op(OP_MOVE, "a");
    op.in.move.states = FROM_ANYWHERE;
    contract_refused_unheard(op);
}

static void a_full_redis_lets_jobs_die_and_be_moved(void **state)
{
    struct job buried = reserve_rich("buried"), tried;
    struct op op = push_op(TOPIC, "buried"), take = id_op(OP_TAKE, "buried");

    push_limited("tried", 1);
    tried = pop_one();
    push_mortal("mortal", 0, 1);
    push_delayed("delayed", FAR_MS);
    wait_until(store_now() + 2);
    contract_fill();
    op.in.push.mode = PUSH_REPLACE;
    assert_status(run(op), STORE_ERROR);
    assert_status(bury(&buried), OK);
    assert_status(release(&tried, 0), OK);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_status(move("delayed", 0, FROM_ANYWHERE), OK);
    take.in.pop = (typeof(take.in.pop)){.count = 1, .id_only = true};
    assert_status(run(take), OK);
    assert_status(move("buried", FAR_MS, FROM_ANYWHERE), OK);
    contract_make_room();
    assert_dead("tried", DEATH_TRIES);
    assert_dead("mortal", DEATH_EXPIRED);
    assert_all_counts(1, 1, 0, 2);
}

static const struct CMUnitTest tests[] = {
    TEST(no_push_with_rules_happens_when_a_key_is_wrong),
    TEST(no_push_by_id_happens_when_a_key_is_wrong),
    TEST(nothing_is_replaced_when_a_key_is_wrong),
    TEST(no_pop_by_priority_happens_when_a_key_is_wrong),
    TEST(no_lease_ends_when_a_key_is_wrong),
    TEST(no_last_try_ends_when_a_key_is_wrong),
    TEST(no_move_happens_when_a_key_is_wrong),
    TEST(no_job_is_taken_when_a_key_is_wrong),
    TEST(no_cancel_of_a_job_with_rules_happens_when_a_key_is_wrong),
    TEST(nothing_of_a_job_with_rules_stays_when_it_is_gone),
    TEST(nothing_happens_by_priority_that_cannot_be_announced),
    TEST(a_full_redis_lets_jobs_die_and_be_moved),
};

const struct contract_part contract_single = {tests, sizeof(tests) / sizeof(*tests)};
