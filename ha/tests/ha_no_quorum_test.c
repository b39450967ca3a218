/* Without ZooKeeper the leader goes on while every member agrees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"
#include "ha/state.h"

static int setup(void **state)
{
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        node_start(i);
    }
    await(is_led, 4 * T);
    run(2 * T);
    name_the_roles();
    return 0;
}

static void the_leader_goes_on_and_is_the_same_afterwards(void **state)
{
    lose_the_quorum();
    leads_on(30 * T);
    assert_true(status_of(old).is_failsafe);
    fake_ensemble_set_quorum(&ensemble, true);
    leads_on(5 * T);
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
    nodes[next].is_silent = true;
    assert_in_range(await(is_not_led, T), T / 4, T * 2 / 3);
    nodes[next].is_silent = false;
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
static void a_member_does_not_campaign_before_its_promise_is_over(void **state)
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

static void restart_the_others(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (i != old) {
            node_kill(i);
            node_start(i);
        }
    }
}

/* The same, and the members have forgotten: they begin with an open promise. */
static void a_member_that_restarts_does_not_forget(void **state)
{
    lose_the_quorum();
    run(3 * T);
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    restart_the_others();
    fake_ensemble_set_quorum(&ensemble, true);
    expire_all();
    await(is_not_led, T);
    await(is_led, 2 * T);
    assert_int_not_equal(leader(), old);
}

/* Members that count in a shorter T, as in a change from node to node. */
static void setup_long_then_restart_the_others_short(void **state)
{
    world_setup(state);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        nodes[i].options.session_ms = 5 * T;
        node_start(i);
    }
    await(is_led, 20 * T);
    run(10 * T);
    name_the_roles();
    lose_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    nodes[next].options.session_ms = nodes[third].options.session_ms = T;
    restart_the_others();
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
    name_the_roles();
    run(T);
    node_kill(old);
    expire_all();
    node_start(next);
    assert_in_range(await(is_led, 3 * T), T * 2 / 3, T + 200);
}

static void a_member_that_restarts_without_failsafe_does_not_forget_either(void **state)
{
    lose_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    nodes[next].options.on_loss = nodes[third].options.on_loss = HA_STOP;
    restart_the_others();
    zookeeper_is_back_for_all_but_the_leader();
}

/* With a list that does not name it a leader is not alone: others may campaign unseen. */
static void a_list_that_is_damaged_is_no_list_of_nobody(void **state)
{
    node_kill(next);
    node_kill(third);
    run(2 * T);
    ensemble.delay_ms = 20;
    znode_put("/dueq/main/members", "damaged\n");
    run(70); /* it has read that, and mends it */
    fake_coordinator_link(&nodes[old].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[old].zk, false);
    ensemble.delay_ms = 1;
    await(is_not_led, T);
    node_start(next);
    await(is_led, 3 * T);
    assert_int_equal(leader(), next);
}

static void the_only_member_goes_on_alone(void **state)
{
    world_setup(state);
    nodes[0].options.on_loss = HA_FAILSAFE;
    first_leads();
    run(T);
    lose_the_quorum();
    run(10 * T);
    assert_int_equal(leader(), 0);
}

static void nobody_promises_to_a_leader_that_is_deposed_or_while_it_leads(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[next].peers;

    assert_false(p->on_question(p, "nx", &q)); /* it has a quorum */
    lose_the_quorum();
    run(10);
    assert_true(p->on_question(p, "nx", &q));
    q.token.epoch--;
    assert_false(p->on_question(p, "nx", &q));
    q.token.epoch += 2;
    p = &nodes[old].peers;
    assert_false(p->on_question(p, "nx", &q)); /* it leads */
    nodes[next].is_silent = true;
    await(is_not_led, T);
    assert_int_equal(role_of(old), ROLE_OFFLINE);
    assert_false(p->on_question(p, "nx", &q)); /* it owns the lead, for all it knows */
    memset(q.token.ensemble, 'e', TOKEN_ENSEMBLE_LEN);
    p = &nodes[next].peers;
    assert_false(p->on_question(p, "nx", &q));
}

/* Redis has shown the node a token that ZooKeeper has not, because it was cut off, for example.
 */
static void nobody_promises_below_the_token_that_redis_has_shown(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[next].peers;
    struct token seen = q.token;

    seen.epoch += 5;
    ha_fenced(nodes[next].ha, &seen);
    run(10);
    lose_the_quorum();
    run(10);
    assert_false(p->on_question(p, "nx", &q));
    q.token = seen;
    assert_true(p->on_question(p, "nx", &q));
}

static bool next_leads(void)
{
    return leader() == (int)next;
}

/* The node knows its own lead, in spite of a backup of ZooKeeper's data. */
static void nobody_promises_below_the_token_it_has_led_with(void **state)
{
    struct peer_question q = {.seq = 1};
    struct peers *p = &nodes[next].peers;

    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    await(next_leads, T);
    q.token = status_of(next).role->token;
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

/* The promise would keep the node from campaigning if its own leader died. */
static void a_long_way_to_zookeeper_is_not_taken_for_a_lost_quorum(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[next].peers;

    ensemble.delay_ms = T / 20;
    run(2 * T);
    for (unsigned n = 0; n < 300; n++) {
        assert_false(p->on_question(p, "nx", &q));
        run(7);
    }
    assert_int_equal(role_of(next), ROLE_STANDBY);
}

/* The attempt may have been the one that won. */
static void nobody_promises_while_its_own_attempt_is_not_answered(void **state)
{
    struct peer_question q = {.token = status_of(old).role->token, .seq = 1};
    struct peers *p = &nodes[next].peers;

    node_kill(third);
    node_kill(old);
    ensemble.delay_ms = 20;
    fake_ensemble_expire(&ensemble, nodes[old].reported.session);
    run(70);
    fake_coordinator_link(&nodes[next].zk, FAKE_LINK_REFUSED);
    fake_coordinator_cut(&nodes[next].zk, true);
    run(10);
    assert_true(znode_exists("/dueq/main/leader"));
    assert_false(p->on_question(p, "nx", &q));
    fake_coordinator_link(&nodes[next].zk, FAKE_LINK_UP);
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
    fake_ensemble_expire(&ensemble, nodes[old].reported.session);
    znode_put("/dueq/main/epoch", "epoch 2\n");
    assert_int_equal(
        fake_tree_write(&ensemble.tree, &lead, 1, nodes[next].reported.session, &failed),
        COORD_OK);
    while (leader() == (int)old)
        run(1); /* no two act */
    await(is_led, 2 * T);
}

/* A member may campaign from the moment its addition is sent, whatever the answer. */
static void one_whose_addition_is_not_answered_is_asked_too(void **state)
{
    unsigned added = third;

    world_setup(state);
    nodes[added].is_silent = true;
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        if (i != added)
            node_start(i);
    }
    await(is_led, 2 * T);
    run(2 * T);
    name_the_roles();
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

    three_nodes_setup(state);
    q = (struct peer_question){.token = status_of(old).role->token, .seq = 1};
    lose_the_quorum();
    run(10);
    assert_false(nodes[next].peers.on_question(&nodes[next].peers, "nx", &q));
    await(is_not_led, T * 2 / 3);
}

/* The connections go mute: neither the leader nor the members are told. */
static void the_leader_goes_on_when_all_are_cut_off_in_silence(void **state)
{
    for (int64_t after = 0; after < T / 6; after += 20) {
        setup(state);
        run(after);
        fake_ensemble_set_quorum(&ensemble, false);
        leads_on(3 * T);
        assert_true(status_of(old).is_failsafe);
    }
}

static void who_is_asked_finds_out_whether_it_has_a_quorum(void **state)
{
    for (int64_t after = 0; after < T / 6; after += 20) {
        struct peer_question q;
        struct peers *p;

        setup(state);
        q = (struct peer_question){.token = status_of(old).role->token, .seq = 1};
        p = &nodes[next].peers;
        run(after);
        fake_ensemble_set_quorum(&ensemble, false);
        assert_false(p->on_question(p, "nx", &q));
        run(T / 24 + T / 12 + 5);
        assert_int_equal(nodes[next].zk.base.session, COORD_SESSION_CONNECTED);
        assert_true(p->on_question(p, "nx", &q));
    }
}

static void one_that_was_forgotten_is_not_asked(void **state)
{
    node_kill(next);
    run(2 * T);
    assert_int_equal(command(old, HA_FORGET, nodes[next].name), STATUS_OK);
    run(T);
    lose_the_quorum();
    leads_on(3 * T);
}

#define ON_FAILSAFE(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAILSAFE(the_leader_goes_on_and_is_the_same_afterwards),
        ON_FAILSAFE(it_goes_on_after_a_wipe_too),
        ON_FAILSAFE(one_member_that_is_silent_ends_it),
        ON_FAILSAFE(a_member_with_a_quorum_of_its_own_does_not_promise),
        ON_FAILSAFE(a_member_does_not_campaign_before_its_promise_is_over),
        ON_FAILSAFE(a_member_that_restarts_does_not_forget),
        ON_FAILSAFE(a_promise_lasts_as_long_as_the_asker_counts),
        ON_FAILSAFE(who_restarts_waits_as_long_as_the_leader_counts),
        ON_FAILSAFE(a_member_that_restarts_without_failsafe_does_not_forget_either),
        ON_FAILSAFE(a_list_that_is_damaged_is_no_list_of_nobody),
        ON_FAILSAFE(the_only_member_goes_on_alone),
        ON_FAILSAFE(nobody_promises_to_a_leader_that_is_deposed_or_while_it_leads),
        ON_FAILSAFE(a_long_way_to_zookeeper_is_not_taken_for_a_lost_quorum),
        ON_FAILSAFE(nobody_promises_while_its_own_attempt_is_not_answered),
        ON_FAILSAFE(nobody_promises_below_the_token_that_redis_has_shown),
        ON_FAILSAFE(nobody_promises_below_the_token_it_has_led_with),
        ON_FAILSAFE(who_finds_itself_elected_looks_at_its_promise),
        ON_FAILSAFE(one_whose_addition_is_not_answered_is_asked_too),
        ON_FAILSAFE(with_stop_nobody_promises_and_the_leader_stops),
        ON_WORLD(the_leader_goes_on_when_all_are_cut_off_in_silence),
        ON_WORLD(who_is_asked_finds_out_whether_it_has_a_quorum),
        ON_FAILSAFE(one_that_was_forgotten_is_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
