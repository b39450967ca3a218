/* The circuit breaker before a real Redis that is frozen, killed and back again. */
#include "node/store/redis/tests/store_fixture.h"
#include "node/store/redis/parts.h"

#include <unistd.h>

#include <event2/event.h>

#define MANY 8

static void run_until_breaker(struct node *n, enum breaker_state state)
{
    alarm(PATIENCE_S);
    while (stats(n)->breaker != state)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
}

static void run_for(struct node *n, int64_t ms)
{
    int64_t until = timers_now(&n->loop->timers) + ms;

    while (timers_now(&n->loop->timers) < until)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
}

/* So many answers as it takes. */
static void push_until_closed(struct node *n)
{
    while (stats(n)->breaker != BREAKER_CLOSED) {
        struct job_op a = {0};

        assert_int_equal(push(n, &a, "t"), STATUS_OK);
    }
}

static void assert_refused_at_once(struct node *n)
{
    struct job_op a = {0};
    const struct redis_store_stats *stats = redis_store_stats(n->store);
    uint64_t broken = stats->broken, held = stats->held;

    assert_int_equal(push(n, &a, "t"), STATUS_UNAVAILABLE);
    assert_int_equal(stats->broken, broken + 1);
    assert_int_equal(stats->held, held);
}

/* The connection lives, and its late answer is an answer. */
static void silence_opens_it_and_an_answer_tries_again(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    n->options.breaker_after_ms = 50;
    node_start_up(n);
    node_freeze(n);
    submit_push(n, &a, "t");
    run_until_breaker(n, BREAKER_OPEN);
    assert_refused_at_once(n);
    assert_false(a.is_done);
    node_thaw(n);
    assert_int_equal(await(n, &a), STATUS_OK);
    push_until_closed(n);
    assert_int_equal(stats(n)->breaker_trips, 1);
    assert_int_equal(stats(n)->connects, 1);
}

static void connections_that_answer_late_open_it(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    n->options.breaker_after_ms = 0;
    n->options.breaker_failures = 2;
    n->options.command_timeout_ms = 100;
    node_start_up(n);
    node_freeze(n);
    submit_stats(n, &a, "t");
    run_until_breaker(n, BREAKER_OPEN);
    assert_false(a.is_done); /* what waits already waits on */
    node_thaw(n);
    assert_int_equal(await(n, &a), STATUS_OK);
    push_until_closed(n);
}

static void who_waits_goes_first_and_a_few_at_a_time(void **state)
{
    struct node *n = *state;
    struct job_op ops[MANY] = {0};
    int turns = 0;

    n->options.breaker_after_ms = 1000;
    n->options.breaker_probes = 2;
    node_start_up(n);
    redis_fixture_kill(n->redis);
    run_until(n->loop, &n->is_down);
    for (int i = 0; i < MANY; i++) {
        ops[i].turns = &turns;
        submit_push(n, &ops[i], "t");
    }
    run_until_breaker(n, BREAKER_OPEN);
    assert_refused_at_once(n);
    assert_int_equal(stats(n)->held, MANY);
    redis_fixture_start(n->redis);
    run_until_breaker(n, BREAKER_HALF_OPEN);
    assert_int_equal(stats(n)->in_flight, 2);
    assert_int_equal(stats(n)->held, MANY - 2);
    run_until(n->loop, &ops[MANY - 1].is_done);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(ops[i].op.status, STATUS_OK);
        assert_int_equal(ops[i].turn, i + 1);
    }
    assert_int_equal(stats(n)->breaker, BREAKER_CLOSED);
}

/* It was to wait for ten minutes. */
static void opens_by_the_newest_configuration(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    n->options.breaker_after_ms = 600000;
    node_start_up(n);
    node_freeze(n);
    submit_push(n, &a, "t");
    n->options.breaker_after_ms = 20;
    n->options.breaker_probes = 1;
    redis_store_reload(n->store, &n->options);
    run_until_breaker(n, BREAKER_OPEN);
    node_thaw(n);
    run_until(n->loop, &a.is_done);
    push_until_closed(n);
}

/* Somebody works on those jobs: they are confirmed, however long it takes. */
static void what_the_node_says_of_its_jobs_waits_on(void **state)
{
    struct node *n = *state;
    struct lease none = {.id = BYTES("none")};
    struct job_op a = {0}, confirm = {.op.in.leases = {.items = &none, .count = 1}};

    n->options.breaker_after_ms = 50;
    node_start_up(n);
    node_freeze(n);
    submit_push(n, &a, "t");
    run_until_breaker(n, BREAKER_OPEN);
    submit_op(n, &confirm, OP_DELIVERED, "t");
    assert_int_equal(stats(n)->held, 1);
    node_thaw(n);
    assert_int_equal(await(n, &confirm), STATUS_OK);
}

/* Nothing waits any more, and the connection is good: there is nothing to refuse. */
static void who_gave_up_leaves_no_silence_behind(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    n->options.breaker_after_ms = 500;
    n->options.hold_ms = 50;
    node_start_up(n);
    redis_fixture_kill(n->redis);
    run_until(n->loop, &n->is_down);
    assert_int_equal(push(n, &a, "t"), STATUS_UNAVAILABLE);
    n->is_up = false;
    redis_fixture_start(n->redis);
    run_until(n->loop, &n->is_up);
    run_for(n, 2 * n->options.breaker_after_ms);
    assert_int_equal(stats(n)->breaker, BREAKER_CLOSED);
    assert_int_equal(push(n, &b, "t"), STATUS_OK);
    assert_int_equal(stats(n)->breaker_trips, 0);
}

/* It is frozen before it has answered AUTH, each time. */
static void a_password_does_not_hide_late_answers(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    redis_fixture_command(n->redis, "CONFIG SET requirepass secret");
    n->options.password = "secret";
    n->options.breaker_after_ms = 0;
    n->options.breaker_failures = 3;
    n->options.command_timeout_ms = 100;
    node_start_up(n);
    node_freeze(n);
    submit_stats(n, &a, "t");
    run_until_breaker(n, BREAKER_OPEN);
    node_thaw(n);
    assert_int_equal(await(n, &a), STATUS_OK);
}

/* Whatever has opened it: nothing is in flight, so no answer and no loss would end it. */
static void an_open_one_of_a_good_connection_tries_again_by_itself(void **state)
{
    struct node *n = *state;
    struct lease none = {.id = BYTES("none")};
    struct job_op confirm = {.op.in.leases = {.items = &none, .count = 1}};
    struct redis_lane *lane;

    node_start_up(n);
    lane = redis_store_lane_of(list_first(&n->store->lanes));
    for (unsigned i = 0; i < n->options.breaker_failures; i++)
        breaker_lost(&lane->breaker, true, timers_now(&n->loop->timers));
    redis_lane_reload(lane); /* looks at it */
    assert_refused_at_once(n);
    submit_op(n, &confirm, OP_DELIVERED, "t");
    assert_int_equal(await(n, &confirm), STATUS_OK);
    assert_int_equal(stats(n)->breaker, BREAKER_HALF_OPEN);
    push_until_closed(n);
    assert_int_equal(stats(n)->connects, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(silence_opens_it_and_an_answer_tries_again),
        WITH_REDIS(opens_by_the_newest_configuration),
        WITH_REDIS(connections_that_answer_late_open_it),
        WITH_REDIS(who_waits_goes_first_and_a_few_at_a_time),
        WITH_REDIS(what_the_node_says_of_its_jobs_waits_on),
        WITH_REDIS(who_gave_up_leaves_no_silence_behind),
        WITH_REDIS(an_open_one_of_a_good_connection_tries_again_by_itself),
        WITH_REDIS(a_password_does_not_hide_late_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
