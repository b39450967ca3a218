/* Znodes that are damaged, full or unreadable: a node that cannot go on says why, and damage
 * that does not matter stops nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ha/tests/ha_fixture.h"

static bool sees(const char *name)
{
    struct ha_status s = status_of(0);

    for (unsigned i = 0; i < s.node_count; i++) {
        if (!strcmp(s.nodes[i].name, name) && s.nodes[i].is_here)
            return true;
    }
    return false;
}

static bool is_seen_by_the_first(void)
{
    return sees(nodes[1].name);
}

static bool is_first_refused(void)
{
    return status_of(0).refused[0];
}

static bool is_first_not_refused(void)
{
    return !is_first_refused();
}

/* Nodes without a fixed name, as in containers: none of the old ones will ever come back. */
static void members_that_are_gone_for_good_are_forgotten(void **state)
{
    node_start(1);
    node_start(2);
    await(is_led, 2 * T);
    run(2 * T);
    node_kill(1);
    node_kill(2);
    run(3 * T);
    node_start(0);
    await(is_first_refused, 2 * T);
    assert_non_null(strstr(status_of(0).refused, "members"));
    assert_string_equal(nodes[0].refused, ""); /* it does not end */
    run(10 * T);
    assert_true(is_not_led());
    assert_int_equal(command(0, HA_FORGET, "nb"), STATUS_OK);
    assert_int_equal(command(0, HA_FORGET, "nc"), STATUS_OK);
    await(is_led, T);
    run(T);
    assert_string_equal(status_of(0).refused, "");
    assert_true(status_of(0).node_count == 1 && status_of(0).nodes[0].is_member);
}

static void many_names_come_and_go(int64_t each_ms)
{
    char path[64];

    for (int i = 0; i < 70; i++) {
        snprintf(path, sizeof(path), "/dueq/main/nodes/pod%d", i);
        znode_put(path, "node x\n");
        run(each_ms);
        znode_delete(path);
        run(each_ms);
    }
}

static void a_list_that_is_full_is_told_and_new_nodes_are_seen(void **state)
{
    first_leads();
    many_names_come_and_go(20);
    assert_string_equal(status_of(0).refused, "");
    node_start(1);
    await(is_seen_by_the_first, T);
    run(10);
    assert_non_null(strstr(status_of(0).refused, "full"));
    assert_int_equal(command(0, HA_FORGET, "pod1"), STATUS_OK);
    run(100);
    assert_string_equal(status_of(0).refused, "");
    assert_int_equal(command(0, HA_SWITCHOVER, "nb"), STATUS_OK);
}

static bool are_both_seen_by_the_first(void)
{
    return sees("newa") && sees("newb");
}

/* Containers that are rolled in pairs: both are in one listing. */
static void new_nodes_that_come_together_are_all_seen(void **state)
{
    first_leads();
    many_names_come_and_go(20);
    znode_put("/dueq/main/nodes/newa", "node newa\n");
    znode_put("/dueq/main/nodes/newb", "node newb\n");
    await(are_both_seen_by_the_first, T);
    znode_delete("/dueq/main/nodes/newa");
    run(T);
    assert_true(sees("newb") && !sees("newa"));
}

/* A node does not wait for a T that no node can have. */
static void a_session_timeout_that_cannot_be_is_ignored(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].options.on_loss = HA_FAILSAFE;
        node_start(i);
    }
    await(is_led, 4 * T);
    znode_put("/dueq/main/nodes/zz", "node zz\ntimeout_ms 999999999999999999\n");
    run(2 * T);
    znode_delete("/dueq/main/nodes/zz");
    run(T);
    name_the_roles();
    lose_the_quorum();
    run(T);
    find_the_quorum();
    run(3 * T);
    assert_int_equal(leader(), old);
    assert_int_equal(command(old, HA_FORGET, "zz"), STATUS_OK);
    node_kill(old);
    await(is_led, 3 * T);
}

static void damage_that_stops_all_is_said(void **state)
{
    static const struct {
        const char *path, *wrong, *right;
    } damages[] = {
        {"/dueq/main/ensemble", "", "uuid 0123456789abcdef0123456789abcdef\n"},
        {"/dueq/main/ensemble", "uuid ab%s:c\n", "uuid 0123456789abcdef0123456789abcdef\n"},
        {"/dueq/main/epoch", "epoch 100000000000000000\n", "epoch 7\n"},
        {"/dueq/main/epoch", "", "epoch 8\n"},
        {"/dueq/main/leader", "epoch 1\n", NULL},
    };

    for (unsigned i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
        world_setup(state);
        znode_put("/dueq", "");
        znode_put("/dueq/main", "");
        znode_put(damages[i].path, damages[i].wrong);
        node_start(0);
        await(is_first_refused, 2 * T);
        assert_non_null(strstr(status_of(0).refused, damages[i].path));
        run(3 * T);
        assert_true(is_not_led());
        assert_string_equal(nodes[0].refused, "");
        if (damages[i].right)
            znode_put(damages[i].path, damages[i].right);
        else
            znode_delete(damages[i].path);
        await(is_led, 2 * T);
        await(is_first_not_refused, 10);
    }
}

static void an_epoch_of_redis_that_cannot_be_is_said(void **state)
{
    struct token seen;

    first_leads();
    seen = status_of(0).role->token;
    seen.epoch = UINT64_MAX;
    ha_fenced(nodes[0].ha, &seen);
    run(3 * T);
    assert_true(is_not_led());
    assert_non_null(strstr(status_of(0).refused, "Redis"));
}

/* ZooKeeper answers so to each call of a node with another password. */
static void calls_that_are_denied_are_refused_with_what_to_look_at(void **state)
{
    first_leads();
    node_start(1);
    calls_fail(1, "/dueq", COORD_DENIED);
    run(2 * T);
    assert_non_null(strstr(nodes[1].refused, "ha.auth"));
    calls_fail(1, NULL, COORD_OK);
    run(2 * T);
    assert_int_equal(role_of(1), ROLE_STANDBY);
    assert_string_equal(status_of(1).refused, "");
}

static unsigned lines_in(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned lines = 0;

    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

/* The node can neither read nor create znodes: one fault is reported, once. */
static void what_is_refused_for_two_reasons_is_told_once(void **state)
{
    char path[] = "/tmp/ha_damage_test.XXXXXX";
    const struct log_options to_file = {.level = LEVEL_ERROR, .modules = "", .file = path};
    const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};

    close(mkstemp(path));
    assert_int_equal(log_configure(&to_file), STATUS_OK);
    calls_fail(0, "/dueq", COORD_DENIED);
    fake_ensemble_expire(&ensemble, nodes[0].reported.session);
    run(5 * T);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    assert_in_range(lines_in(path), 1, 2);
    unlink(path);
    assert_non_null(strstr(status_of(0).refused, "write to"));
}

static void a_history_that_may_not_be_read_ends_no_node(void **state)
{
    first_leads();
    node_start(1);
    reads_fail(1, "/history", COORD_DENIED);
    run(2 * T);
    assert_string_equal(nodes[1].refused, "");
    assert_int_equal(role_of(1), ROLE_STANDBY);
    assert_non_null(strstr(status_of(1).refused, "history"));
}

/* The missing line is written as soon as that is allowed. */
static void a_history_that_may_not_be_written_is_tried_now_and_then(void **state)
{
    unsigned changes;

    next = ((unsigned)leader() + 1) % NODES;
    changes = status_of(next).transition_count;
    writes_fail(next, "/history", COORD_DENIED);
    assert_int_equal(command(next, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(5 * T);
    assert_int_equal(leader(), next);
    assert_in_range(calls_failed(), 1, 6);
    assert_int_equal(status_of(next).transition_count, changes);
    calls_succeed();
    run(2 * T);
    assert_int_equal(status_of(next).transition_count, changes + 1);
}

static void an_election_that_is_refused_is_told_once(void **state)
{
    char path[] = "/tmp/ha_damage_test.XXXXXX";
    const struct log_options to_file = {.level = LEVEL_ERROR, .modules = "", .file = path};
    const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};

    writes_fail(next, "/epoch", COORD_ERROR);
    node_kill(third);
    node_kill(old);
    close(mkstemp(path));
    assert_int_equal(log_configure(&to_file), STATUS_OK);
    run(10 * T);
    assert_true(is_not_led());
    assert_true(calls_failed() > 5);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    assert_int_equal(lines_in(path), 1);
    unlink(path);
}

/* Its session lives on, and with it its znode. */
static void a_leader_that_may_not_write_does_not_keep_the_lead(void **state)
{
    calls_fail(old, "/epoch", COORD_DENIED);
    await(is_not_led, T);
    assert_non_null(strstr(status_of(old).refused, "write to"));
    await(is_led, 4 * T);
    assert_int_not_equal(leader(), (int)old);
    calls_fail(old, NULL, COORD_OK);
    run(5000 + 2 * T); /* it tries again */
    assert_int_equal(role_of(old), ROLE_STANDBY);
    assert_string_equal(status_of(old).refused, "");
}

static void a_standby_that_may_not_write_says_so(void **state)
{
    first_leads();
    node_start(1);
    await(is_seen_by_the_first, T);
    calls_fail(1, "/nodes/nb", COORD_DENIED);
    run(T);
    assert_non_null(strstr(status_of(1).refused, "write to"));
    calls_fail(1, NULL, COORD_OK);
    run(T);
    assert_string_equal(status_of(1).refused, "");
}

static bool is_ended;

static void on_ended(struct ha_command *c)
{
    is_ended = true;
}

static bool has_ended(void)
{
    return is_ended;
}

static void a_command_that_cannot_know_enough_ends(void **state)
{
    struct ha_command c = {.request = HA_PAUSE, .to = "", .on_done = on_ended};

    first_leads();
    calls_fail(0, "/control", COORD_DENIED);
    znode_put("/dueq/main/control", "paused no\n");
    run(T);
    assert_non_null(strstr(status_of(0).refused, "control"));
    is_ended = false;
    ha_command(nodes[0].ha, &c);
    assert_in_range(await(has_ended, 2 * T), T - 10, T + 10);
    assert_int_equal(c.status, STATUS_UNAVAILABLE);
    calls_fail(0, NULL, COORD_OK);
    await(is_first_not_refused, T);
}

/* At every moment between two attempts to read it. */
static void a_history_that_cannot_be_read_delays_no_failover(void **state)
{
    for (int i = 0; i < 20; i++) {
        three_nodes_setup(state);
        node_kill(third);
        calls_fail(next, "/history", COORD_ERROR);
        znode_put("/dueq/main/history", "x y\n");
        run(2 * T + i * 17);
        node_kill(old);
        node_proves_dead(next, old);
        assert_in_range(await(is_led, T), 1, 50);
    }
}

/* A node with ha.auth in a cluster without: only that node can read its znodes. */
static void a_node_that_others_cannot_read_is_told_on_both_sides(void **state)
{
    first_leads();
    calls_fail(0, "/nodes/nb", COORD_DENIED);
    node_start(1);
    run(5 * T);
    assert_non_null(strstr(status_of(0).refused, "/nodes/nb"));
    assert_non_null(strstr(status_of(0).refused, "ha.auth"));
    assert_non_null(strstr(status_of(1).refused, "/members"));
    assert_non_null(strstr(status_of(1).refused, "ha.auth"));
    assert_string_equal(nodes[1].refused, ""); /* it does not end */
    calls_fail(0, NULL, COORD_OK);
    run(T);
    assert_string_equal(status_of(0).refused, "");
    assert_string_equal(status_of(1).refused, "");
    assert_true(status_of(0).nodes[1].is_member);
}

/* The fault is another node's: a node that comes later does not end because of it. */
static void a_node_that_cannot_be_read_ends_nobody(void **state)
{
    node_start(0);
    node_start(1);
    await(is_led, 2 * T);
    node_start(2);
    calls_fail(2, "/nodes/nb", COORD_DENIED);
    run(2 * T);
    assert_int_equal(role_of(2), ROLE_STANDBY);
    assert_non_null(strstr(status_of(2).refused, "/nodes/nb"));
    assert_string_equal(nodes[2].refused, "");
}

static void a_long_way_to_zookeeper_is_told(void **state)
{
    first_leads();
    run(T);
    ensemble.delay_ms = T / 10;
    run(2 * T);
    assert_non_null(strstr(status_of(0).refused, "400 ms is too long for T = 2000 ms"));
    assert_non_null(strstr(status_of(0).refused, "ha.session_timeout"));
    ensemble.delay_ms = 1;
    run(2 * T);
    assert_string_equal(status_of(0).refused, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_WORLD(members_that_are_gone_for_good_are_forgotten),
        ON_WORLD(a_list_that_is_full_is_told_and_new_nodes_are_seen),
        ON_WORLD(new_nodes_that_come_together_are_all_seen),
        ON_WORLD(a_session_timeout_that_cannot_be_is_ignored),
        ON_WORLD(damage_that_stops_all_is_said),
        ON_WORLD(an_epoch_of_redis_that_cannot_be_is_said),
        ON_WORLD(calls_that_are_denied_are_refused_with_what_to_look_at),
        ON_THREE(what_is_refused_for_two_reasons_is_told_once),
        ON_WORLD(a_history_that_may_not_be_read_ends_no_node),
        ON_THREE(a_history_that_may_not_be_written_is_tried_now_and_then),
        ON_THREE(an_election_that_is_refused_is_told_once),
        ON_THREE(a_leader_that_may_not_write_does_not_keep_the_lead),
        ON_WORLD(a_standby_that_may_not_write_says_so),
        ON_WORLD(a_command_that_cannot_know_enough_ends),
        ON_WORLD(a_history_that_cannot_be_read_delays_no_failover),
        ON_WORLD(a_node_that_others_cannot_read_is_told_on_both_sides),
        ON_WORLD(a_node_that_cannot_be_read_ends_nobody),
        ON_WORLD(a_long_way_to_zookeeper_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
