/* A node that cannot have the virtual address: clients would not reach it there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/tests/ha_fixture.h"

static void without_the_address_it_gives_the_lead_to_one_that_can_have_it(void **state)
{
    ha_address_is(nodes[old].ha, false);
    run(T - T / 10);
    assert_int_equal(leader(), old);
    await(has_another_leader, T);
    assert_int_equal(nodes[old].why[ROLE_DRAINING], ROLE_ADDRESS_AWAY_REASON);
}

static void an_address_that_is_back_in_time_changes_nothing(void **state)
{
    for (unsigned i = 0; i < 5; i++) {
        ha_address_is(nodes[old].ha, false);
        run(T / 2);
        ha_address_is(nodes[old].ha, true);
        run(T);
    }
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].promoted, 1);
}

static void when_nobody_can_have_the_address_the_leader_stays(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        ha_address_is(nodes[i].ha, false);
    run(10 * T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].promoted, 1);
}

static unsigned changes(void)
{
    return nodes[0].promoted + nodes[1].promoted + nodes[2].promoted;
}

/* For `ms` the checks of all nodes find nothing wrong, and putting the address fails. */
static void nobody_can_put_it(int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        for (unsigned i = 0; i < NODES; i++)
            ha_address_is(nodes[i].ha, role_of(i) != ROLE_LEADER);
        run(100);
    }
}

#define TENURE (30 * T)

static int setup_with(int64_t tenure_ms, unsigned flap_max)
{
    world_setup(NULL);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.tenure_ms = tenure_ms;
        nodes[i].options.flap_max = flap_max;
        node_start(i);
    }
    await(is_led, 2 * T);
    run(T);
    return 0;
}

static int setup_long_tenure(void **state)
{
    return setup_with(TENURE, 100);
}

static int setup_soon_flapping(void **state)
{
    return setup_with(0, 2);
}

static void what_looking_does_not_find_moves_the_lead_a_few_times_in_a_tenure(void **state)
{
    nobody_can_put_it(TENURE);
    assert_in_range(changes(), 1 + 1, 1 + NODES); /* each gives it away once */
    assert_true(is_led());
    nobody_can_put_it(TENURE);
    assert_in_range(changes(), 1 + 1, 1 + NODES + NODES);
    assert_true(is_led());
}

static void nor_does_it_while_the_lead_flaps(void **state)
{
    nobody_can_put_it(30 * T);
    assert_int_equal(changes(), 3);
    assert_true(is_led());
}

static void who_can_have_the_address_goes_first(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        unsigned away = i ? next : third, fit = i ? third : next;

        ha_address_is(nodes[away].ha, false);
        run(T);
        node_kill(old);
        await(has_another_leader, 3 * T);
        assert_int_equal(leader(), fit);
        three_nodes_setup(state);
    }
}

static void on_stopped(void *arg)
{
}

/* The new leader has waited for a node that can have the address. */
static void where_nobody_can_have_the_address_one_leads_all_the_same(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        ha_address_is(nodes[i].ha, false);
    run(T);
    ha_stop(nodes[old].ha, on_stopped, NULL);
    assert_in_range(await(has_another_leader, 2 * T), T / 2, T * 3 / 2);
}

static void a_switchover_to_a_node_without_the_address_is_refused(void **state)
{
    ha_address_is(nodes[next].ha, false);
    run(T);
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_WRONG_STATE);
    assert_non_null(strstr(last_command.why, "virtual address"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(without_the_address_it_gives_the_lead_to_one_that_can_have_it),
        ON_THREE(an_address_that_is_back_in_time_changes_nothing),
        ON_THREE(when_nobody_can_have_the_address_the_leader_stays),
        cmocka_unit_test_setup_teardown(
            what_looking_does_not_find_moves_the_lead_a_few_times_in_a_tenure,
            setup_long_tenure, world_teardown),
        cmocka_unit_test_setup_teardown(nor_does_it_while_the_lead_flaps, setup_soon_flapping,
                                        world_teardown),
        ON_THREE(who_can_have_the_address_goes_first),
        ON_THREE(where_nobody_can_have_the_address_one_leads_all_the_same),
        ON_THREE(a_switchover_to_a_node_without_the_address_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
