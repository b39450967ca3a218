#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"
#include "protocol/http/server.h"

/* A cluster of two that takes requests down, and answers in the loop's next turn. */
struct pair {
    struct fixture *f;
    struct cluster_port port;
    struct cluster_status status;
    struct cluster_node nodes[2];
    struct cluster_change change;
    struct cluster_count count;
    bool is_standalone;
    struct cluster_command *asked;
    struct timer answer;
    enum cluster_request request;
    char to[80];
    int64_t at_wall_ms;
    enum status status_of_answer;
    const char *why;
};

static struct pair *pair;

static bool read_status(void *arg, struct cluster_status *status)
{
    *status = pair->status;
    return !pair->is_standalone;
}

static void on_answer(struct timer *timer)
{
    struct cluster_command *c = pair->asked;

    pair->asked = NULL;
    c->status = pair->status_of_answer;
    c->why = pair->why;
    c->on_done(c);
}

static void submit(void *arg, struct cluster_command *command)
{
    assert_null(pair->asked);
    pair->asked = command;
    pair->request = command->request;
    snprintf(pair->to, sizeof(pair->to), "%s", command->to);
    pair->at_wall_ms = command->at_wall_ms;
    timer_arm(&pair->f->loop->timers, &pair->answer, 0);
}

static void fill(struct pair *p)
{
    p->nodes[0] = (struct cluster_node){"a",
                                        "1.0.0",
                                        "a:1",
                                        "a:2",
                                        "a:4",
                                        "a:3",
                                        50,
                                        .is_here = true,
                                        .is_member = true,
                                        .is_store_up = true,
                                        .mode = "standby"};
    p->nodes[1] = (struct cluster_node){"b", "", "", "", "", "", 0, .is_member = true};
    p->change = (struct cluster_change){1900000000000, "a", "elected", 7, -1};
    p->count = (struct cluster_count){"leader", "elected", 3};
    p->status = (struct cluster_status){
        .node = "a",
        .role = "leader",
        .reason = "elected",
        .role_age_ms = 5000,
        .may_act = true,
        .token = "0f:7",
        .lease_left_ms = 900,
        .leader = "a",
        .leader_epoch = 7,
        .paused_by = "",
        .wanted = "",
        .refused = "",
        .session = "connected",
        .server = "127.0.0.1:2181",
        .session_why = "",
        .asked_ms = 2000,
        .granted_ms = 2000,
        .tick_ms = 500,
        .nodes = p->nodes,
        .node_count = 2,
        .changes = &p->change,
        .change_count = 1,
        .counts = &p->count,
        .count_count = 1,
        .sessions = 1,
        .without_leader_total_ms = 1500,
        .last_failover_ms = 12,
    };
}

static int pair_up(void **state)
{
    int failed = fixture_up(state);

    pair = calloc(1, sizeof(*pair));
    assert_non_null(pair);
    pair->f = *state;
    pair->port = (struct cluster_port){.read = read_status, .submit = submit};
    timer_init(&pair->answer, on_answer);
    fill(pair);
    pair->f->api.node.cluster = &pair->port;
    pair->f->api.node.name = "a";
    return failed;
}

static int pair_down(void **state)
{
    int failed = fixture_down(state);

    free(pair);
    return failed;
}

static void assert_member(const char *reply, const char *member)
{
    assert_has(json_of(reply), member);
}

/* ---- looking ---- */

static void tells_all_of_the_cluster(void **state)
{
    const char *reply = call(*state, "GET", "/v1/cluster", NULL);

    assert_reply(
        reply, 200,
        "{\"mode\":\"standby\",\"node\":\"a\",\"role\":\"leader\",\"reason\":\"elected\","
        "\"role_age_ms\":5000,\"may_act\":true,\"token\":\"0f:7\",\"lease_left_ms\":900,"
        "\"failsafe\":false,\"refused\":null,\"leader\":\"a\",\"leader_epoch\":7,"
        "\"leaderless_ms\":0,\"stale_ms\":0,\"paused\":false,\"paused_by\":null,"
        "\"paused_at_ms\":null,\"wanted\":null,\"wanted_at_ms\":null,"
        "\"forced\":false,\"flapping\":false,\"sharing\":null,\"vip\":null,\"zookeeper\":{"
        "\"session\":"
        "\"connected\","
        "\"server\":\"127.0.0.1:2181\",\"why\":null,\"asked_ms\":2000,\"granted_ms\":2000,"
        "\"tick_ms\":500,\"sessions\":1,\"reconnects\":0},\"nodes\":[{\"name\":\"a\",\"here\":"
        "true,"
        "\"member\":true,\"store_up\":true,\"address_away\":false,\"fenced\":false,"
        "\"mode\":\"standby\",\"scanning\":false,\"priority\":50,"
        "\"no_failover\":false,\"version\":\"1.0.0\",\"http\":\"a:2\",\"gmq\":\"a:1\","
        "\"admin\":\"a:4\",\"peer\":\"a:3\"},"
        "{\"name\":\"b\",\"here\":false,\"member\":true,\"store_up\":false,\"address_away\":"
        "false,\"fenced\":false,\"mode\":null,\"scanning\":false,"
        "\"priority\":0,\"no_failover\":false,\"version\":null,\"http\":null,\"gmq\":null,"
        "\"admin\":null,\"peer\":null}],"
        "\"history\":[{\"at_ms\":1900000000000,\"node\":\"a\",\"reason\":\"elected\","
        "\"epoch\":7,\"without_leader_ms\":null}],\"since_start\":{\"elections_lost\":0,"
        "\"fenced\":0,\"peer_deaths\":0,\"without_leader_total_ms\":1500,"
        "\"last_failover_ms\":12},\"can_fail_over\":false,\"check\":["
        "{\"level\":\"error\",\"message\":\"no other node could lead now\",\"advice\":"
        "\"start another node, or mend what is said of those that are there\"},"
        "{\"level\":\"warning\",\"message\":\"b is a member, and not here\",\"advice\":"
        "\"start it; or 'dueqctl forget NODE', when it will not come back\"}]}");
}

static void tells_who_scans_in_cluster_mode(void **state)
{
    const char *reply;

    pair->status.is_sharing = true;
    pair->status.view = 4294967303;
    pair->status.scanners = 1;
    pair->status.shares = 1024;
    pair->status.own_shares = 1000;
    pair->nodes[0].mode = "cluster";
    pair->nodes[0].is_scanning = true;
    reply = call(*state, "GET", "/v1/cluster", NULL);
    assert_starts(json_of(reply), "{\"mode\":\"cluster\",\"node\":\"a\",");
    assert_member(reply, "\"sharing\":{\"view\":4294967303,\"scanners\":1,\"shares\":1024,"
                         "\"own_shares\":1000}");
    assert_member(reply, "\"mode\":\"cluster\",\"scanning\":true,\"priority\":50");
    reply = call(*state, "GET", "/v1/status", NULL);
    assert_member(reply, "\"cluster\":{\"mode\":\"cluster\",\"leader\":\"a\"");
    assert_member(reply, "\"sharing\":{\"view\":4294967303,");
}

static void a_node_alone_says_so(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    pair->is_standalone = true;
    reply = call(f, "GET", "/v1/cluster", NULL);
    assert_starts(json_of(reply), "{\"mode\":\"standalone\",\"node\":\"a\",\"role\":\"leader\","
                                  "\"refused\":null,\"can_fail_over\":false,");
    pair->status = (struct cluster_status){.refused = "fenced"};
    assert_member(call(f, "GET", "/v1/cluster", NULL), "\"refused\":\"fenced\"");
    assert_error(call(f, "GET", "/health/leader", NULL), 503, "not_ready");
    f->api.node.cluster = NULL;
    reply = call(f, "POST", "/v1/cluster/switchover", NULL);
    assert_error(reply, 409, "wrong_state");
    assert_has(reply, "ha.mode");
    assert_starts(call(f, "GET", "/health/leader", NULL), "HTTP/1.1 200 ");
    assert_error(call(f, "GET", "/health/standby", NULL), 503, "not_ready");
}

static void a_node_alone_that_is_fenced_leads_nowhere(void **state)
{
    const char *reply;

    pair->is_standalone = true;
    pair->status = (struct cluster_status){.refused = "fenced by c", .fenced = 3};
    reply = call(*state, "GET", "/v1/cluster", NULL);
    assert_member(reply, "\"role\":\"offline\"");
    assert_has(reply, "this node is fenced, and does not lead: fenced by c");
    reply = call(*state, "GET", "/health/leader", NULL);
    assert_error(reply, 503, "not_ready");
    assert_has(reply, "this node is no leader now: fenced by c");
    assert_member(call(*state, "GET", "/v1/status", NULL), "\"role\":\"offline\"");
    reply = call(*state, "GET", "/metrics", NULL);
    assert_has(reply, "\ndueq_role{role=\"offline\"} 1\n");
    assert_has(reply, "\ndueq_role{role=\"leader\"} 0\n");
    assert_has(reply, "\ndueq_fenced_total 3\n");
}

static void assert_no_standby(struct fixture *f, const char *why)
{
    const char *reply = call(f, "GET", "/health/standby", NULL);

    assert_error(reply, 503, "not_ready");
    assert_has(reply, why);
}

static void health_tells_who_leads(void **state)
{
    assert_starts(call(*state, "GET", "/health/leader", NULL), "HTTP/1.1 200 ");
    assert_error(call(*state, "GET", "/health/standby", NULL), 503, "not_ready");
    pair->status.may_act = false; /* its lease is over */
    assert_error(call(*state, "GET", "/health/leader", NULL), 503, "not_ready");
    pair->status.role = "standby";
    assert_starts(call(*state, "GET", "/health/standby", NULL), "HTTP/1.1 200 ");
    pair->status.role = "offline";
    assert_error(call(*state, "GET", "/health/standby", NULL), 503, "not_ready");
    pair->status.role = "standby";
    assert_starts(call(*state, "GET", "/health/standby", NULL), "HTTP/1.1 200 ");
    assert_starts(call(*state, "GET", "/health/ready", NULL), "HTTP/1.1 200 ");
}

static void a_standby_that_would_not_take_over_is_none(void **state)
{
    struct cluster_node *own = &pair->nodes[0];

    pair->status.role = "standby";
    pair->status.is_paused = true;
    assert_no_standby(*state, "paused");
    pair->status.is_paused = false;
    pair->status.refused = "Redis follows another ensemble";
    assert_no_standby(*state, "another ensemble");
    pair->status.refused = "";
    own->no_failover = true;
    assert_no_standby(*state, "ha.no_failover");
    own->no_failover = own->is_member = false;
    assert_no_standby(*state, "no member");
    own->is_member = own->is_address_away = true;
    assert_no_standby(*state, "the virtual address");
    own->is_address_away = false;
    assert_starts(call(*state, "GET", "/health/standby", NULL), "HTTP/1.1 200 ");
}

static void a_standby_without_its_store_is_none(void **state)
{
    struct fixture *f = *state;

    pair->status.role = "standby";
    f->why_not_ready = "the store is away";
    assert_error(call(f, "GET", "/health/standby", NULL), 503, "not_ready");
}

static void status_and_metrics_tell_the_role(void **state)
{
    const char *reply;

    pair->status.role = "standby";
    pair->nodes[1].is_here = true; /* and not connected */
    reply = call(*state, "GET", "/v1/status", NULL);
    assert_member(reply, "\"role\":\"standby\"");
    assert_member(reply,
                  "\"cluster\":{\"mode\":\"standby\",\"leader\":\"a\",\"leader_epoch\":7,");
    reply = call(*state, "GET", "/metrics", NULL);
    assert_has(reply, "\ndueq_role{role=\"standby\"} 1\n");
    assert_has(reply, "\ndueq_role{role=\"leader\"} 0\n");
    assert_has(reply, "\ndueq_role_changes_total{role=\"leader\",reason=\"elected\"} 3\n");
    assert_has(reply, "\ndueq_without_leader_seconds_total 1.500\n");
    assert_has(reply, "\ndueq_last_failover_seconds 0.012\n");
    assert_has(reply, "\ndueq_zookeeper_session{state=\"connected\"} 1\n");
    assert_has(reply, "\ndueq_failover_paused 0\n");
    assert_has(reply, "\ndueq_peers_connected 0\n");
    assert_has(reply, "\ndueq_peers_missing 1\n");
    pair->status.peers_up = 1;
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_peers_missing 0\n");
    assert_has(reply, "\ndueq_without_zookeeper_seconds 0.000\n");
}

static void the_virtual_address_is_told_everywhere(void **state)
{
    struct vip_status vip = {
        .addresses = "10.0.0.100",
        .state = "held",
        .interface = "eth0",
        .is_here = true,
        .is_possible = true,
        .why = "",
        .conflict = "",
        .taken = 2,
        .announcements = 9,
    };

    assert_member(call(*state, "GET", "/v1/status", NULL), "\"vip\":null,");
    assert_null(strstr(call(*state, "GET", "/metrics", NULL), "\ndueq_vip_held "));
    pair->status.vip = &vip;
    assert_member(call(*state, "GET", "/v1/cluster", NULL),
                  "\"vip\":{\"address\":\"10.0.0.100\",\"state\":\"held\",\"here\":true,"
                  "\"interface\":\"eth0\",\"why\":null,\"conflict\":null,\"taken\":2,"
                  "\"restored\":0,\"announcements\":9,\"conflicts\":0,\"failures\":0},");
    assert_member(call(*state, "GET", "/v1/status", NULL),
                  "\"vip\":{\"address\":\"10.0.0.100\",\"state\":\"held\",\"here\":true,"
                  "\"interface\":\"eth0\",\"why\":null,\"conflict\":null},");
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_vip_held 1\n");
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_vip_possible 1\n");
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_vip_announcements_total 9\n");
    vip.is_here = vip.is_possible = false;
    vip.why = "eth0 is down";
    assert_member(call(*state, "GET", "/v1/cluster", NULL), "\"why\":\"eth0 is down\"");
    assert_member(call(*state, "GET", "/v1/cluster", NULL),
                  "this node leads, and does not have the virtual address: eth0 is "
                  "down");
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_vip_held 0\n");
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_vip_possible 0\n");
}

static void a_pause_is_told_everywhere(void **state)
{
    pair->status.is_paused = true;
    pair->status.paused_by = "b";
    pair->status.paused_at_wall_ms = 1900000000000;
    pair->status.now_wall_ms = pair->status.paused_at_wall_ms + 7265000;
    assert_member(call(*state, "GET", "/v1/cluster", NULL),
                  "\"paused\":true,\"paused_by\":\"b\",\"paused_at_ms\":1900000000000,");
    assert_member(call(*state, "GET", "/v1/cluster", NULL),
                  "paused, for 2 h 1 min now (asked of b)");
    assert_member(call(*state, "GET", "/v1/status", NULL),
                  "\"paused\":true,\"paused_at_ms\":1900000000000,");
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_failover_paused 1\n");
}

static void what_is_not_known_is_told_as_such(void **state)
{
    const char *reply;

    pair->status.leader = "";
    pair->status.session = "connecting";
    pair->status.stale_ms = 5000;
    pair->status.leaderless_ms = 6000;
    reply = call(*state, "GET", "/v1/cluster", NULL);
    assert_member(reply, "\"leader\":null,\"leader_epoch\":7,\"leaderless_ms\":6000,"
                         "\"stale_ms\":5000,");
    assert_member(reply, "who leads is not known here; a leader was last seen 6000 ms ago");
    assert_member(call(*state, "GET", "/v1/status", NULL),
                  "\"leaderless_ms\":6000,\"stale_ms\":5000,");
    assert_has(call(*state, "GET", "/metrics", NULL),
               "\ndueq_without_zookeeper_seconds 5.000\n");
}

/* Who looks at the status finds it, too. */
static void a_tick_that_is_not_told_is_in_each_page(void **state)
{
    static const char *const pages[] = {"/v1/cluster", "/v1/status"};

    assert_member(call(*state, "GET", "/v1/status", NULL), "\"vip\":null,\"check\":[]}");
    pair->status.tick_ms = 0;
    assert_member(call(*state, "GET", "/v1/cluster", NULL), "\"tick_ms\":null,");
    for (unsigned i = 0; i < 2; i++) {
        const char *reply = call(*state, "GET", pages[i], NULL);

        assert_member(reply, "{\"level\":\"warning\",\"message\":\"ZooKeeper "
                             "(127.0.0.1:2181) does not tell its tickTime");
        assert_member(reply, "\"advice\":\"put 4lw.commands.whitelist=srvr,conf into zoo.cfg");
    }
}

static void the_epoch_that_was_seen_last_stays_when_nobody_leads(void **state)
{
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_leader_epoch 7\n");
    pair->status.leader = "";
    pair->status.leader_epoch = 0;
    pair->change.epoch = 8;
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_leader_epoch 8\n");
    pair->status.change_count = 0;
    assert_has(call(*state, "GET", "/metrics", NULL), "\ndueq_leader_epoch 0\n");
}

/* ---- requests ---- */

static void assert_request(const char *reply, enum cluster_request request, const char *to)
{
    assert_reply(reply, 202, "{\"status\":\"accepted\"}");
    assert_int_equal(pair->request, request);
    assert_string_equal(pair->to, to);
}

static void takes_each_request_down(void **state)
{
    struct fixture *f = *state;

    assert_request(call(f, "POST", "/v1/cluster/switchover", NULL), CLUSTER_SWITCHOVER, "");
    assert_int_equal(pair->at_wall_ms, 0);
    assert_request(
        call(f, "POST", "/v1/cluster/switchover", "{\"to\":\"b\",\"at_ms\":1900000000000}"),
        CLUSTER_SWITCHOVER, "b");
    assert_true(pair->at_wall_ms == 1900000000000);
    assert_request(call(f, "POST", "/v1/cluster/failover", "{\"force\":true,\"to\":\"b\"}"),
                   CLUSTER_FAILOVER, "b");
    assert_int_equal(pair->at_wall_ms, 0);
    assert_request(call(f, "POST", "/v1/cluster/switchover", "{\"cancel\":true}"),
                   CLUSTER_CANCEL, "");
    assert_request(call(f, "POST", "/v1/cluster/pause", NULL), CLUSTER_PAUSE, "");
    assert_request(call(f, "POST", "/v1/cluster/resume", "{}"), CLUSTER_RESUME, "");
    assert_request(call(f, "POST", "/v1/cluster/forget", "{\"node\":\"b\"}"), CLUSTER_FORGET,
                   "b");
    assert_request(call(f, "POST", "/v1/cluster/fence/adopt", NULL), CLUSTER_ADOPT, "");
}

static void says_why_a_request_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    pair->status_of_answer = STATUS_WRONG_STATE;
    pair->why = "b is not here";
    reply = call(f, "POST", "/v1/cluster/switchover", "{\"to\":\"b\"}");
    assert_error(reply, 409, "wrong_state");
    assert_has(reply, "b is not here");
    pair->status_of_answer = STATUS_NOT_FOUND;
    pair->why = "there is no node x in this cluster";
    assert_error(call(f, "POST", "/v1/cluster/forget", "{\"node\":\"x\"}"), 404, "not_found");
    pair->why = NULL;
    pair->status_of_answer = STATUS_UNAVAILABLE;
    reply = call(f, "POST", "/v1/cluster/pause", NULL);
    assert_error(reply, 503, "unavailable");
    assert_has(reply, "ZooKeeper");
    pair->status_of_answer = STATUS_UNKNOWN;
    assert_error(call(f, "POST", "/v1/cluster/pause", NULL), 504, "unknown");
}

static void refuses_what_is_no_request(void **state)
{
    static const struct {
        const char *path, *body, *text;
    } rows[] = {
        {"/v1/cluster/failover", NULL, "force: must be true"},
        {"/v1/cluster/failover", "{\"force\":false}", "force: must be true"},
        {"/v1/cluster/failover", "{\"force\":true,\"at_ms\":1}", "at_ms: unknown member"},
        {"/v1/cluster/switchover", "{\"to\":\"\"}", "1 to 64 bytes"},
        {"/v1/cluster/switchover",
         "{\"to\":\"0123456789012345678901234567890123456789012345678901234567890123x\"}",
         "1 to 64 bytes"},
        {"/v1/cluster/switchover", "{\"to\":7}", "to: "},
        {"/v1/cluster/switchover", "{\"at_ms\":4923100800000}",
         "at_ms: is more than ten years"},
        {"/v1/cluster/switchover", "{\"force\":true}", "force: unknown member"},
        {"/v1/cluster/switchover", "{\"cancel\":false}", "cancel: must be true"},
        {"/v1/cluster/switchover", "{\"cancel\":true,\"to\":\"b\"}", "with nothing else"},
        {"/v1/cluster/forget", NULL, "node: missing"},
        {"/v1/cluster/forget", "{}", "node: missing"},
        {"/v1/cluster/pause", "{\"for_ms\":1}", "for_ms: unknown member"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *reply = call(*state, "POST", rows[i].path, rows[i].body);

        assert_error(reply, 400, "bad_request");
        assert_has(reply, rows[i].text);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_up, pair_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_all_of_the_cluster),
        TEST(tells_who_scans_in_cluster_mode),
        TEST(a_node_alone_says_so),
        TEST(a_node_alone_that_is_fenced_leads_nowhere),
        TEST(the_epoch_that_was_seen_last_stays_when_nobody_leads),
        TEST(a_standby_that_would_not_take_over_is_none),
        TEST(health_tells_who_leads),
        TEST(a_standby_without_its_store_is_none),
        TEST(status_and_metrics_tell_the_role),
        TEST(the_virtual_address_is_told_everywhere),
        TEST(a_pause_is_told_everywhere),
        TEST(what_is_not_known_is_told_as_such),
        TEST(a_tick_that_is_not_told_is_in_each_page),
        TEST(takes_each_request_down),
        TEST(says_why_a_request_is_refused),
        TEST(refuses_what_is_no_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
