/* Random faults, by seed: at every millisecond at most one node may act, and tokens only grow;
 * after the faults a node leads, and all know the same scanners. HA_CHAOS_SEED=N runs one seed,
 * HA_TEST_LOG=1 prints the log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"

#define SEEDS  15
#define FAULTS 40

static uint64_t seed, dice;
static uint64_t highest_epoch;
static bool is_done;

static unsigned below(unsigned limit)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)(dice % limit);
}

static void watch(int64_t ms)
{
    while (ms-- > 0) {
        int l;

        run(1);
        l = leader();
        if (l < 0)
            continue;
        assert_true(status_of((unsigned)l).role->token.epoch >= highest_epoch);
        highest_epoch = status_of((unsigned)l).role->token.epoch;
    }
}

/* ---- faults ---- */

static void kill_one(unsigned i)
{
    unsigned other = (i + 1) % NODES;

    node_kill(i);
    watch(below(50));
    if (below(2) && nodes[other].is_alive)
        node_proves_dead(other, i);
    watch(below(T));
    node_start(i);
}

static void fence_one(unsigned i)
{
    struct token seen = status_of(i).role->token;

    if (token_is_none(&seen))
        return;
    seen.epoch += below(3);
    ha_fenced(nodes[i].ha, &seen);
}

static void request(unsigned i)
{
    char text[96];
    struct coord_change change = {
        .kind = COORD_SET, .path = "/dueq/main/control", .version = -1};
    unsigned failed;

    snprintf(text, sizeof(text), "paused %s\nwanted %s\nforce %s\n", below(4) ? "no" : "yes",
             below(4) ? nodes[i].name : "*", below(2) ? "yes" : "no");
    if (strstr(text, "*") && strstr(text, "force yes"))
        return;
    change.data = bytes_of_text(text);
    fake_tree_write(&ensemble.tree, &change, 1, 0, &failed);
}

static void fault(void)
{
    unsigned i = below(NODES);

    switch (below(11)) {
    case 0:
        kill_one(i);
        break;
    case 1:
        fake_coordinator_cut(&nodes[i].zk, below(2));
        break;
    case 2:
        fake_coordinator_link(&nodes[i].zk, (enum fake_link)below(5));
        break;
    case 3:
        node_freeze(i, true);
        break;
    case 4:
        fence_one(i);
        break;
    case 5:
        fake_ensemble_set_quorum(&ensemble, below(2));
        break;
    case 6:
        request(i);
        break;
    case 7:
        ha_store_is(nodes[i].ha, below(2));
        break;
    case 8:
        nodes[i].is_silent = below(2);
        break;
    case 9:
        ha_address_is(nodes[i].ha, below(2));
        break;
    case 10:
        node_scans(i, below(2));
        break;
    }
}

/* ---- a hand-over that goes wrong ---- */

static void want(const char *name, int64_t in_ms)
{
    char text[96];

    snprintf(text, sizeof(text), "paused no\nwanted %s\nat %lld\nforce no\nby na\n", name,
             (long long)(now + wall_offset + in_ms));
    znode_put("/dueq/main/control", text);
}

/* The wanted node is wanted no more, or is gone. */
static void lose_the_successor(unsigned i)
{
    if (below(2)) {
        want("zz", 1000000);
    } else {
        fake_ensemble_expire(&ensemble, nodes[i].reported.session);
        fake_coordinator_link(&nodes[i].zk, FAKE_LINK_REFUSED);
    }
}

/* On slow links, at any moment: beats, the give-away and its answer cross each other. */
static void spoil_a_hand_over(void)
{
    int giver = leader();
    unsigned taker = ((unsigned)giver + 1 + below(2)) % NODES, delay_ms = 5 + below(45);

    if (giver < 0)
        return;
    want(nodes[taker].name, 0);
    watch(10 + below(350));
    ensemble.delay_ms = delay_ms;
    lose_the_successor(taker);
    watch(below(3 * delay_ms));
    ha_drained(nodes[giver].ha);
    watch(delay_ms + below(delay_ms));
    if (below(2))
        fake_coordinator_link(&nodes[giver].zk, FAKE_LINK_REFUSED);
    ensemble.delay_ms = 1;
    fake_coordinator_cut(&nodes[giver].zk, true);
    watch(below(600));
}

static void drained(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (below(3) == 0)
            ha_drained(nodes[i].ha);
    }
}

/* ---- runs ---- */

static void heal_some(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (below(3) == 0)
            node_freeze(i, false);
        if (below(3) == 0)
            fake_coordinator_link(&nodes[i].zk, FAKE_LINK_UP);
    }
    if (below(3) == 0)
        fake_ensemble_set_quorum(&ensemble, true);
}

static void heal_all(void)
{
    struct coord_change change = {.kind = COORD_SET,
                                  .path = "/dueq/main/control",
                                  .data = BYTES("paused no\n"),
                                  .version = -1};
    unsigned failed;

    fake_ensemble_set_quorum(&ensemble, true);
    fake_tree_write(&ensemble.tree, &change, 1, 0, &failed);
    for (unsigned i = 0; i < NODES; i++) {
        node_freeze(i, false);
        fake_coordinator_link(&nodes[i].zk, FAKE_LINK_UP);
        nodes[i].is_silent = false;
        ha_store_is(nodes[i].ha, true);
        ha_address_is(nodes[i].ha, true);
        node_scans(i, true);
    }
}

static bool are_all_told_that_all_scan(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (strcmp(nodes[i].scanners, "na nb nc") != 0 || nodes[i].view != nodes[0].view)
            return false;
    }
    return true;
}

static void begin(void **state)
{
    world_setup(state);
    dice = seed * 0x9e3779b97f4a7c15u + 1;
    highest_epoch = 0;
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = seed % 2 ? HA_FAILSAFE : HA_STOP;
        nodes[i].options.priority = 50 + below(3) * 20;
        nodes[i].options.shares = seed % 3 != 0;
        node_start(i);
    }
    watch(3 * T);
}

static void end(void **state)
{
    heal_all();
    watch(6 * T); /* sessions end, promises run out, fences are passed */
    await(is_led, T);
    if (nodes[0].options.shares)
        await(are_all_told_that_all_scan, T);
    world_teardown(state);
}

static void run_faults(void **state)
{
    begin(state);
    for (int n = 0; n < FAULTS; n++) {
        fault();
        watch(below(2) ? below(100) : below(2 * T));
        heal_some();
    }
    end(state);
}

static void run_hand_overs(void **state)
{
    begin(state);
    for (unsigned i = 0; i < NODES; i++)
        nodes[i].drains = false;
    for (int n = 0; n < FAULTS; n++) {
        spoil_a_hand_over();
        watch(below(4) ? below(80) : below(500));
        drained();
        heal_some();
    }
    for (unsigned i = 0; i < NODES; i++)
        nodes[i].drains = true;
    end(state);
}

static void run_seeds(void **state, void (*run_seed)(void **state))
{
    const char *only = getenv("HA_CHAOS_SEED");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1;
    uint64_t last = only ? first : SEEDS;
    const char *runs = getenv("HA_CHAOS_RUNS");

    if (runs)
        last = strtoull(runs, NULL, 10);
    is_done = false;
    for (seed = first; seed <= last; seed++)
        run_seed(state);
    is_done = true;
}

static void whatever_fails_at_most_one_acts_and_one_leads_in_the_end(void **state)
{
    run_seeds(state, run_faults);
}

static void whatever_a_hand_over_meets_at_most_one_acts(void **state)
{
    run_seeds(state, run_hand_overs);
}

static int say_which(void **state)
{
    if (!is_done)
        print_message("seed %llu\n", (unsigned long long)seed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(whatever_fails_at_most_one_acts_and_one_leads_in_the_end,
                                  say_which),
        cmocka_unit_test_teardown(whatever_a_hand_over_meets_at_most_one_acts, say_which),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
