/* Requests that meet in one turn travel in one call to Redis, a call for each topic and verb;
 * and each of them ends as if it had been alone.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/crc16.h"
#include "node/store/redis/parts.h"
#include "node/store/redis/push_ledger.h"
#include "node/store/redis/requests.h"

#define MANY 200

static struct job_op jobs[MANY];

/* How many scripts Redis has run. */
static long long calls(struct node *n)
{
    return redis_fixture_command(
        n->redis, "EVAL %s 0",
        "return tonumber(string.match(redis.call('INFO', 'commandstats'), "
        "'cmdstat_evalsha:calls=(%d+)') or 0)");
}

static struct redis_lane *lane_of(struct node *n)
{
    return redis_store_lane_of(n->store->lanes.next);
}

static void submit_pushes(struct node *n, const char *topic, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++)
        submit_push(n, &jobs[i], topic);
}

static void await_all(struct node *n, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(await(n, &jobs[i]), STATUS_OK);
}

static int start(void **state)
{
    node_set_up(state);
    memset(jobs, 0, sizeof(jobs));
    node_start_up(*state);
    return 0;
}

#define STARTED(test) cmocka_unit_test_setup_teardown(test, start, node_tear_down)

static void pushes_of_one_turn_and_topic_are_one_call(void **state)
{
    struct node *n = *state;
    long long before = calls(n);
    uint64_t counted = stats(n)->calls;

    submit_pushes(n, "t", 0, SCRIPT_MANY_MAX);
    await_all(n, SCRIPT_MANY_MAX);
    assert_int_equal(calls(n) - before, 1);
    assert_int_equal(stats(n)->calls - counted, 1);
    assert_int_equal(stats_of(n, "t").ready, SCRIPT_MANY_MAX);
}

static void each_topic_has_its_call(void **state)
{
    struct node *n = *state;
    long long before = calls(n);

    for (unsigned i = 0; i < 30; i++)
        submit_push(n, &jobs[i], i % 2 ? "t" : "u");
    await_all(n, 30);
    assert_int_equal(calls(n) - before, 2);
    assert_int_equal(stats_of(n, "t").ready, 15);
    assert_int_equal(stats_of(n, "u").ready, 15);
}

static void submit_push_of(struct node *n, struct job_op *j, uint32_t priority,
                           struct bytes attributes)
{
    *j = (struct job_op){.op.in.push = {.body = BYTES("body"),
                                        .rules = rules_default,
                                        .by_id = true,
                                        .attributes = attributes}};
    j->op.in.push.rules.priority = priority;
    submit_op(n, j, OP_PUSH, "t");
}

/* Of attributes there may be too many for one call. */
static void
those_of_several_priorities_share_a_call_and_those_with_attributes_do_not(void **state)
{
    struct node *n = *state;
    long long before = calls(n);

    for (unsigned i = 0; i < 20; i++)
        submit_push_of(n, &jobs[i], i * 100, BYTES(""));
    submit_push(n, &jobs[20], "t");
    await_all(n, 21);
    assert_int_equal(calls(n) - before, 1);
    assert_int_equal(stats_of(n, "t").urgent, 11);
    before = calls(n);
    for (unsigned i = 0; i < 3; i++)
        submit_push_of(n, &jobs[i], 7, BYTES("\1a\0\1b"));
    await_all(n, 3);
    assert_int_equal(calls(n) - before, 3);
    assert_int_equal(stats_of(n, "t").ready, 24);
}

static void a_call_has_at_most_so_many(void **state)
{
    struct node *n = *state;
    long long before = calls(n);

    submit_pushes(n, "t", 0, 2 * SCRIPT_MANY_MAX + 1);
    await_all(n, 2 * SCRIPT_MANY_MAX + 1);
    assert_int_equal(calls(n) - before, 3);
}

static void a_call_has_at_most_so_many_bytes(void **state)
{
    static char body[GATHER_BYTES_MAX / 2];
    struct node *n = *state;
    long long before = calls(n);

    for (unsigned i = 0; i < 3; i++) {
        jobs[i].op.in.push.body = bytes_of(body, i == 1 ? 10 : sizeof(body));
        jobs[i].op.in.push.rules = rules_default;
        submit_op(n, &jobs[i], OP_PUSH, "t");
    }
    await_all(n, 3);
    assert_int_equal(calls(n) - before, 2);
}

static void an_id_that_comes_twice_in_a_turn_is_pushed_once(void **state)
{
    struct node *n = *state;

    for (unsigned i = 0; i < 3; i++) {
        jobs[i].op.id = i == 1 ? BYTES("b") : BYTES("a");
        jobs[i].op.in.push.rules = rules_default;
        submit_op(n, &jobs[i], OP_PUSH, "t");
    }
    assert_int_equal(await(n, &jobs[0]), STATUS_OK);
    assert_int_equal(await(n, &jobs[1]), STATUS_OK);
    assert_int_equal(await(n, &jobs[2]), STATUS_DUPLICATE);
    assert_int_equal(stats_of(n, "t").ready, 2);
}

static void what_comes_behind_pushes_of_its_turn_finds_them(void **state)
{
    struct node *n = *state;
    struct job_op count = {0};
    struct popped p;

    submit_pushes(n, "t", 0, 2);
    submit_pop_one(n, &p, "t");
    submit_pushes(n, "t", 2, 2);
    submit_stats(n, &count, "t");
    run_until(n->loop, &p.pop.is_done);
    await_all(n, 4);
    assert_int_equal(await(n, &count), STATUS_OK);
}

/* Pushes so many, and pops them, one after the other. */
static void reserve(struct node *n, struct popped *popped, unsigned count)
{
    submit_pushes(n, "t", 0, count);
    await_all(n, count);
    for (unsigned i = 0; i < count; i++) {
        submit_pop_one(n, &popped[i], "t");
        run_until(n->loop, &popped[i].pop.is_done);
    }
    memset(jobs, 0, sizeof(jobs));
}

/* Of each verb some that are alone on their senders' ways, with a count in between. */
static void what_is_alone_parts_no_call(void **state)
{
    static const enum op_verb verbs[] = {OP_PUSH, OP_ACK, OP_RELEASE};
    enum { VERBS = 3, COUNT = 4 };
    struct node *n = *state;
    struct popped popped[VERBS * COUNT];
    struct job_op counts[COUNT] = {0};
    long long before;

    reserve(n, popped, VERBS * COUNT);
    before = calls(n);
    for (unsigned i = 0; i < VERBS * COUNT; i++) {
        jobs[i].op.is_alone = true;
        if (verbs[i % VERBS] == OP_PUSH) {
            jobs[i].op.in.push.rules = rules_default;
        } else {
            jobs[i].op.id = popped[i].id_bytes;
            jobs[i].op.in.lease.stamp = popped[i].stamp;
        }
        submit_op(n, &jobs[i], verbs[i % VERBS], "t");
        if (i % VERBS == 0) {
            counts[i / VERBS].op.is_alone = true;
            submit_op(n, &counts[i / VERBS], OP_STATS, "t");
        }
    }
    await_all(n, VERBS * COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(await(n, &counts[i]), STATUS_OK);
    assert_int_equal(calls(n) - before, VERBS + COUNT);
}

static void acknowledgements_of_one_turn_are_one_call(void **state)
{
    enum { COUNT = 10 };
    struct node *n = *state;
    struct popped popped[COUNT];
    long long before;

    reserve(n, popped, COUNT);
    before = calls(n);
    for (unsigned i = 0; i < COUNT; i++)
        submit_of_lease(n, &jobs[i], OP_ACK, &popped[i]);
    submit_of_lease(n, &jobs[COUNT], OP_ACK, &popped[0]);
    await_all(n, COUNT);
    assert_int_equal(await(n, &jobs[COUNT]), STATUS_NOT_FOUND);
    assert_int_equal(calls(n) - before, 1);
    assert_int_equal(stats_of(n, "t").reserved, 0);
}

static void submit_release(struct node *n, struct job_op *j, const struct popped *p,
                           int64_t delay_ms)
{
    *j = (struct job_op){.op.id = p->id_bytes,
                         .op.in.lease = {.stamp = p->stamp, .delay_ms = delay_ms}};
    submit_op(n, j, OP_RELEASE, "t");
}

static void releases_of_one_turn_are_one_call(void **state)
{
    enum { COUNT = 10 };
    struct node *n = *state;
    struct popped popped[COUNT];
    long long before;

    reserve(n, popped, COUNT);
    before = calls(n);
    for (unsigned i = 0; i < COUNT; i++)
        submit_release(n, &jobs[i], &popped[i], i < 3 ? 60000 : 0);
    submit_release(n, &jobs[COUNT], &popped[0], 0);
    await_all(n, COUNT);
    assert_int_equal(await(n, &jobs[COUNT]), STATUS_NOT_RESERVED);
    assert_int_equal(calls(n) - before, 1);
    assert_int_equal(stats_of(n, "t").delayed, 3);
    assert_int_equal(stats_of(n, "t").ready, COUNT - 3);
}

static void verbs_of_one_sender_keep_their_order(void **state)
{
    struct node *n = *state;
    struct popped popped[2];
    long long before;

    reserve(n, popped, 2);
    before = calls(n);
    submit_release(n, &jobs[0], &popped[0], 0);
    submit_of_lease(n, &jobs[1], OP_ACK, &popped[0]);
    submit_of_lease(n, &jobs[2], OP_ACK, &popped[1]);
    submit_release(n, &jobs[3], &popped[1], 0);
    submit_push(n, &jobs[4], "t");
    submit_push(n, &jobs[5], "t");
    submit_release(n, &jobs[6], &popped[1], 0);
    assert_int_equal(await(n, &jobs[0]), STATUS_OK);
    assert_int_equal(await(n, &jobs[1]), STATUS_NOT_RESERVED);
    assert_int_equal(await(n, &jobs[2]), STATUS_OK);
    assert_int_equal(await(n, &jobs[3]), STATUS_NOT_FOUND);
    assert_int_equal(await(n, &jobs[4]), STATUS_OK);
    assert_int_equal(await(n, &jobs[5]), STATUS_OK);
    assert_int_equal(await(n, &jobs[6]), STATUS_NOT_FOUND);
    assert_int_equal(calls(n) - before, 5);
    assert_int_equal(stats_of(n, "t").ready, 3);
}

/* The entries of a call stand side by side, so the ring's end parts it. */
static void a_ring_that_begins_anew_loses_no_push(void **state)
{
    enum { EACH = 50, TURNS = PUSH_LEDGER_RING / EACH + 2 };
    struct node *n = *state;
    long long before = calls(n);

    for (unsigned i = 0; i < TURNS; i++) {
        submit_pushes(n, "t", 0, EACH);
        await_all(n, EACH);
    }
    assert_int_equal(calls(n) - before, TURNS + 1);
    assert_int_equal(stats_of(n, "t").ready, TURNS * EACH);
}

static void scripts_that_redis_has_forgotten_come_again(void **state)
{
    struct node *n = *state;

    for (unsigned i = 0; i < 2; i++) {
        redis_fixture_command(n->redis, "SCRIPT FLUSH");
        submit_pushes(n, "t", 0, 20);
        await_all(n, 20);
    }
    submit_pushes(n, "t", 0, 20);
    await_all(n, 20);
    assert_int_equal(stats(n)->reloaded, 2);
    assert_int_equal(stats_of(n, "t").ready, 60);
}

/* It has surely not run, so it is no retry: its number is none of the ledger's yet. */
static void what_is_gathered_when_its_connection_is_lost_goes_by_the_next(void **state)
{
    struct node *n = *state;

    for (unsigned round = 0; round < 2; round++) {
        submit_pushes(n, "t", 0, 5);
        submit_pushes(n, "u", 5, 1);
        redis_link_reset(lane_of(n)->link, "as the test wants it");
        await_all(n, 6);
    }
    assert_int_equal(stats_of(n, "t").ready, 10);
    assert_int_equal(stats_of(n, "u").ready, 2);
    assert_int_equal(stats(n)->unknown, 0);
}

/* Redis has answered that it takes no writes; what is gathered was the last on its way. */
static void a_lane_that_is_to_be_left_does_not_stay_for_what_is_gathered(void **state)
{
    struct node *n = *state;

    submit_pushes(n, "t", 0, 3);
    redis_lane_leave(lane_of(n), "READONLY as the test wants it");
    run_until(n->loop, &n->is_down);
    await_all(n, 3);
    assert_int_equal(stats_of(n, "t").ready, 3);
}

/* It was never sent, so it need not run when nobody waits for it any more. */
static void what_was_gathered_and_not_sent_can_be_abandoned(void **state)
{
    struct node *n = *state;

    submit_pushes(n, "t", 0, 2);
    redis_link_reset(lane_of(n)->link, "as the test wants it");
    node_freeze(n);
    event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
    for (unsigned i = 0; i < 2; i++)
        store_abandon(redis_store_port(n->store), &jobs[i].op);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(await(n, &jobs[i]), STATUS_UNAVAILABLE);
    assert_int_equal(stats(n)->dropped, 2);
    node_thaw(n);
    assert_int_equal(stats_of(n, "t").ready, 0);
}

/* Both have run, and the second call with what the first one left in the ring. */
static void a_call_whose_answer_is_lost_happens_once(void **state)
{
    struct node *n = *state;

    node_freeze(n);
    submit_pushes(n, "t", 0, 5);
    event_base_loop(n->loop->base, EVLOOP_NONBLOCK); /* it is sent */
    redis_link_reset(lane_of(n)->link, "as the test wants it");
    node_thaw(n);
    await_all(n, 5);
    assert_int_equal(stats_of(n, "t").ready, 5);
    assert_int_equal(stats(n)->unknown, 0);
}

/* They have run, but nobody can tell that of a release. */
static void releases_whose_answer_is_lost_are_unknown(void **state)
{
    struct node *n = *state;
    struct popped popped[2];

    reserve(n, popped, 2);
    node_freeze(n);
    for (unsigned i = 0; i < 2; i++)
        submit_release(n, &jobs[i], &popped[i], 0);
    event_base_loop(n->loop->base, EVLOOP_NONBLOCK); /* they are sent */
    redis_link_reset(lane_of(n)->link, "as the test wants it");
    node_thaw(n);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(await(n, &jobs[i]), STATUS_UNKNOWN);
    assert_int_equal(stats(n)->unknown, 2);
    assert_int_equal(stats_of(n, "t").ready, 2);
}

static void what_is_gathered_when_its_store_stops_now_has_not_happened(void **state)
{
    struct node *n = *state;

    submit_pushes(n, "t", 0, 3);
    node_stop(n);
    redis_store_stop_now(n->store);
    run_until(n->loop, &n->is_stopped);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(jobs[i].is_done);
        assert_int_equal(jobs[i].op.status, STATUS_SHUTTING_DOWN);
    }
    node_renew(n);
}

/* What is refused as a whole is refused to each. */
static void a_key_of_a_wrong_type_refuses_the_calls_of_its_topic_alone(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "SET dq:{%d}:j:t wrong",
                          (int)(crc16(BYTES("t")) % n->options.buckets));
    submit_pushes(n, "t", 0, 5);
    submit_pushes(n, "u", 5, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(await(n, &jobs[i]), STATUS_STORE_ERROR);
    for (unsigned i = 5; i < 10; i++)
        assert_int_equal(await(n, &jobs[i]), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STARTED(pushes_of_one_turn_and_topic_are_one_call),
        STARTED(each_topic_has_its_call),
        STARTED(those_of_several_priorities_share_a_call_and_those_with_attributes_do_not),
        STARTED(a_call_has_at_most_so_many),
        STARTED(a_call_has_at_most_so_many_bytes),
        STARTED(an_id_that_comes_twice_in_a_turn_is_pushed_once),
        STARTED(what_comes_behind_pushes_of_its_turn_finds_them),
        STARTED(what_is_alone_parts_no_call),
        STARTED(acknowledgements_of_one_turn_are_one_call),
        STARTED(releases_of_one_turn_are_one_call),
        STARTED(verbs_of_one_sender_keep_their_order),
        STARTED(a_ring_that_begins_anew_loses_no_push),
        STARTED(scripts_that_redis_has_forgotten_come_again),
        STARTED(what_is_gathered_when_its_connection_is_lost_goes_by_the_next),
        STARTED(a_lane_that_is_to_be_left_does_not_stay_for_what_is_gathered),
        STARTED(what_was_gathered_and_not_sent_can_be_abandoned),
        STARTED(a_call_whose_answer_is_lost_happens_once),
        STARTED(releases_whose_answer_is_lost_are_unknown),
        STARTED(what_is_gathered_when_its_store_stops_now_has_not_happened),
        STARTED(a_key_of_a_wrong_type_refuses_the_calls_of_its_topic_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
