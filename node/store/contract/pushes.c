/* Push: where a new job goes, which ids are refused, and which the store gives. */
#include "node/store/contract/contract.h"

#include <stdio.h>
#include <stdlib.h>

static void a_push_without_delay_is_ready(void **state)
{
    struct op op = push("a");
    struct job job = get("a");

    assert_bytes(op.out.push.id, BYTES("a"));
    assert_int_equal(op.out.push.due_ms, op.now_ms);
    assert_int_equal(op.wait_ms, -1);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.due_ms, op.now_ms);
    assert_int_equal(job.delay_ms, 0);
    assert_int_equal(job.ttr_ms, TTR_MS);
    assert_int_equal(job.tries, 0);
    assert_true(job.stamp > 0);
    assert_bytes(job.id, BYTES("a"));
    assert_bytes(job.body, BODY);
}

static void a_push_with_a_delay_is_delayed(void **state)
{
    struct op op = push_delayed("a", FAR_MS);
    struct job job = get("a");

    assert_int_equal(op.out.push.due_ms, after(&op, FAR_MS));
    assert_int_equal(op.wait_ms, FAR_MS + BEGUN_MS);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_int_equal(job.due_ms, after(&op, FAR_MS));
    assert_int_equal(job.delay_ms, FAR_MS);
    assert_int_equal(job.stamp, 0);
    assert_bytes(job.body, BODY);
}

static void a_push_at_a_time_is_due_then_whatever_the_delay(void **state)
{
    struct op op = push_op(TOPIC, "a");
    int64_t at_ms = store_now() + FAR_MS;

    op.in.push.at_ms = at_ms;
    op.in.push.delay_ms = 1;
    op = run_well(op);
    assert_int_equal(op.out.push.due_ms, at_ms);
    assert_int_equal(op.wait_ms, at_ms - op.now_ms);
    assert_state("a", JOB_DELAYED);
    assert_int_equal(get("a").due_ms, at_ms);
    assert_int_equal(get("a").delay_ms, at_ms - op.now_ms);
}

static void a_push_at_a_past_time_is_ready_and_due_then(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.at_ms = 1234567;
    op = run_well(op);
    assert_int_equal(op.out.push.due_ms, 1234567);
    assert_int_equal(op.wait_ms, -1);
    assert_state("a", JOB_READY);
    assert_int_equal(get("a").due_ms, 1234567);
    assert_int_equal(get("a").delay_ms, 0);
}

static void assert_refuses_a_duplicate(const char *id)
{
    struct job before = get(id);
    struct op again = push_op(TOPIC, id);

    again.in.push.body = BYTES("another body");
    again.in.push.delay_ms = 7;
    assert_status(run(again), DUPLICATE);
    assert_int_equal(get(id).state, before.state);
    assert_int_equal(get(id).stamp, before.stamp);
    assert_bytes(get(id).body, before.body);
}

static void a_live_id_is_refused_in_every_state(void **state)
{
    push("reserved");
    pop_one();
    push("ready");
    push_delayed("delayed", FAR_MS);
    assert_refuses_a_duplicate("reserved");
    assert_refuses_a_duplicate("ready");
    assert_refuses_a_duplicate("delayed");
    assert_counts(TOPIC, 1, 1, 1);
}

static void an_id_is_unique_within_its_topic_only(void **state)
{
    push("a");
    run_well(push_op(OTHER, "a"));
    assert_status(cancel("a"), OK);
    assert_counts(OTHER, 0, 1, 0);
    assert_bytes(pop_one_of(OTHER).id, BYTES("a"));
}

static void a_time_too_far_ahead_is_refused(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.at_ms = store_now() + JOB_DELAY_MAX_MS + 10000;
    assert_status(run(op), OUT_OF_RANGE);
    op.in.push.at_ms = 0;
    op.in.push.delay_ms = JOB_DELAY_MAX_MS + 1;
    assert_status(run(op), OUT_OF_RANGE);
    assert_counts(TOPIC, 0, 0, 0);
}

static void a_time_just_not_too_far_ahead_is_taken(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.at_ms = store_now() + JOB_DELAY_MAX_MS;
    run_well(op);
}

static void the_largest_numbers_are_kept(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.delay_ms = JOB_DELAY_MAX_MS;
    op.in.push.ttr_ms = (INT64_C(1) << 32) - 1;
    op = run_well(op);
    assert_int_equal(op.wait_ms, op.in.push.delay_ms + BEGUN_MS);
    assert_int_equal(get("a").due_ms, after(&op, op.in.push.delay_ms));
    assert_int_equal(get("a").delay_ms, JOB_DELAY_KEPT_MAX_MS);
    assert_int_equal(get("a").ttr_ms, op.in.push.ttr_ms);
}

/* ---- ids of the store's own ---- */

static int64_t number_of(struct bytes id)
{
    char text[32] = "";

    assert_in_range(id.len, 1, sizeof(text) - 1);
    memcpy(text, id.at, id.len);
    assert_int_equal(strspn(text, "0123456789"), id.len);
    return strtoll(text, NULL, 10);
}

static void a_job_without_an_id_gets_one_of_its_bucket_and_time(void **state)
{
    struct op op = push("");
    int64_t id = number_of(op.out.push.id);

    assert_int_equal(id % CONTRACT_BUCKETS, op.bucket);
    assert_int_equal(id / CONTRACT_BUCKETS, (op.now_ms - INT64_C(1767225600000)) * 32);
    assert_true(id < INT64_C(1) << 53);
    assert_bytes(pop_one().id, op.out.push.id);
}

static void ids_of_the_store_grow(void **state)
{
    int64_t before = 0;

    for (unsigned i = 0; i < 50; i++) {
        int64_t id = number_of((i % 2 ? push("") : push_delayed("", FAR_MS)).out.push.id);

        assert_true(id > before);
        before = id;
    }
}

static void a_new_id_of_the_store_skips_those_that_live(void **state)
{
    int64_t first = number_of(push("").out.push.id);
    struct op ops[900], next;
    char ids[900][32];

    /* The ids of the next milliseconds, taken by a client (delayed jobs need no stamp). */
    for (unsigned i = 0; i < 900; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%lld", (long long)first + (i + 1) * CONTRACT_BUCKETS);
        ops[i] = push_op(TOPIC, ids[i]);
        ops[i].in.push.delay_ms = FAR_MS;
    }
    run_all(ops, 900);
    next = push("");
    assert_counts(TOPIC, 900, 2, 0);
    assert_true(number_of(next.out.push.id) > first);
}

static bool is_pushed;

static void on_pushed(struct op *op)
{
    assert_int_equal(op->status, STATUS_OK);
    is_pushed = true;
}

/* The caller may have abandoned it: an operation that was sent goes on, and is answered
 * once. */
static void a_push_that_is_under_way_goes_on_when_it_is_abandoned(void **state)
{
    struct op op = push_op(TOPIC, "a");

    is_pushed = false;
    op.bucket = bucket_of(TOPIC);
    op.on_done = on_pushed;
    submit_and_abandon(&op);
    assert_false(is_pushed); /* never from inside the call */
    push("b");               /* comes behind it */
    assert_true(is_pushed);
    ASSERT_READY("a", "b");
}

static const struct CMUnitTest tests[] = {
    TEST(a_push_without_delay_is_ready),
    TEST(a_push_with_a_delay_is_delayed),
    TEST(a_push_at_a_time_is_due_then_whatever_the_delay),
    TEST(a_push_at_a_past_time_is_ready_and_due_then),
    TEST(a_live_id_is_refused_in_every_state),
    TEST(an_id_is_unique_within_its_topic_only),
    TEST(a_time_too_far_ahead_is_refused),
    TEST(a_time_just_not_too_far_ahead_is_taken),
    TEST(the_largest_numbers_are_kept),
    TEST(a_job_without_an_id_gets_one_of_its_bucket_and_time),
    TEST(ids_of_the_store_grow),
    TEST(a_new_id_of_the_store_skips_those_that_live),
    TEST(a_push_that_is_under_way_goes_on_when_it_is_abandoned),
};

const struct contract_part contract_pushes = {tests, sizeof(tests) / sizeof(*tests)};
