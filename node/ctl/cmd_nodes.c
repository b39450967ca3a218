/* What nodes say of themselves and of the cluster: status, nodes, check, history. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/ctl/cmd_nodes.h"
#include "node/ctl/commands.h"
#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/table.h"

/* status: all that the node says about itself, also members that this dueqctl does not know. */

/* ---- the store's masters ---- */

static void add_master(struct table *table, const json_t *master)
{
    struct bytes address = output_text(master, "address");

    table_add(table, address.len ? address : BYTES("-"));
    table_add(table, output_text(master, "state"));
    table_add_number(table, output_number(master, "buckets", 0));
    table_add_number(table, output_number(master, "in_flight", 0));
    table_add(table, output_text(master, "breaker"));
    table_add(table, output_text(master, "why"));
}

static void print_masters(const struct ctl *ctl, const json_t *masters)
{
    static const struct table_column columns[] = {
        {"MASTER", false},   {"STATE", false},   {"BUCKETS", true},
        {"IN FLIGHT", true}, {"BREAKER", false}, {"WHY", false},
    };

    putchar('\n');
    output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]), masters, add_master);
}

/* ---- what is wrong ---- */

static void print_findings(const json_t *findings)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        output_finding("warning", finding);
    }
}

/* Takes lists out: the table of members has no room for them. */
static json_t *take(json_t *object, const char *name)
{
    json_t *member = json_incref(json_object_get(object, name));

    json_object_del(object, name);
    return member;
}

static void print(const struct ctl *ctl, json_t *status)
{
    json_t *store = json_object_get(status, "store");
    json_t *check = take(store, "check");
    json_t *ticks = take(json_object_get(status, "cluster"), "check");
    json_t *masters = take(store, "masters");
    json_t *unreached = take(store, "unreached");
    bool has_several =
        json_array_size(masters) > 1; /* a single master is in the members already */

    if (!has_several)
        json_object_del(store, "redirects");
    output_members(ctl, status);
    if (has_several) {
        print_masters(ctl, masters);
        print_findings(unreached);
    }
    print_findings(check);
    print_findings(ticks);
    json_decref(ticks);
    json_decref(unreached);
    json_decref(masters);
    json_decref(check);
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    struct request request;
    json_t *status = NULL;
    enum ctl_exit end;

    (void)arguments;
    request_init(&request, "GET", "/v1/status");
    request.expects = "name";
    end = request_ask(ctl, &request, "status", &status);
    if (end == CTL_DONE && ctl->is_json)
        output_json(status);
    else if (end == CTL_DONE)
        print(ctl, status);
    json_decref(status);
    return end;
}

const struct command status_command = {
    .name = "status",
    .usage = "",
    .summary = "show how the node is, and whether it is ready",
    .text = "Ends with 0 when the node has answered, ready or not. For a Redis Cluster the\n"
            "masters and the unreached buckets are shown. Warnings name what in Redis's\n"
            "set-up may lose jobs, and what in ZooKeeper's makes leases unsafe or cannot be\n"
            "known. For a cluster: how long this node has seen no leader that proves its\n"
            "lease (0: it sees one); how long it has had no connection to ZooKeeper (0: it\n"
            "has one; what is said of other nodes is as old); and the next leader, where an\n"
            "operator wants another one (*: any).\n",
    .run = run,
};

/* ---- the cluster's page ---- */

/* Words whose usual advice is about jobs. */
const struct advice cluster_advice[] = {
    {"not_found", "'dueqctl nodes' lists those that there are."},
    {"wrong_state", "'dueqctl nodes' and 'dueqctl check' show how things are."},
    {"unavailable", "'dueqctl nodes' and 'dueqctl check' show how things are."},
    {"unknown",
     "'dueqctl nodes' and 'dueqctl history' show whether it did; to repeat it is safe."},
    {0}};

enum ctl_exit cluster_look(struct ctl *ctl, json_t **page, struct failure *failure)
{
    struct request request;

    request_init(&request, "GET", "/v1/cluster");
    request.expects = "can_fail_over";
    request.advice = cluster_advice;
    return request_send(ctl, &request, page, failure);
}

enum ctl_exit cluster_fetch(struct ctl *ctl, const char *what, json_t **page)
{
    struct failure failure;

    return cluster_look(ctl, page, &failure) == CTL_DONE ? CTL_DONE
                                                         : failure_tell(ctl, &failure, what);
}

bool cluster_is_standalone(const json_t *page)
{
    return !strcmp(output_text(page, "mode").at, "standalone");
}

bool cluster_is_shared(const json_t *page)
{
    return !strcmp(output_text(page, "mode").at, "cluster");
}

int64_t cluster_stale_ms(const json_t *page)
{
    return output_number(page, "stale_ms", 0);
}

/* ---- what everybody has to know: on stderr ---- */

static void warn_of_pause(const json_t *page)
{
    struct buf since = BUF_INIT;

    if (!json_is_true(json_object_get(page, "paused")))
        return;
    if (output_number(page, "paused_at_ms", 0) > 0) {
        buf_add_text(&since, " since ");
        moment_print(&since, output_number(page, "paused_at_ms", 0));
        buf_add_text(&since, ", asked of ");
        buf_add_bytes(&since, output_text(page, "paused_by"));
    }
    ctl_say("automatic failover is paused%s; 'dueqctl cluster resume' ends that",
            buf_text(&since));
    buf_fini(&since);
}

static bool is_leader_fenced(const json_t *page)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(page, "nodes"), i, node)
    {
        if (json_is_true(json_object_get(node, "fenced")) &&
            bytes_equal(output_text(node, "name"), output_text(page, "leader")))
            return true;
    }
    return false;
}

static void warn_of_leader(const json_t *page)
{
    struct bytes leader = output_text(page, "leader");
    int64_t leaderless_ms = output_number(page, "leaderless_ms", 0);

    if (cluster_stale_ms(page) > 0)
        ctl_say("this node has had no connection to ZooKeeper for %" PRId64
                " s; of the others this was known then",
                cluster_stale_ms(page) / 1000);
    if (leader.len && is_leader_fenced(page))
        ctl_say("%s leads, but Redis follows another ZooKeeper ensemble; 'dueqctl check' says "
                "more",
                leader.at);
    else if (leader.len && leaderless_ms > 0)
        ctl_say("%s holds the lead, but has not proven its lease for %" PRId64 " ms", leader.at,
                leaderless_ms);
    else if (!leader.len && cluster_stale_ms(page) > 0)
        ctl_say("who leads is not known here; 'dueqctl check' says more");
    else if (!leader.len)
        ctl_say("no node leads now; 'dueqctl check' says more");
}

static void warn_of_request(const json_t *page)
{
    struct bytes wanted = output_text(page, "wanted");
    int64_t at_ms = output_number(page, "wanted_at_ms", 0);
    struct buf from = BUF_INIT;

    if (!wanted.len)
        return;
    if (at_ms > 0) {
        buf_add_text(&from, " from ");
        moment_print(&from, at_ms);
        buf_add_text(&from, " on");
    }
    ctl_say("an operator wants %s to lead%s; %s",
            bytes_equal(wanted, BYTES("*")) ? "another node" : wanted.at, buf_text(&from),
            json_is_true(json_object_get(page, "forced"))
                ? "it is by force, and ends when that one leads"
                : "'dueqctl switchover --cancel' takes that back");
    buf_fini(&from);
}

/* Nodes that are away, or older than cluster mode, have none. */
static void warn_of_modes(const json_t *page)
{
    struct bytes own = output_text(page, "mode");
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(page, "nodes"), i, node)
    {
        struct bytes mode = output_text(node, "mode");

        if (!mode.len || bytes_equal(mode, own) || !json_is_true(json_object_get(node, "here")))
            continue;
        ctl_say("%s is set to ha.mode: %s, this node to %s; 'dueqctl check' says more",
                output_text(node, "name").at, mode.at, own.at);
        return;
    }
}

static void warn(const json_t *page)
{
    warn_of_pause(page);
    if (!cluster_is_standalone(page))
        warn_of_leader(page);
    warn_of_modes(page);
    warn_of_request(page);
    if (output_text(page, "refused").len)
        ctl_say("this node needs a human: %s", output_text(page, "refused").at);
}

/* nodes: who is in the cluster, who leads, and who could. */

enum { NODE, ROLE, SCANS, PRIORITY, STORE, VERSION, HTTP, GMQ, ADMIN, NOTES, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [NODE] = {"NODE", false},        [ROLE] = {"ROLE", false},   [SCANS] = {"SCANS", false},
    [PRIORITY] = {"PRIORITY", true}, [STORE] = {"STORE", false}, [VERSION] = {"VERSION", false},
    [HTTP] = {"HTTP", false},        [GMQ] = {"GMQ", false},     [ADMIN] = {"ADMIN", false},
    [NOTES] = {"NOTES", false},
};

static bool is_true(const json_t *node, const char *name)
{
    return json_is_true(json_object_get(node, name));
}

/* A node knows its own role; of other nodes it knows what ZooKeeper says. */
static const char *role_of(const json_t *page, const json_t *node)
{
    if (cluster_stale_ms(page) > 0)
        return bytes_equal(output_text(node, "name"), output_text(page, "node"))
                   ? output_text(page, "role").at
                   : "unknown";
    if (bytes_equal(output_text(node, "name"), output_text(page, "leader")))
        return "leader";
    return is_true(node, "here") ? "standby" : "away";
}

/* Most nodes have no port for operators. */
static bool has_admin_ports(const json_t *page)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(page, "nodes"), i, node)
    {
        if (output_text(node, "admin").len)
            return true;
    }
    return false;
}

static bool has_column(const json_t *page, unsigned column)
{
    return column == SCANS   ? cluster_is_shared(page)
           : column == ADMIN ? has_admin_ports(page)
                             : true;
}

static void add_note(struct buf *notes, const char *note)
{
    buf_printf(notes, "%s%s", notes->len ? ", " : "", note);
}

static bool is_of_another_mode(const json_t *page, const json_t *node)
{
    struct bytes mode = output_text(node, "mode");

    return mode.len && !bytes_equal(mode, output_text(page, "mode"));
}

static void add_notes(struct table *table, const json_t *page, const json_t *node)
{
    struct buf notes = BUF_INIT;

    if (!is_true(node, "member"))
        add_note(&notes, "no member yet");
    if (is_true(node, "no_failover"))
        add_note(&notes, "no failover");
    if (bytes_equal(output_text(node, "name"), output_text(page, "wanted")))
        add_note(&notes, "wanted");
    if (is_true(node, "address_away"))
        add_note(&notes, "no virtual address");
    if (is_true(node, "fenced"))
        add_note(&notes, "fenced");
    if (is_of_another_mode(page, node))
        add_note(&notes, cluster_is_shared(page) ? "ha.mode standby" : "ha.mode cluster");
    table_add_text(table, buf_text(&notes));
    buf_fini(&notes);
}

static void add_row(struct table *table, const json_t *page, const json_t *node)
{
    bool is_here = is_true(node, "here");
    bool is_own = bytes_equal(output_text(node, "name"), output_text(page, "node"));
    bool is_known = is_here && (is_own || !cluster_stale_ms(page));

    table_add(table, output_text(node, "name"));
    table_add_text(table, role_of(page, node));
    if (has_column(page, SCANS))
        table_add_text(table, is_true(node, "scanning") ? "yes" : is_here ? "no" : "-");
    table_add_number(table, output_number(node, "priority", 0));
    table_add_text(table, !is_known ? "-" : is_true(node, "store_up") ? "up" : "down");
    table_add(table, output_text(node, "version"));
    table_add(table, output_text(node, "http"));
    table_add(table, output_text(node, "gmq"));
    if (has_column(page, ADMIN))
        table_add(table, output_text(node, "admin"));
    add_notes(table, page, node);
}

/* In cluster mode: the view of the node that is asked. */
static void print_view(const json_t *page)
{
    const json_t *sharing = json_object_get(page, "sharing");

    if (!cluster_is_shared(page))
        return;
    printf("\nView %" PRId64 ": %" PRId64 " scan, %" PRId64 " of %" PRId64
           " shares are this node's.\n",
           output_number(sharing, "view", 0), output_number(sharing, "scanners", 0),
           output_number(sharing, "own_shares", 0), output_number(sharing, "shares", 0));
}

static void print_nodes(const struct ctl *ctl, const json_t *page)
{
    struct table_column shown[COLUMNS];
    const json_t *node;
    struct table table;
    size_t count = 0, i;

    for (unsigned column = 0; column < COLUMNS; column++)
        if (has_column(page, column))
            shown[count++] = columns[column];
    table_init(&table, shown, count, ctl->is_terminal);
    json_array_foreach(json_object_get(page, "nodes"), i, node)
    {
        add_row(&table, page, node);
    }
    table_print(&table, stdout);
    table_fini(&table);
    print_view(page);
    warn(page);
}

static void print_json(const json_t *page)
{
    static const char *const names[] = {
        "mode",   "leader",    "leader_epoch", "leaderless_ms", "stale_ms",
        "paused", "paused_by", "paused_at_ms", "wanted",        "wanted_at_ms",
        "forced", "refused",   "sharing",      "vip",           "nodes"};
    const json_t *zookeeper = json_object_get(page, "zookeeper");
    json_t *shown = json_object();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (json_object_get(page, names[i]))
            json_object_set(shown, names[i], json_object_get(page, names[i]));
    json_object_set(shown, "session", json_object_get(zookeeper, "session"));
    output_json_and_free(shown);
}

static void print_alone(const struct ctl *ctl, const json_t *page)
{
    bool leads = !output_text(page, "refused").len;
    json_t *leader = leads ? json_incref(json_object_get(page, "node")) : json_null();

    if (ctl->is_json)
        output_json_and_free(json_pack("{s:s, s:O, s:n, s:b, s:O, s:[]}", "mode", "standalone",
                                       "leader", leader, "leader_epoch", "paused", 0, "refused",
                                       json_object_get(page, "refused"), "nodes"));
    else
        output_done(output_text(page, "node").at,
                    leads ? "is alone, and leads" : "is alone, and moves nothing");
    json_decref(leader);
    warn(page);
}

static enum ctl_exit run_nodes(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, "nodes", &page);

    (void)arguments;
    if (end != CTL_DONE)
        return end;
    if (cluster_is_standalone(page))
        print_alone(ctl, page);
    else if (ctl->is_json)
        print_json(page);
    else
        print_nodes(ctl, page);
    json_decref(page);
    return CTL_DONE;
}

const struct command nodes_command = {
    .name = "nodes",
    .usage = "",
    .summary = "list the nodes of the cluster, and who leads",
    .text = "As the node that is asked sees them. A node that is away is a member that is not\n"
            "here: 'dueqctl forget' removes one that will not come back. SCANS: in cluster\n"
            "mode, the node moves what is due in its share of the topics. ADMIN: where a\n"
            "node has a port for operators (admin.listen).\n",
    .run = run_nodes,
};

/* check: would a failover succeed now? The node judges, this prints. */

static void print_check(const json_t *page, bool is_fine)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(json_object_get(page, "check"), i, finding)
    {
        output_finding(output_text(finding, "level").at, finding);
    }
    puts(is_fine ? "A failover would succeed now." : "A failover would not succeed now.");
}

static enum ctl_exit run_check(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, "check", &page);
    bool is_fine;

    (void)arguments;
    if (end != CTL_DONE)
        return end;
    is_fine = json_is_true(json_object_get(page, "can_fail_over"));
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:O, s:O}", "can_fail_over",
                                       json_object_get(page, "can_fail_over"), "check",
                                       json_object_get(page, "check")));
    else
        print_check(page, is_fine);
    json_decref(page);
    return is_fine ? CTL_DONE : CTL_REFUSED;
}

const struct command check_command = {
    .name = "check",
    .usage = "",
    .summary = "say whether a failover would succeed now, and what to mend",
    .text = "As the node that is asked sees it: ask each. Ends with 0 when another node could\n"
            "take over, even where there are warnings, and with 1 when none could.\n",
    .run = run_check,
};

/* history: who led when, and for how long nobody did. */

static const struct table_column history_columns[] = {
    {"TIME", false}, {"LEADER", false}, {"REASON", false}, {"EPOCH", true}, {"WITHOUT", true},
};

static void add_row_history(struct table *table, const json_t *change)
{
    table_add_moment(table, output_number(change, "at_ms", 0));
    table_add(table, output_text(change, "node"));
    table_add(table, output_text(change, "reason"));
    table_add_number(table, output_number(change, "epoch", 0));
    table_add_duration(table, output_number(change, "without_leader_ms", -1));
}

static enum ctl_exit run_history(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *page = NULL, *history;
    enum ctl_exit end = cluster_fetch(ctl, "history", &page);

    (void)arguments;
    if (end != CTL_DONE)
        return end;
    history = json_object_get(page, "history");
    if (ctl->is_json)
        output_json_and_free(history ? json_pack("{s:O}", "history", history)
                                     : json_pack("{s:[]}", "history"));
    else if (cluster_is_standalone(page))
        ctl_say("this node is alone: the lead never changes");
    else
        output_rows(ctl, history_columns, sizeof(history_columns) / sizeof(history_columns[0]),
                    history, add_row_history);
    json_decref(page);
    return CTL_DONE;
}

const struct command history_command = {
    .name = "history",
    .usage = "",
    .summary = "list the last hundred changes of the lead",
    .text = "Oldest first. WITHOUT is for how long nobody led before, as the new leader saw\n"
            "it: for so long due jobs stood still. Of a leader that fell silent it is\n"
            "counted from its last beat, which is a sixth of ha.session_timeout too long at\n"
            "most; '-' where that was not seen. 'resumed' is no change: the same leader has\n"
            "proven its lease again. doc/ha.md explains the other reasons.\n",
    .run = run_history,
};
