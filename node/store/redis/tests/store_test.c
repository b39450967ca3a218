/* The store on a real Redis that is away, silent, forgetful or killed. The contract test has
 * what the operations do.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <event2/event.h>

#include "base/crc16.h"

static void sends_the_text_of_a_script_that_redis_forgot(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    node_start_up(n);
    redis_fixture_command(n->redis, "SCRIPT FLUSH");
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    assert_int_equal(push(n, &b, "t"), STATUS_OK);
    assert_int_equal(stats(n)->reloaded, 1);
    assert_int_equal(redis_fixture_command(n->redis, "HLEN dq:{%u}:j:t", a.op.bucket), 2);
}

static void serves_what_came_before_redis_was_there_in_order(void **state)
{
    struct node *n = *state;
    struct job_op ops[100] = {0};
    int turns = 0;

    redis_fixture_kill(n->redis);
    node_start(n);
    for (unsigned i = 0; i < 100; i++) {
        ops[i].turns = &turns;
        submit_push(n, &ops[i], "t");
    }
    assert_int_equal(stats(n)->held, 100);
    redis_fixture_start(n->redis);
    run_until(n->loop, &ops[99].is_done);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ops[i].op.status, STATUS_OK);
        assert_int_equal(ops[i].turn, i + 1);
    }
    assert_int_equal(stats(n)->held_bytes, 0);
}

static void does_not_know_what_became_of_operations_in_flight_when_redis_is_killed(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0}, c = {0}, read = {0};
    unsigned count;

    node_start_up(n);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    node_freeze(n);
    b.op.id = bytes_of_text(a.id);
    submit_op(n, &b, OP_CANCEL, "t");
    submit_stats(n, &read, "t");
    redis_fixture_kill(n->redis);
    assert_int_equal(await(n, &b), STATUS_UNKNOWN);
    assert_false(read.is_done); /* it can be asked again */
    assert_int_equal(stats(n)->unknown, 1);
    assert_int_equal(n->downs, 1);

    redis_fixture_start(n->redis);
    run_until(n->loop, &n->is_up);
    assert_int_equal(n->ups, 2);
    assert_int_equal(await(n, &read), STATUS_OK);
    assert_int_equal(pop(n, &c, "t", &count), STATUS_OK);
    assert_in_range(count, 0, 1);
    assert_int_equal(stats(n)->connects, 2);
}

static void gives_up_what_was_held_for_too_long(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    redis_fixture_kill(n->redis);
    n->options.hold_ms = 30;
    node_start(n);
    submit_push(n, &a, "t");
    assert_int_equal(await(n, &a), STATUS_UNAVAILABLE);
    assert_int_equal(stats(n)->expired, 1);
}

static void holds_no_more_than_it_may(void **state)
{
    struct node *n = *state;
    struct job_op ops[4] = {0};

    redis_fixture_kill(n->redis);
    n->options.held_max = 3;
    node_start(n);
    for (unsigned i = 0; i < 4; i++)
        submit_push(n, &ops[i], "t");
    assert_int_equal(await(n, &ops[3]), STATUS_TOO_MANY);
    redis_fixture_start(n->redis);
    assert_int_equal(await(n, &ops[2]), STATUS_OK);
}

static void holds_by_the_newest_configuration(void **state)
{
    struct node *n = *state;
    struct job_op ops[3] = {0};

    redis_fixture_kill(n->redis);
    node_start(n);
    submit_push(n, &ops[0], "t");
    n->options.held_max = 2;
    redis_store_reload(n->store, &n->options);
    submit_push(n, &ops[1], "t");
    submit_push(n, &ops[2], "t");
    assert_int_equal(await(n, &ops[2]), STATUS_TOO_MANY);
    n->options.hold_ms = 30;
    redis_store_reload(n->store, &n->options);
    run_until(n->loop, &ops[1].is_done);
    assert_int_equal(ops[0].op.status, STATUS_UNAVAILABLE);
    assert_int_equal(ops[1].op.status, STATUS_UNAVAILABLE);
}

static void keeps_no_more_than_so_many_in_flight(void **state)
{
    struct node *n = *state;
    struct job_op ops[50] = {0};

    n->options.flight_max = 4;
    node_start_up(n);
    for (unsigned i = 0; i < 50; i++) {
        submit_push(n, &ops[i], "t");
        assert_true(stats(n)->in_flight <= 4);
    }
    assert_int_equal(await(n, &ops[49]), STATUS_OK);
}

static void ends_everything_when_it_is_stopped(void **state)
{
    struct node *n = *state;
    struct job_op ops[6] = {0};

    n->options.flight_max = 3;
    node_start_up(n);
    for (unsigned i = 0; i < 5; i++)
        submit_push(n, &ops[i], "t");
    node_stop(n);
    submit_push(n, &ops[5], "t");
    run_until(n->loop, &n->is_stopped);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ops[i].op.status, i < 3 ? STATUS_OK : STATUS_SHUTTING_DOWN);

    /* For tear_down: it can be started again. */
    redis_store_free(n->store);
    n->is_stopped = false;
    node_start(n);
}

static void hears_wake_ups_again_after_the_subscription_was_cut(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    node_start_up(n);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    run_until(n->loop, &n->is_woken);
    n->is_woken = false;
    redis_fixture_command(n->redis, "CLIENT KILL TYPE pubsub");
    node_come_back(n);
    assert_int_equal(stats(n)->connects, 1);
    assert_int_equal(push(n, &b, "u"), STATUS_OK);
    run_until(n->loop, &n->is_woken);
    assert_int_equal(n->wakeups, 2);
}

static void says_why_it_hears_no_wake_ups(void **state)
{
    struct node *n = *state;

    node_start_up(n);
    assert_string_equal(redis_store_why(n->store), "");
    redis_fixture_command(n->redis, "ACL SETUSER default resetchannels");
    run_until_why(n, "NOPERM");
    assert_int_equal(stats(n)->state, REDIS_STORE_UNHEARD);
    redis_fixture_command(n->redis, "ACL SETUSER default allchannels");
    run_until(n->loop, &n->is_up);
}

static void reports_an_error_of_redis_as_refused(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    node_start_up(n);
    redis_fixture_command(n->redis, "SET dq:{%u}:j:t foreign", crc16(BYTES("t")) % 64);
    assert_int_equal(push(n, &a, "t"), STATUS_STORE_ERROR);
    redis_fixture_command(n->redis, "CONFIG SET maxmemory 1");
    assert_int_equal(push(n, &b, "u"), STATUS_STORE_ERROR);
    assert_int_equal(stats(n)->refused, 2);
}

static void waits_while_its_redis_is_a_replica(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    node_start_up(n);
    redis_fixture_command(n->redis, "REPLICAOF 127.0.0.1 1");
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    assert_int_equal(stats(n)->state, REDIS_STORE_DOWN);
    assert_false(a.is_done);
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    assert_int_equal(await(n, &a), STATUS_OK); /* it waited for a master */
    run_until(n->loop, &n->is_up);
    assert_false(n->is_refused);
}

static void what_is_in_flight_ends_as_unknown_when_a_stop_cannot_wait(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    node_start_up(n);
    node_freeze(n);
    submit_push(n, &a, "t");
    event_base_loop(n->loop->base, EVLOOP_NONBLOCK); /* it is sent at the turn's end */
    node_stop(n);
    assert_false(a.is_done);
    redis_store_stop_now(n->store);
    run_until(n->loop, &n->is_stopped);
    assert_true(a.is_done);
    assert_int_equal(a.op.status, STATUS_UNKNOWN);
    node_thaw(n);
    node_renew(n);
}

static void can_be_stopped_before_it_was_started(void **state)
{
    struct node n;

    node_init(&n, ((struct node *)*state)->redis);
    n.store = redis_store_new(n.loop, &n.options);
    node_stop(&n);
    run_until(n.loop, &n.is_stopped);
    redis_store_free(n.store);
    loop_free(n.loop);
    node_start(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(sends_the_text_of_a_script_that_redis_forgot),
        WITH_REDIS(serves_what_came_before_redis_was_there_in_order),
        WITH_REDIS(does_not_know_what_became_of_operations_in_flight_when_redis_is_killed),
        WITH_REDIS(gives_up_what_was_held_for_too_long),
        WITH_REDIS(holds_no_more_than_it_may),
        WITH_REDIS(holds_by_the_newest_configuration),
        WITH_REDIS(keeps_no_more_than_so_many_in_flight),
        WITH_REDIS(ends_everything_when_it_is_stopped),
        WITH_REDIS(what_is_in_flight_ends_as_unknown_when_a_stop_cannot_wait),
        WITH_REDIS(can_be_stopped_before_it_was_started),
        WITH_REDIS(hears_wake_ups_again_after_the_subscription_was_cut),
        WITH_REDIS(says_why_it_hears_no_wake_ups),
        WITH_REDIS(reports_an_error_of_redis_as_refused),
        WITH_REDIS(waits_while_its_redis_is_a_replica),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
