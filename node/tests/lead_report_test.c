/* What the warden and the journal hear of a node that leads, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/tests/lead_fixture.h"

static bool is_stopped(void)
{
    return nodes[0].is_stopped;
}

/* ---- the warden ---- */

static void the_warden_knows_each_session_before_it_can_lead(void **state)
{
    struct node *n = &nodes[0];
    int64_t first;

    node_start(0);
    await(first_leads);
    read_warden(n);
    first = n->warden_session;
    assert_int_not_equal(first, 0);
    assert_int_equal(first, n->zk.base.credentials.session);
    assert_int_equal(n->told[0].role, ROLE_STANDBY);
    assert_int_equal(n->told[0].session, first);

    fake_ensemble_expire(&ensemble, first);
    run(50);
    await(first_leads);
    read_warden(n);
    assert_int_equal(n->warden_session, n->zk.base.credentials.session);
    assert_int_not_equal(n->warden_session, first);
    for (unsigned i = 0; i < n->told_count; i++) {
        if (n->told[i].role == ROLE_LEADER)
            assert_int_not_equal(n->told[i].session, 0);
    }

    node_stop(0);
    await(is_stopped);
    read_warden(n);
    assert_int_equal(n->warden_session, 0);
}

static void the_warden_is_told_once_and_again_where_there_was_no_room(void **state)
{
    struct node *n = &nodes[0];
    char filler[256] = {0};

    while (write(n->warden.fd, filler, sizeof(filler)) > 0) {
    }
    node_start(0);
    await(first_leads);
    assert_int_equal(n->warden.session, 0);
    while (read(n->warden_fd, filler, sizeof(filler)) > 0) {
    }
    node_lead_report_session(n->lead, &n->warden);
    node_lead_report_session(n->lead, &n->warden);
    read_warden(n);
    assert_int_equal(n->warden_messages, 1);
    assert_int_equal(n->warden_session, n->zk.base.credentials.session);
}

/* It renews the address for a worker that hangs: not for one that gives the lead away. */
static void the_warden_knows_the_lease_and_its_end_before_the_lead_is_given_away(void **state)
{
    struct node *n = &nodes[0];
    unsigned drained = 0;

    node_start(0);
    await(first_leads);
    run(T / 2);
    node_lead_report_address(n->lead, &n->warden); /* as each beat does */
    read_warden(n);
    assert_true(n->warden_until_boot_ms > now && n->warden_until_boot_ms < now + T);
    assert_int_equal(n->warden_until_boot_ms, ha_until(node_lead_ha(n->lead)));
    node_stop(0);
    await(is_stopped);
    read_warden(n);
    assert_int_equal(n->warden_until_boot_ms, 0);
    for (unsigned i = 0; i < n->told_count; i++) {
        assert_int_equal(n->told[i].until_boot_ms > 0, n->told[i].role == ROLE_LEADER);
        drained += n->told[i].role == ROLE_DRAINING;
    }
    assert_int_equal(drained, 1);
}

/* As each beat tells it. */
static bool has_no_successor(unsigned i)
{
    node_lead_report_no_successor(nodes[i].lead, &nodes[i].warden);
    read_warden(&nodes[i]);
    return nodes[i].is_no_successor_reported;
}

/* Else an address whose worker dies waits for somebody to be heard. */
static void the_warden_knows_whether_another_node_would_take_over(void **state)
{
    node_start(0);
    assert_false(has_no_successor(0)); /* it does not lead yet */
    await(first_leads);
    assert_true(has_no_successor(0));
    node_start(1);
    run(T);
    assert_false(has_no_successor(0));
    assert_false(has_no_successor(1));
    node_lead_store_answers(nodes[1].lead, false); /* it could not lead */
    run(T);
    assert_true(has_no_successor(0));
    node_lead_store_answers(nodes[1].lead, true);
    run(T);
    assert_false(has_no_successor(0));
    fake_coordinator_link(&nodes[0].zk, FAKE_LINK_MUTE); /* what it knows is old */
    node_lead_store_answers(nodes[1].lead, false);
    run(T);
    assert_false(has_no_successor(0));
}

/* ---- the journal ---- */

/* In the last line that has it; 0: in none. */
static long long last_number(const char *journal, const char *key)
{
    const char *at = NULL;

    for (const char *next = journal; (next = strstr(next, key)); next++)
        at = next + strlen(key);
    return at ? strtoll(at, NULL, 10) : 0;
}

static void a_lease_is_written_down_before_it_is_used(void **state)
{
    unsigned long before = 0;

    node_start(0);
    for (int64_t end = now + 2 * T; now < end;) {
        unsigned long sent;
        const char *journal;

        run(1);
        sent = memory_store_count(nodes[0].ms, OP_FENCE) +
               memory_store_count(nodes[0].ms, OP_SCAN);
        if (sent == before)
            continue;
        before = sent;
        journal = read_file("ha.journal");
        assert_non_null(strstr(journal, "\"role\":\"leader\""));
        assert_true(last_number(journal, "\"until_ms\":") > now);
    }
    assert_true(before > BUCKETS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_warden_knows_each_session_before_it_can_lead),
        TEST(the_warden_is_told_once_and_again_where_there_was_no_room),
        TEST(the_warden_knows_the_lease_and_its_end_before_the_lead_is_given_away),
        TEST(the_warden_knows_whether_another_node_would_take_over),
        TEST(a_lease_is_written_down_before_it_is_used),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
