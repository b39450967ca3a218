/* The stores under the contract. To add a store: a stand, and its line in main.
 *
 * DUEQ_TEST=pattern runs the tests of these names only ("redis_and_*"). */
#include "node/store/contract/contract.h"
#include "node/store/contract/redis/cut.h"
#include "node/store/contract/identities.h"
#include "node/store/contract/locks.h"
#include "node/store/contract/redis/plant.h"
#include "node/store/contract/redis/redis.h"
#include "node/store/contract/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "node/store/memory/store.h"
#include "node/store/redis/tests/server_fixture.h"
#include "node/store/redis/store.h"

#define TESTS_MAX 1000

/* ---- the store in memory, on a time that goes by when told to ---- */

struct memory_stand {
    struct stand stand; /* first */
    struct timers timers;
    struct memory_store *store;
};

static struct memory_stand *memory_of(struct stand *stand)
{
    return CONTAINER_OF(stand, struct memory_stand, stand);
}

static void memory_start(struct stand *stand)
{
}

static void memory_turn(struct stand *stand)
{
    struct timers *timers = &memory_of(stand)->timers;

    timers_run(timers, timers_now(timers));
}

static void memory_wake(struct stand *stand)
{
}

static void memory_pass(struct stand *stand, int64_t ms)
{
    struct timers *timers = &memory_of(stand)->timers;

    timers_run(timers, timers_now(timers) + ms);
}

static void memory_lose(struct stand *stand, struct bytes id)
{
    memory_store_lose(memory_of(stand)->store, bucket_of(TOPIC), TOPIC, id);
}

static void memory_repair(struct stand *stand, struct bytes id)
{
    memory_store_repair(memory_of(stand)->store, bucket_of(TOPIC), TOPIC, id);
}

static int memory_setup(void **state)
{
    struct memory_stand *it = calloc(1, sizeof(*it));

    timers_init(&it->timers, 1000);
    it->store = memory_store_new(&it->timers, CONTRACT_BUCKETS);
    memory_store_set_now_us(it->store, MEMORY_STORE_EPOCH_MS * 1000 + BETWEEN_US);
    it->stand = (struct stand){.store = memory_store_port(it->store),
                               .start = memory_start,
                               .turn = memory_turn,
                               .wake = memory_wake,
                               .pass = memory_pass,
                               .lose = memory_lose,
                               .repair = memory_repair};
    contract_begin(&it->stand);
    *state = it;
    return 0;
}

static int memory_teardown(void **state)
{
    struct memory_stand *it = *state;

    contract_end();
    memory_store_free(it->store);
    timers_fini(&it->timers);
    free(it);
    return 0;
}

/* ---- a real Redis for all tests, with a prefix of its own for each ---- */

struct redis_stand {
    struct stand stand; /* first */
    struct loop *loop;
    struct redis_store *store;
    struct timer alarm;
    char prefix[16];
    bool is_over; /* what run_until waits for */
};

static struct redis_fixture *redis;

static struct redis_stand *redis_of(struct stand *stand)
{
    return CONTAINER_OF(stand, struct redis_stand, stand);
}

static void redis_start(struct stand *stand)
{
    redis_store_start(redis_of(stand)->store);
}

/* An answer that does not come in time never comes: the test fails, and does not hang. */
static void redis_turn(struct stand *stand)
{
    alarm(PATIENCE_S);
    loop_run(redis_of(stand)->loop);
    alarm(0);
}

static void redis_wake(struct stand *stand)
{
    loop_stop(redis_of(stand)->loop);
}

static void on_alarm(struct timer *alarm)
{
    CONTAINER_OF(alarm, struct redis_stand, alarm)->is_over = true;
}

static void redis_pass(struct stand *stand, int64_t ms)
{
    struct redis_stand *it = redis_of(stand);

    it->is_over = false;
    loop_touch(it->loop);
    timer_arm(&it->loop->timers, &it->alarm, ms);
    run_until(it->loop, &it->is_over);
}

static void redis_forget(struct stand *stand, const char *verb, const char *letter,
                         struct bytes id)
{
    redis_fixture_command(redis, "%s %s:{%u}:%s:%b %b", verb, redis_of(stand)->prefix,
                          bucket_of(TOPIC), letter, TOPIC.at, TOPIC.len, id.at, id.len);
}

static void redis_lose(struct stand *stand, struct bytes id)
{
    redis_forget(stand, "HDEL", "j", id);
}

static void redis_repair(struct stand *stand, struct bytes id)
{
    redis_forget(stand, "ZREM", "d", id);
    redis_forget(stand, "ZREM", "v", id);
}

static void on_stopped(void *arg)
{
    ((struct redis_stand *)arg)->is_over = true;
}

static int redis_setup(void **state)
{
    static unsigned number;
    struct redis_store_options options = redis_store_defaults();
    struct redis_stand *it = calloc(1, sizeof(*it));

    snprintf(it->prefix, sizeof(it->prefix), "t%u", number++);
    options.address = redis->address;
    options.prefix = it->prefix;
    options.buckets = CONTRACT_BUCKETS;
    it->loop = loop_new();
    it->store = redis_store_new(it->loop, &options);
    timer_init(&it->alarm, on_alarm);
    it->stand = (struct stand){.store = redis_store_port(it->store),
                               .start = redis_start,
                               .turn = redis_turn,
                               .wake = redis_wake,
                               .pass = redis_pass,
                               .lose = redis_lose,
                               .repair = redis_repair};
    contract_begin(&it->stand);
    contract_redis_begin(redis, it->prefix);
    *state = it;
    return 0;
}

static int redis_teardown(void **state)
{
    struct redis_stand *it = *state;

    contract_twins_end();
    contract_redis_end();
    contract_end();
    it->is_over = false;
    redis_store_stop(it->store, on_stopped, it);
    run_until(it->loop, &it->is_over);
    redis_store_free(it->store);
    loop_free(it->loop);
    free(it);
    return 0;
}

static int redis_group_setup(void **state)
{
    /* Survival of a crash is not tested here, and an append-only file costs time. */
    static const char *const args[] = {"--appendonly", "no", "--enable-debug-command", "yes",
                                       NULL};

    redis = redis_fixture_new(args);
    return 0;
}

static int redis_group_teardown(void **state)
{
    redis_fixture_free(redis);
    return 0;
}

/* ---- the same tests for each ---- */

static const struct contract_part *const every_store[] = {
    &contract_pushes,     &contract_places,       &contract_leases,
    &contract_ids,        &contract_scans,        &contract_scan_pops,
    &contract_orphans,    &contract_events,       &contract_bytes,
    &contract_topics,     &contract_priorities,   &contract_expiry,
    &contract_tries,      &contract_moves,        &contract_modes,
    &contract_dead,       &contract_lists,        &contract_settings,
    &contract_quotas,     &contract_history,      &contract_fences,
    &contract_locks,      &contract_locks_chance, &contract_locks_rules,
    &contract_locks_late, &contract_identities,   &contract_extras,
    &contract_takes,      &contract_notes,        NULL,
};
static const struct contract_part *const redis_only[] = {&contract_twins,
                                                         &contract_wrong,
                                                         &contract_left,
                                                         &contract_repair,
                                                         &contract_mends,
                                                         &contract_wide,
                                                         &contract_single,
                                                         &contract_cut,
                                                         &contract_cut_wide,
                                                         &contract_fences_redis,
                                                         &contract_pushes_redis,
                                                         &contract_locks_redis,
                                                         &contract_identities_redis,
                                                         NULL};

struct list_of_tests {
    struct CMUnitTest tests[TESTS_MAX];
    size_t count;
};

static void add(struct list_of_tests *list, const struct contract_part *const *parts,
                CMFixtureFunction setup, CMFixtureFunction teardown)
{
    for (; *parts; parts++)
        for (size_t i = 0; i < (*parts)->count && list->count < TESTS_MAX; i++) {
            struct CMUnitTest *test = &list->tests[list->count++];

            *test = (*parts)->tests[i];
            test->setup_func = setup;
            test->teardown_func = teardown;
        }
}

int main(void)
{
    struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};
    static struct list_of_tests memory, all;
    int failed;

    if (log_configure(&quiet) != STATUS_OK)
        return 1;
    if (getenv("DUEQ_TEST"))
        cmocka_set_test_filter(getenv("DUEQ_TEST"));
    add(&memory, every_store, memory_setup, memory_teardown);
    add(&all, every_store, redis_setup, redis_teardown);
    add(&all, redis_only, redis_setup, redis_teardown);
    failed =
        _cmocka_run_group_tests("contract: memory", memory.tests, memory.count, NULL, NULL);
    if (getenv("DUEQ_SLOW"))
        return failed;
    failed += _cmocka_run_group_tests("contract: redis", all.tests, all.count,
                                      redis_group_setup, redis_group_teardown);
    return failed;
}
