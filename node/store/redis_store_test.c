/* The store on a real Redis: what happens when that misbehaves. What the operations do is
 * the contract test's.
 */
#include "node/store/redis_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc16.h"
#include "node/store/redis_fixture.h"

/* A store on a Redis, and what it said. */
struct node {
    struct redis_fixture *redis;
    struct loop *loop;
    struct redis_store *store;
    struct redis_store_options options;
    int ups, downs, wakeups;
    bool is_up, is_down, is_woken, is_refused, is_stopped;
    char why[512];
};

static void on_up(void *arg)
{
    struct node *n = arg;

    n->ups++;
    n->is_up = true;
    n->is_down = false;
}

static void on_down(void *arg)
{
    struct node *n = arg;

    n->downs++;
    n->is_up = false;
    n->is_down = true;
}

static void on_ready(void *arg, struct bytes topic)
{
    struct node *n = arg;

    n->wakeups++;
    n->is_woken = true;
}

static void on_refused(void *arg, const char *why)
{
    struct node *n = arg;

    n->is_refused = true;
    strncpy(n->why, why, sizeof(n->why) - 1);
}

static void node_init(struct node *n, struct redis_fixture *redis)
{
    *n = (struct node){.redis = redis, .loop = loop_new(), .options = redis_store_defaults()};
    n->options.address = redis->address;
    n->options.reconnect_ms = 50;
    n->options.on_refused = on_refused;
    n->options.arg = n;
}

static void node_start(struct node *n)
{
    n->store = redis_store_new(n->loop, &n->options);
    assert_non_null(n->store);
    redis_store_port(n->store)->events = (struct store_events){
        .on_ready = on_ready, .on_up = on_up, .on_down = on_down, .arg = n};
    redis_store_start(n->store);
}

static void on_stopped(void *arg)
{
    struct node *n = arg;

    n->is_stopped = true;
}

static void node_fini(struct node *n)
{
    redis_store_stop(n->store, on_stopped, n);
    run_until(n->loop, &n->is_stopped);
    redis_store_free(n->store);
    loop_free(n->loop);
}

static int set_up(void **state)
{
    struct node *n = malloc(sizeof(*n));

    node_init(n, redis_fixture_new(NULL));
    *state = n;
    return 0;
}

static int tear_down(void **state)
{
    struct node *n = *state;

    node_fini(n);
    redis_fixture_free(n->redis);
    free(n);
    return 0;
}

/* ---- operations ---- */

struct job_op {
    struct op op;
    bool is_done;
    int turn; /* in which it was done, counted from 1 */
    int *turns;
    char id[64];
};

static void on_done(struct op *op)
{
    struct job_op *j = CONTAINER_OF(op, struct job_op, op);

    assert_false(j->is_done);
    j->is_done = true;
    if (j->turns)
        j->turn = ++*j->turns;
    if (op->verb == OP_PUSH && op->status == STATUS_OK)
        memcpy(j->id, op->out.push.id.at, op->out.push.id.len);
}

static void submit(struct node *n, struct job_op *j, enum op_verb verb, const char *topic)
{
    j->op.verb = verb;
    j->op.on_done = on_done;
    j->op.topic = bytes_of_text(topic);
    j->op.bucket = crc16(j->op.topic) % n->options.buckets;
    store_submit(redis_store_port(n->store), &j->op);
    assert_false(j->is_done);
}

static void submit_push(struct node *n, struct job_op *j, const char *topic)
{
    *j = (struct job_op){.op.in.push = {.body = BYTES("body"), .ttr_ms = 60000},
                         .turns = j->turns};
    submit(n, j, OP_PUSH, topic);
}

static enum status push(struct node *n, struct job_op *j, const char *topic)
{
    submit_push(n, j, topic);
    run_until(n->loop, &j->is_done);
    return j->op.status;
}

static enum status pop(struct node *n, struct job_op *j, const char *topic, unsigned *count)
{
    *j = (struct job_op){.op.in.pop.count = OP_ITEMS_MAX};
    submit(n, j, OP_POP, topic);
    run_until(n->loop, &j->is_done);
    *count = j->op.out.pop.count;
    return j->op.status;
}

/* ---- the tests ---- */

static void sends_the_text_of_a_script_that_redis_forgot(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_command(n->redis, "SCRIPT FLUSH");
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    assert_int_equal(push(n, &b, "t"), STATUS_OK);
    assert_int_equal(redis_store_stats(n->store)->reloaded, 1);
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
    assert_int_equal(redis_store_stats(n->store)->held, 100);
    redis_fixture_start(n->redis);
    run_until(n->loop, &ops[99].is_done);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ops[i].op.status, STATUS_OK);
        assert_int_equal(ops[i].turn, i + 1);
    }
    assert_int_equal(redis_store_stats(n->store)->held_bytes, 0);
}

static void does_not_know_what_became_of_operations_in_flight_when_redis_is_killed(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0}, c = {0};
    unsigned count;

    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    kill(n->redis->pid, SIGSTOP);
    submit_push(n, &b, "t");
    redis_fixture_kill(n->redis);
    run_until(n->loop, &b.is_done);
    assert_int_equal(b.op.status, STATUS_UNKNOWN);
    assert_int_equal(n->downs, 1);

    redis_fixture_start(n->redis);
    run_until(n->loop, &n->is_up);
    assert_int_equal(n->ups, 2);
    assert_int_equal(pop(n, &c, "t", &count), STATUS_OK);
    assert_in_range(count, 1, 2);
    assert_int_equal(redis_store_stats(n->store)->connects, 2);
}

static void closes_the_connection_when_an_answer_does_not_come_in_time(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    n->options.command_timeout_ms = 150;
    node_start(n);
    run_until(n->loop, &n->is_up);
    kill(n->redis->pid, SIGSTOP);
    submit_push(n, &a, "t");
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_UNKNOWN);

    submit_push(n, &b, "t");
    kill(n->redis->pid, SIGCONT);
    run_until(n->loop, &b.is_done);
    assert_int_equal(b.op.status, STATUS_OK);
}

static void notices_a_silent_redis_without_an_operation(void **state)
{
    struct node *n = *state;

    n->options.command_timeout_ms = 100;
    node_start(n);
    run_until(n->loop, &n->is_up);
    kill(n->redis->pid, SIGSTOP);
    run_until(n->loop, &n->is_down);
    kill(n->redis->pid, SIGCONT);
    run_until(n->loop, &n->is_up);
}

static void gives_up_what_was_held_for_too_long(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    redis_fixture_kill(n->redis);
    n->options.hold_ms = 30;
    node_start(n);
    submit_push(n, &a, "t");
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_UNAVAILABLE);
    assert_int_equal(redis_store_stats(n->store)->expired, 1);
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
    run_until(n->loop, &ops[3].is_done);
    assert_int_equal(ops[3].op.status, STATUS_TOO_MANY);
    redis_fixture_start(n->redis);
    run_until(n->loop, &ops[2].is_done);
    assert_int_equal(ops[2].op.status, STATUS_OK);
}

static void keeps_no_more_than_so_many_in_flight(void **state)
{
    struct node *n = *state;
    struct job_op ops[50] = {0};

    n->options.flight_max = 4;
    node_start(n);
    run_until(n->loop, &n->is_up);
    for (unsigned i = 0; i < 50; i++) {
        submit_push(n, &ops[i], "t");
        assert_true(redis_store_stats(n->store)->in_flight <= 4);
    }
    run_until(n->loop, &ops[49].is_done);
    assert_int_equal(ops[49].op.status, STATUS_OK);
}

static void ends_everything_when_it_is_stopped(void **state)
{
    struct node *n = *state;
    struct job_op ops[6] = {0};

    n->options.flight_max = 3;
    node_start(n);
    run_until(n->loop, &n->is_up);
    for (unsigned i = 0; i < 5; i++)
        submit_push(n, &ops[i], "t");
    redis_store_stop(n->store, on_stopped, n);
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

    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    run_until(n->loop, &n->is_woken);
    n->is_woken = false;
    redis_fixture_command(n->redis, "CLIENT KILL TYPE pubsub");
    run_until(n->loop, &n->is_down);
    run_until(n->loop, &n->is_up);
    assert_int_equal(redis_store_stats(n->store)->connects, 1);
    assert_int_equal(push(n, &b, "u"), STATUS_OK);
    run_until(n->loop, &n->is_woken);
    assert_int_equal(n->wakeups, 2);
}

/* The channel's subscribers are all removed without the connection being closed: nothing but
 * the missing beat tells. */
static void notices_a_subscription_that_hears_nothing(void **state)
{
    struct node *n = *state;

    n->options.command_timeout_ms = 100;
    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_command(n->redis, "ACL SETUSER default resetchannels");
    run_until(n->loop, &n->is_down);
    redis_fixture_command(n->redis, "ACL SETUSER default allchannels");
    run_until(n->loop, &n->is_up);
}

static void repeats_no_id_when_redis_comes_back_older(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};
    unsigned bucket = crc16(BYTES("t")) % 64;

    redis_fixture_command(n->redis, "SET dq:{%u}:n 90000000000000", bucket);
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    redis_fixture_command(n->redis, "FLUSHALL");
    redis_fixture_command(n->redis, "CLIENT KILL TYPE normal SKIPME yes");
    run_until(n->loop, &n->is_down);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &b, "t"), STATUS_OK);
    assert_true(strtoll(b.id, NULL, 10) > strtoll(a.id, NULL, 10) + 64 * 1000000);
}

static void reports_an_error_of_redis_as_refused(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_command(n->redis, "SET dq:{%u}:j:t foreign", crc16(BYTES("t")) % 64);
    assert_int_equal(push(n, &a, "t"), STATUS_STORE_ERROR);
    redis_fixture_command(n->redis, "CONFIG SET maxmemory 1");
    assert_int_equal(push(n, &b, "u"), STATUS_STORE_ERROR);
    assert_int_equal(redis_store_stats(n->store)->refused, 2);
}

static void waits_while_its_redis_is_a_replica(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_command(n->redis, "REPLICAOF 127.0.0.1 1");
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_STORE_ERROR);
    assert_int_equal(redis_store_stats(n->store)->state, REDIS_STORE_DOWN);
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    run_until(n->loop, &n->is_up);
    assert_false(n->is_refused);
}

/* ---- what it refuses ---- */

static void assert_refuses(struct node *n, const char *word)
{
    node_start(n);
    run_until(n->loop, &n->is_refused);
    if (!strstr(n->why, word))
        fail_msg("'%s' does not say '%s'", n->why, word);
    assert_int_equal(n->ups, 0);
}

static void refuses_another_number_of_buckets(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 1 buckets 16");
    assert_refuses(n, "16");
}

static void refuses_jobs_of_a_newer_schema(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 64");
    assert_refuses(n, "newer dueq");
}

static void refuses_a_redis_without_append_only_file_when_strict(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendonly no");
    n->options.is_strict = true;
    assert_refuses(n, "append-only");
}

static void uses_a_redis_without_append_only_file_otherwise(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendonly no");
    node_start(n);
    run_until(n->loop, &n->is_up);
}

static void refuses_a_redis_that_evicts_when_strict(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET maxmemory-policy allkeys-lru");
    n->options.is_strict = true;
    assert_refuses(n, "noeviction");
}

static void refuses_a_wrong_password(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    n->options.password = "wrong";
    assert_refuses(n, "WRONGPASS");
}

static void refuses_when_a_password_is_missing(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    assert_refuses(n, "NOAUTH");
}

static void works_with_the_right_password(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    n->options.password = "right";
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
}

static void takes_a_refused_redis_once_it_is_set_right(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 1 buckets 16");
    assert_refuses(n, "16");
    redis_fixture_command(n->redis, "DEL dq:meta");
    run_until(n->loop, &n->is_up);
}

static void does_not_take_options_that_make_no_sense(void **state)
{
    struct loop *loop = loop_new();
    struct redis_store_options options = redis_store_defaults();

    options.address = "unix:";
    assert_null(redis_store_new(loop, &options));
    options.address = "localhost:99999";
    assert_null(redis_store_new(loop, &options));
    options.address = "localhost";
    options.prefix = "a{b";
    assert_null(redis_store_new(loop, &options));
    options.prefix = "dq";
    options.buckets = 129;
    assert_null(redis_store_new(loop, &options));
    loop_free(loop);
}

#define WITH_REDIS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(sends_the_text_of_a_script_that_redis_forgot),
        WITH_REDIS(serves_what_came_before_redis_was_there_in_order),
        WITH_REDIS(does_not_know_what_became_of_operations_in_flight_when_redis_is_killed),
        WITH_REDIS(closes_the_connection_when_an_answer_does_not_come_in_time),
        WITH_REDIS(notices_a_silent_redis_without_an_operation),
        WITH_REDIS(gives_up_what_was_held_for_too_long),
        WITH_REDIS(holds_no_more_than_it_may),
        WITH_REDIS(keeps_no_more_than_so_many_in_flight),
        WITH_REDIS(ends_everything_when_it_is_stopped),
        WITH_REDIS(hears_wake_ups_again_after_the_subscription_was_cut),
        WITH_REDIS(notices_a_subscription_that_hears_nothing),
        WITH_REDIS(repeats_no_id_when_redis_comes_back_older),
        WITH_REDIS(reports_an_error_of_redis_as_refused),
        WITH_REDIS(waits_while_its_redis_is_a_replica),
        WITH_REDIS(refuses_another_number_of_buckets),
        WITH_REDIS(refuses_jobs_of_a_newer_schema),
        WITH_REDIS(refuses_a_redis_without_append_only_file_when_strict),
        WITH_REDIS(uses_a_redis_without_append_only_file_otherwise),
        WITH_REDIS(refuses_a_redis_that_evicts_when_strict),
        WITH_REDIS(refuses_a_wrong_password),
        WITH_REDIS(refuses_when_a_password_is_missing),
        WITH_REDIS(works_with_the_right_password),
        WITH_REDIS(takes_a_refused_redis_once_it_is_set_right),
        cmocka_unit_test(does_not_take_options_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
