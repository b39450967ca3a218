/* Without ZooKeeper the leader goes on while every member agrees; and set-ups that are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"
#include "ha/state.h"

static unsigned old, other;

static int setup(void **state)
{
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        node_start(i);
    }
    await(is_led, 4 * T);
    run(2 * T);
    old = (unsigned)leader();
    other = (old + 1) % NODES;
    return 0;
}

static void the_leader_goes_on_and_is_the_same_afterwards(void **state)
{
    lose_the_quorum();
    for (int64_t ms = 0; ms < 30 * T; ms++) {
        run(1);
        assert_int_equal(leader(), old);
    }
    assert_true(status_of(old).is_failsafe);
    fake_ensemble_set_quorum(&ensemble, true);
    for (int64_t ms = 0; ms < 5 * T; ms++) {
        run(1);
        assert_int_equal(leader(), old);
    }
    assert_false(status_of(old).is_failsafe);
    assert_int_equal(nodes[old].promoted, 1);
}

/* The epochs begin anew: the epoch of a member's earlier lead says nothing. */
static void it_goes_on_after_a_wipe_too(void **state)
{
    for (unsigned n = 0; n < 2 * NODES; n++) {
        (void)command(0, HA_SWITCHOVER, nodes[n % NODES].name);
        run(2 * T);
    }
    fake_ensemble_wipe(&ensemble);
    expire_all();
    run(10 * T);
    old = (unsigned)leader();
    assert_true(status_of(old).role->token.epoch < NODES);
    lose_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    assert_true(status_of(old).is_failsafe);
}

static void one_member_that_is_silent_ends_it(void **state)
{
    lose_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    nodes[other].is_silent = true;
    assert_in_range(await(is_not_led, T), T / 4, T * 2 / 3);
    nodes[other].is_silent = false;
    run(3 * T); /* promises bring no lease back that has run out */
    assert_true(is_not_led());
    fake_ensemble_set_quorum(&ensemble, true);
    await(is_led, 2 * T);
}

static void a_member_with_a_quorum_of_its_own_does_not_promise(void **state)
{
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[old].zk, false);
    assert_in_range(await(is_not_led, T), T / 4, T * 2 / 3);
    await(is_led, 2 * T);
    assert_int_not_equal(leader(), old);
}

/* All members promised; then ZooKeeper is back for them, and gives up the leader's session. */
static void a_member_does_not_stand_before_its_promise_is_over(void **state)
{
    lose_the_quorum();
    run(3 * T);
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    fake_ensemble_set_quorum(&ensemble, true);
    fake_ensemble_expire(&ensemble, nodes[old].zk.base.credentials.session);
    assert_int_equal(leader(), old);
    await(is_not_led, T);
    await(is_led, 2 * T);
    assert_int_not_equal(leader(), old);
}

/* The same, and the members have forgotten: they begin with an open promise. */
static void a_member_that_restarts_does_not_forget(void **state)
{
    lose_the_quorum();
    run(3 * T);
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    for (unsigned i = 0; i < NODES; i++) {
        if (i != old) {
            node_kill(i);
            node_start(i);
        }
    }
    fake_ensemble_set_quorum(&ensemble, true);
    expire_all();
    await(is_not_led, T);
    await(is_led, 2 * T);
    assert_int_not_equal(leader(), old);
}

/* Members that count in a shorter T, as in a change from node to node. */
static void setup_long_then_restart_the_others_short(void **state)
{
    world_teardown(state);
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        nodes[i].options.session_ms = 5 * T;
        node_start(i);
    }
    await(is_led, 20 * T);
    run(10 * T);
    old = (unsigned)leader();
    lose_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.session_ms = i == old ? 5 * T : T;
        if (i != old) {
            node_kill(i);
            node_start(i);
        }
    }
}

static void zookeeper_is_back_for_all_but_the_leader(void)
{
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    find_the_quorum();
    expire_all();
    await(is_not_led, 5 * T);
    await(is_led, 10 * T);
    assert_int_not_equal(leader(), (int)old);
}

static void a_promise_lasts_as_long_as_the_asker_counts(void **state)
{
    setup_long_then_restart_the_others_short(state);
    run(4 * T);
    assert_true(status_of(old).is_failsafe);
    zookeeper_is_back_for_all_but_the_leader();
}

/* The node has forgotten its promises, but `members` has the leader's T. */
static void who_restarts_waits_as_long_as_the_leader_counts(void **state)
{
    setup_long_then_restart_the_others_short(state);
    zookeeper_is_back_for_all_but_the_leader();
    run(T);
    for (unsigned i = 0; i < NODES; i++) /* the next leader counts in T */
        if (i != (unsigned)leader())
            node_kill(i);
    old = (unsigned)leader();
    other = (old + 1) % NODES;
    run(T);
    node_kill(old);
    expire_all();
    node_start(other);
    assert_in_range(await(is_led, 3 * T), T * 2 / 3, T + 200);
}

static void a_member_that_restarts_without_failsafe_does_not_forget_either(void **state)
{
    lose_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_STOP;
        if (i != old) {
            node_kill(i);
            node_start(i);
        }
    }
    zookeeper_is_back_for_all_but_the_leader();
}

/* With a list that does not name it a leader is not alone: others may stand unseen. */
static void a_list_that_is_damaged_is_no_list_of_nobody(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (i != old)
            node_kill(i);
    }
    run(2 * T);
    ensemble.delay_ms = 20;
    znode_put("/dueq/main/members", "damaged\n");
    run(70); /* it has read that, and mends it */
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[old].zk, false);
    ensemble.delay_ms = 1;
    await(is_not_led, T);
    node_start(other);
    await(is_led, 3 * T);
    assert_int_equal(leader(), other);
}

static void the_only_member_goes_on_alone(void **state)
{
    world_teardown(state);
    world_setup(state);
    nodes[0].options.on_loss = HA_FAILSAFE;
    node_start(0);
    await(is_led, 2 * T);
    run(T);
    lose_the_quorum();
    run(10 * T);
    assert_int_equal(leader(), 0);
}

static void nobody_promises_to_a_leader_that_is_deposed_or_while_it_leads(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[other].peers;

    assert_false(p->on_question(p, "nx", &q)); /* it has a quorum */
    lose_the_quorum();
    run(10);
    assert_true(p->on_question(p, "nx", &q));
    q.token.epoch--;
    assert_false(p->on_question(p, "nx", &q));
    q.token.epoch += 2;
    p = &nodes[old].peers;
    assert_false(p->on_question(p, "nx", &q)); /* it leads */
    nodes[other].is_silent = true;
    await(is_not_led, T);
    assert_int_equal(role_of(old), ROLE_OFFLINE);
    assert_false(p->on_question(p, "nx", &q)); /* it owns the lead, for all it knows */
    memset(q.token.ensemble, 'e', TOKEN_ENSEMBLE_LEN);
    p = &nodes[other].peers;
    assert_false(p->on_question(p, "nx", &q));
}

/* Redis has shown the node a token that ZooKeeper has not, because it was cut off, for example.
 */
static void nobody_promises_below_the_token_that_redis_has_shown(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[other].peers;
    struct token seen = q.token;

    seen.epoch += 5;
    ha_fenced(nodes[other].ha, &seen);
    run(10);
    lose_the_quorum();
    run(10);
    assert_false(p->on_question(p, "nx", &q));
    q.token = seen;
    assert_true(p->on_question(p, "nx", &q));
}

static bool other_leads(void)
{
    return leader() == (int)other;
}

/* The node knows its own lead, in spite of a backup of ZooKeeper's data. */
static void nobody_promises_below_the_token_it_has_led_with(void **state)
{
    struct peer_question q = {.seq = 1};
    struct peers *p = &nodes[other].peers;

    assert_int_equal(command(old, HA_SWITCHOVER, nodes[other].name), STATUS_OK);
    await(other_leads, T);
    q.token = status_of(other).role->token;
    run(2 * T);
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[old].name), STATUS_OK);
    run(2 * T);
    assert_int_equal(leader(), old);
    znode_put("/dueq/main/epoch", "epoch 0\n");
    run(T / 12);
    lose_the_quorum();
    run(10);
    q.token.epoch--;
    assert_false(p->on_question(p, "nx", &q));
    q.token.epoch++;
    assert_true(p->on_question(p, "nx", &q));
}

/* The promise would keep the node from standing if its own leader died. */
static void a_long_way_to_zookeeper_is_not_taken_for_a_lost_quorum(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[other].peers;

    ensemble.delay_ms = T / 20;
    run(2 * T);
    for (unsigned n = 0; n < 300; n++) {
        assert_false(p->on_question(p, "nx", &q));
        run(7);
    }
    assert_int_equal(role_of(other), ROLE_STANDBY);
}

/* The attempt may have been the one that won. */
static void nobody_promises_while_its_own_attempt_is_not_answered(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[other].peers;
    int64_t session = nodes[old].told.session;

    node_kill((other + 1) % NODES);
    node_kill(old);
    ensemble.delay_ms = 20;
    fake_ensemble_expire(&ensemble, session);
    run(70);
    fake_coordinator_link(&nodes[other].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[other].zk, true);
    run(10);
    assert_true(znode_exists("/dueq/main/leader"));
    assert_false(p->on_question(p, "nx", &q));
    fake_coordinator_link(&nodes[other].zk, FAKE_LINK_UP);
    await(is_led, T);
}

/* A node that has promised gives a lead away, however it got the lead. */
static void who_finds_itself_elected_looks_at_its_promise(void **state)
{
    struct coord_change lead = {.kind = COORD_CREATE_EPHEMERAL,
                                .path = "/dueq/main/leader",
                                .data = BYTES("epoch 2\n")};
    unsigned failed;

    lose_the_quorum();
    run(3 * T);
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    find_the_quorum();
    fake_ensemble_expire(&ensemble, nodes[old].told.session);
    znode_put("/dueq/main/epoch", "epoch 2\n");
    assert_int_equal(
        fake_tree_write(&ensemble.tree, &lead, 1, nodes[other].told.session, &failed),
        COORD_OK);
    while (leader() == (int)old)
        run(1); /* no two act */
    await(is_led, 2 * T);
}

/* A member may stand from the moment its addition is sent, whatever the answer. */
static void one_whose_addition_is_not_answered_is_asked_too(void **state)
{
    unsigned added = (old + 2) % NODES;

    world_teardown(state);
    world_setup(state);
    nodes[added].is_silent = true;
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        if (i != added)
            node_start(i);
    }
    await(is_led, 2 * T);
    run(2 * T);
    old = (unsigned)leader();
    node_start(added);
    while (!nodes[old].ha->membership.adding.is_in_flight)
        run(1);
    lose_the_quorum();
    run(T);
    assert_false(view_is_member(&nodes[old].ha->view, nodes[added].name));
    assert_true(is_not_led());
}

static void with_stop_nobody_promises_and_the_leader_stops(void **state)
{
    struct peer_question q;

    world_teardown(state);
    three_nodes_setup(state);
    old = (unsigned)leader();
    other = (old + 1) % NODES;
    q = (struct peer_question){.token = status_of(old).role->token, .seq = 1};
    lose_the_quorum();
    run(10);
    assert_false(nodes[other].peers.on_question(&nodes[other].peers, "nx", &q));
    await(is_not_led, T * 2 / 3);
}

/* The connections go mute: neither the leader nor the members are told. */
static void the_leader_goes_on_when_all_are_cut_off_in_silence(void **state)
{
    for (int64_t after = 0; after < T / 6; after += 20) {
        setup(state);
        run(after);
        fake_ensemble_set_quorum(&ensemble, false);
        for (int64_t ms = 0; ms < 3 * T; ms++) {
            run(1);
            assert_int_equal(leader(), (int)old);
        }
        assert_true(status_of(old).is_failsafe);
        world_teardown(state);
    }
    setup(state);
}

static void who_is_asked_finds_out_whether_it_has_a_quorum(void **state)
{
    for (int64_t after = 0; after < T / 6; after += 20) {
        struct peer_question q;
        struct peers *p;

        setup(state);
        q = (struct peer_question){.token = status_of(old).role->token, .seq = 1};
        p = &nodes[other].peers;
        run(after);
        fake_ensemble_set_quorum(&ensemble, false);
        assert_false(p->on_question(p, "nx", &q));
        run(T / 24 + T / 12 + 5);
        assert_int_equal(nodes[other].zk.base.session, COORD_SESSION_CONNECTED);
        assert_true(p->on_question(p, "nx", &q));
        world_teardown(state);
    }
    setup(state);
}

static void one_that_was_forgotten_is_not_asked(void **state)
{
    node_kill(other);
    run(2 * T);
    assert_int_equal(command(old, HA_FORGET, nodes[other].name), STATUS_OK);
    run(T);
    lose_the_quorum();
    for (int64_t ms = 0; ms < 3 * T; ms++) {
        run(1);
        assert_int_equal(leader(), (int)old);
    }
}

/* ---- set-ups ---- */

static void a_session_timeout_that_is_not_granted_is_refused_with_what_was(void **state)
{
    world_setup(state);
    ensemble.least_timeout_ms = 4000;
    node_start(0);
    run(100);
    assert_non_null(strstr(nodes[0].refused, "grants a session timeout of 4000 ms"));
    assert_non_null(strstr(nodes[0].refused, "ha.session_timeout: 2000 ms"));
    assert_int_equal(nodes[0].zk.base.session, COORD_SESSION_CLOSED);
}

/* The advice is at least four ticks, even if the servers grant fewer: a stock server grants
 * two.
 */
static void what_is_advised_for_a_session_timeout_is_granted_and_sound(void **state)
{
    static const struct {
        int64_t tick_ms;
        bool tells;
        const char *advice;
    } rows[] = {{2000, true, "ha.session_timeout to 8000 ms"},
                {2000, false, "ha.session_timeout to 8000 ms"},
                {500, true, "ha.session_timeout to 4000 ms"}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        world_setup(state);
        ensemble.least_timeout_ms = 4000;
        ensemble.tick_ms = rows[i].tick_ms;
        ensemble.hides_tick = !rows[i].tells;
        node_start(0);
        run(100);
        assert_non_null(strstr(nodes[0].refused, rows[i].advice));
        assert_non_null(strstr(nodes[0].refused, "tickTime to 500"));
        assert_true(!strstr(nodes[0].refused, "two ticks where minSessionTimeout is not set: "
                                              "tickTime is 2000") == rows[i].tells);
        if (i < 2)
            world_teardown(state);
    }
}

static void a_tick_of_more_than_a_quarter_of_the_session_timeout_is_refused(void **state)
{
    world_setup(state);
    ensemble.tick_ms = T / 4 + 1;
    node_start(0);
    run(100);
    assert_non_null(strstr(nodes[0].refused, "tickTime of 501 ms"));
    assert_non_null(strstr(nodes[0].refused, "tickTime to 500"));
    assert_non_null(strstr(nodes[0].refused, "ha.session_timeout to 2004 ms"));
    run(5 * T);
    assert_true(is_not_led());
}

static void a_tick_of_a_quarter_of_the_session_timeout_is_accepted(void **state)
{
    world_setup(state);
    ensemble.tick_ms = T / 4;
    node_start(0);
    await(is_led, 2 * T);
    assert_string_equal(nodes[0].refused, "");
}

static void servers_that_do_not_tell_their_tick_are_no_reason_to_end(void **state)
{
    world_setup(state);
    ensemble.tick_ms = T / 4;
    ensemble.hides_tick = true;
    node_start(0);
    await(is_led, 2 * T);
    assert_string_equal(nodes[0].refused, "");
    assert_int_equal(status_of(0).tick_ms, 0);
}

/* An operator who puts `conf` into the whitelist must not stop all nodes. */
static void a_tick_that_is_told_later_is_shown_and_ends_nobody(void **state)
{
    world_setup(state);
    ensemble.tick_ms = T / 4 + 1;
    ensemble.hides_tick = true;
    node_start(0);
    await(is_led, 2 * T);
    ensemble.hides_tick = false;
    fake_coordinator_cut(&nodes[0].zk, true);
    run(3 * T);
    assert_int_equal(status_of(0).tick_ms, T / 4 + 1);
    assert_int_equal(leader(), 0);
    assert_string_equal(nodes[0].refused, "");
    assert_int_equal(status_of(0).sessions, 1);
}

static void credentials_that_are_denied_are_refused(void **state)
{
    world_setup(state);
    ensemble.denies = true;
    node_start(0);
    run(100);
    assert_non_null(strstr(nodes[0].refused, "ha.auth"));
}

static void a_duplicate_is_refused_and_the_first_one_stays(void **state)
{
    three_nodes_setup(state);
    old = (unsigned)leader();
    other = (old + 1) % NODES;
    node_kill(other);
    run(2 * T);
    nodes[other].options.node = nodes[old].name;
    node_start(other);
    run(T);
    assert_string_equal(nodes[other].refused, "");
    run(4 * T);
    assert_non_null(strstr(nodes[other].refused, nodes[old].name));
    assert_non_null(strstr(nodes[other].refused, nodes[old].address));
    assert_int_equal(role_of(other), ROLE_OFFLINE);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].demoted, 0);
}

/* It waits for the session of the process before it to end. */
static void restart_one_that_does_not_lead(void **state)
{
    three_nodes_setup(state);
    old = (unsigned)leader();
    other = (old + 1) % NODES;
    node_kill(other);
    nodes[other].options.incarnation++;
    node_start(other);
    run(T / 4);
    assert_int_equal(role_of(other), ROLE_OFFLINE);
}

/* A quorum that comes back gives every session a fresh T, a dead process's session, too. */
static void an_old_session_that_a_lost_quorum_prolongs_is_no_duplicate(void **state)
{
    restart_one_that_does_not_lead(state);
    lose_the_quorum();
    run(2 * T);
    find_the_quorum();
    run(3 * T);
    assert_string_equal(nodes[other].refused, "");
    assert_int_equal(role_of(other), ROLE_STANDBY);
}

/* What it read before is old by then. */
static void who_stood_still_does_not_take_its_own_old_session_for_a_duplicate(void **state)
{
    restart_one_that_does_not_lead(state);
    node_freeze(other, true);
    run(3 * T);
    node_freeze(other, false);
    run(3 * T);
    assert_string_equal(nodes[other].refused, "");
    assert_int_equal(role_of(other), ROLE_STANDBY);
}

static void a_duplicate_that_went_is_said_no_more(void **state)
{
    char path[CONTEXT_PATH_MAX];

    three_nodes_setup(state);
    other = ((unsigned)leader() + 1) % NODES;
    snprintf(path, sizeof(path), "/dueq/main/nodes/%s", nodes[other].name);
    znode_delete(path);
    znode_put(path, "node x\nincarnation 1\n");
    run(5 * T);
    assert_non_null(strstr(status_of(other).refused, nodes[other].name));
    znode_delete(path);
    run(T);
    assert_string_equal(status_of(other).refused, "");
    assert_int_equal(role_of(other), ROLE_STANDBY);
}

static void a_workers_restart_is_no_duplicate(void **state)
{
    three_nodes_setup(state);
    old = (unsigned)leader();
    other = (old + 1) % NODES;
    for (int i = 0; i < 3; i++) {
        node_kill(other);
        node_start(other);
        run(2 * T);
        assert_string_equal(nodes[other].refused, "");
        assert_int_equal(role_of(other), ROLE_STANDBY);
    }
    assert_int_equal(leader(), old);
}

static void zookeeper_that_is_absent_at_start_is_waited_for(void **state)
{
    world_setup(state);
    fake_ensemble_set_quorum(&ensemble, false);
    for (unsigned i = 0; i < NODES; i++)
        node_start(i);
    run(10 * T);
    assert_true(is_not_led());
    fake_ensemble_set_quorum(&ensemble, true);
    await(is_led, 2 * T);
}

#define ON_THREE(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)
#define ON_NONE(test)  cmocka_unit_test_teardown(test, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(the_leader_goes_on_and_is_the_same_afterwards),
        ON_THREE(it_goes_on_after_a_wipe_too),
        ON_THREE(one_member_that_is_silent_ends_it),
        ON_THREE(a_member_with_a_quorum_of_its_own_does_not_promise),
        ON_THREE(a_member_does_not_stand_before_its_promise_is_over),
        ON_THREE(a_member_that_restarts_does_not_forget),
        ON_THREE(a_promise_lasts_as_long_as_the_asker_counts),
        ON_THREE(who_restarts_waits_as_long_as_the_leader_counts),
        ON_THREE(a_member_that_restarts_without_failsafe_does_not_forget_either),
        ON_THREE(a_list_that_is_damaged_is_no_list_of_nobody),
        ON_THREE(the_only_member_goes_on_alone),
        ON_THREE(nobody_promises_to_a_leader_that_is_deposed_or_while_it_leads),
        ON_THREE(a_long_way_to_zookeeper_is_not_taken_for_a_lost_quorum),
        ON_THREE(nobody_promises_while_its_own_attempt_is_not_answered),
        ON_THREE(nobody_promises_below_the_token_that_redis_has_shown),
        ON_THREE(nobody_promises_below_the_token_it_has_led_with),
        ON_THREE(who_finds_itself_elected_looks_at_its_promise),
        ON_THREE(one_whose_addition_is_not_answered_is_asked_too),
        ON_THREE(with_stop_nobody_promises_and_the_leader_stops),
        ON_NONE(a_session_timeout_that_is_not_granted_is_refused_with_what_was),
        ON_NONE(what_is_advised_for_a_session_timeout_is_granted_and_sound),
        ON_NONE(a_tick_of_more_than_a_quarter_of_the_session_timeout_is_refused),
        ON_NONE(a_tick_of_a_quarter_of_the_session_timeout_is_accepted),
        ON_NONE(servers_that_do_not_tell_their_tick_are_no_reason_to_end),
        ON_NONE(a_tick_that_is_told_later_is_shown_and_ends_nobody),
        ON_NONE(credentials_that_are_denied_are_refused),
        ON_NONE(a_duplicate_is_refused_and_the_first_one_stays),
        ON_NONE(an_old_session_that_a_lost_quorum_prolongs_is_no_duplicate),
        ON_NONE(who_stood_still_does_not_take_its_own_old_session_for_a_duplicate),
        ON_NONE(a_duplicate_that_went_is_said_no_more),
        ON_NONE(a_workers_restart_is_no_duplicate),
        ON_NONE(zookeeper_that_is_absent_at_start_is_waited_for),
        ON_NONE(the_leader_goes_on_when_all_are_cut_off_in_silence),
        ON_NONE(who_is_asked_finds_out_whether_it_has_a_quorum),
        ON_THREE(one_that_was_forgotten_is_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
