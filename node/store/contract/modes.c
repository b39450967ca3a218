/* Push modes: what becomes of a push whose id lives. */
#include "node/store/contract/contract.h"

#define NEW_BODY BYTES("a new body")

static struct op push_mode(const char *id, enum push_mode mode)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.mode = mode;
    op.in.push.body = NEW_BODY;
    return op;
}

/* In every state one, each named by it; the lease of the reserved one. */
static struct job one_in_every_state(void)
{
    struct job job;

    make_dead("dead");
    push("reserved");
    job = pop_one();
    delivered(&job, 1);
    push("ready");
    push_delayed("delayed", FAR_MS);
    assert_all_counts(1, 1, 1, 1);
    return job;
}

static const char *const everywhere[] = {"dead", "reserved", "ready", "delayed"};

/* ---- replace ---- */

static void a_job_is_replaced_wherever_it_is(void **state)
{
    struct job old = one_in_every_state();

    for (unsigned i = 0; i < 4; i++) {
        struct op op = run_well(push_mode(everywhere[i], PUSH_REPLACE));

        assert_true(op.out.push.existed);
        assert_int_equal(op.out.push.due_ms, op.now_ms);
        assert_int_equal(get(everywhere[i]).tries, 0);
        assert_int_equal(get(everywhere[i]).death, DEATH_NONE);
        assert_bytes(get(everywhere[i]).body, NEW_BODY);
    }
    assert_all_counts(0, 4, 0, 0);
    assert_status(ack(&old), NOT_RESERVED);
    ASSERT_READY("dead", "reserved", "ready", "delayed");
}

static void a_job_is_replaced_by_a_delayed_one(void **state)
{
    one_in_every_state();
    for (unsigned i = 0; i < 4; i++) {
        struct op op = push_mode(everywhere[i], PUSH_REPLACE);

        op.in.push.delay_ms = FAR_MS + i;
        op = run_well(op);
        assert_true(op.out.push.existed);
        assert_int_equal(op.out.push.due_ms, after(&op, FAR_MS + i));
        assert_state(everywhere[i], JOB_DELAYED);
        assert_int_equal(get(everywhere[i]).due_ms, op.out.push.due_ms);
    }
    assert_all_counts(4, 0, 0, 0);
    assert_int_equal(pop(1).out.pop.count, 0);
}

static void a_new_id_replaces_nobody(void **state)
{
    struct op op = run_well(push_mode("a", PUSH_REPLACE));

    assert_false(op.out.push.existed);
    assert_bytes(op.out.push.id, BYTES("a"));
    assert_counts(TOPIC, 0, 1, 0);
    op = run_well(push_mode("", PUSH_REPLACE));
    assert_false(op.out.push.existed);
}

static void who_replaces_stands_last_in_line(void **state)
{
    struct op op = push_mode("c", PUSH_REPLACE);

    push_letters(2);
    push_ranked("c", 3);
    run_well(push_mode("a", PUSH_REPLACE));
    run_well(op);
    op.in.push.rules.priority = 2;
    run_well(op);
    ASSERT_READY("c", "b", "a");
}

static void the_rules_of_the_replaced_go_with_it(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.ttl_ms = FAR_MS;
    op.in.push.rules.priority = 3;
    op.in.push.rules.max_tries = 4;
    run_well(op);
    run_well(push_mode("a", PUSH_REPLACE));
    assert_int_equal(get("a").rules.priority, RULES_PRIORITY_DEFAULT);
    assert_int_equal(get("a").rules.max_tries, 0);
    assert_int_equal(get("a").rules.expires_ms, 0);
    assert_int_equal(next_event_ms(), -1);
    ASSERT_READY("a");
}

static void a_replaced_job_expires_by_its_new_ttl(void **state)
{
    struct op op = push_mode("a", PUSH_REPLACE);

    push_mortal("a", 0, FAR_MS);
    op.in.push.ttl_ms = 2 * FAR_MS;
    op = run_well(op);
    assert_int_equal(get("a").rules.expires_ms, after(&op, 2 * FAR_MS));
    assert_int_equal(next_event_ms(), after(&op, 2 * FAR_MS));
}

static void a_body_is_replaced_whatever_its_size(void **state)
{
    static char large[4000], larger[5000];
    struct bytes bodies[] = {bytes_of(large, sizeof(large)), NEW_BODY,
                             bytes_of(larger, sizeof(larger)), bytes_of(large, sizeof(large))};
    struct op op = push_mode("a", PUSH_REPLACE);

    memset(larger, 'x', sizeof(larger));
    for (unsigned i = 0; i < 4; i++) {
        op.in.push.body = bodies[i];
        run_well(op);
        assert_bytes(get("a").body, bodies[i]);
    }
    assert_bytes(pop_one().body, bodies[3]);
}

static void nobody_owns_a_replaced_job(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 1, .id_only = true}};

    push("a");
    run_well(op);
    run_well(push_mode("a", PUSH_REPLACE));
    op = id_op(OP_OWNER, "a");
    op.topic = bytes_of("", 0);
    op.bucket = bucket_of(TOPIC);
    assert_status(run(op), NOT_FOUND);
}

static void what_is_refused_replaces_nothing(void **state)
{
    struct job before = (push("a"), get("a"));
    struct op op = push_mode("a", PUSH_REPLACE);

    op.in.push.delay_ms = JOB_DELAY_MAX_MS + 1;
    assert_status(run(op), OUT_OF_RANGE);
    op.in.push.delay_ms = 2;
    op.in.push.ttl_ms = 1;
    assert_status(run(op), OUT_OF_RANGE);
    assert_int_equal(get("a").stamp, before.stamp);
    assert_bytes(get("a").body, BODY);
    ASSERT_READY("a");
}

/* ---- ignore ---- */

static void what_lives_is_left_as_it_is(void **state)
{
    struct job old = one_in_every_state();

    for (unsigned i = 0; i < 4; i++) {
        struct op op = push_mode(everywhere[i], PUSH_IGNORE);
        struct job before = get(everywhere[i]), after;

        op.in.push.delay_ms = 7;
        op = run_well(op);
        assert_true(op.out.push.existed);
        assert_bytes(op.out.push.id, bytes_of_text(everywhere[i]));
        assert_int_equal(op.out.push.due_ms, before.due_ms);
        assert_int_equal(op.wait_ms, -1);
        after = get(everywhere[i]);
        assert_int_equal(after.state, before.state);
        assert_int_equal(after.stamp, before.stamp);
        assert_int_equal(after.due_ms, before.due_ms);
        assert_bytes(after.body, BODY);
    }
    assert_all_counts(1, 1, 1, 1);
    assert_status(ack(&old), OK);
}

static void a_new_id_is_pushed_and_not_ignored(void **state)
{
    struct op op = run_well(push_mode("a", PUSH_IGNORE));

    assert_false(op.out.push.existed);
    assert_int_equal(op.out.push.due_ms, op.now_ms);
    assert_bytes(pop_one().body, NEW_BODY);
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_is_replaced_wherever_it_is),
    TEST(a_job_is_replaced_by_a_delayed_one),
    TEST(a_new_id_replaces_nobody),
    TEST(who_replaces_stands_last_in_line),
    TEST(the_rules_of_the_replaced_go_with_it),
    TEST(a_replaced_job_expires_by_its_new_ttl),
    TEST(a_body_is_replaced_whatever_its_size),
    TEST(nobody_owns_a_replaced_job),
    TEST(what_is_refused_replaces_nothing),
    TEST(what_lives_is_left_as_it_is),
    TEST(a_new_id_is_pushed_and_not_ignored),
};

const struct contract_part contract_modes = {tests, sizeof(tests) / sizeof(*tests)};
