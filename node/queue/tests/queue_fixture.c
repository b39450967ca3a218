#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/queue_fixture.h"

#define TURNS_MAX 100000

static const struct queue_options options = {
    .body_max_bytes = 1024,
    .waiting_max = 1000,
    .scan_batch = 10,
    .scan_interval_ms = 1000,
    .node = {"node", 4},
};

struct queue_options fixture_options(void)
{
    return options;
}

static void start_queue(struct fixture *f, const struct queue_options *o)
{
    f->is_stopping = f->is_stopped = false;
    f->q = queue_new(o, memory_store_port(f->ms), &f->timers);
}

void fixture_start(struct fixture *f, unsigned buckets)
{
    timers_init(&f->timers, 0);
    f->ms = memory_store_new(&f->timers, buckets);
    start_queue(f, &options);
}

void fixture_start_active(struct fixture *f, unsigned buckets)
{
    fixture_start(f, buckets);
    queue_activate(f->q);
    fixture_turn(f);
}

void fixture_join(struct fixture *f, struct fixture *other)
{
    fixture_join_as(f, other, &options);
}

void fixture_join_as(struct fixture *f, struct fixture *other, const struct queue_options *o)
{
    timers_init(&f->timers, timers_now(&other->timers));
    f->ms = memory_store_join(other->ms, &f->timers);
    start_queue(f, o);
}

static void on_stopped(void *arg)
{
    ((struct fixture *)arg)->is_stopped = true;
}

void fixture_stop(struct fixture *f)
{
    f->is_stopping = true;
    queue_stop(f->q, on_stopped, f);
}

void fixture_end(struct fixture *f)
{
    if (!f->is_stopping)
        fixture_stop(f);
    fixture_turn(f);
    assert_true(f->is_stopped);
    queue_free(f->q);
    memory_store_free(f->ms);
    timers_fini(&f->timers);
}

void fixture_start_two(struct fixture *f, struct fixture *other, unsigned buckets)
{
    fixture_start(f, buckets);
    fixture_join(other, f);
    queue_activate(f->q);
    fixture_turn(f);
    fixture_turn(other);
}

void fixture_end_two(struct fixture *f, struct fixture *other)
{
    fixture_end(other);
    fixture_end(f);
}

void fixture_turn(struct fixture *f)
{
    for (unsigned turns = 0; timers_run(&f->timers, timers_now(&f->timers)) == 0; turns++)
        assert_true(turns < TURNS_MAX); /* it never comes to rest */
}

void fixture_advance(struct fixture *f, int64_t ms)
{
    int64_t until_ms = timers_now(&f->timers) + ms;

    fixture_turn(f);
    while (f->timers.count && f->timers.heap[1]->due_mono_ms <= until_ms) {
        timers_run(&f->timers, f->timers.heap[1]->due_mono_ms);
        fixture_turn(f);
    }
    timers_run(&f->timers, until_ms);
}

/* ---- operations ---- */

static void keep_text(char *to, size_t room, struct bytes text)
{
    assert_true(text.len < room);
    if (text.len)
        memcpy(to, text.at, text.len);
    to[text.len] = '\0';
}

static void on_done(struct op *op)
{
    struct call *call = CONTAINER_OF(op, struct call, op);

    assert_false(call->is_done);
    call->is_done = true;
    call->status = op->status;
    if (op->status != STATUS_OK)
        return;
    if (op->verb == OP_PUSH) {
        assert_true(op->out.push.id.len < sizeof(call->id));
        memcpy(call->id, op->out.push.id.at, op->out.push.id.len);
    } else if (op->verb == OP_GET) {
        call->job = op->out.row.job;
        keep_text(call->holder, sizeof(call->holder), op->out.row.job.holder);
    } else if (op->verb == OP_STATS) {
        call->delayed = op->out.stats.delayed;
        call->ready = op->out.stats.ready;
        call->reserved = op->out.stats.reserved;
        call->dead = op->out.stats.dead;
    }
}

enum status submit(struct fixture *f, struct call *call, enum op_verb verb, const char *topic,
                   const char *id, int64_t stamp)
{
    call->op.verb = verb;
    call->op.on_done = on_done;
    call->op.topic = bytes_of_text(topic);
    call->op.id = bytes_of_text(id);
    if (verb == OP_ACK || verb == OP_RELEASE || verb == OP_TOUCH || verb == OP_BURY)
        call->op.in.lease.stamp = stamp;
    call->is_done = false;
    queue_submit(f->q, &call->op);
    assert_false(call->is_done); /* never from inside the submitting call */
    fixture_turn(f);
    return call->status;
}

enum status push(struct fixture *f, const char *topic, const char *id, int64_t delay_ms,
                 int64_t ttr_ms)
{
    struct call call = {0};

    call.op.in.push.body = BYTES("body");
    call.op.in.push.delay_ms = delay_ms;
    call.op.in.push.ttr_ms = ttr_ms;
    call.op.in.push.given = SETTING_BIT(TTR);
    submit(f, &call, OP_PUSH, topic, id, 0);
    assert_true(call.is_done);
    return call.status;
}

enum job_state state_of(struct fixture *f, const char *topic, const char *id)
{
    struct call call = {0};

    submit(f, &call, OP_GET, topic, id, 0);
    assert_true(call.is_done);
    return call.status == STATUS_OK ? call.job.state : 0;
}

/* ---- consumers ---- */

static void on_popped(struct pop *pop)
{
    struct consumer *c = CONTAINER_OF(pop, struct consumer, pop);

    c->done++;
    c->status = pop->status;
    if (pop->status != STATUS_OK)
        return;
    assert_true(pop->job_count >= 1 && pop->job_count <= pop->count);
    keep_text(c->topic, sizeof(c->topic), pop->topic);
    for (unsigned i = 0; i < pop->job_count; i++) {
        keep_text(c->ids[i], sizeof(c->ids[i]), pop->jobs[i].id);
        c->stamps[i] = pop->jobs[i].stamp;
        c->tries[i] = pop->jobs[i].tries;
    }
    c->count = pop->job_count;
    c->delivery = pop->delivery;
}

static void start(struct fixture *f, struct consumer *c, const char *topics)
{
    unsigned count = 0;

    c->done = c->count = 0;
    c->delivery = NULL;
    while (*topics) {
        size_t len = strcspn(topics, ",");

        c->topics[count++] = bytes_of(topics, len);
        topics += len;
        topics += *topics == ',';
    }
    c->pop.topics = c->topics;
    c->pop.topic_count = count;
    c->pop.on_done = on_popped;
    queue_pop(f->q, &c->pop);
    assert_int_equal(c->done, 0);
    fixture_turn(f);
}

void consume(struct fixture *f, struct consumer *c, const char *topics, unsigned count,
             int64_t wait_ms)
{
    c->pop.count = count;
    c->pop.wait_ms = wait_ms;
    c->pop.id_only = false;
    start(f, c, topics);
}

void consume_by_id(struct fixture *f, struct consumer *c, const char *topics, uint64_t holder)
{
    c->pop.count = 1;
    c->pop.wait_ms = 0;
    c->pop.id_only = true;
    c->pop.holder = holder;
    start(f, c, topics);
}

void delivered(struct fixture *f, struct consumer *c)
{
    assert_non_null(c->delivery);
    queue_delivered(f->q, c->delivery);
    c->delivery = NULL;
}

void returned(struct fixture *f, struct consumer *c)
{
    assert_non_null(c->delivery);
    queue_returned(f->q, c->delivery);
    c->delivery = NULL;
    fixture_turn(f);
}
