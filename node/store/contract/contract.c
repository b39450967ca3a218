#include "node/store/contract/contract.h"

#include <stdlib.h>

#include "base/crc16.h"
#include "node/store/contract/identities.h"
#include "node/store/contract/keep.h"
#include "node/store/contract/whole.h"
#include "node/store/memory/room.h"

/* A topic whose announcements are counted. */
struct heard {
    struct bytes topic;
    unsigned count;
};

static struct {
    struct stand *stand;
    struct room kept;
    int64_t slow_ms; /* let so much time go by before each operation */
    bool is_up;
    struct heard heard[4];
    unsigned settings[4]; /* of the same topics: how often they changed */
    unsigned identities;  /* how often they changed */
    unsigned strangers;   /* announcements of any other topic */
    unsigned markers;
} now;

struct flight {
    struct op op;
    bool is_done;
};

/* ---- the stand ---- */

/* 4: of none. */
static unsigned index_of(struct bytes topic)
{
    unsigned i = 0;

    while (i < 4 && !bytes_equal(now.heard[i].topic, topic))
        i++;
    return i;
}

static void on_ready(void *arg, struct bytes topic)
{
    unsigned i = index_of(topic);

    (*(i < 4 ? &now.heard[i].count : &now.strangers))++;
    now.stand->wake(now.stand);
}

static void on_settings(void *arg, struct bytes topic)
{
    unsigned i = index_of(topic);

    if (i < 4)
        now.settings[i]++;
    now.stand->wake(now.stand);
}

static void on_identities(void *arg)
{
    now.identities++;
    now.stand->wake(now.stand);
}

static void on_up(void *arg)
{
    now.is_up = true;
    now.stand->wake(now.stand);
}

static void on_down(void *arg)
{
    now.is_up = false;
}

void contract_begin(struct stand *stand)
{
    const char *slow = getenv("DUEQ_SLOW");

    memset(&now, 0, sizeof(now));
    now.stand = stand;
    now.slow_ms = slow ? atol(slow) : 0;
    now.heard[0].topic = TOPIC;
    now.heard[1].topic = OTHER;
    now.heard[2].topic = ELSEWHERE;
    now.heard[3].topic = MARKER;
    stand->store->events = (struct store_events){.on_ready = on_ready,
                                                 .on_settings = on_settings,
                                                 .on_identities = on_identities,
                                                 .on_up = on_up,
                                                 .on_down = on_down};
    stand->start(stand);
    while (!now.is_up)
        stand->turn(stand);
}

void contract_end(void)
{
    room_fini(&now.kept);
}

/* ---- running operations ---- */

static void on_done(struct op *op)
{
    struct flight *flight = CONTAINER_OF(op, struct flight, op);

    contract_keep(&now.kept, op);
    flight->is_done = true;
    now.stand->wake(now.stand);
}

unsigned bucket_of(struct bytes topic)
{
    return crc16(topic) % CONTRACT_BUCKETS;
}

uint64_t own_worker(void)
{
    return now.stand->store->worker;
}

static void launch(struct flight *flight, const struct op *op)
{
    *flight = (struct flight){.op = *op};
    flight->op.on_done = on_done;
    if (op->topic.len)
        flight->op.bucket = bucket_of(op->topic);
    store_submit(now.stand->store, &flight->op);
    assert_false(flight->is_done);
}

void run_all(struct op *ops, unsigned count)
{
    struct flight *flights = room_get(&now.kept, count * sizeof(*flights));

    if (now.slow_ms)
        now.stand->pass(now.stand, now.slow_ms);
    for (unsigned i = 0; i < count; i++)
        launch(&flights[i], &ops[i]);
    for (unsigned i = 0; i < count; i++) {
        while (!flights[i].is_done)
            now.stand->turn(now.stand);
        ops[i] = flights[i].op;
    }
}

struct op run(struct op op)
{
    run_all(&op, 1);
    return op;
}

void submit_and_abandon(struct op *op)
{
    store_submit(now.stand->store, op);
    store_abandon(now.stand->store, op);
}

struct op push_op(struct bytes topic, const char *id)
{
    return (struct op){.verb = OP_PUSH,
                       .topic = topic,
                       .id = bytes_of_text(id),
                       .in.push = {.body = BODY, .ttr_ms = TTR_MS, .rules = rules_default}};
}

struct op lease_op(enum op_verb verb, const struct job *job)
{
    return (struct op){
        .verb = verb, .topic = TOPIC, .id = job->id, .in.lease.stamp = job->stamp};
}

struct op id_op(enum op_verb verb, const char *id)
{
    return (struct op){.verb = verb, .topic = TOPIC, .id = bytes_of_text(id)};
}

struct op push(const char *id)
{
    return run_well(push_op(TOPIC, id));
}

struct op push_delayed_in(struct bytes topic, const char *id, int64_t delay_ms)
{
    struct op op = push_op(topic, id);

    op.in.push.delay_ms = delay_ms;
    return run_well(op);
}

struct op push_delayed(const char *id, int64_t delay_ms)
{
    return push_delayed_in(TOPIC, id, delay_ms);
}

struct op push_ttr(const char *id, int64_t ttr_ms)
{
    struct op op = push_op(TOPIC, id);

    op.in.push.ttr_ms = ttr_ms;
    return run_well(op);
}

struct op pop(unsigned count)
{
    return run_well((struct op){.verb = OP_POP, .topic = TOPIC, .in.pop.count = count});
}

struct job pop_one_of(struct bytes topic)
{
    struct op op = run_well((struct op){.verb = OP_POP, .topic = topic, .in.pop.count = 1});

    assert_int_equal(op.out.pop.count, 1);
    return op.out.pop.jobs[0];
}

struct job pop_one(void)
{
    return pop_one_of(TOPIC);
}

struct job get(const char *id)
{
    return run_well(id_op(OP_GET, id)).out.row.job;
}

struct op scan_op(void)
{
    return (struct op){.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000};
}

struct op scan(unsigned limit)
{
    struct op op = scan_op();

    op.in.scan.limit = limit;
    return run_well(op);
}

struct op ack(const struct job *job)
{
    return run(lease_op(OP_ACK, job));
}

struct op release(const struct job *job, int64_t delay_ms)
{
    struct op op = lease_op(OP_RELEASE, job);

    op.in.lease.delay_ms = delay_ms;
    return run(op);
}

struct op touch(const struct job *job, int64_t ttr_ms)
{
    struct op op = lease_op(OP_TOUCH, job);

    op.in.lease.ttr_ms = ttr_ms;
    return run(op);
}

static struct op run_leases(enum op_verb verb, const struct job *jobs, unsigned count)
{
    struct lease *leases = room_get(&now.kept, count * sizeof(*leases));

    for (unsigned i = 0; i < count; i++)
        leases[i] = (struct lease){.id = jobs[i].id, .stamp = jobs[i].stamp};
    return run_well((struct op){
        .verb = verb, .topic = TOPIC, .in.leases = {.items = leases, .count = count}});
}

struct op delivered(const struct job *jobs, unsigned count)
{
    return run_leases(OP_DELIVERED, jobs, count);
}

struct op delivered_for(const struct job *job, int64_t ttr_ms)
{
    struct lease lease = {
        .id = job->id, .stamp = job->stamp, .has_ttr = true, .ttr_ms = ttr_ms};

    return run_well((struct op){
        .verb = OP_DELIVERED, .topic = TOPIC, .in.leases = {.items = &lease, .count = 1}});
}

struct op kept(const struct job *jobs, unsigned count)
{
    return run_leases(OP_KEEP, jobs, count);
}

struct op returned(const struct job *jobs, unsigned count)
{
    return run_leases(OP_RETURN, jobs, count);
}

struct op cancel(const char *id)
{
    return run(id_op(OP_CANCEL, id));
}

struct job hold(const char *id, int64_t ttr_ms)
{
    struct job job;

    push_ttr(id, ttr_ms);
    job = pop_one();
    assert_bytes(job.id, bytes_of_text(id));
    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    return job;
}

void lose(const char *id)
{
    now.stand->lose(now.stand, bytes_of_text(id));
}

void repair(const char *id)
{
    now.stand->repair(now.stand, bytes_of_text(id));
}

/* ---- looking ---- */

int64_t store_now(void)
{
    return run_well((struct op){.verb = OP_STATS, .topic = MARKER}).now_ms;
}

int64_t after(const struct op *op, int64_t ms)
{
    return op->now_ms + BEGUN_MS + ms;
}

void wait_until(int64_t now_ms)
{
    for (int64_t at_ms = store_now(); at_ms < now_ms; at_ms = store_now())
        now.stand->pass(now.stand, now_ms - at_ms);
}

struct op scan_at(int64_t now_ms)
{
    wait_until(now_ms);
    return scan(1000);
}

int64_t next_event_ms(void)
{
    struct op probe = push_delayed("next-event-probe", 1);
    struct op found = scan_at(probe.out.push.due_ms);

    assert_status(cancel("next-event-probe"), OK);
    return found.out.scan.next_ms < 0 ? -1 : found.now_ms + found.out.scan.next_ms;
}

/* Announcements come in order: when the marker's has come, all earlier ones have. */
unsigned wake_ups(struct bytes topic)
{
    struct op marker = run_well(push_op(MARKER, ""));
    struct op remove = {.verb = OP_CANCEL, .topic = MARKER, .id = marker.out.push.id};

    while (now.heard[3].count == now.markers)
        now.stand->turn(now.stand);
    now.markers = now.heard[3].count;
    run_well(remove);
    run_well((struct op){.verb = OP_POP, .topic = MARKER, .in.pop.count = 1});
    assert_int_equal(now.strangers, 0);
    return now.heard[index_of(topic)].count;
}

unsigned settings_heard(struct bytes topic)
{
    wake_ups(topic);
    return now.settings[index_of(topic)];
}

unsigned identities_heard(void)
{
    wake_ups(MARKER);
    return now.identities;
}

/* ---- judging ---- */

void assert_bytes(struct bytes actual, struct bytes expected)
{
    assert_int_equal(actual.len, expected.len);
    if (actual.len)
        assert_memory_equal(actual.at, expected.at, actual.len);
}

void assert_state(const char *id, enum job_state state)
{
    assert_int_equal(get(id).state, state);
}

void assert_gone(const char *id)
{
    assert_status(run(id_op(OP_GET, id)), NOT_FOUND);
}

void assert_counts(struct bytes topic, int delayed, int ready, int reserved)
{
    struct op op = run_well((struct op){.verb = OP_STATS, .topic = topic});

    assert_int_equal(op.out.stats.delayed, delayed);
    assert_int_equal(op.out.stats.ready, ready);
    assert_int_equal(op.out.stats.reserved, reserved);
    assert_int_equal(op.out.stats.dead, 0);
}

void assert_popped(const struct op *op, unsigned count, const char *const *ids)
{
    for (unsigned i = 0; i < count && i < op->out.pop.count; i++)
        assert_bytes(op->out.pop.jobs[i].id, bytes_of_text(ids[i]));
    assert_int_equal(op->out.pop.count, count);
}

void assert_ready(unsigned count, const char *const *ids)
{
    struct op op = pop(BATCH_MAX);

    assert_popped(&op, count, ids);
}
