/* Runs the contract on the fake ensemble, and on a real server. */
#include "ha/coord/tests/coordinator_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/fake/coordinator.h"
#include "ha/coord/zk_client.h"
#include "ha/coord/tests/zk_fixture.h"

/* ---- in memory, in virtual time ---- */

static struct {
    struct stand stand;
    struct timers timers;
    struct fake_ensemble ensemble;
    struct fake_coordinator clients[2];
} fake;

static void fake_turn(struct stand *stand)
{
    int64_t wait_ms = timers_run(&fake.timers, timers_now(&fake.timers));

    assert_true(wait_ms >= 0); /* else it would wait for ever */
    timers_run(&fake.timers, timers_now(&fake.timers) + wait_ms);
}

static void fake_cut(struct stand *stand)
{
    fake_coordinator_cut(&fake.clients[0], true);
    fake_coordinator_cut(&fake.clients[1], true);
}

static int fake_setup(void **state)
{
    timers_init(&fake.timers, 1000);
    fake_ensemble_init(&fake.ensemble, &fake.timers);
    for (unsigned i = 0; i < 2; i++)
        fake_coordinator_init(&fake.clients[i], &fake.ensemble, &fake.timers,
                              CONTRACT_SESSION_MS);
    fake.stand = (struct stand){.first = &fake.clients[0].base,
                                .second = &fake.clients[1].base,
                                .root = "/t",
                                .turn = fake_turn,
                                .cut = fake_cut};
    contract_begin(&fake.stand);
    return 0;
}

static int fake_teardown(void **state)
{
    contract_end();
    fake_coordinator_fini(&fake.clients[0]);
    fake_coordinator_fini(&fake.clients[1]);
    fake_ensemble_fini(&fake.ensemble);
    timers_fini(&fake.timers);
    return 0;
}

/* ---- a real server ---- */

static struct {
    struct stand stand;
    struct zk_fixture *fixture;
    struct loop *loop;
    char root[16];
    unsigned number;
} zk;

static void zk_turn(struct stand *stand)
{
    event_base_loop(zk.loop->base, EVLOOP_ONCE);
}

static void zk_cut(struct stand *stand)
{
    zk_fixture_cut(zk.fixture);
}

static int zk_setup(void **state)
{
    struct zk_options options;

    if (!zk.fixture)
        zk.fixture = zk_fixture_new(1);
    options = (struct zk_options){.servers = zk.fixture->addresses,
                                  .auth = "node:secret",
                                  .session_ms = CONTRACT_SESSION_MS};
    alarm(ZK_PATIENCE_S);
    zk.loop = loop_new();
    snprintf(zk.root, sizeof(zk.root), "/t%u", ++zk.number);
    zk.stand = (struct stand){.first = zk_coordinator_new(&options, zk.loop),
                              .second = zk_coordinator_new(&options, zk.loop),
                              .root = zk.root,
                              .turn = zk_turn,
                              .cut = zk_cut};
    contract_begin(&zk.stand);
    return 0;
}

static int zk_teardown(void **state)
{
    contract_end();
    event_base_loop(zk.loop->base, EVLOOP_NONBLOCK); /* calls that end with their session */
    zk_coordinator_free(zk.stand.first);
    zk_coordinator_free(zk.stand.second);
    loop_free(zk.loop);
    alarm(0);
    return 0;
}

/* ---- both ---- */

static int run_on(const char *name, CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct CMUnitTest *tests = calloc(coordinator_contract_count, sizeof(*tests));
    char(*names)[128] = calloc(coordinator_contract_count, sizeof(*names));
    int failed;

    for (size_t i = 0; i < coordinator_contract_count; i++) {
        tests[i] = coordinator_contract[i];
        snprintf(names[i], sizeof(names[i]), "%s_%s", name, tests[i].name);
        tests[i].name = names[i];
        tests[i].setup_func = setup;
        tests[i].teardown_func = teardown;
    }
    failed = _cmocka_run_group_tests(name, tests, coordinator_contract_count, NULL, NULL);
    free(tests);
    free(names);
    return failed;
}

int main(void)
{
    int failed = run_on("fake", fake_setup, fake_teardown);

    failed += run_on("zookeeper", zk_setup, zk_teardown);
    zk_fixture_free(zk.fixture);
    return failed;
}
