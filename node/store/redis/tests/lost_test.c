/* Operations whose answer is lost with the connection, on a Redis that is frozen for longer
 * than an answer may take, and still runs the commands it got when it goes on.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <string.h>
#include <unistd.h>

#include "base/crc16.h"
#include "node/store/redis/push_ledger.h"

#define TIMEOUT_MS 1000

static void start_with_a_reserved_job(struct node *n, struct popped *p)
{
    struct job_op a = {0};

    n->options.command_timeout_ms = TIMEOUT_MS;
    node_start_up(n);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    submit_pop_one(n, p, "t");
    run_until(n->loop, &p->pop.is_done);
}

static void lose_and_thaw(struct node *n)
{
    run_until(n->loop, &n->is_down);
    node_thaw(n);
}

static void an_acknowledgement_that_may_have_happened_is_sent_again(void **state)
{
    struct node *n = *state;
    struct job_op ack;
    struct popped p;

    start_with_a_reserved_job(n, &p);
    node_freeze(n);
    submit_of_lease(n, &ack, OP_ACK, &p);
    lose_and_thaw(n);
    assert_false(ack.is_done);
    assert_int_equal(await(n, &ack), STATUS_OK);
    assert_int_equal(stats_of(n, "t").reserved, 0);
    assert_int_equal(stats(n)->unknown, 0);
}

/* Redis does it when it goes on, whatever comes first then: what it has of the lost connection,
 * or what is retried on the next one. */
static void pushes_that_may_have_happened_are_said_again_and_happen_once(void **state)
{
    enum { COUNT = 200 };
    static struct job_op jobs[COUNT];
    struct node *n = *state;
    struct popped p;

    start_with_a_reserved_job(n, &p);
    node_freeze(n);
    memset(jobs, 0, sizeof(jobs));
    for (int i = 0; i < COUNT; i++)
        submit_push(n, &jobs[i], "t");
    lose_and_thaw(n);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(await(n, &jobs[i]), STATUS_OK);
    assert_int_equal(stats_of(n, "t").ready, COUNT);
    assert_int_equal(stats(n)->unknown, 0);
}

/* What was acknowledged meanwhile, by a consumer of another node, is not pushed a second time.
 */
static void a_push_that_has_happened_is_not_pushed_again_when_it_is_gone(void **state)
{
    struct node *n = *state;
    unsigned bucket = crc16(BYTES("t")) % n->options.buckets;
    struct job_op a = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    node_freeze(n);
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    node_thaw(n);
    /* It is on its way to Redis, whatever becomes of the connection. */
    while (redis_fixture_command(n->redis, "HLEN dq:{%u}:j:t", bucket) < 2) {
    }
    redis_fixture_command(n->redis, "DEL dq:{%u}:r:t", bucket);
    redis_fixture_command(n->redis, "DEL dq:{%u}:j:t", bucket);
    assert_int_equal(await(n, &a), STATUS_OK);
    assert_int_equal(stats_of(n, "t").ready, 0);
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
    node_freeze(n);
    memset(jobs, 0, sizeof(jobs));
    for (int i = 0; i < COUNT; i++)
        submit_push(n, &jobs[i], "t");
    lose_and_thaw(n);
    for (int i = 0; i < COUNT; i++) {
        run_until(n->loop, &jobs[i].is_done);
        assert_int_equal(jobs[i].op.status, i < 10 ? STATUS_UNKNOWN : STATUS_OK);
        unknown += jobs[i].op.status == STATUS_UNKNOWN;
    }
    assert_int_equal(stats(n)->unknown, unknown);
}

static void what_only_looks_is_asked_again(void **state)
{
    struct node *n = *state;
    struct job_op stats = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    node_freeze(n);
    submit_stats(n, &stats, "t");
    lose_and_thaw(n);
    assert_int_equal(await(n, &stats), STATUS_OK);
}

/* The jobs of the lost answer come back by themselves, after 5 s. */
static void a_consumer_that_waits_for_an_answer_gets_what_is_there_afterwards(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};
    struct popped p;

    start_with_a_reserved_job(n, &p);
    node_freeze(n);
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
    node_freeze(n);
    submit_of_lease(n, &cancel, OP_CANCEL, &p);
    lose_and_thaw(n);
    assert_int_equal(await(n, &cancel), STATUS_UNKNOWN);
    assert_int_equal(stats(n)->unknown, 1);
}

/* It may have happened, so it cannot end as one that did not. */
static void what_is_not_sent_again_in_time_is_unknown(void **state)
{
    struct node *n = *state;
    struct job_op ack;
    struct popped p;

    n->options.hold_ms = 30;
    start_with_a_reserved_job(n, &p);
    node_freeze(n);
    submit_of_lease(n, &ack, OP_ACK, &p);
    assert_int_equal(await(n, &ack), STATUS_UNKNOWN);
    node_thaw(n);
}

static void a_stop_ends_it_as_unknown(void **state)
{
    struct node *n = *state;
    struct job_op ack;
    struct popped p;

    start_with_a_reserved_job(n, &p);
    node_freeze(n);
    submit_of_lease(n, &ack, OP_ACK, &p);
    run_until(n->loop, &n->is_down);
    node_stop(n);
    assert_int_equal(await(n, &ack), STATUS_UNKNOWN);
    node_thaw(n);
    run_until(n->loop, &n->is_stopped);
    node_renew(n);
}

/* It waited for room behind another one, on a connection that was dead already. */
static void who_left_while_the_connection_seemed_alive_runs_nothing_later(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, left = {0};

    n->options.command_timeout_ms = TIMEOUT_MS;
    n->options.flight_max = 1;
    node_start_up(n);
    node_freeze(n);
    submit_push(n, &a, "t");
    submit_push(n, &left, "t");
    store_abandon(redis_store_port(n->store), &left.op);
    lose_and_thaw(n);
    assert_int_equal(await(n, &left), STATUS_UNAVAILABLE);
    assert_int_equal(await(n, &a), STATUS_OK);
    assert_int_equal(stats_of(n, "t").ready, 1);
    assert_int_equal(stats(n)->dropped, 1);
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
