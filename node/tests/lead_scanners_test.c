/* Two nodes that both scan: what the queue is told of who does, and until when it goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "node/tests/lead_fixture.h"
#include "node/queue/shares.h"

#define ALL (SHARES * BUCKETS)

static int sharing_setup(void **state)
{
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++)
        nodes[i].conf.ha.mode = HA_MODE_CLUSTER;
    return 0;
}

static struct shares *shares_of(unsigned i)
{
    return queue_shares(nodes[i].queue);
}

static unsigned own(unsigned i)
{
    return shares_own_count(shares_of(i));
}

static unsigned long scans(unsigned i)
{
    return memory_store_count(nodes[i].ms, OP_SCAN);
}

static bool do_both_share(void)
{
    return shares_number(shares_of(0)) > 0 &&
           shares_number(shares_of(0)) == shares_number(shares_of(1)) && own(0) && own(1);
}

static bool has_the_first_all(void)
{
    return own(0) == ALL;
}

static bool has_the_second_all(void)
{
    return own(1) == ALL;
}

static void start_two(void)
{
    node_start(0);
    node_start(1);
    await(do_both_share);
}

static void all_shares_are_somebodys(void **state)
{
    start_two();
    assert_int_equal(own(0) + own(1), ALL);
    assert_true(own(0) > ALL / 4 && own(1) > ALL / 4);
    assert_string_equal(status_of(0).nodes[1].name, "b");
    assert_true(status_of(0).nodes[1].is_scanning && status_of(1).nodes[0].is_scanning);
}

static void both_scan_and_one_leads(void **state)
{
    unsigned long before;

    start_two();
    await(first_leads);
    before = scans(1);
    run(500);
    assert_true(scans(0) > 0 && scans(1) > before);
    assert_int_not_equal(role_of(1), ROLE_LEADER);
    push(0, 200);
    push(1, 200);
    run(300);
    assert_int_equal(ready_count(0), 2);
}

/* Without ZooKeeper: nobody leads, and what is due comes, a second late. */
static void who_never_hears_who_scans_moves_what_is_late(void **state)
{
    fake_ensemble_set_quorum(&ensemble, false);
    node_start(0);
    assert_int_equal(own(0), 0);
    push(0, 200);
    run(400);
    assert_int_equal(ready_count(0), 0);
    run(1500);
    assert_int_equal(ready_count(0), 1);
}

static void while_zookeeper_is_away_it_goes_on_in_time(void **state)
{
    start_two();
    fake_ensemble_set_quorum(&ensemble, false);
    run(5 * T);
    assert_true(do_both_share());
    push(0, 200);
    run(300);
    assert_int_equal(ready_count(0), 1);
}

static void who_has_no_store_leaves_its_shares_to_others(void **state)
{
    start_two();
    memory_store_take_down(nodes[1].ms);
    node_lead_store_is(nodes[1].lead, false);
    await(has_the_first_all);
    memory_store_bring_up(nodes[1].ms);
    node_lead_store_is(nodes[1].lead, true);
    await(do_both_share);
}

static void a_store_that_is_away_for_a_moment_moves_no_share(void **state)
{
    uint64_t view;

    start_two();
    view = shares_number(shares_of(0));
    node_lead_store_is(nodes[1].lead, false);
    run(100);
    node_lead_store_is(nodes[1].lead, true);
    run(2 * T);
    assert_int_equal(shares_number(shares_of(0)), view);
}

/* It has left the cluster; its queue is still there, and does no harm. */
static void who_stops_leaves_its_shares_first_and_scans_on(void **state)
{
    unsigned long before;

    start_two();
    push(0, 200);
    node_stop(0);
    await(has_the_second_all);
    run(300);
    assert_int_equal(ready_count(1), 1);
    assert_true(nodes[0].is_stopped);
    before = scans(0);
    run(300);
    assert_true(scans(0) > before);
}

static void a_standby_of_the_same_cluster_is_nobodys_share(void **state)
{
    nodes[1].conf.ha.mode = HA_MODE_STANDBY;
    node_start(0);
    await(has_the_first_all);
    node_start(1);
    run(2 * T);
    assert_int_equal(own(0), ALL);
    assert_null(shares_of(1));
    assert_true(status_of(0).is_mixed && status_of(1).is_mixed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sharing_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_shares_are_somebodys),
        TEST(both_scan_and_one_leads),
        TEST(who_never_hears_who_scans_moves_what_is_late),
        TEST(while_zookeeper_is_away_it_goes_on_in_time),
        TEST(who_has_no_store_leaves_its_shares_to_others),
        TEST(a_store_that_is_away_for_a_moment_moves_no_share),
        TEST(who_stops_leaves_its_shares_first_and_scans_on),
        TEST(a_standby_of_the_same_cluster_is_nobodys_share),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
