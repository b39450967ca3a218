/* Which answers wait until a replica has them, and how they end when it has not. */
#include "node/store/redis/tests/store_fixture.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "node/store/redis/tests/replicas_fixture.h"

#define LONG_MS  (PATIENCE_S * 1000)
#define SHORT_MS 50

static struct replicated *redis;

/* *state is a node that is up, on a master with one replica. */
static int set_up(void **state)
{
    struct node *n = malloc(sizeof(*n));

    redis = replicated_new(NULL);
    replicated_add(redis);
    replicated_wait_in_sync(redis, 1);
    node_init(n, redis->master);
    n->options.min_replicas = 1;
    n->options.replica_timeout_ms = LONG_MS;
    *state = n;
    return 0;
}

static int tear_down(void **state)
{
    struct node *n = *state;

    n->redis = NULL; /* the next line frees the Redis, too, otherwise */
    assert_int_equal(node_tear_down(state), 0);
    replicated_free(redis);
    return 0;
}

#define WITH_REPLICA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void start(struct node *n, int64_t patience_ms)
{
    n->options.replica_timeout_ms = patience_ms;
    node_start_up(n);
}

/* With the replica frozen, its patience over. */
static enum status push_while_frozen(struct node *n, struct job_op *j)
{
    replicated_freeze(redis, 0);
    return push(n, j, "t");
}

/* Each try may be too short on a busy machine. */
static void push_until_safe(struct node *n)
{
    struct job_op a;
    enum status status;

    do {
        a = (struct job_op){0};
        status = push(n, &a, "t");
        assert_true(status == STATUS_OK || status == STATUS_NOT_REPLICATED);
    } while (status != STATUS_OK);
}

static void pop_one(struct node *n, struct popped *p)
{
    submit_pop_one(n, p, "t");
    run_until(n->loop, &p->pop.is_done);
}

static enum status of_lease(struct node *n, enum op_verb verb, const struct popped *p)
{
    struct job_op j;

    submit_of_lease(n, &j, verb, p);
    run_until(n->loop, &j.is_done);
    return j.op.status;
}

/* ---- safe ---- */

static void a_push_is_answered_when_the_replica_has_it(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};
    struct popped popped;

    start(n, LONG_MS);
    replicated_freeze(redis, 0);
    submit_push(n, &a, "t");
    pop_one(n, &popped); /* consumers are not held */
    assert_false(a.is_done);
    assert_int_equal(stats(n)->waiting_for_replicas, 1);
    assert_int_equal(stats(n)->in_flight, 0);
    replicated_thaw(redis, 0);
    assert_int_equal(await(n, &a), STATUS_OK);
    assert_string_equal(a.id, popped.id);
    assert_int_equal(of_lease(n, OP_ACK, &popped), STATUS_OK);
    assert_int_equal(push(n, &b, "t"), STATUS_OK);
    assert_string_not_equal(a.id, b.id);
    assert_int_equal(
        redis_fixture_command(redis->replicas[0], "EXISTS dq:{%u}:j:t", b.op.bucket), 1);
    assert_int_equal(stats(n)->replica_waits, 3);
    assert_int_equal(stats(n)->replica_timeouts, 0);
    assert_int_equal(stats(n)->waiting_for_replicas, 0);
}

static unsigned events;

static void on_event(void *arg, unsigned bucket, struct bytes topic, int64_t wait_ms)
{
    events++;
    assert_in_range(wait_ms, 1, 1001); /* a part of its ms was over */
}

static bool has_event(void)
{
    return events > 0;
}

/* Else what is due before the replica is back would be late. */
static void what_is_due_soon_is_told_before_the_answer(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    start(n, LONG_MS);
    redis_store_port(n->store)->events.on_event = on_event;
    events = 0;
    replicated_freeze(redis, 0);
    a = (struct job_op){
        .op.in.push = {
            .body = BYTES("x"), .ttr_ms = 60000, .delay_ms = 1000, .rules = rules_default}};
    submit_op(n, &a, OP_PUSH, "t");
    while (!has_event())
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    assert_false(a.is_done);
    replicated_thaw(redis, 0);
    assert_int_equal(await(n, &a), STATUS_OK);
    assert_int_equal(a.op.wait_ms, -1);
    assert_int_equal(events, 1);
}

static void thousands_wait_and_flight_is_free_for_others(void **state)
{
    enum { MANY = 500 };
    static struct job_op ops[MANY];
    struct node *n = *state;
    struct job_op looked = {0};

    n->options.flight_max = 8;
    start(n, LONG_MS);
    replicated_freeze(redis, 0);
    for (unsigned i = 0; i < MANY; i++) {
        ops[i] = (struct job_op){0};
        submit_push(n, &ops[i], "t");
    }
    submit_stats(n, &looked, "t"); /* behind them */
    run_until(n->loop, &looked.is_done);
    assert_int_equal(looked.op.out.stats.ready, MANY);
    assert_int_equal(stats(n)->waiting_for_replicas, MANY);
    replicated_thaw(redis, 0);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(await(n, &ops[i]), STATUS_OK);
    }
}

/* ---- not safe ---- */

static void what_the_replica_does_not_confirm_in_time_is_unknown(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};
    unsigned count;

    start(n, SHORT_MS);
    push_until_safe(n);
    assert_int_equal(pop(n, &a, "t", &count), STATUS_OK);
    assert_int_equal(push_while_frozen(n, &a), STATUS_NOT_REPLICATED);
    assert_true(status_is_unknown(a.op.status));
    assert_int_equal(stats(n)->unknown, 0); /* that is something else */
    assert_true(stats(n)->replica_timeouts >= 1);
    assert_int_equal(pop(n, &a, "t", &count), STATUS_OK);
    assert_int_equal(count, 1);
    replicated_thaw(redis, 0);
    push_until_safe(n);
}

static enum status push_mine(struct node *n, struct job_op *j)
{
    *j = (struct job_op){
        .op.id = BYTES("mine"),
        .op.in.push = {.body = BYTES("body"), .ttr_ms = 60000, .rules = rules_default}};
    submit_op(n, j, OP_PUSH, "t");
    run_until(n->loop, &j->is_done);
    return j->op.status;
}

/* What a client hears who does the same again after `unknown` is a promise, too. */
static void an_answer_that_repeats_a_promise_waits_as_well(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};
    struct popped popped;

    start(n, SHORT_MS);
    push_until_safe(n);
    pop_one(n, &popped);
    replicated_freeze(redis, 0);
    assert_int_equal(push_mine(n, &a), STATUS_NOT_REPLICATED);
    assert_int_equal(push_mine(n, &b), STATUS_NOT_REPLICATED); /* else a duplicate */
    assert_int_equal(of_lease(n, OP_ACK, &popped), STATUS_NOT_REPLICATED);
    assert_int_equal(of_lease(n, OP_ACK, &popped), STATUS_NOT_REPLICATED);
    assert_int_equal(of_lease(n, OP_CANCEL, &popped), STATUS_NOT_REPLICATED);
}

static void what_promises_nothing_waits_for_nobody(void **state)
{
    static const enum op_verb verbs[] = {OP_TOUCH, OP_RELEASE, OP_GET, OP_STATS};
    struct node *n = *state;
    struct job_op a = {0};
    struct popped popped;

    start(n, LONG_MS);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    pop_one(n, &popped);
    replicated_freeze(redis, 0);
    for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        assert_int_equal(of_lease(n, verbs[i], &popped), STATUS_OK);
    assert_int_equal(of_lease(n, OP_ACK, &popped), STATUS_NOT_RESERVED);
    assert_int_equal(stats(n)->replica_waits, 1);
}

static void without_min_replicas_nobody_waits(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    n->options.min_replicas = 0;
    start(n, LONG_MS);
    assert_int_equal(push_while_frozen(n, &a), STATUS_OK);
    assert_int_equal(stats(n)->replica_waits, 0);
}

/* ---- the end ---- */

static void stop_while_one_waits(struct node *n, int64_t patience_ms, bool is_now)
{
    struct job_op a = {0};

    start(n, patience_ms);
    replicated_freeze(redis, 0);
    submit_push(n, &a, "t");
    while (stats(n)->waiting_for_replicas == 0)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    node_stop(n);
    if (is_now)
        redis_store_stop_now(n->store);
    assert_false(a.is_done);
    run_until(n->loop, &n->is_stopped);
    assert_true(a.is_done);
    assert_int_equal(a.op.status, STATUS_NOT_REPLICATED);
    node_renew(n);
}

static void a_stop_waits_for_those_who_wait(void **state)
{
    stop_while_one_waits(*state, SHORT_MS, false);
}

static void stopping_now_it_does_not(void **state)
{
    stop_while_one_waits(*state, LONG_MS, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REPLICA(a_push_is_answered_when_the_replica_has_it),
        WITH_REPLICA(what_is_due_soon_is_told_before_the_answer),
        WITH_REPLICA(thousands_wait_and_flight_is_free_for_others),
        WITH_REPLICA(what_the_replica_does_not_confirm_in_time_is_unknown),
        WITH_REPLICA(an_answer_that_repeats_a_promise_waits_as_well),
        WITH_REPLICA(what_promises_nothing_waits_for_nobody),
        WITH_REPLICA(without_min_replicas_nobody_waits),
        WITH_REPLICA(a_stop_waits_for_those_who_wait),
        WITH_REPLICA(stopping_now_it_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
