/* What a node does about being the leader: when its engine begins and ends to move jobs, and
 * what ha/ hears of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "node/tests/lead_fixture.h"

#define FOREIGN "22222222222222222222222222222222:0000000000000001"

static void start_two(void)
{
    node_start(0);
    await(first_leads);
    node_start(1);
    run(T); /* it is taken in, and could lead */
    assert_int_equal(role_of(1), ROLE_STANDBY);
}

static unsigned long scans(unsigned i)
{
    return memory_store_count(nodes[i].ms, OP_SCAN);
}

static unsigned long fenced_scans(unsigned i)
{
    return queue_stats(nodes[i].queue)->ended[OP_SCAN][STATUS_FENCED];
}

static void token_of(unsigned i, char text[TOKEN_TEXT_LEN + 1])
{
    struct ha_status s = status_of(i);

    token_print(&s.role->token, text);
}

static bool has_both_scanned(void)
{
    return scans(0) && scans(1);
}

/* ---- the lead ---- */

static void a_leader_moves_jobs_with_its_token(void **state)
{
    char token[TOKEN_TEXT_LEN + 1];

    node_start(0);
    assert_int_equal(scans(0), 0);
    await(first_leads);
    run(200);
    assert_int_equal(memory_store_count(nodes[0].ms, OP_FENCE), BUCKETS);
    token_of(0, token);
    assert_int_equal(scan_at_store(""), STATUS_FENCED);
    assert_int_equal(scan_at_store(token), STATUS_OK);
    push(0, 500);
    assert_int_equal(ready_count(0), 0);
    run(600);
    assert_int_equal(ready_count(0), 1);
}

static void a_standby_moves_none(void **state)
{
    start_two();
    push(1, 0);
    run(2 * T);
    assert_int_equal(memory_store_count(nodes[1].ms, OP_FENCE) + scans(1), 0);
    assert_int_equal(nodes[1].told_count, 1);
    assert_int_equal(nodes[1].told[0].reason, ROLE_JOINED_REASON);
}

/* Cut off from ZooKeeper. The fence is not what stops it. */
static void a_lease_that_is_over_ends_its_scans_before_another_node_leads(void **state)
{
    unsigned long last;
    const struct notifier *over, *taken;

    start_two();
    run(500);
    fake_coordinator_link(&nodes[0].zk, FAKE_LINK_MUTE);
    while (ha_may_act(node_lead_ha(nodes[0].lead)))
        run(1);
    last = scans(0);
    assert_int_not_equal(role_of(1), ROLE_LEADER);
    await(second_leads);
    await(has_both_scanned);
    assert_int_equal(scans(0), last);
    assert_int_equal(fenced_scans(0), 0);
    over = &nodes[0].told[nodes[0].told_count - 1];
    taken = &nodes[1].told[nodes[1].told_count - 1];
    assert_int_equal(over->before, ROLE_LEADER);
    assert_true(over->at_ms < taken->at_ms);
}

static void a_node_whose_store_is_away_gives_the_lead_away(void **state)
{
    start_two();
    memory_store_take_down(nodes[0].ms);
    node_lead_store_is(nodes[0].lead, false);
    await(second_leads);
    assert_int_equal(role_of(0), ROLE_STANDBY);
}

static bool first_has_successor(void)
{
    return node_lead_has_successor(nodes[0].lead);
}

static bool first_has_none(void)
{
    return !first_has_successor();
}

static void who_could_not_have_the_address_is_not_waited_for(void **state)
{
    start_two();
    await(first_has_successor);
    node_lead_address_is(nodes[1].lead, false);
    await(first_has_none);
    node_lead_address_is(nodes[1].lead, true);
    await(first_has_successor);
}

/* ---- fences ---- */

static bool is_fenced_once(void)
{
    return status_of(0).fenced == 1;
}

static void a_fence_is_told_to_ha_which_leads_with_a_higher_token(void **state)
{
    char token[TOKEN_TEXT_LEN + 1], after[TOKEN_TEXT_LEN + 1];

    node_start(0);
    await(first_leads);
    token_of(0, token);
    token[TOKEN_TEXT_LEN - 2] = '7'; /* seven times sixteen elections later */
    fence_all(token);
    await(is_fenced_once);
    assert_int_not_equal(role_of(0), ROLE_LEADER);
    assert_true(fenced_scans(0) > 0);
    await(first_leads);
    token_of(0, after);
    assert_true(strcmp(after, token) > 0);
    push(0, 100);
    run(300);
    assert_int_equal(ready_count(0), 1);
}

static unsigned count_of(const char *word, const char *text)
{
    unsigned count = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        count++;
    return count;
}

static bool is_adopted;

static void on_adopted(struct adoption *adoption)
{
    is_adopted = true;
    if (adoption->status == STATUS_OK)
        node_lead_adopted(nodes[0].lead);
}

static bool has_adopted(void)
{
    return is_adopted;
}

static bool nothing_is_refused(void)
{
    return !status_of(0).refused[0];
}

static void another_clusters_store_is_left_alone_until_it_is_adopted(void **state)
{
    struct adoption adoption = {.on_done = on_adopted};

    is_adopted = false;
    fence_all(FOREIGN);
    node_start(0);
    push(0, 100);
    await(is_fenced_once);
    assert_non_null(strstr(status_of(0).refused, "dueqctl fence adopt"));
    run(3 * HA_FENCED_AGAIN_MS);
    assert_int_equal(ready_count(0), 0);
    assert_int_not_equal(role_of(0), ROLE_LEADER);
    assert_int_equal(count_of("fence adopt", read_file("log")), 1);
    assert_int_equal(count_of("this node is fenced", read_file("log")), 1);

    assert_true(node_lead_adopt(nodes[0].lead, &adoption));
    await(has_adopted);
    assert_int_equal(adoption.status, STATUS_OK);
    await(first_leads);
    await(nothing_is_refused);
    assert_int_equal(ready_count(0), 1);
    assert_int_equal(scan_at_store(FOREIGN), STATUS_FENCED);
}

static void nobody_adopts_what_is_its_own(void **state)
{
    struct adoption adoption = {.on_done = on_adopted};

    is_adopted = false;
    node_start(0);
    await(first_leads);
    run(T);
    assert_false(node_lead_adopt(nodes[0].lead, &adoption));
    run(T);
    assert_false(is_adopted);
}

static void nobody_adopts_where_no_leader_is_known(void **state)
{
    struct adoption adoption = {.on_done = on_adopted};

    is_adopted = false;
    fake_ensemble_set_quorum(&ensemble, false);
    node_start(0);
    assert_false(node_lead_adopt(nodes[0].lead, &adoption));
    run(T);
    assert_false(is_adopted);
}

static bool second_has_joined(void)
{
    return role_of(1) == ROLE_STANDBY;
}

static void only_the_leader_adopts_and_only_with_a_lease(void **state)
{
    struct adoption adoption = {.on_done = on_adopted};

    is_adopted = false;
    node_start(0);
    await(first_leads);
    node_start(1);
    await(second_has_joined);
    assert_false(node_lead_adopt(nodes[1].lead, &adoption));
    fake_ensemble_set_quorum(&ensemble, false);
    run(T);
    assert_false(node_lead_adopt(nodes[0].lead, &adoption));
    run(T);
    assert_false(is_adopted);
}

/* ---- the end ---- */

static bool first_is_stopped(void)
{
    return nodes[0].is_stopped;
}

static void a_stop_waits_for_what_the_leader_has_begun(void **state)
{
    start_two();
    memory_store_hold(nodes[0].ms);
    run(200); /* each bucket is being scanned */
    node_stop(0);
    run(100);
    assert_int_equal(role_of(0), ROLE_DRAINING);
    assert_false(nodes[0].is_stopped);
    assert_int_not_equal(role_of(1), ROLE_LEADER);
    memory_store_unhold(nodes[0].ms);
    await(first_is_stopped);
    assert_int_equal(role_of(0), ROLE_OFFLINE);
    assert_int_equal(node_lead_session(nodes[0].lead).session, 0);
    await(second_leads);
}

/* ---- refusals, and the node alone ---- */

static void a_duplicate_is_refused_and_the_owner_told(void **state)
{
    nodes[1].conf.node.id = nodes[0].conf.node.id;
    node_start(0);
    await(first_leads);
    node_start(1);
    run(3 * T);
    assert_non_null(strstr(nodes[1].refused, "another node of the name a"));
    assert_string_equal(nodes[0].refused, "");
    assert_true(first_leads());
}

static void alone_it_leads_at_once_and_without_a_token(void **state)
{
    struct adoption adoption = {.on_done = on_adopted};

    nodes[0].conf.ha.mode = HA_MODE_STANDALONE;
    node_start(0);
    push(0, 100);
    run(200);
    assert_int_equal(ready_count(0), 1);
    assert_int_equal(memory_store_count(nodes[0].ms, OP_FENCE), 0);
    assert_int_equal(node_lead_session(nodes[0].lead).session, 0);
    assert_false(node_lead_is_standalone_fenced(nodes[0].lead));
    assert_false(node_lead_adopt(nodes[0].lead, &adoption));
}

static void alone_it_leaves_a_clusters_store_alone_until_it_is_adopted(void **state)
{
    struct adoption adoption = {.on_done = on_adopted};

    is_adopted = false;
    nodes[0].conf.ha.mode = HA_MODE_STANDALONE;
    fence_all(FOREIGN);
    node_start(0);
    push(0, 100);
    run(3 * HA_FENCED_AGAIN_MS);
    assert_true(node_lead_is_standalone_fenced(nodes[0].lead));
    assert_int_equal(ready_count(0), 0);
    assert_int_equal(count_of("this node is fenced", read_file("log")), 1);

    assert_true(node_lead_adopt(nodes[0].lead, &adoption));
    await(has_adopted);
    assert_false(node_lead_is_standalone_fenced(nodes[0].lead));
    run(100);
    assert_int_equal(ready_count(0), 1);
    run(3 * HA_FENCED_AGAIN_MS);
    assert_false(node_lead_is_standalone_fenced(nodes[0].lead));
    assert_int_equal(scan_at_store(FOREIGN), STATUS_FENCED);
}

/* What no store has answered proves nothing. */
static void alone_it_stays_fenced_while_the_store_is_away(void **state)
{
    nodes[0].conf.ha.mode = HA_MODE_STANDALONE;
    fence_all(FOREIGN);
    node_start(0);
    run(3 * HA_FENCED_AGAIN_MS);
    memory_store_take_down(nodes[0].ms);
    run(3 * HA_FENCED_AGAIN_MS);
    assert_true(node_lead_is_standalone_fenced(nodes[0].lead));
    memory_store_bring_up(nodes[0].ms);
    run(3 * HA_FENCED_AGAIN_MS);
    assert_true(node_lead_is_standalone_fenced(nodes[0].lead));
    assert_int_equal(count_of("this node does", read_file("log")), 0);
}

/* ---- leases with a check ---- */

/* Where the store is older than its key: in the middle of an upgrade, perhaps. */
static void begin_an_upgrade(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        const struct queue_options options = {.lease_check = QUEUE_LEASE_CHECK_AUTO,
                                              .scan_batch = 10,
                                              .scan_interval_ms = 100,
                                              .lock_ms = LOCK_MS};

        queue_reload(nodes[i].queue, &options);
        memory_store_port(nodes[i].ms)->lease_key.has_bare = true;
    }
}

static bool hands_out_checks(unsigned i)
{
    const struct pop no_jobs = {.job_count = 0};

    return queue_lease_checks(nodes[i].queue, &no_jobs, NULL);
}

static bool do_both_hand_out_checks(void)
{
    return hands_out_checks(0) && hands_out_checks(1);
}

static bool does_none_hand_out_checks(void)
{
    return !hands_out_checks(0) && !hands_out_checks(1);
}

static void node_of_an_older_version(enum coord_change_kind kind)
{
    const struct coord_change change = {.kind = kind,
                                        .path = "/dueq/main/nodes/old",
                                        .data = BYTES("node old\nversion 0.0.1\n"),
                                        .version = -1};
    unsigned failed;

    assert_int_equal(fake_tree_write(&ensemble.tree, &change, 1, 0, &failed), COORD_OK);
}

static void checks_are_handed_out_once_all_nodes_can_read_them(void **state)
{
    begin_an_upgrade();
    node_start(0);
    assert_false(hands_out_checks(0)); /* it knows of no other node yet */
    await(first_leads);
    node_start(1);
    await(do_both_hand_out_checks);
    node_of_an_older_version(COORD_CREATE);
    await(does_none_hand_out_checks);
    run(T); /* it is a member by now */
    node_of_an_older_version(COORD_DELETE);
    run(T);
    assert_true(does_none_hand_out_checks()); /* it may come back as it was */
}

static void alone_it_hands_out_checks_at_once(void **state)
{
    nodes[0].conf.ha.mode = HA_MODE_STANDALONE;
    begin_an_upgrade();
    node_start(0);
    assert_true(hands_out_checks(0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_leader_moves_jobs_with_its_token),
        TEST(a_standby_moves_none),
        TEST(a_lease_that_is_over_ends_its_scans_before_another_node_leads),
        TEST(a_node_whose_store_is_away_gives_the_lead_away),
        TEST(who_could_not_have_the_address_is_not_waited_for),
        TEST(a_fence_is_told_to_ha_which_leads_with_a_higher_token),
        TEST(another_clusters_store_is_left_alone_until_it_is_adopted),
        TEST(nobody_adopts_what_is_its_own),
        TEST(nobody_adopts_where_no_leader_is_known),
        TEST(only_the_leader_adopts_and_only_with_a_lease),
        TEST(a_stop_waits_for_what_the_leader_has_begun),
        TEST(a_duplicate_is_refused_and_the_owner_told),
        TEST(alone_it_leads_at_once_and_without_a_token),
        TEST(alone_it_leaves_a_clusters_store_alone_until_it_is_adopted),
        TEST(alone_it_stays_fenced_while_the_store_is_away),
        TEST(checks_are_handed_out_once_all_nodes_can_read_them),
        TEST(alone_it_hands_out_checks_at_once),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
