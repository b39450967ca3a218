/* Reports to people: who leads, as far as known, and why the lead changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"

/* ---- who leads ---- */

static bool is_known_nowhere(void)
{
    for (unsigned i = 0; i < NODES; i++)
        if (status_of(i).leader[0])
            return false;
    return true;
}

static void while_zookeeper_stands_still_no_leader_is_known(void **state)
{
    int64_t begin, without;

    lose_the_quorum();
    await(is_not_led, T);
    begin = now;
    await(is_known_nowhere, T);
    run(4 * T);
    for (unsigned i = 0; i < NODES; i++) {
        struct ha_status s = status_of(i);

        assert_string_equal(s.leader, "");
        assert_in_range(s.stale_ms, 4 * T, 6 * T);
        assert_in_range(s.leaderless_ms, 4 * T, 6 * T);
        assert_in_range(s.without_leader_total_ms, 4 * T, 6 * T);
    }
    find_the_quorum();
    await(is_led, 2 * T);
    without = now - begin;
    assert_int_equal(leader(), old);
    run(T);
    assert_string_equal(newest_change()->reason, "resumed");
    assert_in_range(newest_change()->without_leader_ms, without - 20, without + 20);
    for (unsigned i = 0; i < NODES; i++) {
        struct ha_status s = status_of(i);

        assert_string_equal(s.leader, nodes[old].name);
        assert_int_equal(s.stale_ms, 0);
        assert_int_equal(s.leaderless_ms, 0);
        assert_in_range(s.without_leader_total_ms, without - T / 2, without + T);
        assert_int_equal(s.transition_count, 2);
    }
}

/* The leader's znode is there for T, but the leader proves nothing any more. */
static void a_leader_that_is_silent_is_not_seen(void **state)
{
    node_freeze(old, true);
    run(T * 7 / 10);
    assert_string_equal(status_of(next).leader, nodes[old].name);
    assert_in_range(status_of(next).leaderless_ms, T * 7 / 10, T * 7 / 10 + T / 6 + 20);
    node_freeze(old, false);
    run(T);
    assert_int_equal(leader(), old);
    assert_int_equal(status_of(next).leaderless_ms, 0);
}

/* By another ensemble: it keeps its znode and beats, and Redis refuses it. */
static void all_know_of_a_leader_that_redis_refuses(void **state)
{
    fence_by_another_ensemble(old);
    run(T);
    assert_string_equal(status_of(next).leader, nodes[old].name);
    assert_true(status_of(next).nodes[old].is_fenced);
    assert_in_range(status_of(next).leaderless_ms, T / 2, T);
    assert_int_equal(command(third, HA_SWITCHOVER, ""), STATUS_WRONG_STATE);
    assert_non_null(strstr(last_command.why, "another ZooKeeper ensemble"));
    assert_int_equal(command(third, HA_FAILOVER, nodes[next].name), STATUS_WRONG_STATE);
    assert_non_null(strstr(last_command.why, "another ZooKeeper ensemble"));
    run(HA_FENCED_AGAIN_MS);
    assert_int_equal(leader(), old); /* and Redis does not refuse it any more */
    run(2 * T);
    assert_false(status_of(next).nodes[old].is_fenced);
    assert_int_equal(status_of(next).leaderless_ms, 0);
}

static void what_redis_refused_is_not_said_once_another_leads(void **state)
{
    fence_by_another_ensemble(old);
    run(HA_FENCED_AGAIN_MS + T / 2);
    assert_int_equal(leader(), old);
    assert_true(status_of(old).refused[0] != '\0');
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    await(has_another_leader, T);
    run(T);
    assert_string_equal(status_of(old).refused, "");
}

/* ---- why it changed ---- */

static void assert_newest_is(const char *reason)
{
    await(has_another_leader, 3 * T);
    run(T);
    assert_string_equal(newest_change()->node, nodes[leader()].name);
    assert_string_equal(newest_change()->reason, reason);
}

static void a_session_that_ends_by_the_clock_timed_out(void **state)
{
    int64_t begin = now, without;

    node_kill(old);
    await(has_another_leader, 2 * T);
    without = now - begin;
    assert_newest_is("timed_out");
    assert_in_range(newest_change()->without_leader_ms, without - 20, without + T / 6 + 20);
    assert_int_equal(status_of((unsigned)leader()).last_failover_ms,
                     newest_change()->without_leader_ms);
}

/* The leader acts no more from its freeze on, though its lease goes on. */
static void a_lead_taken_up_again_was_without_a_leader_while_it_stood_still(void **state)
{
    int64_t begin = now, before = (int64_t)status_of(old).without_leader_total_ms, without;

    node_freeze(old, true);
    run(T * 7 / 10);
    node_freeze(old, false);
    run(1);
    assert_true(is_not_led());
    await(is_led, T);
    assert_int_equal(leader(), old);
    without = now - begin;
    run(T / 2);
    assert_string_equal(newest_change()->reason, "resumed");
    assert_in_range(newest_change()->without_leader_ms, without - 20, without + T / 6 + 20);
    assert_in_range(status_of(old).without_leader_total_ms, before + without - 20,
                    before + without + T / 6 + 20);
}

static void one_proven_dead_after(int64_t ms)
{
    node_kill(old);
    run(ms);
    node_proves_dead(next, old);
    node_proves_dead(third, old);
    assert_newest_is("died");
}

static void one_whose_process_was_proven_dead_has_died(void **state)
{
    one_proven_dead_after(5);
    assert_in_range(newest_change()->without_leader_ms, 1, 50);
}

static void one_that_was_proven_dead_late_has_died_as_well(void **state)
{
    one_proven_dead_after(T * 8 / 10);
}

static void a_switchover_is_one(void **state)
{
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    assert_newest_is("switchover");
}

static void a_failover_by_force_is_one(void **state)
{
    node_freeze(old, true);
    assert_int_equal(command(next, HA_FAILOVER, ""), STATUS_OK);
    assert_newest_is("forced");
}

static void on_stopped(void *arg)
{
}

static void one_that_stops_says_so(void **state)
{
    ha_stop(nodes[old].ha, on_stopped, NULL);
    assert_newest_is("stopping");
}

static void one_without_its_redis_says_so(void **state)
{
    ha_store_is(nodes[old].ha, false);
    assert_newest_is("store_away");
}

static void one_that_is_fenced_says_so(void **state)
{
    struct token seen = status_of(old).leader_token;

    seen.epoch++;
    ha_fenced(nodes[old].ha, &seen);
    assert_newest_is("fenced");
}

/* It wanted to give the lead away, and kept it; it died later. */
static void what_a_leader_said_counts_no_more_when_it_goes_on(void **state)
{
    nodes[old].drains = false;
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(100);
    fake_ensemble_expire(&ensemble, nodes[next].zk.base.credentials.session);
    node_kill(next);
    run(2 * T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].why[ROLE_LEADER], ROLE_NOT_TAKEN_REASON);
    node_kill(old);
    assert_newest_is("timed_out");
}

/* ---- what all nodes are able to do ---- */

static bool first_knows_all(void)
{
    return ha_ability(nodes[0].ha, "c") == HA_ABILITY_SOME && status_of(0).node_count == NODES;
}

static void start_all_able(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.abilities = "ab b";
        node_start(i);
    }
    await(first_knows_all, 3 * T);
    run(2 * T);
    name_the_roles();
}

static void an_ability_is_a_word_that_every_node_says(void **state)
{
    start_all_able();
    for (unsigned i = 0; i < NODES; i++) {
        assert_int_equal(ha_ability(nodes[i].ha, "b"), HA_ABILITY_ALL);
        assert_int_equal(ha_ability(nodes[i].ha, "ab"), HA_ABILITY_ALL);
        assert_int_equal(ha_ability(nodes[i].ha, "a"), HA_ABILITY_SOME);
    }
}

static bool all_know_b(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (ha_ability(nodes[i].ha, "b") != HA_ABILITY_ALL)
            return false;
    }
    return true;
}

/* A newer version is able to do much more. */
static void a_node_may_say_many_words(void **state)
{
    char many[301];

    memset(many, 'x', sizeof(many));
    memcpy(many + sizeof(many) - 3, " b", 3);
    nodes[0].options.abilities = many;
    nodes[1].options.abilities = nodes[2].options.abilities = "b";
    for (unsigned i = 0; i < NODES; i++)
        node_start(i);
    await(first_knows_all, 3 * T);
    run(2 * T);
    assert_true(all_know_b());
}

static bool older_is_here(void)
{
    return ha_ability(nodes[old].ha, "b") == HA_ABILITY_SOME;
}

static bool older_has_gone(void)
{
    return ha_ability(nodes[old].ha, "b") != HA_ABILITY_SOME;
}

static bool newer_is_here(void)
{
    return ha_ability(nodes[old].ha, "b") == HA_ABILITY_ALL;
}

/* A node that was able stays so while it is away; one that was not may come as either. */
static void a_node_of_an_older_version_is_known_while_it_is_here(void **state)
{
    start_all_able();
    node_kill(third);
    run(2 * T);
    assert_int_equal(ha_ability(nodes[old].ha, "b"), HA_ABILITY_ALL);
    nodes[third].options.abilities = NULL;
    node_start(third);
    await(older_is_here, 2 * T);
    node_kill(third);
    await(older_has_gone, 3 * T);
    assert_int_equal(ha_ability(nodes[old].ha, "b"), HA_ABILITY_UNKNOWN);
    nodes[third].options.abilities = "b";
    node_start(third);
    await(newer_is_here, 2 * T);
}

static void a_member_that_was_never_seen_may_be_of_an_older_version(void **state)
{
    nodes[0].options.abilities = nodes[1].options.abilities = "b";
    node_start(0);
    await(is_led, 3 * T);
    node_start(1);
    node_start(2);
    run(2 * T);
    node_kill(2);
    node_kill(0);
    run(3 * T);
    node_start(0);
    assert_int_equal(ha_ability(nodes[0].ha, "b"), HA_ABILITY_UNKNOWN);
    run(2 * T);
    assert_int_equal(ha_ability(nodes[0].ha, "b"), HA_ABILITY_UNKNOWN);
    assert_int_equal(command(1, HA_FORGET, nodes[2].name), STATUS_OK);
    run(T);
    assert_int_equal(ha_ability(nodes[0].ha, "b"), HA_ABILITY_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(while_zookeeper_stands_still_no_leader_is_known),
        ON_THREE(a_leader_that_is_silent_is_not_seen),
        ON_THREE(all_know_of_a_leader_that_redis_refuses),
        ON_THREE(what_redis_refused_is_not_said_once_another_leads),
        ON_THREE(a_session_that_ends_by_the_clock_timed_out),
        ON_THREE(a_lead_taken_up_again_was_without_a_leader_while_it_stood_still),
        ON_THREE(one_whose_process_was_proven_dead_has_died),
        ON_THREE(one_that_was_proven_dead_late_has_died_as_well),
        ON_THREE(a_switchover_is_one),
        ON_THREE(a_failover_by_force_is_one),
        ON_THREE(one_that_stops_says_so),
        ON_THREE(one_without_its_redis_says_so),
        ON_THREE(one_that_is_fenced_says_so),
        ON_THREE(what_a_leader_said_counts_no_more_when_it_goes_on),
        ON_WORLD(an_ability_is_a_word_that_every_node_says),
        ON_WORLD(a_node_may_say_many_words),
        ON_WORLD(a_node_of_an_older_version_is_known_while_it_is_here),
        ON_WORLD(a_member_that_was_never_seen_may_be_of_an_older_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
