/* The ledger: pushes that are retried, and pushes that come late. Each is sent as the store
 * sends it, with a number of the test's choice. */
#include "node/store/contract/redis/redis.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/wire/decode.h"
#include "node/store/redis/wire/encode.h"

#define WORKER 0x00abcdef

static struct script_call call;
static struct reply_room room;
static char made_id[32]; /* of the last push */

/* The reply is gone when this returns; the id stays until the next call. */
static struct op say(struct op op, struct push_note note)
{
    struct script_keys keys = {.prefix = contract_prefix(), .buckets = CONTRACT_BUCKETS};
    redisReply *reply;

    note.worker = WORKER;
    op.bucket = bucket_of(TOPIC);
    script_encode_push(&call, &keys, &op, &note, NULL);
    reply =
        redisCommandArgv(contract_redis_fixture()->control, call.argc, call.argv, call.lens);
    assert_non_null(reply);
    assert_true(reply_decode(reply, &op, &room) <= REPLY_REFUSED);
    if (op.status == STATUS_OK) {
        assert_true(op.out.push.id.len < sizeof(made_id));
        memcpy(made_id, op.out.push.id.at, op.out.push.id.len);
        op.out.push.id.at = made_id;
    }
    freeReplyObject(reply);
    return op;
}

static struct op say_number(struct op op, uint64_t number)
{
    return say(op, (struct push_note){.number = number});
}

static const char *ring_name(void)
{
    static char name[64];
    const char *events = contract_key('t');

    snprintf(name, sizeof(name), "%.*su:%016x", (int)strlen(events) - 1, events, WORKER);
    return name;
}

static long long ring(const char *command)
{
    return redis_fixture_command(contract_redis_fixture(), "%s %s", command, ring_name());
}

static void make_ring_a_list(void)
{
    redis_fixture_command(contract_redis_fixture(), "LPUSH %s wrong", ring_name());
}

static void what_is_said_again_is_answered_as_the_first_time(void **state)
{
    struct op op = push_op(TOPIC, ""), first, second;
    char id[sizeof(made_id)];

    first = say_number(op, 1);
    assert_status(first, OK);
    memcpy(id, made_id, sizeof(id));
    second = say_number(op, 1);
    assert_status(second, OK);
    assert_bytes(second.out.push.id, bytes_of(id, first.out.push.id.len));
    assert_int_equal(second.out.push.due_ms, first.out.push.due_ms);
    assert_false(second.out.push.existed);
    assert_int_equal(second.wait_ms, -1);
    assert_counts(TOPIC, 0, 1, 0);
    assert_status(say_number(op, 2), OK);
    assert_counts(TOPIC, 0, 2, 0);
}

static void what_is_said_again_later_is_due_as_it_was(void **state)
{
    struct op op = push_op(TOPIC, "a"), first, second;

    op.in.push.delay_ms = FAR_MS;
    first = say_number(op, 1);
    wait_until(first.now_ms + 2);
    second = say_number(op, 1);
    assert_status(second, OK);
    assert_bytes(second.out.push.id, BYTES("a"));
    assert_int_equal(second.out.push.due_ms, first.out.push.due_ms);
    assert_true(second.now_ms > first.now_ms);
    /* The scanner may not have heard of the event. */
    assert_int_equal(second.wait_ms, second.out.push.due_ms - second.now_ms);
    assert_counts(TOPIC, 1, 0, 0);
}

static void a_job_that_is_gone_is_not_pushed_again(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    assert_status(say_number(op, 1), OK);
    job = pop_one();
    assert_status(ack(&job), OK);
    assert_status(say_number(op, 1), OK);
    assert_gone("a");
    assert_counts(TOPIC, 0, 0, 0);
}

static void a_job_that_was_replaced_says_so_again(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.mode = PUSH_REPLACE;
    assert_false(say_number(op, 1).out.push.existed);
    assert_true(say_number(op, 2).out.push.existed);
    assert_true(say_number(op, 2).out.push.existed);
    assert_false(say_number(op, 1).out.push.existed);
    assert_counts(TOPIC, 0, 1, 0);
}

static struct op say_again(struct op op, uint64_t number)
{
    return say(op, (struct push_note){.number = number, .is_retry = true});
}

/* The first try was still in the buffers of the lost connection. */
static void what_was_refused_when_it_was_said_again_stays_refused(void **state)
{
    struct op op = push_op(TOPIC, "a"), late = push_op(TOPIC, "b"), many = push_op(TOPIC, "");

    push("a");
    assert_status(say_again(op, 1), DUPLICATE);
    late.in.push.delay_ms = JOB_DELAY_MAX_MS + 1;
    assert_status(say_again(late, 2), OUT_OF_RANGE);
    many.in.push.jobs_max = 1;
    assert_status(say_again(many, 3), TOPIC_FULL);
    assert_status(cancel("a"), OK);
    assert_status(say_number(op, 1), DUPLICATE);
    assert_status(say_again(op, 1), DUPLICATE);
    assert_status(say_number(late, 2), OUT_OF_RANGE);
    assert_status(say_number(many, 3), TOPIC_FULL);
    assert_gone("a");
}

static void what_left_a_job_alone_when_it_was_said_again_pushes_none(void **state)
{
    struct op op = push_op(TOPIC, "a"), again;

    op.in.push.mode = PUSH_IGNORE;
    push("a");
    again = say_again(op, 1);
    assert_true(again.out.push.existed);
    assert_status(cancel("a"), OK);
    assert_int_equal(say_number(op, 1).out.push.due_ms, again.out.push.due_ms);
    assert_gone("a");
}

/* The push has not happened, so it may happen now. */
static void what_was_refused_is_said_as_if_for_the_first_time(void **state)
{
    struct op op = push_op(TOPIC, "a");

    push("a");
    assert_status(say_number(op, 1), DUPLICATE);
    assert_status(cancel("a"), OK);
    assert_status(say_number(op, 1), OK);
    assert_state("a", JOB_READY);
    assert_status(say_number(op, 1), OK);
}

static void what_left_a_job_alone_is_said_as_if_for_the_first_time(void **state)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.mode = PUSH_IGNORE;
    push("a");
    assert_true(say_number(op, 1).out.push.existed);
    assert_status(cancel("a"), OK);
    assert_false(say_number(op, 1).out.push.existed);
    assert_state("a", JOB_READY);
    assert_false(say_number(op, 1).out.push.existed);
}

static void each_place_of_the_ring_has_the_latest(void **state)
{
    struct op op = push_op(TOPIC, "");

    assert_status(say_number(op, 3), OK);
    assert_status(say_number(op, 3 + PUSH_LEDGER_RING), OK);
    assert_status(say_number(op, 4 + PUSH_LEDGER_RING), OK);
    assert_counts(TOPIC, 0, 3, 0);
    /* A copy that was in the buffers of a lost connection all the time. */
    assert_status(say_number(op, 3), UNKNOWN);
    assert_counts(TOPIC, 0, 3, 0);
    assert_status(say_number(op, 3 + PUSH_LEDGER_RING), OK);
    assert_counts(TOPIC, 0, 3, 0);
    assert_int_equal(ring("STRLEN"), 5 * PUSH_LEDGER_ENTRY);
}

static void the_last_place_of_the_ring_is_as_good(void **state)
{
    struct op op = push_op(TOPIC, "");

    assert_status(say_number(op, PUSH_LEDGER_RING - 1), OK);
    assert_status(say_number(op, PUSH_LEDGER_RING - 1), OK);
    assert_counts(TOPIC, 0, 1, 0);
    assert_int_equal(ring("STRLEN"), PUSH_LEDGER_RING * PUSH_LEDGER_ENTRY);
}

static void nobody_can_tell_when_the_ring_is_gone_that_was_there(void **state)
{
    struct op op = push_op(TOPIC, "");
    struct push_note note = {.number = 1, .was_there = true};

    assert_status(say(op, note), UNKNOWN);
    assert_counts(TOPIC, 0, 0, 0);
    assert_status(say_number(op, 2), OK);
    assert_status(say(op, note), OK); /* it is there, without this one */
    assert_counts(TOPIC, 0, 2, 0);
}

static void a_ring_stays_as_long_as_it_is_told_to(void **state)
{
    struct op op = push_op(TOPIC, "");
    long long left_ms;

    assert_status(say(op, (struct push_note){.number = 1, .renews = true}), OK);
    left_ms = ring("PTTL");
    assert_in_range(left_ms, PUSH_LEDGER_KEEP_MS / 2, PUSH_LEDGER_KEEP_MS);
    assert_status(say_number(op, 2), OK);
    assert_in_range(ring("PTTL"), 1, left_ms);
}

static void no_push_happens_where_it_cannot_be_noted(void **state)
{
    struct op op = push_op(TOPIC, "a");

    make_ring_a_list();
    assert_status(say_number(op, 1), STORE_ERROR);
    assert_gone("a");
    assert_counts(TOPIC, 0, 0, 0);
}

static void a_full_redis_still_tells_what_has_happened(void **state)
{
    struct op op = push_op(TOPIC, "a");

    assert_status(say_number(op, 1), OK);
    contract_fill();
    assert_status(say_number(op, 1), OK);
    op.id = BYTES("b");
    assert_status(say_number(op, 2), STORE_ERROR);
    contract_make_room();
    assert_status(say_number(op, 2), OK);
    assert_counts(TOPIC, 0, 2, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(what_is_said_again_is_answered_as_the_first_time),
    TEST(what_is_said_again_later_is_due_as_it_was),
    TEST(a_job_that_is_gone_is_not_pushed_again),
    TEST(a_job_that_was_replaced_says_so_again),
    TEST(what_was_refused_is_said_as_if_for_the_first_time),
    TEST(what_left_a_job_alone_is_said_as_if_for_the_first_time),
    TEST(what_was_refused_when_it_was_said_again_stays_refused),
    TEST(what_left_a_job_alone_when_it_was_said_again_pushes_none),
    TEST(each_place_of_the_ring_has_the_latest),
    TEST(the_last_place_of_the_ring_is_as_good),
    TEST(nobody_can_tell_when_the_ring_is_gone_that_was_there),
    TEST(a_ring_stays_as_long_as_it_is_told_to),
    TEST(no_push_happens_where_it_cannot_be_noted),
    TEST(a_full_redis_still_tells_what_has_happened),
};

const struct contract_part contract_pushes_redis = {tests, sizeof(tests) / sizeof(*tests)};
