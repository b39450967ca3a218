/* The same random life on Redis and in memory: every answer must be the same, to the stamp.
 *
 * Each operation runs on Redis first; then the clock in memory is set into the millisecond that
 * Redis's script saw, and the operation runs there. Every STEPS operations both stores are
 * emptied, and a new life begins.
 *
 * DUEQ_SEED=n repeats the choices of a run. The outcome also depends on the time that passes,
 * so a failed run prints its last operations.
 */
#include "node/store/contract/redis/redis.h"
#include "node/store/contract/redis/same.h"
#include "node/store/contract/redis/twins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node/store/memory/store.h"

#define LIVES 40
#define STEPS 150 /* of a life */
#define TRAIL 24  /* operations that are printed */

static struct {
    struct timers timers;
    struct memory_store *memory;
    unsigned seed, random;
    unsigned life, step;
    bool is_checked;
    const struct op *redis; /* the answer it is compared with */
    bool is_together;       /* the answer is one of several that tell their event once */
    int64_t first_ms;       /* the first event of the several, in memory */
    unsigned announced[2];
    char next[OP_CURSOR_MAX]; /* see twins_next() */
    size_t next_len;
    bool is_running;
    unsigned trail_count;
    char trail[TRAIL][160];
} twins;

int64_t twins_now(void)
{
    return memory_store_now(twins.memory);
}

/* xorshift */
unsigned twins_below(unsigned n)
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
    case OP_BURY:
        return op->in.lease.stamp;
    case OP_MOVE:
        return op->in.move.delay_ms;
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

static void keep_next(const struct op *op)
{
    struct bytes next = op->status == STATUS_OK ? op->out.list.next : BYTES("");

    assert_true(next.len <= sizeof(twins.next));
    twins.next_len = next.len;
    if (next.len)
        memcpy(twins.next, next.at, next.len);
}

struct bytes twins_next(void)
{
    return bytes_of(twins.next, twins.next_len);
}

/* -1: none. */
static int64_t sooner_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void on_done(struct op *op)
{
    struct op redis = *twins.redis;

    twins.is_checked = true;
    if (twins.is_together) {
        twins.first_ms = sooner_ms(twins.first_ms, op->wait_ms);
        redis.wait_ms = op->wait_ms;
    }
    assert_same_answer(&redis, op);
    if (op->verb == OP_LIST)
        keep_next(op);
}

static unsigned *announced(struct bytes topic)
{
    return &twins.announced[bytes_equal(topic, TOPIC) ? 0 : 1];
}

static void on_ready(void *arg, struct bytes topic)
{
    ++*announced(topic);
}

unsigned twins_announced(struct bytes topic)
{
    return *announced(topic);
}

/* Runs in memory what Redis has answered. */
static void compare(const struct op *answer, struct op memory)
{
    remember(&memory, answer);
    if (answer->now_ms)
        memory_store_set_now_us(twins.memory, answer->now_ms * 1000 + BETWEEN_US);
    if (memory.topic.len)
        memory.bucket = bucket_of(memory.topic);
    memory.on_done = on_done;
    twins.redis = answer;
    twins.is_checked = false;
    store_submit(memory_store_port(twins.memory), &memory);
    while (!twins.is_checked)
        timers_run(&twins.timers, timers_now(&twins.timers));
}

struct op twins_run_each(struct op redis, struct op memory)
{
    struct op answer = run(redis);

    compare(&answer, memory);
    return answer;
}

void twins_run_together(struct op *ops, unsigned count)
{
    struct op memory[TOGETHER_MAX];
    unsigned *told = announced(ops[0].topic), told_before = *told;
    int64_t first_ms = -1;

    memcpy(memory, ops, count * sizeof(*ops));
    run_all(ops, count);
    twins.is_together = true;
    twins.first_ms = -1;
    for (unsigned i = 0; i < count; i++) {
        first_ms = sooner_ms(first_ms, ops[i].wait_ms);
        compare(&ops[i], memory[i]);
    }
    twins.is_together = false;
    if (ops[0].verb == OP_RELEASE && *told == told_before + 2) /* both lines were empty */
        *told = told_before + 1;
    assert_int_equal(first_ms, twins.first_ms);
}

struct op twins_run(struct op op)
{
    return twins_run_each(op, op);
}

/* ---- lives ---- */

static void live(void)
{
    twins_begin();
    for (twins.step = 0; twins.step < STEPS; twins.step++)
        twins_step();
    twins_empty();
}

/* A counter follows the clock from the first id that it has made; before, each store has its
 * own ways to begin. */
static void begin_counting(struct bytes topic)
{
    struct op cancel = {.verb = OP_CANCEL, .topic = topic};
    struct bytes made = twins_run(push_op(topic, "")).out.push.id;
    char id[32];

    assert_in_range(made.len, 1, sizeof(id));
    memcpy(id, made.at, made.len);
    cancel.id = bytes_of(id, made.len);
    twins_run(cancel);
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
    memory_store_set_now_us(twins.memory, store_now() * 1000 + BETWEEN_US);
    begin_counting(TOPIC);
    begin_counting(OTHER);
    for (twins.life = 0; twins.life < LIVES; twins.life++)
        live();
    timers_run(&twins.timers, 0);
    assert_int_equal(twins.announced[0], wake_ups(TOPIC));
    assert_int_equal(twins.announced[1], wake_ups(OTHER));
    twins.is_running = false;
    memory_store_free(twins.memory);
    timers_fini(&twins.timers);
}

static const struct CMUnitTest tests[] = {
    TEST(redis_and_memory_answer_alike),
};

const struct contract_part contract_twins = {tests, sizeof(tests) / sizeof(*tests)};
