#include "node/store/redis/tests/store_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/crc16.h"

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

static void on_rollback(void *arg)
{
    struct node *n = arg;

    assert_true(n->is_up);
    n->olders++;
}

static void on_ready(void *arg, struct bytes topic)
{
    struct node *n = arg;

    n->wakeups++;
    n->is_woken = true;
}

static bool has_bare(void *arg)
{
    struct node *n = arg;

    return n->has_bare;
}

static void on_refused(void *arg, const char *why)
{
    struct node *n = arg;

    n->is_refused = true;
    strncpy(n->why, why, sizeof(n->why) - 1);
}

void node_init(struct node *n, struct redis_fixture *redis)
{
    *n = (struct node){.redis = redis, .loop = loop_new(), .options = redis_store_defaults()};
    n->options.address = redis->address;
    n->options.reconnect_ms = 50;
    n->options.on_refused = on_refused;
    n->options.arg = n;
}

void node_start(struct node *n)
{
    n->store = redis_store_new(n->loop, &n->options);
    assert_non_null(n->store);
    redis_store_port(n->store)->events = (struct store_events){.on_ready = on_ready,
                                                               .on_up = on_up,
                                                               .on_down = on_down,
                                                               .on_rollback = on_rollback,
                                                               .has_bare = has_bare,
                                                               .arg = n};
    redis_store_start(n->store);
}

void node_start_up(struct node *n)
{
    node_start(n);
    run_until(n->loop, &n->is_up);
}

void node_come_back(struct node *n)
{
    run_until(n->loop, &n->is_down);
    run_until(n->loop, &n->is_up);
}

void node_freeze(struct node *n)
{
    kill(n->redis->pid, SIGSTOP);
}

void node_thaw(struct node *n)
{
    kill(n->redis->pid, SIGCONT);
}

const struct redis_store_stats *stats(const struct node *n)
{
    return redis_store_stats(n->store);
}

void run_until_why(struct node *n, const char *word)
{
    alarm(PATIENCE_S);
    while (!strstr(redis_store_why(n->store), word))
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
}

static void on_stopped(void *arg)
{
    struct node *n = arg;

    n->is_stopped = true;
}

void node_stop(struct node *n)
{
    redis_store_stop(n->store, on_stopped, n);
}

void node_renew(struct node *n)
{
    n->is_stopped = false;
    redis_store_free(n->store);
    n->store = redis_store_new(n->loop, &n->options);
}

void node_fini(struct node *n)
{
    node_stop(n);
    run_until(n->loop, &n->is_stopped);
    redis_store_free(n->store);
    for (unsigned i = 0; i < 3; i++) /* what is looked up goes in a later turn */
        event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
    loop_free(n->loop);
}

int node_set_up(void **state)
{
    struct node *n = malloc(sizeof(*n));

    node_init(n, redis_fixture_new(NULL));
    *state = n;
    return 0;
}

int node_tear_down(void **state)
{
    struct node *n = *state;

    node_fini(n);
    redis_fixture_free(n->redis);
    free(n);
    return 0;
}

/* ---- operations ---- */

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

void submit_op(struct node *n, struct job_op *j, enum op_verb verb, const char *topic)
{
    j->op.verb = verb;
    j->op.on_done = on_done;
    j->op.topic = bytes_of_text(topic);
    j->op.bucket = crc16(j->op.topic) % n->options.buckets;
    store_submit(redis_store_port(n->store), &j->op);
    assert_false(j->is_done);
}

void submit_push(struct node *n, struct job_op *j, const char *topic)
{
    *j = (struct job_op){
        .op.in.push = {.body = BYTES("body"), .ttr_ms = 60000, .rules = rules_default},
        .turns = j->turns};
    submit_op(n, j, OP_PUSH, topic);
}

void submit_stats(struct node *n, struct job_op *j, const char *topic)
{
    *j = (struct job_op){.turns = j->turns};
    submit_op(n, j, OP_STATS, topic);
}

static void on_popped(struct op *op)
{
    struct popped *p = CONTAINER_OF(op, struct popped, pop.op);

    assert_int_equal(op->status, STATUS_OK);
    assert_int_equal(op->out.pop.count, 1);
    memcpy(p->id, op->out.pop.jobs[0].id.at, op->out.pop.jobs[0].id.len);
    p->id_bytes = bytes_of(p->id, op->out.pop.jobs[0].id.len);
    p->stamp = op->out.pop.jobs[0].stamp;
    p->pop.is_done = true;
}

void submit_pop_one(struct node *n, struct popped *p, const char *topic)
{
    *p = (struct popped){.pop.op.in.pop.count = 1};
    submit_op(n, &p->pop, OP_POP, topic);
    p->pop.op.on_done = on_popped;
}

void submit_of_lease(struct node *n, struct job_op *j, enum op_verb verb,
                     const struct popped *p)
{
    *j = (struct job_op){.op.id = p->id_bytes};
    if (verb != OP_CANCEL) /* which takes the job without a lease */
        j->op.in.lease.stamp = p->stamp;
    submit_op(n, j, verb, "t");
}

enum status await(struct node *n, struct job_op *j)
{
    run_until(n->loop, &j->is_done);
    return j->op.status;
}

enum status push(struct node *n, struct job_op *j, const char *topic)
{
    submit_push(n, j, topic);
    return await(n, j);
}

enum status pop(struct node *n, struct job_op *j, const char *topic, unsigned *count)
{
    *j = (struct job_op){.op.in.pop.count = OP_ITEMS_MAX};
    submit_op(n, j, OP_POP, topic);
    (void)await(n, j);
    *count = j->op.out.pop.count;
    return j->op.status;
}

void push_well(struct node *n, const char *topic)
{
    struct job_op j = {0};

    assert_int_equal(push(n, &j, topic), STATUS_OK);
}

struct topic_stats stats_of(struct node *n, const char *topic)
{
    struct job_op j = {0};

    submit_stats(n, &j, topic);
    assert_int_equal(await(n, &j), STATUS_OK);
    return j.op.out.stats;
}
