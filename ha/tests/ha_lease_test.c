/* A leader stops before another node can be elected, and goes on if none was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"
#include "ha/state.h"

static struct fake_session *session_of(unsigned i)
{
    LIST_EACH (link, &ensemble.sessions) {
        struct fake_session *s = CONTAINER_OF(link, struct fake_session, link);

        if (s->who.session == nodes[i].reported.session)
            return s;
    }
    return NULL;
}

static bool is_lease_new(void)
{
    return status_of(old).lease_left_ms > T * 44 / 100;
}

static bool is_leader_gone_and_the_request_seen(void)
{
    return !znode_exists("/dueq/main/leader") && !strcmp(status_of(old).wanted, "zz");
}

static void one_that_is_cut_off_stops_before_another_leads(void **state)
{
    const enum fake_link cuts[] = {FAKE_LINK_MUTE, FAKE_LINK_MUTE_OUT, FAKE_LINK_MUTE_IN};

    for (unsigned i = 0; i < 3; i++) {
        three_nodes_setup(state);
        fake_coordinator_link(&nodes[old].zk, cuts[i]);
        assert_in_range(await(is_not_led, T), T / 4, T * 2 / 3);
        await(has_another_leader, 2 * T);
        assert_int_equal(role_of(old), ROLE_OFFLINE);
        assert_int_equal(nodes[old].why[ROLE_OFFLINE], ROLE_LEASE_OVER_REASON);
        fake_coordinator_link(&nodes[old].zk, FAKE_LINK_UP);
        run(3 * T);
        assert_int_equal(role_of(old), ROLE_STANDBY);
        assert_int_equal(status_of(old).sessions, 2);
    }
}

static void a_short_cut_changes_nothing(void **state)
{
    for (int late = 0; late < 2; late++) {
        fake_coordinator_cut(&nodes[old].zk, late);
        for (int i = 0; i < T; i++) {
            run(1);
            assert_int_equal(leader(), old);
        }
    }
    assert_int_equal(nodes[old].promoted, 1);
    assert_int_equal(status_of(old).reconnects, 2);
}

static void the_same_session_resumes_without_an_election(void **state)
{
    fake_ensemble_set_quorum(&ensemble, false);
    await(is_not_led, T);
    run(10 * T);
    assert_int_equal(role_of(old), ROLE_OFFLINE);
    fake_ensemble_set_quorum(&ensemble, true);
    await(is_led, T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].why[ROLE_LEADER], ROLE_RESUMED_REASON);
    assert_int_equal(status_of(old).role->token.epoch, 1);
    run(T);
    assert_int_equal(status_of(old).transition_count, 2);
    assert_string_equal(status_of(old).transitions[1].reason, "resumed");
    assert_int_equal(status_of(old).sessions, 1);
}

static void one_whose_session_was_ended_steps_down_as_soon_as_it_knows(void **state)
{
    fake_ensemble_expire(&ensemble, nodes[old].zk.base.credentials.session);
    run(2);
    assert_int_equal(nodes[old].why[ROLE_OFFLINE], ROLE_EXPIRED_REASON);
    await(is_led, T);
    run(T);
    assert_int_equal(status_of(old).sessions, 2);
}

/* Stopped like with SIGSTOP: it may not act from the first moment of its return. */
static void a_frozen_leader_does_not_act_when_it_is_back(void **state)
{
    node_freeze(old, true);
    await(has_another_leader, 2 * T);
    assert_false(ha_may_act(nodes[old].ha));
    run(5 * T);
    node_freeze(old, false);
    run(1);
    assert_int_not_equal(role_of(old), ROLE_LEADER);
    run(3 * T);
    assert_int_equal(role_of(old), ROLE_STANDBY);
    assert_int_equal(nodes[old].promoted, 1);
}

static void a_short_freeze_does_not_cost_the_lead(void **state)
{
    node_freeze(old, true);
    run(T / 5);
    node_freeze(old, false);
    run(2 * T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].promoted, 1);
}

/* An answer takes T/10: beats come no faster than that, and still prove the lease. */
static void slow_links_do_not_cost_the_lead(void **state)
{
    ensemble.delay_ms = T / 20;
    leads_on(20 * T);
    assert_true(status_of(old).lease_left_ms > T / 10);
}

/* The whole machine slept: nobody's timers ran, the clock did. */
static void after_a_jump_of_the_clock_it_proves_itself_anew_first(void **state)
{
    now += 3600 * 1000;
    assert_false(ha_may_act(nodes[old].ha));
    run(1);
    assert_int_not_equal(role_of(old), ROLE_LEADER);
    await(is_led, 3 * T);
}

static void the_wall_clock_does_not_matter(void **state)
{
    for (int i = 0; i < 20; i++) {
        wall_offset += i % 2 ? 3600 * 1000 : -3600 * 1000;
        run(T / 10);
        assert_int_equal(leader(), old);
    }
    assert_int_equal(nodes[old].promoted, 1);
}

static void a_fenced_leader_steps_down_at_once_and_campaigns_above_the_fence(void **state)
{
    struct token seen = status_of(old).role->token;

    seen.epoch = 40;
    ha_fenced(nodes[old].ha, &seen);
    assert_false(ha_may_act(nodes[old].ha));
    run(1);
    assert_int_equal(role_of(old), ROLE_STANDBY);
    assert_int_equal(nodes[old].why[ROLE_STANDBY], ROLE_FENCED_REASON);
    await(has_another_leader, T / 2);
    assert_int_equal(status_of((unsigned)leader()).role->token.epoch, 2);
    for (unsigned i = 0; i < NODES; i++) { /* fenced, too, until all know */
        if (i != old) {
            await(is_led, 2 * T);
            ha_fenced(nodes[leader()].ha, &seen);
            run(2);
        }
    }
    await(is_led, 2 * T);
    assert_true(status_of((unsigned)leader()).role->token.epoch > 40);
}

static void one_fenced_by_another_ensemble_keeps_the_lead_and_says_what_to_do(void **state)
{
    fence_by_another_ensemble(old);
    run(10);
    assert_int_equal(role_of(old), ROLE_STANDBY);
    assert_int_equal(nodes[old].why[ROLE_STANDBY], ROLE_OTHER_ENSEMBLE_REASON);
    assert_non_null(strstr(status_of(old).refused, "fence adopt"));
    assert_string_equal(nodes[old].refused, ""); /* the node does not end */
    run(HA_FENCED_AGAIN_MS - 100);
    assert_true(is_not_led());
    await(is_led, 300);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].why[ROLE_LEADER], ROLE_RESUMED_REASON);
    run(T);
    assert_int_equal(status_of(old).transition_count, 1);
}

static void what_to_do_is_said_no_more_when_it_was_done(void **state)
{
    fence_by_another_ensemble(old);
    run(HA_FENCED_AGAIN_MS + T / 2);
    assert_int_equal(leader(), old);
    assert_non_null(strstr(status_of(old).refused, "fence adopt"));
    run(T);
    assert_string_equal(status_of(old).refused, "");
}

/* A script of the lead before comes late: nobody is above this leader. */
static void a_fence_that_is_not_above_its_token_means_nothing(void **state)
{
    struct token own = status_of(old).role->token;

    ha_fenced(nodes[old].ha, &own);
    assert_true(ha_may_act(nodes[old].ha));
    run(T);
    assert_int_equal(nodes[old].demoted, 0);
}

/* The servers were set up anew, and grant something else at a reconnect. */
static void a_leader_whose_session_is_no_good_any_more_steps_down_first(void **state)
{
    session_of(old)->timeout_ms = 2 * T;
    fake_coordinator_cut(&nodes[old].zk, false);
    for (int64_t ms = 0; ms < T; ms++) {
        run(1);
        assert_true(nodes[old].zk.base.session != COORD_SESSION_CLOSED ||
                    role_of(old) == ROLE_OFFLINE);
    }
    assert_int_equal(nodes[old].why[ROLE_OFFLINE], ROLE_EXPIRED_REASON);
    assert_non_null(strstr(status_of(old).refused, "4000"));
    await(has_another_leader, T);
}

static void one_whose_znode_was_taken_is_deposed(void **state)
{
    struct coord_change change = {
        .kind = COORD_DELETE, .path = "/dueq/main/leader", .version = -1};
    unsigned failed;

    fake_tree_write(&ensemble.tree, &change, 1, 0, &failed);
    run(10);
    assert_int_equal(nodes[old].why[ROLE_STANDBY], ROLE_DEPOSED_REASON);
    await(is_led, T);
}

/* The leader gets no notice of changes to its znode. Its next beat checks the znode, and does
 * not wait for the read with every sixth beat. */
static void is_found_by_the_next_beat(void (*what)(void), void **state)
{
    for (int beats = 0; beats < 6; beats++) {
        run(beats * (T / 6));
        await(is_lease_new, T);
        node_kill(next);
        node_kill(third);
        fake_tree_unwatch(&ensemble.tree, session_of(old));
        what();
        assert_in_range(await(is_not_led, T), 1, T / 6 + 10);
        assert_int_equal(nodes[old].why[ROLE_STANDBY], ROLE_DEPOSED_REASON);
        three_nodes_setup(state);
    }
}

static void take_the_znode(void)
{
    znode_delete("/dueq/main/leader");
}

/* As by force. */
static void depose(void)
{
    znode_put("/dueq/main/epoch", "epoch 7\n");
    znode_delete("/dueq/main/leader");
    znode_put("/dueq/main/leader", "epoch 7\nnode zz\n");
}

static void a_beat_finds_that_the_znode_was_taken(void **state)
{
    is_found_by_the_next_beat(take_the_znode, state);
}

static void a_beat_finds_that_the_znode_is_of_another_epoch(void **state)
{
    is_found_by_the_next_beat(depose, state);
}

/* The leader was deposed by force while it stood still. Its session lives, and its give-away
 * goes out before it hears of the new leader. */
static void a_give_away_does_not_take_the_znode_of_a_successor(void **state)
{
    nodes[old].drains = false;
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(20);
    assert_int_equal(role_of(old), ROLE_DRAINING);
    node_freeze(old, true);
    depose();
    run(5);
    ha_drained(nodes[old].ha);
    node_freeze(old, false);
    run(T / 4);
    assert_true(znode_exists("/dueq/main/leader"));
    assert_int_equal(fake_tree_find(&ensemble.tree, "/dueq/main/leader")->owner, 0);
    assert_int_equal(role_of(old), ROLE_STANDBY);
}

/* `after_ms`: since the newest beat was answered. False: the notice was read first. */
static bool lose_the_answer_to_a_give_away(int64_t after_ms)
{
    char request[96];

    nodes[old].drains = false;
    run(T / 3); /* `leader` is not being read in turn then */
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(20);
    assert_int_equal(role_of(old), ROLE_DRAINING);
    await(is_lease_new, T);
    run(after_ms);
    /* The successor is wanted no more, which is read before the give-away's answer comes. */
    snprintf(request, sizeof(request), "paused no\nwanted zz\nat %lld\nforce no\nby na\n",
             (long long)(now + wall_offset + 1000000));
    ensemble.delay_ms = 30;
    znode_put("/dueq/main/control", request);
    run(35); /* that word is being read */
    ha_drained(nodes[old].ha);
    for (int i = 0; i < 500 && !is_leader_gone_and_the_request_seen(); i++)
        run(1);
    if (!is_leader_gone_and_the_request_seen())
        return false;
    ensemble.delay_ms = 1;
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[old].zk, true);
    return true;
}

static void leads_no_more(void)
{
    for (int64_t ms = 0; ms < T; ms++) {
        run(1); /* no two act */
        assert_int_not_equal(leader(), (int)old);
    }
    assert_true(is_led());
}

static void a_give_away_whose_answer_is_lost_may_have_happened(void **state)
{
    assert_true(lose_the_answer_to_a_give_away(0));
    leads_no_more();
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_UP);
    run(3 * T);
    assert_int_equal(role_of(old), ROLE_STANDBY);
}

/* The beat was in flight when the give-away was sent, and found `leader` still there. */
static void a_beat_of_before_says_nothing_of_a_give_away(void **state)
{
    unsigned tried = 0;

    for (int64_t after_ms = T / 8; after_ms <= T / 6; after_ms += 5) {
        run(T / 6); /* the beat that is due now has `leader` read, for which it would wait */
        if (lose_the_answer_to_a_give_away(after_ms)) {
            leads_no_more();
            tried++;
        }
        three_nodes_setup(state);
    }
    assert_in_range(tried, 10, 20);
}

static bool is_a_give_away_under_way(void)
{
    return nodes[old].ha->election.giving.is_in_flight;
}

static void one_whose_give_away_did_not_happen_leads_on(void **state)
{
    nodes[old].drains = false;
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(20);
    ensemble.delay_ms = 30;
    ha_drained(nodes[old].ha);
    await(is_a_give_away_under_way, T / 2);
    fake_coordinator_cut(&nodes[old].zk, false); /* before it arrives */
    node_kill(next);
    fake_ensemble_expire(&ensemble, nodes[next].reported.session);
    ensemble.delay_ms = 1;
    run(1);
    assert_true(nodes[old].ha->lead.is_doubtful);
    await(is_led, T);
    assert_int_equal(leader(), old);
    assert_true(znode_exists("/dueq/main/leader"));
    assert_int_equal(status_of(old).role->token.epoch, 1);
    assert_int_equal(nodes[old].why[ROLE_LEADER], ROLE_NOT_TAKEN_REASON);
}

/* A beat without a check of `leader` would prove a lease on a lead that is gone. */
static void one_whose_znode_was_taken_while_it_was_away_does_not_resume(void **state)
{
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[old].zk, false);
    await(is_not_led, T);
    assert_int_equal(role_of(old), ROLE_OFFLINE);
    for (unsigned i = 0; i < NODES; i++)
        ha_store_is(nodes[i].ha, false); /* nobody campaigns */
    run(100);
    znode_delete("/dueq/main/leader");
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_UP);
    for (int64_t ms = 0; ms < T; ms++) {
        run(1);
        assert_int_not_equal(role_of(old), ROLE_LEADER);
    }
}

static void data_that_were_wiped_are_made_anew(void **state)
{
    struct token before = status_of(old).role->token;

    fake_ensemble_wipe(&ensemble);
    await(is_not_led, T);
    await(is_led, 3 * T);
    assert_string_not_equal(status_of((unsigned)leader()).role->token.ensemble,
                            before.ensemble);
}

/* The servers stand still for a moment. What they prove first is old: too little to lead on. */
static void a_lead_is_taken_up_again_only_once(void **state)
{
    for (int64_t after = 0; after < T / 6; after += 20) {
        three_nodes_setup(state);
        run(after);
        fake_ensemble_freeze(&ensemble, true);
        run(T / 2 + 50);
        assert_true(is_not_led());
        fake_ensemble_freeze(&ensemble, false);
        await(is_led, T);
        assert_true(status_of(old).lease_left_ms >= T / 4);
        run(2 * T);
        assert_int_equal(leader(), (int)old);
        assert_int_equal(nodes[old].promoted, 2);
    }
}

/* Its session lives, but its writes fail: others get a chance. */
static void a_lead_without_a_lease_is_given_away_in_the_end(void **state)
{
    calls_fail(old, "/epoch", COORD_ERROR);
    await(is_not_led, T);
    assert_in_range(await(has_another_leader, 4 * T), T, T + T / 4);
    assert_int_equal(status_of(old).sessions, 1);
}

static void tell_nobody(void *owner, const char *path)
{
}

/* A lost watch gives no notice. */
static void a_leader_that_is_gone_is_missed_without_a_word_of_it(void **state)
{
    ensemble.tree.on_watch = tell_nobody;
    node_kill(old);
    await(has_another_leader, 3 * T);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_WORLD(one_that_is_cut_off_stops_before_another_leads),
        ON_THREE(a_short_cut_changes_nothing),
        ON_THREE(the_same_session_resumes_without_an_election),
        ON_THREE(one_whose_session_was_ended_steps_down_as_soon_as_it_knows),
        ON_THREE(a_frozen_leader_does_not_act_when_it_is_back),
        ON_THREE(a_short_freeze_does_not_cost_the_lead),
        ON_THREE(slow_links_do_not_cost_the_lead),
        ON_THREE(after_a_jump_of_the_clock_it_proves_itself_anew_first),
        ON_THREE(the_wall_clock_does_not_matter),
        ON_THREE(a_fenced_leader_steps_down_at_once_and_campaigns_above_the_fence),
        ON_THREE(one_fenced_by_another_ensemble_keeps_the_lead_and_says_what_to_do),
        ON_THREE(what_to_do_is_said_no_more_when_it_was_done),
        ON_THREE(a_fence_that_is_not_above_its_token_means_nothing),
        ON_THREE(a_leader_whose_session_is_no_good_any_more_steps_down_first),
        ON_THREE(one_whose_znode_was_taken_is_deposed),
        ON_THREE(a_beat_finds_that_the_znode_was_taken),
        ON_THREE(a_beat_finds_that_the_znode_is_of_another_epoch),
        ON_THREE(a_give_away_does_not_take_the_znode_of_a_successor),
        ON_THREE(a_give_away_whose_answer_is_lost_may_have_happened),
        ON_THREE(a_beat_of_before_says_nothing_of_a_give_away),
        ON_THREE(one_whose_give_away_did_not_happen_leads_on),
        ON_THREE(one_whose_znode_was_taken_while_it_was_away_does_not_resume),
        ON_THREE(data_that_were_wiped_are_made_anew),
        ON_WORLD(a_lead_is_taken_up_again_only_once),
        ON_THREE(a_lead_without_a_lease_is_given_away_in_the_end),
        ON_THREE(a_leader_that_is_gone_is_missed_without_a_word_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
