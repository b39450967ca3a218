/* Two processes on a real Redis: one holds a job for an owner, and stands still; the other one
 * leads, and releases what is held there, and nothing of its own. */
#include <event2/event.h>
#include <unistd.h>

#include "base/tests/unit.h"
#include "node/queue/queue.h"
#include "node/store/redis/store.h"
#include "node/store/redis/tests/server_fixture.h"

struct process {
    struct loop *loop;
    struct redis_store_options options;
    struct redis_store *store;
    struct queue *q;
    bool is_stopped;
};

static struct redis_fixture *redis;

static void process_start(struct process *p)
{
    struct queue_options options = {.body_max_bytes = 1024,
                                    .waiting_max = 10,
                                    .scan_batch = 10,
                                    .scan_interval_ms = 1000,
                                    .node = BYTES("node")};

    *p = (struct process){.loop = loop_new(), .options = redis_store_defaults()};
    p->options.address = redis->address;
    p->options.buckets = 4;
    p->options.reconnect_ms = 50;
    p->store = redis_store_new(p->loop, &p->options);
    assert_non_null(p->store);
    p->q = queue_new(&options, redis_store_port(p->store), &p->loop->timers);
    redis_store_start(p->store);
}

static void on_stopped(void *arg)
{
    ((struct process *)arg)->is_stopped = true;
}

static void process_end(struct process *p)
{
    queue_stop(p->q, on_stopped, p);
    run_until(p->loop, &p->is_stopped);
    p->is_stopped = false;
    redis_store_stop(p->store, on_stopped, p);
    run_until(p->loop, &p->is_stopped);
    queue_free(p->q);
    redis_store_free(p->store);
    loop_free(p->loop);
}

/* ---- what its clients do ---- */

struct asked {
    struct op op;
    bool is_done;
    enum job_state state; /* of GET */
};

static void on_done(struct op *op)
{
    struct asked *asked = CONTAINER_OF(op, struct asked, op);

    asked->state = op->verb == OP_GET && op->status == STATUS_OK ? op->out.row.job.state : 0;
    asked->is_done = true;
}

static struct asked ask(struct process *p, struct op op)
{
    struct asked asked = {.op = op};

    asked.op.on_done = on_done;
    queue_submit(p->q, &asked.op);
    run_until(p->loop, &asked.is_done);
    return asked;
}

static void push(struct process *p, struct bytes topic)
{
    struct op op = {.verb = OP_PUSH, .topic = topic, .id = BYTES("id")};

    op.in.push.body = BYTES("body");
    op.in.push.ttr_ms = 3600000;
    op.in.push.rules = rules_default;
    op.in.push.given = SETTING_BIT(TTR);
    assert_int_equal(ask(p, op).op.status, STATUS_OK);
}

static enum job_state state_of(struct process *p, struct bytes topic)
{
    return ask(p, (struct op){.verb = OP_GET, .topic = topic, .id = BYTES("id")}).state;
}

struct held {
    struct pop pop;
    bool is_done;
    int64_t stamp;
};

static void on_popped(struct pop *pop)
{
    struct held *held = CONTAINER_OF(pop, struct held, pop);

    assert_int_equal(pop->status, STATUS_OK);
    held->stamp = pop->jobs[0].stamp;
    held->is_done = true;
}

static int64_t hold(struct process *p, struct bytes topic)
{
    struct held held = {.pop = {.topics = &topic,
                                .topic_count = 1,
                                .count = 1,
                                .is_owned = true,
                                .on_done = on_popped}};

    queue_pop(p->q, &held.pop);
    run_until(p->loop, &held.is_done);
    queue_delivered(p->q, held.pop.delivery);
    while (queue_stats(p->q)->done[OP_DELIVERED] == 0)
        event_base_loop(p->loop->base, EVLOOP_ONCE);
    return held.stamp;
}

static void what_a_process_held_that_stands_still_is_released(void **state)
{
    struct process leader, still;
    struct op ack = {.verb = OP_ACK, .topic = BYTES("t"), .id = BYTES("id")};

    redis = redis_fixture_new(NULL);
    process_start(&leader);
    process_start(&still);
    queue_activate(leader.q);
    push(&leader, BYTES("t"));
    push(&leader, BYTES("own"));
    ack.in.lease.stamp = hold(&still, BYTES("t"));
    ack.in.lease.is_owned = true;
    hold(&leader, BYTES("own"));
    assert_int_equal(redis_fixture_command(redis, "HLEN dq:{0}:m"), 2);
    alarm(PATIENCE_S);
    while (redis_fixture_command(redis, "HLEN dq:{0}:m") == 2) /* until it is forgotten */
        event_base_loop(leader.loop->base, EVLOOP_ONCE);
    alarm(0);
    assert_int_equal(state_of(&leader, BYTES("t")), JOB_READY);
    assert_int_equal(state_of(&leader, BYTES("own")), JOB_RESERVED);
    assert_int_equal(ask(&still, ack).op.status, STATUS_NOT_RESERVED); /* it goes on */
    process_end(&still);
    process_end(&leader);
    assert_int_equal(redis_fixture_command(redis, "EXISTS dq:{0}:m"), 0);
    redis_fixture_free(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_process_held_that_stands_still_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
