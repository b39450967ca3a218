/* Who scans, in a cluster in which all nodes do: the znodes under scanners/, and each node's
 * on_scanners, under any leader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/fake/process.h"
#include "ha/tests/ha_fixture.h"

#define ALL "na nb nc"

static const char *awaited;

static bool is_there(void)
{
    return !strcmp(scanners_there(), awaited);
}

/* All that run have been told this, with the same number. */
static bool is_told(void)
{
    uint64_t view = 0;

    for (unsigned i = 0; i < NODES; i++) {
        const struct test_node *n = &nodes[i];

        if (!n->is_alive || n->is_frozen)
            continue;
        if (strcmp(n->scanners, awaited) != 0 || (view && n->view != view))
            return false;
        view = n->view;
    }
    return true;
}

static int64_t await_there(const char *names, int64_t ms)
{
    awaited = names;
    return await(is_there, ms);
}

static int64_t await_scanners(const char *names, int64_t ms)
{
    awaited = names;
    return await(is_told, ms);
}

static int sharing_setup(void **state)
{
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++)
        nodes[i].options.shares = true;
    return 0;
}

static int three_that_scan_setup(void **state)
{
    sharing_setup(state);
    for (unsigned i = 0; i < NODES; i++)
        node_start(i);
    await_scanners(ALL, T);
    await(is_led, 2 * T);
    run(T);
    name_the_roles();
    return 0;
}

/* ---- who is listed ---- */

static void all_that_scan_are_told_to_all_with_the_same_number(void **state)
{
    assert_string_equal(scanners_there(), ALL);
    for (unsigned i = 0; i < NODES; i++) {
        struct ha_status s = status_of(i);

        assert_true(nodes[i].view > 0 && nodes[i].view == nodes[0].view);
        for (unsigned n = 0; n < s.node_count; n++)
            assert_true(s.nodes[n].is_scanning && s.nodes[n].shares);
        assert_false(s.is_mixed);
    }
}

static void who_does_not_scan_is_not_listed_and_is_told_all_the_same(void **state)
{
    uint64_t before = nodes[1].view;

    node_scans(1, false);
    await_scanners("na nc", 100);
    assert_true(nodes[1].view > before);
    assert_false(status_of(0).nodes[1].is_scanning);
    assert_true(status_of(0).nodes[1].is_here);
    node_scans(1, true);
    await_scanners(ALL, 100);
}

static void nothing_is_told_twice(void **state)
{
    unsigned before = nodes[0].views;

    node_scans(0, true);
    fake_coordinator_cut(&nodes[0].zk, true);
    run(3 * T);
    assert_int_equal(nodes[0].views, before);
}

/* A node that may not lead scans as well. */
static void it_takes_no_right_to_lead(void **state)
{
    nodes[0].options.no_failover = true;
    node_start(0);
    await_scanners("na", T);
    assert_int_equal(leader(), -1);
    assert_int_equal(nodes[0].promoted, 0);
}

static void a_mind_that_changes_fast_ends_as_it_was_said_last(void **state)
{
    ensemble.delay_ms = 20;
    for (int i = 0; i < 9; i++) {
        node_scans(1, i % 2);
        run(13);
    }
    await_scanners("na nc", 300);
    node_scans(1, true);
    run(30); /* asked for, and not answered yet */
    node_scans(1, false);
    run(500);
    assert_string_equal(scanners_there(), "na nc");
}

/* More than a cluster has nodes: by hand. */
static void of_too_many_all_know_the_same(void **state)
{
    unsigned before;
    char path[64];

    for (int i = 70; i > 0; i--) {
        snprintf(path, sizeof(path), "/dueq/main/scanners/m%02d", i);
        znode_put(path, "");
    }
    run(10);
    for (unsigned i = 0; i < NODES; i++) {
        assert_int_equal(status_of(i).scanner_count, 65);
        assert_memory_equal(nodes[i].scanners, "m01 m02 m03 ", 12);
    }
    before = nodes[0].views;
    fake_coordinator_cut(&nodes[0].zk, true);
    run(T);
    assert_int_equal(nodes[0].views, before);
}

/* ---- nodes that go ---- */

static void who_is_killed_goes_with_its_session(void **state)
{
    node_kill(2);
    assert_true(await_scanners("na nb", 2 * T) > T / 2);
}

static void who_is_proven_dead_goes_at_once(void **state)
{
    node_kill(2);
    node_proves_dead(0, 2);
    assert_true(await_scanners("na nb", 100) < 20);
}

/* The node's older session keeps its name under scanners/ until that session ends, so the other
 * nodes see no change until then. */
static void who_comes_back_takes_its_older_sessions_place(void **state)
{
    uint64_t before = nodes[0].view;

    node_kill(2);
    node_start(2);
    run(T / 4);
    assert_string_equal(nodes[2].scanners, ALL);
    run(2 * T);
    assert_string_equal(scanners_there(), ALL);
    await_scanners(ALL, 1);
    assert_true(nodes[0].view > before);
}

static void who_is_frozen_comes_back_with_a_new_session(void **state)
{
    node_freeze(1, true);
    await_scanners("na nc", 2 * T);
    node_freeze(1, false);
    await_scanners(ALL, T);
}

/* ---- stopping ---- */

static bool is_stopped;

static void on_stopped(void *arg)
{
    is_stopped = true;
}

static bool has_stopped(void)
{
    return is_stopped;
}

static void stop(unsigned i)
{
    is_stopped = false;
    ha_stop(nodes[i].ha, on_stopped, NULL);
}

static void who_stops_is_not_listed_before_it_gives_the_lead_away(void **state)
{
    nodes[old].drains = false;
    ensemble.delay_ms = 10;
    stop(old);
    while (role_of(old) == ROLE_LEADER) {
        assert_true(strstr(scanners_there(), nodes[old].name) || leader() == (int)old);
        run(1);
    }
    assert_null(strstr(scanners_there(), nodes[old].name));
    assert_int_equal(role_of(old), ROLE_DRAINING);
    nodes[old].drains = true;
    ha_drained(nodes[old].ha);
    await(has_stopped, 2 * T);
}

/* ZooKeeper is slow to take the znode, and then the jobs of clients are. */
static void the_lead_is_given_away_however_long_the_znode_took(void **state)
{
    nodes[old].drains = false;
    stop(old);
    fake_ensemble_freeze(&ensemble, true);
    run(T / 4 - 50);
    fake_ensemble_freeze(&ensemble, false);
    run(5);
    assert_int_equal(role_of(old), ROLE_DRAINING);
    ensemble.delay_ms = 60;
    while (role_of(old) == ROLE_DRAINING)
        run(1);
    assert_int_equal(role_of(old), ROLE_OFFLINE);
    assert_false(znode_exists("/dueq/main/leader"));
    ensemble.delay_ms = 1;
}

static void a_standby_stops_the_same_way(void **state)
{
    stop(next);
    while (!is_stopped) {
        assert_true(role_of(next) != ROLE_OFFLINE ||
                    !strstr(scanners_there(), nodes[next].name));
        run(1);
    }
    assert_null(strstr(scanners_there(), nodes[next].name));
}

/* While the node serves its last clients it tells the others of their jobs. */
static void who_stops_knows_that_it_is_not_listed(void **state)
{
    static const char *const without[NODES] = {"nb nc", "na nc", "na nb"};
    uint64_t view = nodes[next].view;

    stop(next);
    await(has_stopped, T);
    assert_string_equal(nodes[next].scanners, without[next]);
    assert_int_equal(nodes[next].view, view);
}

/* For the others it is still there. */
static void who_stops_unheard_goes_on_as_listed(void **state)
{
    unsigned before = nodes[next].views;

    writes_fail(next, "scanners/", COORD_ERROR);
    stop(next);
    await(has_stopped, T);
    assert_string_equal(scanners_there(), ALL);
    assert_int_equal(nodes[next].views, before);
    calls_succeed();
}

static void who_stops_does_not_wait_for_ever(void **state)
{
    ensemble.delay_ms = 100000;
    stop(old);
    assert_in_range(await(has_stopped, 2 * T), T / 4, T);
}

static void who_stops_without_zookeeper_waits_for_nothing(void **state)
{
    lose_the_quorum();
    run(10);
    stop(next);
    assert_in_range(await(has_stopped, T), 0, 10);
}

/* ---- while ZooKeeper is away, and after it ---- */

static void without_zookeeper_the_last_view_stands(void **state)
{
    unsigned before = nodes[0].views;
    uint64_t view = nodes[0].view;

    lose_the_quorum();
    run(5 * T);
    node_kill(2);
    run(5 * T);
    assert_int_equal(nodes[0].views, before);
    find_the_quorum();
    await_scanners("na nb", 3 * T);
    assert_true(nodes[0].view > view);
}

static void a_new_session_puts_it_again(void **state)
{
    uint64_t before = nodes[0].view;

    expire_all();
    await_scanners(ALL, T);
    run(T);
    assert_string_equal(scanners_there(), ALL);
    assert_true(nodes[0].view > before);
}

/* All the data of the ensemble is another's: its numbers begin anew. */
static void after_a_wipe_all_are_listed_again(void **state)
{
    fake_ensemble_wipe(&ensemble);
    await_there(ALL, T);
    await_scanners(ALL, T);
}

/* ---- lost answers, and what is done by hand ---- */

static void a_lost_answer_is_read_back(void **state)
{
    node_start(1);
    await_scanners("nb", T);
    calls_fail(1, "scanners/nb", COORD_UNKNOWN);
    node_scans(1, false);
    run(T);
    assert_true(calls_failed() > 1); /* it has gone, and that is not known */
    assert_string_equal(scanners_there(), "");
    node_scans(1, true);
    run(T);
    calls_succeed();
    await_scanners("nb", 100);
    run(T);
    assert_string_equal(scanners_there(), "nb");
}

static void one_that_is_deleted_by_hand_is_put_again(void **state)
{
    znode_delete("/dueq/main/scanners/nb");
    await_there(ALL, 100);
    await_scanners(ALL, 100);
}

static void a_parent_that_is_deleted_by_hand_is_made_again(void **state)
{
    node_start(0);
    await_scanners("na", T);
    writes_fail(0, "scanners", COORD_ERROR);
    znode_delete("/dueq/main/scanners/na");
    znode_delete("/dueq/main/scanners");
    calls_succeed();
    await_there("na", T);
    await_scanners("na", T);
}

static void who_may_not_write_says_so(void **state)
{
    node_start(1);
    await_scanners("nb", T);
    writes_fail(1, "scanners/", COORD_DENIED);
    node_scans(1, false);
    run(T);
    assert_non_null(strstr(status_of(1).refused, "/dueq/main/scanners/nb"));
    assert_string_equal(nodes[1].refused, ""); /* it goes on */
    calls_succeed();
    await_scanners("", T);
    run(10);
    assert_string_equal(status_of(1).refused, "");
}

static void who_may_not_write_and_need_not_says_nothing(void **state)
{
    node_start(1);
    await_scanners("nb", T);
    node_scans(1, false);
    await_scanners("", T);
    writes_fail(1, "scanners/", COORD_DENIED);
    node_scans(1, true);
    run(T);
    assert_non_null(strstr(status_of(1).refused, "/dueq/main/scanners/nb"));
    node_scans(1, false);
    run(T);
    assert_string_equal(status_of(1).refused, "");
    calls_succeed();
}

static void who_may_not_read_says_so_and_keeps_what_it_knew(void **state)
{
    reads_fail(1, "/scanners", COORD_DENIED);
    node_scans(0, false);
    await_there("nb nc", 100);
    run(T);
    assert_non_null(strstr(status_of(1).refused, "/dueq/main/scanners:"));
    assert_string_equal(nodes[1].scanners, ALL);
    assert_string_equal(nodes[2].scanners, "nb nc");
    calls_succeed();
    await_scanners("nb nc", T);
    run(10);
    assert_string_equal(status_of(1).refused, "");
}

/* ---- a duplicate id ---- */

static void of_two_of_a_name_one_is_listed(void **state)
{
    nodes[1].options.node = "na";
    node_start(0);
    await_scanners("na", T);
    node_start(1);
    run(5 * T);
    assert_non_null(strstr(nodes[1].refused, "another node of the name na"));
    assert_string_equal(scanners_there(), "na");
    assert_int_equal(fake_tree_find(&ensemble.tree, "/dueq/main/scanners/na")->owner,
                     nodes[0].reported.session);
    node_kill(0);
    run(2 * T);
    assert_int_equal(fake_tree_find(&ensemble.tree, "/dueq/main/scanners/na")->owner,
                     nodes[1].reported.session);
}

/* ---- nodes whose Redis does not answer ---- */

static void stores_are(bool is_up)
{
    for (unsigned i = 0; i < NODES; i++)
        ha_store_is(nodes[i].ha, is_up);
}

/* With 3T/8 until it is noticed: T and one and a half ticks. */
static void who_alone_is_cut_off_from_redis_leaves_its_topics_to_the_others(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        static const char *const others[] = {"nb nc", "na nc", "na nb"};

        ha_store_is(nodes[i].ha, false);
        assert_in_range(await_scanners(others[i], T), T / 2, T * 3 / 4 + 20);
        run(3 * T);
        assert_string_equal(scanners_there(), others[i]);
        ha_store_is(nodes[i].ha, true);
        await_scanners(ALL, 100);
        run(2 * T);
    }
}

static void two_that_are_cut_off_leave_theirs_to_the_third(void **state)
{
    ha_store_is(nodes[0].ha, false);
    ha_store_is(nodes[1].ha, false);
    await_scanners("nc", T);
    run(5 * T);
    assert_string_equal(scanners_there(), "nc");
}

static void a_redis_that_stands_still_for_all_moves_no_topics(void **state)
{
    unsigned before = nodes[0].views;

    stores_are(false);
    run(10 * T);
    assert_int_equal(nodes[0].views, before);
    stores_are(true);
    run(3 * T);
    assert_int_equal(nodes[0].views, before);
    assert_string_equal(scanners_there(), ALL);
}

/* The nodes ask Redis at different times, when Redis stops and when it is back. */
static void nor_where_the_nodes_notice_one_after_the_other(void **state)
{
    unsigned before = nodes[0].views;

    for (unsigned first = 0; first < NODES; first++) {
        ha_store_is(nodes[first].ha, false);
        run(T / 4);
        stores_are(false);
        run(5 * T);
        for (unsigned i = 0; i < NODES; i++)
            ha_store_is(nodes[i].ha, i != first);
        run(T / 2);
        stores_are(true);
        run(3 * T);
    }
    assert_int_equal(nodes[0].views, before);
}

/* A cut-off node stays away until its own Redis answers, even if the others' fall silent. */
static void who_was_cut_off_is_not_listed_before_its_redis_answers(void **state)
{
    ha_store_is(nodes[1].ha, false);
    await_scanners("na nc", T);
    stores_are(false);
    run(5 * T);
    assert_string_equal(scanners_there(), "na nc");
    expire_all();
    run(5 * T);
    assert_string_equal(scanners_there(), "na nc");
    ha_store_is(nodes[1].ha, true);
    await_there(ALL, T);
}

static void topics_are_left_only_to_who_scans(void **state)
{
    node_scans(0, false);
    node_scans(2, false);
    await_scanners("nb", T);
    ha_store_is(nodes[1].ha, false);
    run(5 * T);
    assert_string_equal(scanners_there(), "nb");
    node_scans(2, true);
    await_scanners("nc", T);
}

/* What was read of the others then is old. */
static void time_without_zookeeper_does_not_count(void **state)
{
    ha_store_is(nodes[1].ha, false);
    run(T / 2);
    fake_coordinator_link(&nodes[1].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[1].zk, false);
    run(T / 2);
    fake_coordinator_link(&nodes[1].zk, FAKE_LINK_UP);
    run(T / 2);
    assert_string_equal(scanners_there(), ALL);
    await_scanners("na nc", T);
}

/* ---- nodes of both kinds ---- */

static void standby_nodes_have_none_of_it(void **state)
{
    nodes[0].options.shares = nodes[1].options.shares = false;
    node_start(0);
    node_start(1);
    node_scans(0, true);
    await(is_led, 2 * T);
    run(T);
    assert_false(znode_exists("/dueq/main/scanners"));
    assert_int_equal(nodes[0].views, 0);
    assert_false(status_of(0).is_mixed);
}

static void nodes_of_both_kinds_see_that_they_are(void **state)
{
    nodes[0].options.shares = false;
    first_leads();
    node_start(1);
    run(T);
    assert_true(status_of(0).is_mixed && status_of(1).is_mixed);
    assert_string_equal(nodes[1].scanners, "nb");
    node_kill(0);
    nodes[0].options.shares = true;
    node_start(0);
    run(3 * T);
    assert_false(status_of(0).is_mixed || status_of(1).is_mixed);
    await_scanners("na nb", 1);
}

int main(void)
{
#define THREE(test) cmocka_unit_test_setup_teardown(test, three_that_scan_setup, world_teardown)
#define SOME(test)  cmocka_unit_test_setup_teardown(test, sharing_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        THREE(all_that_scan_are_told_to_all_with_the_same_number),
        THREE(who_does_not_scan_is_not_listed_and_is_told_all_the_same),
        THREE(nothing_is_told_twice),
        SOME(it_takes_no_right_to_lead),
        THREE(a_mind_that_changes_fast_ends_as_it_was_said_last),
        THREE(of_too_many_all_know_the_same),
        THREE(who_is_killed_goes_with_its_session),
        THREE(who_is_proven_dead_goes_at_once),
        THREE(who_comes_back_takes_its_older_sessions_place),
        THREE(who_is_frozen_comes_back_with_a_new_session),
        THREE(who_stops_is_not_listed_before_it_gives_the_lead_away),
        THREE(the_lead_is_given_away_however_long_the_znode_took),
        THREE(a_standby_stops_the_same_way),
        THREE(who_stops_knows_that_it_is_not_listed),
        THREE(who_stops_unheard_goes_on_as_listed),
        THREE(who_stops_does_not_wait_for_ever),
        THREE(who_stops_without_zookeeper_waits_for_nothing),
        THREE(without_zookeeper_the_last_view_stands),
        THREE(a_new_session_puts_it_again),
        THREE(after_a_wipe_all_are_listed_again),
        SOME(a_lost_answer_is_read_back),
        THREE(one_that_is_deleted_by_hand_is_put_again),
        SOME(a_parent_that_is_deleted_by_hand_is_made_again),
        SOME(who_may_not_write_says_so),
        SOME(who_may_not_write_and_need_not_says_nothing),
        THREE(who_may_not_read_says_so_and_keeps_what_it_knew),
        SOME(of_two_of_a_name_one_is_listed),
        THREE(who_alone_is_cut_off_from_redis_leaves_its_topics_to_the_others),
        THREE(two_that_are_cut_off_leave_theirs_to_the_third),
        THREE(a_redis_that_stands_still_for_all_moves_no_topics),
        THREE(nor_where_the_nodes_notice_one_after_the_other),
        THREE(who_was_cut_off_is_not_listed_before_its_redis_answers),
        THREE(topics_are_left_only_to_who_scans),
        THREE(time_without_zookeeper_does_not_count),
        SOME(standby_nodes_have_none_of_it),
        SOME(nodes_of_both_kinds_see_that_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
