/* Fencing on a Redis that is full, or has a key of a wrong type for the token. */
#include "node/store/contract/redis/redis.h"

#define LOW  BYTES("11111111111111111111111111111111:0000000000000001")
#define HIGH BYTES("11111111111111111111111111111111:0000000000000002")

static struct op scan_with(struct bytes token)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .token = token};

    op.in.scan.limit = 100;
    return op;
}

static struct op fence_op(struct bytes token)
{
    return (struct op){.verb = OP_FENCE, .bucket = bucket_of(TOPIC), .token = token};
}

/* Else no node could lead until there is room, and without a leader there will be no room. */
static void a_full_redis_takes_a_new_leader(void **state)
{
    struct op op = push_delayed("a", 1);

    wait_until(op.out.push.due_ms);
    contract_fill();
    run_well(fence_op(LOW));
    assert_int_equal(run_well(scan_with(HIGH)).out.scan.moved, 1);
    assert_status(run(fence_op(LOW)), FENCED);
}

static void no_leader_acts_where_the_fence_is_no_text(void **state)
{
    struct op op = push_delayed("a", 1), repair = id_op(OP_REPAIR, "");

    wait_until(op.out.push.due_ms);
    repair.token = LOW;
    repair.in.repair.calls_scan = true;
    contract_all_or_nothing(fence_op(LOW), "f");
    contract_all_or_nothing(scan_with(LOW), "f");
    contract_all_or_nothing(repair, "f");
    assert_state("a", JOB_DELAYED);
}

static const struct CMUnitTest tests[] = {
    TEST(a_full_redis_takes_a_new_leader),
    TEST(no_leader_acts_where_the_fence_is_no_text),
};

const struct contract_part contract_fences_redis = {tests, sizeof(tests) / sizeof(*tests)};
