/* A node's session: set-ups that are refused, and a name that another session has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"
#include "ha/context.h"

static void a_session_timeout_that_is_not_granted_is_refused_with_what_was(void **state)
{
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
    }
}

static void a_tick_of_more_than_a_quarter_of_the_session_timeout_is_refused(void **state)
{
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
    ensemble.tick_ms = T / 4;
    first_leads();
    assert_string_equal(nodes[0].refused, "");
}

static void servers_that_do_not_tell_their_tick_are_no_reason_to_end(void **state)
{
    ensemble.tick_ms = T / 4;
    ensemble.hides_tick = true;
    first_leads();
    assert_string_equal(nodes[0].refused, "");
    assert_int_equal(status_of(0).tick_ms, 0);
}

/* An operator who puts `conf` into the whitelist must not stop all nodes. */
static void a_tick_that_is_told_later_is_shown_and_ends_nobody(void **state)
{
    ensemble.tick_ms = T / 4 + 1;
    ensemble.hides_tick = true;
    first_leads();
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
    ensemble.denies = true;
    node_start(0);
    run(100);
    assert_non_null(strstr(nodes[0].refused, "ha.auth"));
}

static void a_duplicate_is_refused_and_the_first_one_stays(void **state)
{
    node_kill(next);
    run(2 * T);
    nodes[next].options.node = nodes[old].name;
    node_start(next);
    run(T);
    assert_string_equal(nodes[next].refused, "");
    run(4 * T);
    assert_non_null(strstr(nodes[next].refused, nodes[old].name));
    assert_non_null(strstr(nodes[next].refused, nodes[old].address));
    assert_int_equal(role_of(next), ROLE_OFFLINE);
    assert_int_equal(leader(), old);
    assert_int_equal(nodes[old].demoted, 0);
}

/* It waits for the session of the process before it to end. */
static void restart_one_that_does_not_lead(void)
{
    node_kill(next);
    nodes[next].options.incarnation++;
    node_start(next);
    run(T / 4);
    assert_int_equal(role_of(next), ROLE_OFFLINE);
}

/* A quorum that comes back gives every session a fresh T, a dead process's session, too. */
static void an_old_session_that_a_lost_quorum_prolongs_is_no_duplicate(void **state)
{
    restart_one_that_does_not_lead();
    lose_the_quorum();
    run(2 * T);
    find_the_quorum();
    run(3 * T);
    assert_string_equal(nodes[next].refused, "");
    assert_int_equal(role_of(next), ROLE_STANDBY);
}

/* What it read before is old by then. */
static void who_stood_still_does_not_take_its_own_old_session_for_a_duplicate(void **state)
{
    restart_one_that_does_not_lead();
    node_freeze(next, true);
    run(3 * T);
    node_freeze(next, false);
    run(3 * T);
    assert_string_equal(nodes[next].refused, "");
    assert_int_equal(role_of(next), ROLE_STANDBY);
}

static void a_duplicate_that_went_is_said_no_more(void **state)
{
    char path[CONTEXT_PATH_MAX];

    snprintf(path, sizeof(path), "/dueq/main/nodes/%s", nodes[next].name);
    znode_delete(path);
    znode_put(path, "node x\nincarnation 1\n");
    run(5 * T);
    assert_non_null(strstr(status_of(next).refused, nodes[next].name));
    znode_delete(path);
    run(T);
    assert_string_equal(status_of(next).refused, "");
    assert_int_equal(role_of(next), ROLE_STANDBY);
}

static void a_workers_restart_is_no_duplicate(void **state)
{
    for (int i = 0; i < 3; i++) {
        node_kill(next);
        node_start(next);
        run(2 * T);
        assert_string_equal(nodes[next].refused, "");
        assert_int_equal(role_of(next), ROLE_STANDBY);
    }
    assert_int_equal(leader(), old);
}

static void zookeeper_that_is_absent_at_start_is_waited_for(void **state)
{
    fake_ensemble_set_quorum(&ensemble, false);
    for (unsigned i = 0; i < NODES; i++)
        node_start(i);
    run(10 * T);
    assert_true(is_not_led());
    fake_ensemble_set_quorum(&ensemble, true);
    await(is_led, 2 * T);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_WORLD(a_session_timeout_that_is_not_granted_is_refused_with_what_was),
        ON_WORLD(what_is_advised_for_a_session_timeout_is_granted_and_sound),
        ON_WORLD(a_tick_of_more_than_a_quarter_of_the_session_timeout_is_refused),
        ON_WORLD(a_tick_of_a_quarter_of_the_session_timeout_is_accepted),
        ON_WORLD(servers_that_do_not_tell_their_tick_are_no_reason_to_end),
        ON_WORLD(a_tick_that_is_told_later_is_shown_and_ends_nobody),
        ON_WORLD(credentials_that_are_denied_are_refused),
        ON_THREE(a_duplicate_is_refused_and_the_first_one_stays),
        ON_THREE(an_old_session_that_a_lost_quorum_prolongs_is_no_duplicate),
        ON_THREE(who_stood_still_does_not_take_its_own_old_session_for_a_duplicate),
        ON_THREE(a_duplicate_that_went_is_said_no_more),
        ON_THREE(a_workers_restart_is_no_duplicate),
        ON_WORLD(zookeeper_that_is_absent_at_start_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
