/* Elections: the first leader, and the next one when the leader is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"

static void one_of_three_leads_and_all_know_it(void **state)
{
    int l = leader();

    assert_in_range(l, 0, 2);
    assert_int_equal(acting_max, 1);
    for (unsigned i = 0; i < NODES; i++) {
        struct ha_status s = status_of(i);

        assert_string_equal(s.leader, nodes[l].name);
        assert_int_equal(s.leader_token.epoch, 1);
        assert_int_equal(s.node_count, 3);
        assert_int_equal(s.transition_count, 1);
        assert_string_equal(s.transitions[0].reason, "elected");
        assert_int_equal(s.leaderless_ms, 0);
        assert_int_equal(nodes[i].peer_count, 2);
        for (unsigned n = 0; n < NODES; n++) {
            assert_true(s.nodes[n].is_member && s.nodes[n].is_here && s.nodes[n].store_up);
            assert_true(s.nodes[n].incarnation == 0xffffffffffff0000 + n);
        }
        assert_memory_equal(&nodes[i].reported, &nodes[i].zk.base.credentials,
                            sizeof(nodes[i].reported));
        assert_int_equal(role_of(i), (int)i == l ? ROLE_LEADER : ROLE_STANDBY);
    }
    run(30 * T);
    assert_int_equal(leader(), l);
    assert_int_equal(nodes[l].promoted, 1);
    assert_int_equal(nodes[l].demoted, 0);
    assert_in_range(status_of((unsigned)l).lease_left_ms, T / 4, T);
}

static void a_dead_leader_is_replaced_when_its_session_ends(void **state)
{
    int64_t without;

    node_kill(old);
    without = await(has_another_leader, T + 300);
    assert_in_range(without, T / 2, T + 200);
    run(T);
    struct ha_status s = status_of((unsigned)leader());
    assert_int_equal(s.leader_token.epoch, 2);
    assert_int_equal(s.transition_count, 2);
    /* Since its newest beat. */
    assert_in_range(s.last_failover_ms, without - 20, without + T / 6 + 20);
    assert_int_equal(s.node_count, 3); /* the dead one is a member still */
}

static void a_death_that_a_peer_proves_is_followed_at_once(void **state)
{
    node_kill(old);
    run(5);
    node_proves_dead(next, old);
    assert_in_range(await(has_another_leader, T), 1, 15);
    assert_int_equal(status_of(next).peer_deaths, 1);
}

static bool has_joined(void)
{
    return role_of(old) == ROLE_STANDBY;
}

/* A leader dies whose predecessor has just come back: that one would have to wait for a lease.
 */
static void who_has_only_just_joined_lets_others_go_first(void **state)
{
    unsigned first = old;

    node_kill(first);
    await(has_another_leader, T + 300);
    node_start(first);
    await(has_joined, T);
    name_the_roles();
    node_kill(old);
    node_proves_dead(first, old);
    assert_in_range(await(has_another_leader, T), 1, 15);
    assert_int_not_equal(leader(), first);
}

static void a_death_of_a_session_that_owns_nothing_is_ignored(void **state)
{
    struct coord_credentials stranger = {.session = 0x9999};

    nodes[0].peers.on_death(&nodes[0].peers, "nb", &stranger);
    node_proves_dead(0, 0);
    run(T);
    assert_int_equal(status_of(0).peer_deaths, 0);
    assert_int_equal(status_of(0).sessions, 1);
}

/* The winner's answer is lost, before or after it took effect, at every moment of an election.
 */
static void an_answer_that_was_lost_elects_one_in_the_end(void **state)
{
    for (int late = 0; late < 2; late++) {
        for (int after = 0; after < 12; after++) {
            three_nodes_setup(state);
            node_kill(old);
            node_proves_dead(next, old);
            run(after);
            for (unsigned i = 0; i < NODES; i++) {
                if (nodes[i].is_alive)
                    fake_coordinator_cut(&nodes[i].zk, late);
            }
            await(has_another_leader, 2 * T);
            run(T);
            assert_int_equal(nodes[next].promoted + nodes[third].promoted, 1);
        }
    }
}

/* The attempt fails if a znode changes while it is on its way, because it did not know that. */
static void the_world_changes_under_an_attempt(const char *path, const char *text)
{
    node_kill(old);
    ensemble.delay_ms = 20;
    fake_ensemble_expire(&ensemble, nodes[old].reported.session);
    run(70); /* the notice, a read and its answer: the attempt is on its way */
    assert_true(is_not_led());
    znode_put(path, text);
    for (int64_t ms = 0; ms < 3 * T; ms++) {
        run(1);
        assert_true(is_not_led());
    }
    assert_false(znode_exists("/dueq/main/leader"));
    assert_true(status_of(next).elections_lost > 0);
}

static void who_does_not_know_of_a_pause_is_not_elected(void **state)
{
    the_world_changes_under_an_attempt("/dueq/main/control", "paused yes\n");
}

static void who_is_no_member_any_more_is_not_elected(void **state)
{
    the_world_changes_under_an_attempt("/dueq/main/members", "timeout_ms 2000\nmember zz\n");
}

static void the_znode_of_ones_own_earlier_session_is_not_ones_own(void **state)
{
    node_kill(old);
    node_start(old); /* the old session's znodes are still there */
    run(T / 4);
    assert_true(is_not_led());
    assert_int_not_equal(role_of(old), ROLE_LEADER);
    await(is_led, 2 * T);
    run(T);
    assert_int_equal(status_of((unsigned)leader()).role->token.epoch, 2);
    assert_true(leader() == (int)old || role_of(old) == ROLE_STANDBY);
    assert_string_equal(nodes[old].refused, "");
}

static void the_most_preferred_campaigns_first(void **state)
{
    nodes[2].options.priority = 90;
    nodes[1].options.priority = 60;
    for (unsigned i = 0; i < NODES; i++)
        node_start(i);
    await(is_led, 2 * T);
    run(6000 + T);
    assert_int_equal(leader(), 2);
    old = 2;
    node_kill(2);
    await(has_another_leader, 2 * T);
    assert_int_equal(leader(), 1);
}

static void a_preferred_node_takes_over_after_the_tenure(void **state)
{
    nodes[2].options.priority = 90;
    first_leads();
    node_start(2);
    run(4000);
    assert_int_equal(leader(), 0);
    old = 0;
    await(has_another_leader, 3000);
    assert_int_equal(leader(), 2);
    assert_int_equal(nodes[0].why[ROLE_DRAINING], ROLE_PREFERRED_REASON);
    assert_int_equal(nodes[0].why[ROLE_STANDBY], ROLE_HANDED_OVER_REASON);
    run(10 * T);
    assert_int_equal(leader(), 2);
}

static void one_that_is_barred_never_campaigns(void **state)
{
    nodes[0].options.no_failover = true;
    node_start(0);
    run(5 * T);
    assert_true(is_not_led());
    node_start(1);
    await(is_led, 2 * T);
    assert_int_equal(leader(), 1);
    node_kill(1);
    run(5 * T);
    assert_true(is_not_led());
    assert_true(status_of(0).leaderless_ms > T);
}

static void one_without_redis_does_not_campaign(void **state)
{
    ha_store_is(nodes[next].ha, false);
    run(100);
    node_kill(old);
    await(has_another_leader, 2 * T);
    assert_int_equal(leader(), (int)third);
}

static void a_new_node_is_added_and_one_that_is_forgotten_is_no_member(void **state)
{
    unsigned l, gone;

    first_leads();
    node_start(1);
    node_start(2);
    run(T);
    assert_true(status_of(0).nodes[2].is_member);
    l = (unsigned)leader();
    gone = (l + 1) % NODES;
    assert_int_equal(command(l, HA_FORGET, nodes[gone].name), STATUS_WRONG_STATE);
    assert_int_equal(command(l, HA_FORGET, "nobody"), STATUS_NOT_FOUND);
    node_kill(gone);
    run(2 * T);
    assert_int_equal(command(l, HA_FORGET, nodes[gone].name), STATUS_OK);
    run(100);
    assert_int_equal(status_of(l).node_count, 2);
}

static bool is_on_the_list(const char *name)
{
    const struct fake_znode *members = fake_tree_find(&ensemble.tree, "/dueq/main/members");
    char text[1024];

    snprintf(text, sizeof(text), "%.*s", (int)members->data.len, (char *)members->data.at);
    return strstr(text, name);
}

/* The lead is over, and the leader adds who is new before it hears of that: after a refusal, at
 * any time between two beats. */
static void who_leads_no_more_adds_nobody(void **state)
{
    for (int64_t after_ms = 0; after_ms < T / 6; after_ms += T / 24) {
        world_setup(state);
        node_start(0);
        await(is_led, 2 * T);
        run(T + after_ms);
        writes_fail(0, "/epoch", COORD_ERROR);
        node_start(1);
        run(T / 10);
        calls_succeed();
        znode_put("/dueq/main/epoch", "epoch 7\n");
        for (int64_t ms = 0; znode_exists("/dueq/main/leader"); ms++) {
            assert_in_range(ms, 0, 4 * T); /* its beat finds that it leads no more */
            run(1);
            assert_false(is_on_the_list("nb"));
        }
        await(is_led, 4 * T);
        run(T);
        assert_true(is_on_the_list("nb")); /* the next lead adds it */
    }
}

/* It cannot write its own znode before the session before it is over, and proves itself even
 * so. */
static void who_waits_for_its_name_leads_as_soon_as_it_has_it(void **state)
{
    first_leads();
    run(T);
    old = 0;
    node_kill(0);
    node_start(0);
    run(T / 2);
    assert_int_equal(role_of(0), ROLE_OFFLINE);
    await(has_joined, T);
    assert_in_range(await(is_led, T), 0, 30);
}

static void who_could_not_campaign_meanwhile_waits_from_anew(void **state)
{
    unsigned wanted = next, other = third;

    ha_store_is(nodes[wanted].ha, false);
    ha_store_is(nodes[other].ha, false);
    run(T);
    node_kill(old);
    run(2 * T);
    znode_put("/dueq/main/control", nodes[wanted].name[1] == 'a'   ? "wanted na\n"
                                    : nodes[wanted].name[1] == 'b' ? "wanted nb\n"
                                                                   : "wanted nc\n");
    run(T / 10);
    ha_store_is(nodes[other].ha, true); /* would campaign T/2 later */
    run(T / 4);
    ha_store_is(nodes[other].ha, false);
    run(T);
    ha_store_is(nodes[other].ha, true);
    run(T / 10);
    assert_true(is_not_led());
    ha_store_is(nodes[wanted].ha, true);
    await(is_led, T / 4);
    assert_int_equal(leader(), (int)wanted);
}

/* The node's lease is not proven now, so it campaigns late; still it must lead. */
static void who_gave_the_lead_away_lets_the_preferred_one_lead(void **state)
{
    nodes[2].options.priority = 90;
    first_leads();
    node_start(2);
    run(100);
    calls_fail(2, "/nodes/nc", COORD_ERROR);
    old = 0;
    await(has_another_leader, 10000);
    assert_int_equal(leader(), 2);
    assert_int_equal(nodes[0].promoted, 1);
}

static bool is_the_third_here(void)
{
    return status_of(0).node_count > 1;
}

/* It may have promised before its start, so it does not campaign for a while. */
static void the_lead_is_not_given_to_one_that_has_just_started(void **state)
{
    for (int by_request = 0; by_request < 2; by_request++) {
        world_setup(state);
        nodes[2].options.priority = by_request ? 50 : 90;
        node_start(0);
        await(is_led, 2 * T);
        run(6000);
        node_start(2);
        await(is_the_third_here, T);
        if (by_request)
            assert_int_equal(command(0, HA_SWITCHOVER, "nc"), STATUS_OK);
        while (leader() == 0)
            run(1);
        old = 0;
        assert_in_range(await(has_another_leader, T), 1, 30);
    }
}

static void a_preferred_node_does_not_take_over_while_the_lead_flaps(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        nodes[i].options.flap_max = 2;
    nodes[2].options.priority = 90;
    first_leads();
    node_start(1);
    run(2 * T);
    assert_int_equal(command(0, HA_SWITCHOVER, "nb"), STATUS_OK);
    run(T);
    assert_int_equal(command(0, HA_SWITCHOVER, "na"), STATUS_OK);
    run(T);
    assert_true(status_of(0).is_flapping);
    node_start(2);
    run(20000);
    assert_int_equal(leader(), 0);
    wall_offset += 11 * 60 * 1000;
    old = 0;
    await(has_another_leader, T);
    assert_int_equal(leader(), 2);
}

static void a_wait_for_another_is_not_begun_anew_by_what_is_read(void **state)
{
    static const char request[] = "paused no\nwanted zz\nat 0\nforce no\nby na\n";

    fake_ensemble_expire(&ensemble, nodes[old].reported.session);
    node_kill(old);
    for (unsigned i = 0; i < 4; i++) {
        znode_put("/dueq/main/control", request); /* all read it again */
        run(T / 8);
        assert_true(is_not_led());
    }
    assert_in_range(await(has_another_leader, T), 0, T / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(one_of_three_leads_and_all_know_it),
        ON_THREE(a_dead_leader_is_replaced_when_its_session_ends),
        ON_THREE(a_death_that_a_peer_proves_is_followed_at_once),
        ON_THREE(who_has_only_just_joined_lets_others_go_first),
        ON_THREE(a_death_of_a_session_that_owns_nothing_is_ignored),
        ON_WORLD(an_answer_that_was_lost_elects_one_in_the_end),
        ON_THREE(who_does_not_know_of_a_pause_is_not_elected),
        ON_THREE(who_is_no_member_any_more_is_not_elected),
        ON_THREE(the_znode_of_ones_own_earlier_session_is_not_ones_own),
        ON_WORLD(the_most_preferred_campaigns_first),
        ON_WORLD(a_preferred_node_takes_over_after_the_tenure),
        ON_WORLD(one_that_is_barred_never_campaigns),
        ON_THREE(one_without_redis_does_not_campaign),
        ON_WORLD(a_new_node_is_added_and_one_that_is_forgotten_is_no_member),
        ON_WORLD(who_leads_no_more_adds_nobody),
        ON_WORLD(who_waits_for_its_name_leads_as_soon_as_it_has_it),
        ON_THREE(who_could_not_campaign_meanwhile_waits_from_anew),
        ON_WORLD(who_gave_the_lead_away_lets_the_preferred_one_lead),
        ON_WORLD(a_preferred_node_does_not_take_over_while_the_lead_flaps),
        ON_WORLD(the_lead_is_not_given_to_one_that_has_just_started),
        ON_THREE(a_wait_for_another_is_not_begun_anew_by_what_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
