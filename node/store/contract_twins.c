/* The same random life on Redis and in memory: every answer must be the same, to the stamp.
 *
 * Each operation runs on Redis first; then the clock in memory is set to the millisecond that
 * Redis's script saw, and the operation runs there. Only one thing may differ, the order of
 * what a scan finds at the same millisecond (Redis: by name; memory: by arrival): after a scan
 * that moved more than one job both stores are emptied, and a new life begins.
 *
 * DUEQ_SEED=n repeats the choices of a run. What comes of them also depends on the time that
 * passes, so a run that broke off prints its last operations.
 */
#include "node/store/contract_redis.h"
#include "node/store/contract_same.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "node/store/memory_store.h"

#define LIVES       60
#define STEPS       60 /* of a life */
#define LEASES_MAX  16 /* remembered, valid or not */
#define OWN_IDS_MAX STEPS
#define IDS         6
#define TRAIL       24 /* operations that are printed */

static const char *const ids[IDS] = {"a", "b", "c", "d", "e", "f"};

static struct {
    struct timers timers;
    struct memory_store *memory;
    unsigned seed, random;
    unsigned life, step;
    bool is_checked;
    const struct op *redis; /* the answer it is compared with */
    unsigned announced[2];
    bool is_running;
    unsigned trail_count;
    char trail[TRAIL][160];

    struct lease leases[LEASES_MAX]; /* ids are in `ids` or in `own_ids` */
    unsigned lease_count;
    struct bytes own_ids[OWN_IDS_MAX]; /* given by the store in this life */
    unsigned own_count;
} twins;

/* xorshift */
static unsigned below(unsigned n)
{
    twins.random ^= twins.random << 13;
    twins.random ^= twins.random >> 17;
    twins.random ^= twins.random << 5;
    return twins.random % n;
}

/* ---- the trail ---- */

/* The input that says most: a delay, a number of jobs, a stamp. */
static int64_t main_input(const struct op *op)
{
    switch (op->verb) {
    case OP_PUSH:
        return op->in.push.at_ms ? op->in.push.at_ms : op->in.push.delay_ms;
    case OP_POP:
        return op->in.pop.count;
    case OP_DELIVERED:
    case OP_KEEP:
    case OP_RETURN:
        return op->in.leases.items[0].stamp;
    case OP_ACK:
    case OP_RELEASE:
    case OP_TOUCH:
        return op->in.lease.stamp;
    default:
        return 0;
    }
}

static void remember(const struct op *op, const struct op *answer)
{
    char *line = twins.trail[twins.trail_count++ % TRAIL];

    snprintf(line, sizeof(twins.trail[0]), "%u.%u %lld %s topic '%.*s' id '%.*s' %lld: %s",
             twins.life, twins.step, (long long)answer->now_ms, op_word(op->verb),
             BYTES_ARG(op->topic), BYTES_ARG(op->id), (long long)main_input(op),
             status_word(answer->status));
}

void contract_twins_end(void)
{
    unsigned first = twins.trail_count > TRAIL ? twins.trail_count - TRAIL : 0;

    if (!twins.is_running)
        return;
    twins.is_running = false;
    print_message("the last operations on Redis (life.step, clock, operation):\n");
    for (unsigned i = first; i < twins.trail_count; i++)
        print_message("  %s\n", twins.trail[i % TRAIL]);
}

static void on_done(struct op *op)
{
    twins.is_checked = true;
    assert_same_answer(twins.redis, op);
}

static void on_ready(void *arg, struct bytes topic)
{
    twins.announced[bytes_equal(topic, TOPIC) ? 0 : 1]++;
}

/* Runs it on both. */
static struct op both(struct op op)
{
    struct op answer = run(op);

    remember(&op, &answer);
    if (answer.now_ms)
        memory_store_set_now(twins.memory, answer.now_ms);
    if (op.topic.len)
        op.bucket = bucket_of(op.topic);
    op.on_done = on_done;
    twins.redis = &answer;
    twins.is_checked = false;
    store_submit(memory_store_port(twins.memory), &op);
    while (!twins.is_checked)
        timers_run(&twins.timers, timers_now(&twins.timers));
    return answer;
}

/* ---- a step ---- */

static struct bytes any_topic(void)
{
    return below(4) ? TOPIC : OTHER;
}

static struct bytes any_id(void)
{
    if (twins.own_count && !below(4))
        return twins.own_ids[below(twins.own_count)];
    return bytes_of_text(ids[below(IDS)]);
}

static struct lease any_lease(void)
{
    if (!twins.lease_count || !below(8))
        return (struct lease){.id = any_id(), .stamp = 1 + below(1000)};
    return twins.leases[below(twins.lease_count)];
}

static void remember_lease(const struct job *job)
{
    unsigned place = twins.lease_count < LEASES_MAX ? twins.lease_count++ : below(LEASES_MAX);

    twins.leases[place] = (struct lease){.id = job->id, .stamp = job->stamp};
}

static void step_push(struct bytes topic)
{
    static const int64_t ttrs_ms[] = {0, 1, 2, 800, 1500, TTR_MS};
    static char body[OP_POP_BYTES_MAX];
    struct op op = push_op(topic, "");

    if (below(6))
        op.id = bytes_of_text(ids[below(IDS)]);
    op.in.push.body = bytes_of(body, below(3) ? below(100) : below(3000));
    if (!below(5)) /* two of them are more than one answer holds */
        op.in.push.body = bytes_of(body, sizeof(body) / 2 + below(sizeof(body) / 2));
    op.in.push.delay_ms = below(2) ? 0 : below(2) ? 1 + below(3) : FAR_MS - below(1000);
    op.in.push.ttr_ms = ttrs_ms[below(6)];
    if (!below(8))
        op.in.push.at_ms = 1 + memory_store_now(twins.memory) - 100 + below(200);
    op = both(op);
    if (op.status == STATUS_OK)
        if (op.out.push.id.len > 1 && twins.own_count < OWN_IDS_MAX)
            twins.own_ids[twins.own_count++] = op.out.push.id;
}

static void step_pop(struct bytes topic)
{
    struct op op = both((struct op){
        .verb = OP_POP,
        .topic = topic,
        .in.pop = {.count = 1 + below(4), .id_only = below(2)},
    });

    for (unsigned i = 0; i < op.out.pop.count; i++)
        remember_lease(&op.out.pop.jobs[i]);
}

/* No lease twice, callers do not do that. */
static void step_leases(struct bytes topic, enum op_verb verb)
{
    unsigned count = 0, first = below(LEASES_MAX);
    bool are_neighbours = below(2); /* often of one pop */
    struct lease leases[3];

    for (unsigned i = 0; i < 3; i++) {
        struct lease lease = any_lease();
        unsigned j = 0;

        if (are_neighbours && twins.lease_count)
            lease = twins.leases[(first + i) % twins.lease_count];

        while (j < count && !bytes_equal(leases[j].id, lease.id))
            j++;
        if (j == count)
            leases[count++] = lease;
    }
    if (verb == OP_DELIVERED && !below(3)) {
        leases[0].has_ttr = true;
        leases[0].ttr_ms = below(2) ? 0 : 1 + below(2000);
    }
    both((struct op){
        .verb = verb, .topic = topic, .in.leases = {.items = leases, .count = count}});
}

static void step_lease(struct bytes topic, enum op_verb verb)
{
    struct lease lease = any_lease();
    struct op op = {
        .verb = verb, .topic = topic, .id = lease.id, .in.lease.stamp = lease.stamp};

    if (verb == OP_RELEASE)
        op.in.lease.delay_ms = below(2) ? 0 : below(2) ? 1 + below(3) : FAR_MS;
    if (verb == OP_TOUCH)
        op.in.lease.ttr_ms = below(2) ? 0 : 1 + below(3);
    both(op);
}

static void step_id(struct bytes topic, enum op_verb verb)
{
    both((struct op){.verb = verb,
                     .topic = verb == OP_OWNER ? bytes_of("", 0) : topic,
                     .bucket = bucket_of(TOPIC),
                     .id = any_id()});
}

static void step_topics(void)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC)};

    op.in.topics.limit = 1 + below(3);
    if (below(2))
        op.in.topics.after = any_topic();
    both(op);
}

/* False when several jobs or topics may have had the same time. */
static bool step_scan(void)
{
    struct op op =
        both((struct op){.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000});

    return op.out.scan.moved < 2;
}

/* False when the stores may differ from here on. */
static bool take_step(void)
{
    static const enum op_verb verbs[] = {
        OP_PUSH, OP_PUSH,   OP_PUSH,  OP_POP,   OP_POP,     OP_DELIVERED,
        OP_KEEP, OP_RETURN, OP_ACK,   OP_TOUCH, OP_RELEASE, OP_CANCEL,
        OP_GET,  OP_STATS,  OP_OWNER, OP_SCAN,  OP_SCAN,    OP_TOPICS,
    };
    enum op_verb verb = verbs[below(sizeof(verbs) / sizeof(*verbs))];
    struct bytes topic = any_topic();

    if (verb == OP_PUSH)
        step_push(topic);
    else if (verb == OP_POP)
        step_pop(topic);
    else if (op_is_of_leases(verb))
        step_leases(topic, verb);
    else if (verb == OP_ACK || verb == OP_TOUCH || verb == OP_RELEASE)
        step_lease(topic, verb);
    else if (verb == OP_TOPICS)
        step_topics();
    else if (verb == OP_SCAN)
        return step_scan();
    else
        step_id(topic, verb);
    return true;
}

/* ---- lives ---- */

static void empty(struct bytes topic)
{
    struct op pop_rest = {.verb = OP_POP, .topic = topic, .in.pop.count = BATCH_MAX};

    for (unsigned i = 0; i < IDS; i++)
        both((struct op){.verb = OP_CANCEL, .topic = topic, .id = bytes_of_text(ids[i])});
    for (unsigned i = 0; i < twins.own_count; i++)
        both((struct op){.verb = OP_CANCEL, .topic = topic, .id = twins.own_ids[i]});
    assert_int_equal(both(pop_rest).out.pop.count, 0);
    both((struct op){.verb = OP_STATS, .topic = topic});
    step_topics();
}

static void live(void)
{
    for (twins.step = 0; twins.step < STEPS; twins.step++)
        if (!take_step())
            break;
    empty(TOPIC);
    empty(OTHER);
    twins.own_count = 0;
    twins.lease_count = 0;
}

static void redis_and_memory_answer_alike(void **state)
{
    const char *seed = getenv("DUEQ_SEED");

    memset(&twins, 0, sizeof(twins));
    timers_init(&twins.timers, 0);
    twins.memory = memory_store_new(&twins.timers, CONTRACT_BUCKETS);
    memory_store_port(twins.memory)->events.on_ready = on_ready;
    twins.seed = seed ? (unsigned)atol(seed) : (unsigned)time(NULL);
    twins.random = twins.seed ? twins.seed : 1; /* 0 would stay 0 */
    print_message("seed %u\n", twins.seed);
    twins.is_running = true;
    memory_store_set_now(twins.memory, store_now());
    for (twins.life = 0; twins.life < LIVES; twins.life++)
        live();
    timers_run(&twins.timers, 0);
    assert_int_equal(twins.announced[0], wake_ups(TOPIC));
    assert_int_equal(twins.announced[1], wake_ups(OTHER));
    twins.is_running = false;
    memory_store_free(twins.memory);
    timers_fini(&twins.timers);
}

#define TEST(name) cmocka_unit_test(name)
static const struct CMUnitTest tests[] = {
    TEST(redis_and_memory_answer_alike),
};

const struct contract_part contract_twins = {tests, sizeof(tests) / sizeof(*tests)};
