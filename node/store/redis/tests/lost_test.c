/* Operations whose answer is lost with the connection, on a Redis that is frozen for longer
 * than an answer may take, and still runs the commands it got when it goes on.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/crc16.h"
#include "node/store/redis/push_ledger.h"

#define TIMEOUT_MS 1000

static void start_with_a_reserved_job(struct node *n, struct popped *p)
{
    struct job_op a = {0};

    n->options.command_timeout_ms = TIMEOUT_MS;
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    submit_pop_one(n, p, "t");
    run_until(n->loop, &p->pop.is_done);
}

static void freeze(struct node *n)
{
    kill(n->redis->pid, SIGSTOP);
}

static void lose_and_thaw(struct node *n)
{
    run_until(n->loop, &n->is_down);
    kill(n->redis->pid, SIGCONT);
}

static void an_acknowledgement_that_may_have_happened_is_sent_again(void **state)
{
    struct node *n = *state;
    struct job_op ack, stats = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_of_lease(n, &ack, OP_ACK, &p);
    lose_and_thaw(n);
    assert_false(ack.is_done);
    run_until(n->loop, &ack.is_done);
    assert_int_equal(ack.op.status, STATUS_OK);
    submit_stats(n, &stats, "t");
    run_until(n->loop, &stats.is_done);
    assert_int_equal(stats.op.out.stats.reserved, 0);
    assert_int_equal(redis_store_stats(n->store)->unknown, 0);
}

/* Redis does it when it goes on, whatever comes first then: what it has of the lost connection,
 * or what is retried on the next one. */
static void pushes_that_may_have_happened_are_said_again_and_happen_once(void **state)
{
    enum { COUNT = 200 };
    static struct job_op jobs[COUNT];
    struct node *n = *state;
    struct job_op stats = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    memset(jobs, 0, sizeof(jobs));
    for (int i = 0; i < COUNT; i++)
        submit_push(n, &jobs[i], "t");
    lose_and_thaw(n);
    for (int i = 0; i < COUNT; i++) {
        run_until(n->loop, &jobs[i].is_done);
        assert_int_equal(jobs[i].op.status, STATUS_OK);
    }
    submit_stats(n, &stats, "t");
    run_until(n->loop, &stats.is_done);
    assert_int_equal(stats.op.out.stats.ready, COUNT);
    assert_int_equal(redis_store_stats(n->store)->unknown, 0);
}

/* What was acknowledged meanwhile, by a consumer of another node, is not pushed a second time.
 */
static void a_push_that_has_happened_is_not_pushed_again_when_it_is_gone(void **state)
{
    struct node *n = *state;
    unsigned bucket = crc16(BYTES("t")) % n->options.buckets;
    struct job_op a = {0}, stats = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    kill(n->redis->pid, SIGCONT);
    /* It is on its way to Redis, whatever becomes of the connection. */
    while (redis_fixture_command(n->redis, "HLEN dq:{%u}:j:t", bucket) < 2) {
    }
    redis_fixture_command(n->redis, "DEL dq:{%u}:r:t", bucket);
    redis_fixture_command(n->redis, "DEL dq:{%u}:j:t", bucket);
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
    submit_stats(n, &stats, "t");
    run_until(n->loop, &stats.is_done);
    assert_int_equal(stats.op.out.stats.ready, 0);
}

/* More pushes than the ring has entries, and no answer: of the first nobody can tell. */
static void a_push_whose_entry_is_taken_is_unknown(void **state)
{
    enum { COUNT = PUSH_LEDGER_RING + 10 };
    static struct job_op jobs[COUNT];
    struct node *n = *state;
    struct popped p;
    int unknown = 0;

    n->options.flight_max = COUNT; /* more than the ring is made for */
    start_with_a_reserved_job(n, &p);
    freeze(n);
    memset(jobs, 0, sizeof(jobs));
    for (int i = 0; i < COUNT; i++)
        submit_push(n, &jobs[i], "t");
    lose_and_thaw(n);
    for (int i = 0; i < COUNT; i++) {
        run_until(n->loop, &jobs[i].is_done);
        assert_int_equal(jobs[i].op.status, i < 10 ? STATUS_UNKNOWN : STATUS_OK);
        unknown += jobs[i].op.status == STATUS_UNKNOWN;
    }
    assert_int_equal(redis_store_stats(n->store)->unknown, unknown);
}

static void what_only_looks_is_asked_again(void **state)
{
    struct node *n = *state;
    struct job_op stats = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_stats(n, &stats, "t");
    lose_and_thaw(n);
    run_until(n->loop, &stats.is_done);
    assert_int_equal(stats.op.status, STATUS_OK);
}

/* The jobs of the lost answer come back by themselves, after 5 s. */
static void a_consumer_that_waits_for_an_answer_gets_what_is_there_afterwards(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_pop_one(n, &p, "t");
    submit_push(n, &a, "t");
    lose_and_thaw(n);
    run_until(n->loop, &p.pop.is_done);
}

static void what_may_meet_a_new_life_of_the_id_is_unknown(void **state)
{
    struct node *n = *state;
    struct job_op cancel;
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_of_lease(n, &cancel, OP_CANCEL, &p);
    lose_and_thaw(n);
    run_until(n->loop, &cancel.is_done);
    assert_int_equal(cancel.op.status, STATUS_UNKNOWN);
    assert_int_equal(redis_store_stats(n->store)->unknown, 1);
}

/* It may have happened, so it cannot end as one that did not. */
static void what_is_not_sent_again_in_time_is_unknown(void **state)
{
    struct node *n = *state;
    struct job_op ack;
    struct popped p;

    n->options.hold_ms = 30;
    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_of_lease(n, &ack, OP_ACK, &p);
    run_until(n->loop, &ack.is_done);
    assert_int_equal(ack.op.status, STATUS_UNKNOWN);
    kill(n->redis->pid, SIGCONT);
}

static void a_stop_ends_it_as_unknown(void **state)
{
    struct node *n = *state;
    struct job_op ack;
    struct popped p;

    start_with_a_reserved_job(n, &p);
    freeze(n);
    submit_of_lease(n, &ack, OP_ACK, &p);
    run_until(n->loop, &n->is_down);
    node_stop(n);
    run_until(n->loop, &ack.is_done);
    assert_int_equal(ack.op.status, STATUS_UNKNOWN);
    kill(n->redis->pid, SIGCONT);
    run_until(n->loop, &n->is_stopped);
    n->is_stopped = false;
    redis_store_free(n->store);
    n->store = redis_store_new(n->loop, &n->options); /* for the tear-down */
}

/* It waited for room behind another one, on a connection that was dead already. */
static void who_left_while_the_connection_seemed_alive_runs_nothing_later(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, left = {0}, stats = {0};

    n->options.command_timeout_ms = TIMEOUT_MS;
    n->options.flight_max = 1;
    node_start(n);
    run_until(n->loop, &n->is_up);
    freeze(n);
    submit_push(n, &a, "t");
    submit_push(n, &left, "t");
    store_abandon(redis_store_port(n->store), &left.op);
    lose_and_thaw(n);
    run_until(n->loop, &left.is_done);
    assert_int_equal(left.op.status, STATUS_UNAVAILABLE);
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
    submit_stats(n, &stats, "t");
    run_until(n->loop, &stats.is_done);
    assert_int_equal(stats.op.out.stats.ready, 1);
    assert_int_equal(redis_store_stats(n->store)->dropped, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(an_acknowledgement_that_may_have_happened_is_sent_again),
        WITH_REDIS(pushes_that_may_have_happened_are_said_again_and_happen_once),
        WITH_REDIS(a_push_that_has_happened_is_not_pushed_again_when_it_is_gone),
        WITH_REDIS(a_push_whose_entry_is_taken_is_unknown),
        WITH_REDIS(what_only_looks_is_asked_again),
        WITH_REDIS(a_consumer_that_waits_for_an_answer_gets_what_is_there_afterwards),
        WITH_REDIS(what_may_meet_a_new_life_of_the_id_is_unknown),
        WITH_REDIS(what_is_not_sent_again_in_time_is_unknown),
        WITH_REDIS(a_stop_ends_it_as_unknown),
        WITH_REDIS(who_left_while_the_connection_seemed_alive_runs_nothing_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
