/* Operators' requests carried out: another leader, gracefully or by force; no automatic
 * failover; a stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"

static bool leads_next(void)
{
    return leader() == (int)next;
}

static void a_switchover_goes_to_the_node_that_is_wanted(void **state)
{
    for (unsigned by = 0; by < NODES; by++) {
        three_nodes_setup(state);
        next = third;
        assert_int_equal(command(by, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
        assert_in_range(await(leads_next, T), 1, 50);
        assert_int_equal(nodes[old].why[ROLE_DRAINING], ROLE_SWITCHOVER_REASON);
        assert_int_equal(nodes[old].why[ROLE_STANDBY], ROLE_HANDED_OVER_REASON);
        run(5 * T);
        assert_int_equal(leader(), next);
        assert_string_equal(status_of(next).wanted, ""); /* taken back */
    }
}

static void a_switchover_to_anyone_happens_once(void **state)
{
    assert_int_equal(command(next, HA_SWITCHOVER, ""), STATUS_OK);
    assert_in_range(await(has_another_leader, T), 1, 50);
    run(5 * T);
    assert_int_equal(nodes[0].promoted + nodes[1].promoted + nodes[2].promoted, 2);
    assert_string_equal(status_of(old).wanted, "");
}

static void a_switchover_to_anyone_goes_to_the_most_preferred(void **state)
{
    nodes[0].options.priority = 100;
    nodes[1].options.priority = 10;
    nodes[2].options.priority = 90;
    first_leads();
    node_start(1);
    node_start(2);
    run(2 * T);
    assert_int_equal(leader(), 0);
    old = 0;
    assert_int_equal(command(0, HA_SWITCHOVER, ""), STATUS_OK);
    await(has_another_leader, T);
    assert_int_equal(leader(), 2);
}

static bool next_has_joined(void)
{
    return role_of(next) == ROLE_STANDBY;
}

/* The other one has just come back, and would have to wait for a lease. */
static void a_switchover_to_anyone_goes_to_one_that_may_act_at_once(void **state)
{
    node_kill(next);
    run(2 * T);
    node_start(next);
    await(next_has_joined, T);
    assert_int_equal(command(third, HA_SWITCHOVER, ""), STATUS_OK);
    assert_in_range(await(has_another_leader, T), 1, 50);
    assert_int_equal(leader(), third);
}

/* Nobody else is there. */
static void a_switchover_to_anyone_waits_for_one_that_has_just_started(void **state)
{
    node_kill(third);
    node_kill(next);
    run(2 * T);
    node_start(next);
    await(next_has_joined, T);
    run(T / 8); /* until it has been read */
    assert_int_equal(command(old, HA_SWITCHOVER, ""), STATUS_OK);
    run(50);
    assert_int_equal(leader(), old); /* meanwhile it leads on */
    await(leads_next, T);
}

static void a_switchover_waits_until_its_time(void **state)
{
    last_command.at_wall_ms = now + wall_offset + 4 * T;
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(4 * T - 100);
    assert_int_equal(leader(), old);
    assert_string_equal(status_of(third).wanted, nodes[next].name);
    await(leads_next, 1000);
}

static void draining_waits_for_the_scripts_but_a_second_at_most(void **state)
{
    nodes[old].drains = false;
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(500);
    assert_int_equal(role_of(old), ROLE_DRAINING);
    assert_true(is_not_led());
    ha_drained(nodes[old].ha);
    assert_in_range(await(leads_next, T), 1, 30);
    run(20);
    nodes[next].drains = false;
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[old].name), STATUS_OK);
    next = old;
    await(leads_next, 1100);
}

static void a_switchover_whose_target_dies_is_taken_back(void **state)
{
    nodes[old].drains = false;
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(100);
    assert_int_equal(role_of(old), ROLE_DRAINING);
    fake_ensemble_expire(&ensemble, nodes[next].zk.base.credentials.session);
    node_kill(next);
    run(100);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].why[ROLE_LEADER], ROLE_NOT_TAKEN_REASON);
    run(T);
    assert_string_equal(status_of(third).wanted, "");
    assert_int_equal(status_of(third).transition_count, 1);
}

static void requests_that_cannot_be_are_refused(void **state)
{
    assert_int_equal(command(0, HA_SWITCHOVER, "nobody"), STATUS_NOT_FOUND);
    assert_int_equal(command(0, HA_SWITCHOVER, nodes[old].name), STATUS_WRONG_STATE);
    assert_int_equal(command(0, HA_FAILOVER, nodes[old].name), STATUS_WRONG_STATE);
    ha_store_is(nodes[next].ha, false);
    run(T);
    assert_int_equal(command(0, HA_SWITCHOVER, nodes[next].name), STATUS_WRONG_STATE);
    assert_non_null(strstr(last_command.why, "Redis"));
    node_kill(next);
    run(2 * T);
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_WRONG_STATE);
    fake_ensemble_set_quorum(&ensemble, false);
    run(T);
    assert_int_equal(command(third, HA_PAUSE, ""), STATUS_UNAVAILABLE);
}

static void paused_nobody_stands_until_resumed(void **state)
{
    assert_int_equal(command(third, HA_PAUSE, ""), STATUS_OK);
    run(T);
    assert_true(status_of(next).is_paused);
    node_kill(old);
    run(5 * T);
    assert_true(is_not_led());
    assert_int_equal(command(third, HA_RESUME, ""), STATUS_OK);
    await(is_led, T);
}

static void paused_a_switchover_still_works(void **state)
{
    assert_int_equal(command(third, HA_PAUSE, ""), STATUS_OK);
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    await(leads_next, T);
    run(T);
    assert_true(status_of(next).is_paused);
}

/* ---- by force ---- */

static void a_leader_that_answers_gives_the_lead_away_in_order(void **state)
{
    assert_int_equal(command(next, HA_FAILOVER, nodes[next].name), STATUS_OK);
    assert_in_range(await(leads_next, T), 1, T / 3);
    assert_int_equal(nodes[old].why[ROLE_STANDBY], ROLE_HANDED_OVER_REASON);
    assert_int_equal(nodes[next].why[ROLE_LEADER], ROLE_ELECTED_REASON);
}

static void one_that_does_not_answer_is_deposed_and_its_lease_awaited(void **state)
{
    node_freeze(old, true);
    assert_int_equal(command(next, HA_FAILOVER, ""), STATUS_OK);
    assert_in_range(await(leads_next, 2 * T), T, T * 5 / 4);
    assert_int_equal(nodes[next].why[ROLE_LEADER], ROLE_FORCED_REASON);
    run(T);
    assert_string_equal(status_of(next).wanted, "");
    node_freeze(old, false);
    run(3 * T);
    assert_int_equal(leader(), next);
    assert_int_equal(role_of(old), ROLE_STANDBY);
}

static void put_request_by_force(void)
{
    char text[96];

    snprintf(text, sizeof(text), "paused no\nwanted %s\nat 0\nforce yes\nby na\n",
             nodes[next].name);
    znode_put("/dueq/main/control", text);
}

/* The time that a leader has to answer is that of each request. */
static void a_later_request_by_force_gives_the_leader_its_time_again(void **state)
{
    const struct fake_znode *lead = fake_tree_find(&ensemble.tree, "/dueq/main/leader");

    node_freeze(old, true);
    put_request_by_force();
    run(T / 4);
    fake_coordinator_link(&nodes[next].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[next].zk, false);
    run(T / 5);
    put_request_by_force();
    fake_coordinator_link(&nodes[next].zk, FAKE_LINK_UP);
    run(T / 4);
    assert_ptr_equal(fake_tree_find(&ensemble.tree, "/dueq/main/leader"), lead);
    await(leads_next, 2 * T);
}

static bool is_lease_new(void)
{
    return status_of(old).lease_left_ms > T * 44 / 100;
}

/* The leader by force dies while it waits. Its successor must wait as well, because the first
 * leader's lease may still run; run() checks that no two act. */
static void who_follows_one_by_force_that_died_waits_too(void **state)
{
    for (int64_t after = T / 3; after < T / 2; after += 10) {
        three_nodes_setup(state);
        await(is_lease_new, T);
        fake_coordinator_link(&nodes[old].zk, FAKE_LINK_MUTE); /* leads on, with its lease */
        assert_int_equal(command(next, HA_FAILOVER, nodes[next].name), STATUS_OK);
        run(after);
        node_kill(next);
        node_proves_dead(third, next);
        assert_int_equal(command(third, HA_FAILOVER, nodes[third].name), STATUS_OK);
        await(has_another_leader, 3 * T);
    }
}

/* ---- others ---- */

static void without_its_redis_it_gives_the_lead_to_one_that_has_it(void **state)
{
    nodes[old].drains = false; /* what is in flight is not answered */
    ha_store_is(nodes[old].ha, false);
    run(T / 2);
    assert_int_equal(leader(), old);
    await(has_another_leader, T / 2); /* with 3T/8 until it is noticed: T and 1.5 ticks */
    assert_int_equal(nodes[old].why[ROLE_DRAINING], ROLE_STORE_AWAY_REASON);
}

/* The nodes ask Redis at different times. */
static void while_the_others_are_about_to_miss_redis_too_the_leader_stays(void **state)
{
    ha_store_is(nodes[old].ha, false);
    run(T / 4);
    ha_store_is(nodes[next].ha, false);
    ha_store_is(nodes[third].ha, false);
    run(10 * T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].promoted, 1);
}

static void when_redis_is_back_for_the_others_first_the_leader_stays(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        ha_store_is(nodes[i].ha, false);
    run(10 * T);
    ha_store_is(nodes[next].ha, true);
    ha_store_is(nodes[third].ha, true);
    run(T / 2);
    ha_store_is(nodes[old].ha, true);
    run(3 * T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].promoted, 1);
}

static void when_redis_is_away_for_all_the_leader_stays(void **state)
{
    for (unsigned i = 0; i < NODES; i++)
        ha_store_is(nodes[i].ha, false);
    run(10 * T);
    assert_int_equal(leader(), old);
    for (unsigned i = 0; i < NODES; i++)
        ha_store_is(nodes[i].ha, true);
    run(T);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].promoted, 1);
}

static void on_stopped(void *arg)
{
    ((struct test_node *)arg)->is_stopped = true;
}

static bool is_old_stopped(void)
{
    return nodes[old].is_stopped;
}

static void a_leader_that_drains_may_hold_until_the_lead_is_given_away(void **state)
{
    nodes[old].drains = false;
    assert_true(ha_may_hold(nodes[old].ha));
    assert_int_equal(command(old, HA_SWITCHOVER, ""), STATUS_OK);
    await(is_not_led, T);
    assert_int_equal(role_of(old), ROLE_DRAINING);
    run(ROLE_DRAINING_MAX_MS / 2);
    assert_true(ha_may_hold(nodes[old].ha));
    ha_drained(nodes[old].ha);
    run(1);
    assert_false(ha_may_hold(nodes[old].ha));
    await(has_another_leader, T);
}

static void a_leader_that_stops_gives_the_lead_away(void **state)
{
    ha_stop(nodes[old].ha, on_stopped, &nodes[old]);
    assert_false(nodes[old].is_stopped);
    assert_in_range(await(has_another_leader, T), 1, 50);
    assert_in_range(await(is_old_stopped, 100), 0, 100);
    assert_true(nodes[old].is_left);
    assert_int_equal(role_of(old), ROLE_OFFLINE);
    run(100);
    assert_int_equal(status_of((unsigned)leader()).node_count, 3);
    assert_false(status_of((unsigned)leader()).nodes[old].is_here);
}

/* The ports close a moment later than the lead is given away. */
static void a_request_that_comes_after_the_end_is_answered(void **state)
{
    ha_stop(nodes[old].ha, on_stopped, &nodes[old]);
    await(is_old_stopped, T);
    assert_int_equal(command(old, HA_PAUSE, ""), STATUS_SHUTTING_DOWN);
    assert_int_equal(command(old, HA_FORGET, "b"), STATUS_SHUTTING_DOWN);
}

static void a_stop_is_asked_of_one_that_is_cut_off(void)
{
    nodes[old].drains = false;
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_MUTE);
    ha_stop(nodes[old].ha, on_stopped, &nodes[old]);
}

static void a_stop_ends_within_two_seconds_whatever_does_not_answer(void **state)
{
    a_stop_is_asked_of_one_that_is_cut_off();
    await(is_old_stopped, 2000);
    ha_stop(nodes[next].ha, on_stopped, &nodes[next]);
    run(200);
    assert_true(nodes[next].is_stopped);
}

static void a_stop_does_not_take_longer_where_sessions_are_long(void **state)
{
    nodes[0].options.session_ms = 60000;
    node_start(0);
    await(is_led, 120000);
    old = 0;
    a_stop_is_asked_of_one_that_is_cut_off();
    await(is_old_stopped, 2100);
}

static void many_changes_are_called_flapping(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.flap_max = 3;
        node_start(i);
    }
    await(is_led, 2 * T);
    run(T);
    for (int i = 0; i < 3; i++) {
        assert_false(status_of(0).is_flapping);
        assert_int_equal(command(0, HA_SWITCHOVER, ""), STATUS_OK);
        run(T);
    }
    assert_true(status_of(0).is_flapping);
    assert_int_equal(status_of(0).transition_count, 4);
    wall_offset += 11 * 60 * 1000;
    run(T);
    assert_false(status_of(0).is_flapping);
}

/* Both others have just given the lead away; the third one dies. */
static void who_gave_the_lead_away_stands_at_once_after_another_has_led(void **state)
{
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    await(leads_next, 100);
    run(10); /* it takes the request back */
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[third].name), STATUS_OK);
    next = third;
    await(leads_next, 100);
    run(20);
    node_kill(third);
    node_proves_dead(old, third);
    assert_in_range(await(is_led, T), 1, T / 10);
}

/* A leader deposed by force may have a longer T. */
static void who_deposes_by_force_waits_as_long_as_the_deposed_one_counts(void **state)
{
    nodes[0].options.session_ms = 5 * T;
    node_start(0);
    await(is_led, 10 * T);
    node_start(1);
    run(6 * T);
    old = 0;
    next = 1;
    await(is_lease_new, 5 * T);
    fake_coordinator_link(&nodes[0].zk, FAKE_LINK_MUTE); /* leads on, with its lease */
    assert_int_equal(command(1, HA_FAILOVER, ""), STATUS_OK);
    await(leads_next, 5 * T);
    assert_int_equal(nodes[1].why[ROLE_LEADER], ROLE_FORCED_REASON);
}

/* ---- what the others are told of its Redis ---- */

static bool says(unsigned i, const char *line)
{
    char path[64];
    const struct fake_znode *z;

    snprintf(path, sizeof(path), "/dueq/main/nodes/%s", nodes[i].name);
    z = fake_tree_find(&ensemble.tree, path);
    return z && strstr(buf_text((struct buf *)&z->data), line);
}

static void word_of_its_redis_does_not_wait_for_a_beat(void **state)
{
    for (int i = 0; i < 20; i++) {
        bool is_up = i % 2;

        ha_store_is(nodes[next].ha, is_up);
        assert_int_equal(status_of(next).nodes[next].store_up, is_up);
        run(T / 24 + 5);
        assert_true(says(next, is_up ? "store up\n" : "store down\n"));
        run(T / 8 + i * 7);
    }
}

static void a_node_that_starts_waits_for_word_of_its_redis(void **state)
{
    nodes[0].is_store_mute = true;
    node_start(0);
    run(T / 8);
    assert_true(znode_exists("/dueq/main/nodes"));
    assert_false(znode_exists("/dueq/main/nodes/na"));
    ha_store_is(nodes[0].ha, true);
    run(5);
    assert_true(says(0, "store up\n"));
    nodes[1].is_store_mute = true; /* that does not come */
    node_start(1);
    run(T / 6 + 10);
    assert_true(says(1, "store down\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_WORLD(a_switchover_goes_to_the_node_that_is_wanted),
        ON_THREE(a_switchover_to_anyone_happens_once),
        ON_WORLD(a_switchover_to_anyone_goes_to_the_most_preferred),
        ON_THREE(a_switchover_to_anyone_goes_to_one_that_may_act_at_once),
        ON_THREE(a_switchover_to_anyone_waits_for_one_that_has_just_started),
        ON_THREE(a_switchover_waits_until_its_time),
        ON_THREE(draining_waits_for_the_scripts_but_a_second_at_most),
        ON_THREE(a_switchover_whose_target_dies_is_taken_back),
        ON_THREE(requests_that_cannot_be_are_refused),
        ON_THREE(paused_nobody_stands_until_resumed),
        ON_THREE(paused_a_switchover_still_works),
        ON_THREE(a_leader_that_answers_gives_the_lead_away_in_order),
        ON_THREE(one_that_does_not_answer_is_deposed_and_its_lease_awaited),
        ON_THREE(a_later_request_by_force_gives_the_leader_its_time_again),
        ON_WORLD(who_follows_one_by_force_that_died_waits_too),
        ON_THREE(without_its_redis_it_gives_the_lead_to_one_that_has_it),
        ON_THREE(when_redis_is_away_for_all_the_leader_stays),
        ON_THREE(while_the_others_are_about_to_miss_redis_too_the_leader_stays),
        ON_THREE(when_redis_is_back_for_the_others_first_the_leader_stays),
        ON_THREE(a_leader_that_drains_may_hold_until_the_lead_is_given_away),
        ON_THREE(a_leader_that_stops_gives_the_lead_away),
        ON_THREE(a_request_that_comes_after_the_end_is_answered),
        ON_THREE(a_stop_ends_within_two_seconds_whatever_does_not_answer),
        ON_WORLD(a_stop_does_not_take_longer_where_sessions_are_long),
        ON_WORLD(many_changes_are_called_flapping),
        ON_THREE(who_gave_the_lead_away_stands_at_once_after_another_has_led),
        ON_WORLD(who_deposes_by_force_waits_as_long_as_the_deposed_one_counts),
        ON_THREE(word_of_its_redis_does_not_wait_for_a_beat),
        ON_WORLD(a_node_that_starts_waits_for_word_of_its_redis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
