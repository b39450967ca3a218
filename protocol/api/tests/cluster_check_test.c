#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "protocol/api/cluster_check.h"

#define NODE(its_name)                                                              \
    {                                                                               \
        .name = (its_name), .version = "1.0.0", .is_here = true, .is_member = true, \
        .is_store_up = true                                                         \
    }

struct setting {
    struct cluster_status status;
    struct cluster_node nodes[3];
    struct cluster_report report;
};

/* Three nodes, a leads, and nothing is wrong. */
static struct setting good(void)
{
    return (struct setting){
        .status = {.node = "b",
                   .leader = "a",
                   .refused = "",
                   .session = "connected",
                   .session_why = "",
                   .server = "z:2181",
                   .wanted = "",
                   .paused_by = "",
                   .asked_ms = 2000,
                   .granted_ms = 2000,
                   .tick_ms = 500,
                   .node_count = 3,
                   .peers_up = 2},
        .nodes = {NODE("a"), NODE("b"), NODE("c")},
    };
}

static void check(struct setting *s)
{
    s->status.nodes = s->nodes;
    cluster_check(&s->status, &s->report);
}

static const struct cluster_finding *finding(const struct setting *s, const char *part)
{
    for (unsigned i = 0; i < s->report.count; i++)
        if (strstr(s->report.at[i].text, part))
            return &s->report.at[i];
    fail_msg("nothing found with '%s'", part);
    return NULL;
}

static void assert_error(struct setting *s, const char *part)
{
    check(s);
    assert_true(finding(s, part)->is_error);
    assert_true(finding(s, part)->advice[0] != '\0');
    assert_false(s->report.can_fail_over);
}

static void assert_warning(struct setting *s, const char *part)
{
    check(s);
    assert_false(finding(s, part)->is_error);
    assert_true(s->report.can_fail_over);
}

static void finds_nothing_where_nothing_is_wrong(void **state)
{
    struct setting s = good();

    check(&s);
    assert_int_equal(s.report.count, 0);
    assert_true(s.report.can_fail_over);
}

static void a_node_alone_has_no_successor(void **state)
{
    struct cluster_report report;

    cluster_check_alone("", &report);
    assert_false(report.can_fail_over);
    assert_int_equal(report.count, 1);
}

static void a_node_alone_that_is_fenced_says_so(void **state)
{
    struct cluster_report report;

    cluster_check_alone("a cluster's leader moves the jobs", &report);
    assert_false(report.can_fail_over);
    assert_int_equal(report.count, 2);
    assert_true(report.at[0].is_error);
    assert_non_null(strstr(report.at[0].text, "fenced"));
    assert_non_null(strstr(report.at[0].text, "a cluster's leader moves the jobs"));
}

static struct vip_status vip_of(const char *state, bool is_here)
{
    return (struct vip_status){.addresses = "10.0.0.100",
                               .state = state,
                               .is_here = is_here,
                               .interface = "eth0",
                               .why = "",
                               .conflict = ""};
}

static void a_virtual_address_that_is_where_it_belongs_is_fine(void **state)
{
    static const char *const states[] = {"away", "held", "leaving"};

    for (unsigned i = 0; i < 3; i++) {
        struct vip_status vip = vip_of(states[i], i > 0);
        struct setting s = good();

        s.status.vip = &vip;
        check(&s);
        assert_int_equal(s.report.count, 0);
    }
}

static void a_leader_without_the_virtual_address_and_who_could_not_take_it(void **state)
{
    struct vip_status vip = vip_of("held", false);
    struct setting s = good();

    s.status.vip = &vip;
    vip.why = "eth0 is down";
    assert_error(&s, "this node leads, and does not have the virtual address: eth0");
    vip.state = "away";
    assert_error(&s, "this node could not take the virtual address: eth0 is down");
    vip.state = "leaving";
    check(&s);
    assert_int_equal(s.report.count, 0);
}

static void who_could_not_have_the_virtual_address(void **state)
{
    struct setting s = good();

    s.nodes[2].is_address_away = true;
    assert_warning(&s, "c could not have the virtual address");
}

static void another_host_with_the_virtual_address(void **state)
{
    struct vip_status vip = vip_of("held", true);
    struct setting s = good();

    s.status.vip = &vip;
    vip.conflict = "02:42:ac:1e:00:0b";
    assert_warning(&s, "another host has the virtual address (10.0.0.100), too: 02:42:ac");
}

static void names_the_nodes_that_never_lead_by_themselves(void **state)
{
    struct setting s = good();

    s.nodes[1].no_failover = true;
    check(&s);
    assert_int_equal(s.report.count, 0); /* c could */
    s.nodes[2].no_failover = true;
    s.nodes[0].no_failover = true; /* leads */
    assert_error(&s, "b is set to ha.no_failover");
    assert_error(&s, "c is set to ha.no_failover");
    assert_int_equal(s.report.count, 3);
}

static void a_successor_has_all_that_it_needs(void **state)
{
    struct setting s = good();

    s.nodes[1].is_store_up = false;
    assert_warning(&s, "the Redis of b");
    s.nodes[2].no_failover = true;
    assert_error(&s, "no other node could lead");
    s = good();
    s.nodes[1].is_here = false;
    s.nodes[2].is_member = false;
    assert_error(&s, "no other node could lead");
    finding(&s, "b is a member, and not here");
    finding(&s, "c is no member yet");
}

static void the_leader_is_no_successor_of_itself(void **state)
{
    struct setting s = good();

    s.status.node_count = 1;
    assert_error(&s, "no other node could lead");
}

static void a_pause_keeps_everybody_from_standing(void **state)
{
    struct setting s = good();

    s.status.is_paused = true;
    assert_error(&s, "paused");
    assert_non_null(strstr(finding(&s, "paused")->advice, "dueqctl cluster resume"));
    s.status.paused_by = "c";
    s.status.now_wall_ms = 1900000000000;
    s.status.paused_at_wall_ms = s.status.now_wall_ms + 3000; /* by another clock */
    assert_error(&s, "paused, for 0 min 0 s now (asked of c)");
    s.status.paused_at_wall_ms = s.status.now_wall_ms - 3599000;
    assert_error(&s, "paused, for 59 min 59 s now");
    s.status.paused_at_wall_ms = s.status.now_wall_ms - 86399000;
    assert_error(&s, "paused, for 23 h 59 min now");
    s.status.paused_at_wall_ms = s.status.now_wall_ms - 3 * 86400000 - 7200000;
    assert_error(&s, "paused, for 3 d 2 h now");
}

static void tells_of_zookeeper(void **state)
{
    struct setting s = good();

    s.status.granted_ms = 4000;
    assert_warning(&s, "4000 ms, not the 2000 ms");
    s = good();
    s.status.session = "connecting";
    s.status.session_why = "connection refused";
    assert_error(&s, "(connecting: connection refused)");
    s = good();
    s.status.refused = "another node is called a";
    assert_error(&s, "another node is called a");
}

static void tells_of_other_nodes_that_it_is_not_connected_with(void **state)
{
    struct setting s = good();

    s.status.peers_up = 1;
    assert_warning(&s, "connected with 1 of 2 other nodes");
    s.nodes[2].is_here = false;
    check(&s);
    assert_int_equal(s.report.count, 1);
    finding(&s, "c is a member, and not here");
}

static void tells_that_nobody_leads(void **state)
{
    struct setting s = good();

    s.status.leader = "";
    s.status.leaderless_ms = 1234;
    assert_error(&s, "no node leads, for 1234 ms");
}

static void assert_advice(const struct setting *s, const char *text, const char *advice)
{
    assert_non_null(strstr(finding(s, text)->advice, advice));
}

/* As stock servers, which are asked for it with a word that is not in their list. */
static void a_tick_that_is_not_told_is_said_with_the_line_for_zoo_cfg(void **state)
{
    static const char text[] = "ZooKeeper (z:2181) does not tell its tickTime";
    struct setting s = good();

    s.status.tick_ms = 0;
    assert_warning(&s, text);
    assert_non_null(strstr(finding(&s, text)->text, "2000 ms is less than four ticks"));
    assert_advice(&s, text, "4lw.commands.whitelist=srvr,conf into zoo.cfg of each server");
    assert_advice(&s, text, "tickTime is 500 or less");
    s.status.granted_ms = s.status.asked_ms = 60000; /* the longest */
    check(&s);
    assert_advice(&s, text, "restart one server after another");
    s.status.session = "connecting"; /* what is known of it is old */
    check(&s);
    for (unsigned i = 0; i < s.report.count; i++)
        assert_null(strstr(s.report.at[i].text, "tickTime"));
}

/* Told only after the session had begun: nodes that run go on. */
static void a_tick_that_is_too_long_is_said(void **state)
{
    static const char text[] = "tickTime of 501 ms is more than a quarter";
    struct setting s = good();

    s.status.tick_ms = 501;
    assert_warning(&s, text);
    assert_advice(&s, text, "tickTime to 500 or less, or ha.session_timeout to 2004 ms");
}

static void tells_what_is_not_known(void **state)
{
    struct setting s = good();

    s.status.leader = "";
    s.status.stale_ms = 5000;
    s.status.leaderless_ms = 6000;
    assert_error(&s, "who leads is not known here; a leader was last seen 6000 ms ago");
    s = good();
    s.status.leaderless_ms = 2000; /* a beat that was late */
    check(&s);
    assert_int_equal(s.report.count, 0);
    s.status.leaderless_ms = 2001;
    assert_error(&s, "a holds the lead and has not proven its lease for 2001 ms");
}

static void tells_of_a_leader_that_redis_refuses(void **state)
{
    struct setting s = good();

    s.nodes[0].is_fenced = true;
    s.status.node = "b";
    s.status.leaderless_ms = 60000; /* and no other leader would mend that */
    assert_error(&s, "a leads, but Redis follows another ZooKeeper ensemble");
    assert_int_equal(s.report.count, 1);
}

static void tells_of_a_switchover_to_come(void **state)
{
    struct setting s = good();

    s.status.wanted = "b";
    s.status.now_wall_ms = 1900000000000;
    s.status.wanted_at_wall_ms = s.status.now_wall_ms + 125000;
    assert_warning(&s, "planned (to b), in 2 min 5 s");
    assert_non_null(strstr(finding(&s, "planned")->advice, "switchover --cancel"));
    s.status.wanted_at_wall_ms = 0;
    assert_warning(&s, "an operator wants another leader (b)");
    s.status.wanted = "*";
    assert_warning(&s, "an operator wants another leader (any other node)");
}

static void advises_to_end_a_pause_that_leaves_nobody(void **state)
{
    struct setting s = good();

    s.status.leader = "";
    s.status.is_paused = true;
    assert_error(&s, "no node leads");
    assert_non_null(strstr(finding(&s, "no node leads")->advice, "cluster resume"));
}

static void what_is_grave_comes_first(void **state)
{
    struct setting s = good();

    s.status.granted_ms = 4000;
    s.nodes[2].version = "2.0.0";
    s.status.is_paused = true;
    s.status.is_flapping = true;
    s.status.wanted = "b";
    check(&s);
    assert_int_equal(s.report.count, 5);
    assert_true(s.report.at[0].is_error);
    for (unsigned i = 1; i < s.report.count; i++)
        assert_false(s.report.at[i].is_error);
    finding(&s, "1.0.0 and 2.0.0");
}

static void does_not_overflow(void **state)
{
    static struct cluster_node nodes[CLUSTER_FINDINGS_MAX + 5];
    struct setting s = good();

    for (unsigned i = 0; i < CLUSTER_FINDINGS_MAX + 5; i++)
        nodes[i] = (struct cluster_node){.name = "x", .version = ""};
    s.status.nodes = nodes;
    s.status.node_count = CLUSTER_FINDINGS_MAX + 5;
    cluster_check(&s.status, &s.report);
    assert_int_equal(s.report.count, CLUSTER_FINDINGS_MAX - CLUSTER_FINDINGS_STORE);
    assert_true(s.report.at[0].is_error);
}

static void nodes_that_err_leave_room_for_the_store(void **state)
{
    static struct cluster_node nodes[CLUSTER_FINDINGS_MAX];
    static const struct store_unreached unreached[] = {{3, "a", "refused"}};
    struct store_numbers store = {.unreached = unreached, .unreached_count = 1};
    struct setting s = good();

    for (unsigned i = 0; i < CLUSTER_FINDINGS_MAX; i++)
        nodes[i] = (struct cluster_node){.name = "x", .version = ""};
    s.status.nodes = nodes;
    s.status.node_count = CLUSTER_FINDINGS_MAX;
    cluster_check(&s.status, &s.report);
    cluster_check_store(&store, &s.report);
    finding(&s, "the topics of bucket 3 stand still");
}

static void names_every_bucket_and_shows_where_a_text_was_cut(void **state)
{
    struct store_unreached unreached[STORE_BUCKETS_MAX];
    struct store_numbers store = {.unreached = unreached};
    char why[1000];
    struct setting s = good();
    size_t len;

    memset(why, 'x', sizeof(why));
    why[100] = '\0';
    for (unsigned b = 0; b < STORE_BUCKETS_MAX; b++)
        if (b % 3)
            unreached[store.unreached_count++] =
                (struct store_unreached){b, "10.0.0.2:7001", why};
    cluster_check_store(&store, &s.report);
    finding(&s, "124 to 125, 127 stand still");
    why[100] = 'x';
    why[sizeof(why) - 1] = '\0';
    s.report.count = 0;
    cluster_check_store(&store, &s.report);
    len = strlen(s.report.at[0].text);
    assert_string_equal(s.report.at[0].text + len - 4, "x...");
}

static void a_weak_store_is_worth_a_word_and_hinders_no_failover(void **state)
{
    struct setting s = good();
    struct store_numbers store = {
        .weak = {{"fsync", "it is early", "make it late", true},
                 {"no_aof", "there is no file", "make one", false}},
        .weak_count = 2,
    };

    check(&s);
    cluster_check_store(&store, &s.report);
    assert_int_equal(s.report.count, 1);
    assert_false(finding(&s, "it is early")->is_error);
    assert_string_equal(s.report.at[0].advice, "make it late");
    assert_true(s.report.can_fail_over);
}

static void buckets_that_are_not_reached_are_told_once_for_each_reason(void **state)
{
    static const struct store_unreached unreached[] = {
        {3, "10.0.0.2:7001", "Connection refused"},
        {7, "10.0.0.2:7001", "Connection refused"},
        {8, "", "nobody has its slot"},
    };
    const struct store_numbers store = {.unreached = unreached, .unreached_count = 3};
    struct setting s = good();

    check(&s);
    cluster_check_store(&store, &s.report);
    assert_int_equal(s.report.count, 2);
    assert_string_equal(s.report.at[0].text, "10.0.0.2:7001: Connection refused; the topics of "
                                             "buckets 3, 7 stand still");
    assert_string_equal(s.report.at[1].text,
                        "nobody has its slot; the topics of bucket 8 stand still");
    assert_non_null(strstr(s.report.at[1].advice, "redis-cli --cluster check"));
    assert_false(s.report.at[0].is_error);
    assert_true(s.report.can_fail_over);
}

static void buckets_that_are_all_there_are_need_no_numbers(void **state)
{
    static const struct store_unreached away[] = {{0, "a:1", "refused"}, {1, "a:1", "refused"}},
                                        nowhere[] = {{0, "", "nobody has its slot"},
                                                     {1, "", "nobody has its slot"}};
    struct store_master masters[] = {{.address = "a:1", .buckets = 2},
                                     {.address = "b:1", .buckets = 0}};
    struct store_numbers store = {.unreached = away, .unreached_count = 2};
    struct setting s = good();

    store.masters = masters;
    store.master_count = 2;
    cluster_check_store(&store, &s.report);
    assert_string_equal(s.report.at[0].text, "a:1: refused; all topics stand still");
    masters[1].buckets = 1;
    cluster_check_store(&store, &s.report);
    finding(&s, "the topics of buckets 0 to 1 stand still");
    store.unreached = nowhere;
    cluster_check_store(&store, &s.report);
    finding(&s, "nobody has its slot; the topics of buckets 0 to 1 stand still");
    store.master_count = 0;
    cluster_check_store(&store, &s.report);
    finding(&s, "nobody has its slot; all topics stand still");
}

/* ---- cluster mode ---- */

static struct setting good_sharing(void)
{
    struct setting s = good();

    for (unsigned i = 0; i < 3; i++) {
        s.nodes[i].mode = "cluster";
        s.nodes[i].is_scanning = true;
    }
    s.status.is_sharing = true;
    s.status.view = 7;
    s.status.scanners = 3;
    return s;
}

static void finds_nothing_where_every_node_scans(void **state)
{
    struct setting s = good_sharing();

    check(&s);
    assert_int_equal(s.report.count, 0);
}

static void every_node_whose_redis_answers_is_to_scan(void **state)
{
    struct setting s = good_sharing();

    s.nodes[2].is_scanning = false;
    assert_warning(&s, "c is here and does not scan");
    s.nodes[2].is_store_up = false;
    check(&s);
    assert_int_equal(s.report.count, 1);
    assert_warning(&s, "the Redis of c does not answer");
    s = good_sharing();
    s.nodes[2].is_here = false;
    assert_warning(&s, "c is listed as scanning, and is not here");
}

static void a_view_that_names_nobody_or_was_never_seen(void **state)
{
    struct setting s = good_sharing();

    s.status.scanners = 0;
    assert_warning(&s, "no node is listed as scanning");
    s.status.view = 0;
    assert_warning(&s, "has not seen yet who scans");
}

static void a_view_without_anybody_whose_redis_answers_moves_nothing(void **state)
{
    struct setting s = good_sharing();

    s.status.scanners = 0;
    for (unsigned i = 0; i < 3; i++) {
        s.nodes[i].is_scanning = false;
        s.nodes[i].is_store_up = i == 2;
    }
    assert_warning(&s, "due jobs come a second late");
    s.nodes[2].is_store_up = false;
    check(&s);
    assert_non_null(finding(&s, "no node reaches its Redis: due jobs stand still"));
    for (unsigned i = 0; i < s.report.count; i++)
        assert_null(strstr(s.report.at[i].text, "a second late"));
}

static void nodes_of_both_modes_are_worth_a_word_at_either(void **state)
{
    struct setting s = good_sharing();

    s.nodes[1].mode = "standby";
    s.nodes[1].is_scanning = false;
    assert_warning(&s, "a is set to ha.mode: cluster, b to standby");
    assert_int_equal(s.report.count, 1);
    s.status.is_sharing = false;
    assert_warning(&s, "a is set to ha.mode: cluster, b to standby");
    s.nodes[1].is_here = false;
    check(&s);
    assert_int_equal(s.report.count, 1);
    assert_warning(&s, "b is a member, and not here");
    s.nodes[1].is_here = true;
    s.nodes[1].mode = ""; /* of a version that does not say */
    check(&s);
    assert_int_equal(s.report.count, 0);
}

static void without_a_leader_due_jobs_are_moved_all_the_same(void **state)
{
    struct setting s = good_sharing();

    s.status.leader = "";
    assert_error(&s, "due jobs are moved all the same");
    s.status.is_sharing = false;
    assert_error(&s, "due jobs stand still");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_where_nothing_is_wrong),
        cmocka_unit_test(a_node_alone_has_no_successor),
        cmocka_unit_test(a_node_alone_that_is_fenced_says_so),
        cmocka_unit_test(a_virtual_address_that_is_where_it_belongs_is_fine),
        cmocka_unit_test(a_leader_without_the_virtual_address_and_who_could_not_take_it),
        cmocka_unit_test(who_could_not_have_the_virtual_address),
        cmocka_unit_test(another_host_with_the_virtual_address),
        cmocka_unit_test(names_the_nodes_that_never_lead_by_themselves),
        cmocka_unit_test(a_successor_has_all_that_it_needs),
        cmocka_unit_test(the_leader_is_no_successor_of_itself),
        cmocka_unit_test(a_pause_keeps_everybody_from_standing),
        cmocka_unit_test(tells_of_zookeeper),
        cmocka_unit_test(tells_of_other_nodes_that_it_is_not_connected_with),
        cmocka_unit_test(tells_that_nobody_leads),
        cmocka_unit_test(a_tick_that_is_not_told_is_said_with_the_line_for_zoo_cfg),
        cmocka_unit_test(a_tick_that_is_too_long_is_said),
        cmocka_unit_test(tells_what_is_not_known),
        cmocka_unit_test(tells_of_a_leader_that_redis_refuses),
        cmocka_unit_test(tells_of_a_switchover_to_come),
        cmocka_unit_test(advises_to_end_a_pause_that_leaves_nobody),
        cmocka_unit_test(what_is_grave_comes_first),
        cmocka_unit_test(does_not_overflow),
        cmocka_unit_test(nodes_that_err_leave_room_for_the_store),
        cmocka_unit_test(names_every_bucket_and_shows_where_a_text_was_cut),
        cmocka_unit_test(buckets_that_are_all_there_are_need_no_numbers),
        cmocka_unit_test(a_weak_store_is_worth_a_word_and_hinders_no_failover),
        cmocka_unit_test(buckets_that_are_not_reached_are_told_once_for_each_reason),
        cmocka_unit_test(finds_nothing_where_every_node_scans),
        cmocka_unit_test(every_node_whose_redis_answers_is_to_scan),
        cmocka_unit_test(a_view_that_names_nobody_or_was_never_seen),
        cmocka_unit_test(a_view_without_anybody_whose_redis_answers_moves_nothing),
        cmocka_unit_test(nodes_of_both_modes_are_worth_a_word_at_either),
        cmocka_unit_test(without_a_leader_due_jobs_are_moved_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
