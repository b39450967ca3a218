/* Fencing: a deposed leader has no effect any more, whatever it still sends. */
#include "node/store/contract/contract.h"

#define ONE            "11111111111111111111111111111111:"
#define OTHER_ENSEMBLE "00000000000000000000000000000000:"

/* As numbers of a double 9 and 9 + 1 would be one. */
#define LOW  BYTES(ONE "0020000000000009")
#define HIGH BYTES(ONE "002000000000000a")
#define ELSE BYTES(OTHER_ENSEMBLE "0020000000000010")
#define NONE BYTES("")

static struct op fence_op(struct bytes token)
{
    return (struct op){.verb = OP_FENCE, .bucket = bucket_of(TOPIC), .token = token};
}

static struct op fence(struct bytes token)
{
    return run(fence_op(token));
}

static struct op scan_with(struct bytes token)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .token = token};

    op.in.scan.limit = 100;
    return run(op);
}

static struct op audit_with(struct bytes token)
{
    return run((struct op){.verb = OP_AUDIT, .topic = TOPIC, .token = token});
}

static struct op repair_with(struct bytes token)
{
    struct op op = id_op(OP_REPAIR, "");

    op.token = token;
    op.in.repair.calls_scan = true;
    return run(op);
}

static void assert_fenced(struct op op, struct bytes seen)
{
    assert_status(op, FENCED);
    assert_bytes(op.out.fenced.seen, seen);
    assert_int_equal(op.wait_ms, -1);
}

static void without_leaders_nobody_is_fenced(void **state)
{
    assert_status(scan_with(NONE), OK);
    assert_status(audit_with(NONE), OK);
    assert_status(repair_with(NONE), OK);
    assert_status(fence(NONE), OK);
}

static void a_leader_goes_on_until_a_higher_one_comes(void **state)
{
    assert_status(fence(LOW), OK);
    assert_status(scan_with(LOW), OK);
    assert_status(fence(LOW), OK);
    assert_status(fence(HIGH), OK);
    assert_fenced(fence(LOW), HIGH);
    assert_fenced(scan_with(LOW), HIGH);
    assert_fenced(audit_with(LOW), HIGH);
    assert_fenced(repair_with(LOW), HIGH);
    assert_status(scan_with(HIGH), OK);
}

/* Each of them makes the token known, not only the assertion. */
static void whatever_a_leader_runs_deposes_the_one_before(void **state)
{
    struct op (*const runs[])(struct bytes) = {scan_with, audit_with, repair_with};
    struct bytes tokens[] = {LOW, HIGH, BYTES(ONE "ffffffffffffffff")};

    for (unsigned i = 0; i < 3; i++) {
        assert_status(runs[i](tokens[i]), OK);
        if (i > 0)
            assert_fenced(scan_with(tokens[i - 1]), tokens[i]);
    }
}

static void a_deposed_scan_moves_nothing(void **state)
{
    struct op pushed = push_delayed("a", SOON_MS);

    assert_status(fence(HIGH), OK);
    wait_until(pushed.out.push.due_ms);
    assert_fenced(scan_with(LOW), HIGH);
    assert_state("a", JOB_DELAYED);
    assert_int_equal(scan_with(HIGH).out.scan.moved, 1);
    assert_state("a", JOB_READY);
}

static void a_deposed_repair_mends_nothing(void **state)
{
    struct op op = id_op(OP_REPAIR, "a");

    push_delayed("a", FAR_MS);
    lose("a");
    assert_status(fence(HIGH), OK);
    op.token = LOW;
    assert_fenced(run(op), HIGH);
    op.token = HIGH;
    op = run_well(op);
    assert_int_equal(op.out.repair.damage, DAMAGE_NO_JOB);
}

static void a_standalone_node_does_not_lead_a_cluster(void **state)
{
    assert_status(fence(LOW), OK);
    assert_fenced(scan_with(NONE), LOW);
    assert_fenced(audit_with(NONE), LOW);
    assert_fenced(repair_with(NONE), LOW);
    assert_fenced(fence(NONE), LOW);
}

static void of_two_ensembles_the_one_that_was_there_stays(void **state)
{
    assert_status(fence(LOW), OK);
    assert_fenced(fence(ELSE), LOW);
    assert_fenced(scan_with(ELSE), LOW);
    assert_status(scan_with(LOW), OK);
}

static void an_operator_gives_the_bucket_to_another_ensemble(void **state)
{
    struct op op = fence_op(ELSE);

    assert_status(fence(LOW), OK);
    op.in.fence.adopts = true;
    run_well(op);
    assert_fenced(scan_with(HIGH), ELSE);
    assert_status(scan_with(ELSE), OK);
}

/* Else a leader that still lives would bring its token again, and take the bucket back.
 */
static void an_operator_gives_the_bucket_to_standalone_nodes(void **state)
{
    struct op op = fence_op(NONE);

    assert_status(fence(LOW), OK);
    op.in.fence.adopts = true;
    run_well(op);
    assert_status(scan_with(NONE), OK);
    assert_status(audit_with(NONE), OK);
    assert_status(fence(NONE), OK);
    assert_fenced(scan_with(LOW), BYTES(OP_TOKEN_STANDALONE));
    assert_fenced(fence(HIGH), BYTES(OP_TOKEN_STANDALONE));
    run_well(op);
    op.token = HIGH;
    run_well(op);
    assert_fenced(scan_with(NONE), HIGH);
}

static void an_empty_bucket_is_given_to_standalone_nodes_as_well(void **state)
{
    struct op op = fence_op(NONE);

    op.in.fence.adopts = true;
    run_well(op);
    assert_fenced(scan_with(LOW), BYTES(OP_TOKEN_STANDALONE));
}

static void adoption_does_not_help_who_was_deposed(void **state)
{
    struct op op = fence_op(LOW);

    assert_status(fence(HIGH), OK);
    op.in.fence.adopts = true;
    assert_fenced(run(op), HIGH);
}

static void each_bucket_has_a_fence_of_its_own(void **state)
{
    struct op op = fence_op(LOW);

    assert_status(fence(HIGH), OK);
    op.bucket = bucket_of(ELSEWHERE);
    run_well(op);
}

static void clients_need_no_token(void **state)
{
    struct job job;

    assert_status(fence(HIGH), OK);
    push("a");
    job = pop_one();
    assert_status(ack(&job), OK);
}

static const struct CMUnitTest tests[] = {
    TEST(without_leaders_nobody_is_fenced),
    TEST(a_leader_goes_on_until_a_higher_one_comes),
    TEST(whatever_a_leader_runs_deposes_the_one_before),
    TEST(a_deposed_scan_moves_nothing),
    TEST(a_deposed_repair_mends_nothing),
    TEST(a_standalone_node_does_not_lead_a_cluster),
    TEST(of_two_ensembles_the_one_that_was_there_stays),
    TEST(an_operator_gives_the_bucket_to_another_ensemble),
    TEST(an_operator_gives_the_bucket_to_standalone_nodes),
    TEST(an_empty_bucket_is_given_to_standalone_nodes_as_well),
    TEST(adoption_does_not_help_who_was_deposed),
    TEST(each_bucket_has_a_fence_of_its_own),
    TEST(clients_need_no_token),
};

const struct contract_part contract_fences = {tests, sizeof(tests) / sizeof(*tests)};
