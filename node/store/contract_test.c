/* The stores that keep the contract. To add one: a stand, and its line in main. */
#include "node/store/contract.h"

#include <stdlib.h>

#include "node/store/memory_store.h"

#define TESTS_MAX 200

/* ---- the store in memory, on a time that goes by when told to ---- */

struct memory_stand {
    struct stand stand; /* first */
    struct timers timers;
    struct memory_store *store;
};

static void memory_turn(struct stand *stand)
{
    struct memory_stand *ms = CONTAINER_OF(stand, struct memory_stand, stand);

    timers_run(&ms->timers, timers_now(&ms->timers));
}

static void memory_wake(struct stand *stand)
{
}

static void memory_pass(struct stand *stand, int64_t ms)
{
    struct memory_stand *it = CONTAINER_OF(stand, struct memory_stand, stand);

    timers_run(&it->timers, timers_now(&it->timers) + ms);
}

static int memory_setup(void **state)
{
    struct memory_stand *ms = calloc(1, sizeof(*ms));

    timers_init(&ms->timers, 1000);
    ms->store = memory_store_new(&ms->timers, CONTRACT_BUCKETS);
    ms->stand =
        (struct stand){memory_store_port(ms->store), memory_turn, memory_wake, memory_pass};
    contract_begin(&ms->stand);
    *state = ms;
    return 0;
}

static int memory_teardown(void **state)
{
    struct memory_stand *ms = *state;

    contract_end();
    memory_store_free(ms->store);
    timers_fini(&ms->timers);
    free(ms);
    return 0;
}

/* ---- the same tests for each ---- */

static size_t list_tests(struct CMUnitTest *tests, CMFixtureFunction setup,
                         CMFixtureFunction teardown)
{
    const struct contract_part *const parts[] = {
        &contract_places, &contract_leases, &contract_owners,
        &contract_scans,  &contract_events, &contract_bytes,
    };
    size_t count = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        for (size_t j = 0; j < parts[i]->count; j++) {
            tests[count] = parts[i]->tests[j];
            tests[count].setup_func = setup;
            tests[count++].teardown_func = teardown;
        }
    return count;
}

int main(void)
{
    struct CMUnitTest tests[TESTS_MAX];
    size_t count = list_tests(tests, memory_setup, memory_teardown);
    int failed = _cmocka_run_group_tests("contract: memory", tests, count, NULL, NULL);

    return failed;
}
