/* nodes: who is in the cluster, who leads, and who could. */
#include <inttypes.h>
#include <string.h>

#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/table.h"

/* Two tables: with who scans, where nodes do. */
static const struct table_column columns[] = {
    {"NODE", false},    {"ROLE", false}, {"PRIORITY", true}, {"STORE", false},
    {"VERSION", false}, {"HTTP", false}, {"GMQ", false},     {"NOTES", false},
};
static const struct table_column columns_of_shared[] = {
    {"NODE", false},    {"ROLE", false}, {"SCANS", false}, {"PRIORITY", true}, {"STORE", false},
    {"VERSION", false}, {"HTTP", false}, {"GMQ", false},   {"NOTES", false},
};

static bool is_true(const json_t *node, const char *name)
{
    return json_is_true(json_object_get(node, name));
}

/* Of itself a node knows its role, of the others what ZooKeeper says. */
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
    if (cluster_is_shared(page))
        table_add_text(table, is_true(node, "scanning") ? "yes" : is_here ? "no" : "-");
    table_add_number(table, output_number(node, "priority", 0));
    table_add_text(table, !is_known ? "-" : is_true(node, "store_up") ? "up" : "down");
    table_add(table, output_text(node, "version"));
    table_add(table, output_text(node, "http"));
    table_add(table, output_text(node, "gmq"));
    add_notes(table, page, node);
}

/* In cluster mode, of the node that is asked. */
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

static void init_table(const struct ctl *ctl, const json_t *page, struct table *table)
{
    if (cluster_is_shared(page))
        table_init(table, columns_of_shared,
                   sizeof(columns_of_shared) / sizeof(columns_of_shared[0]), ctl->is_terminal);
    else
        table_init(table, columns, sizeof(columns) / sizeof(columns[0]), ctl->is_terminal);
}

static void print(const struct ctl *ctl, const json_t *page)
{
    const json_t *node;
    struct table table;
    size_t i;

    init_table(ctl, page, &table);
    json_array_foreach(json_object_get(page, "nodes"), i, node)
    {
        add_row(&table, page, node);
    }
    table_print(&table, stdout);
    table_fini(&table);
    print_view(page);
    cluster_warn(page);
}

static void print_json(const json_t *page)
{
    static const char *const names[] = {
        "mode",   "leader",    "leader_epoch", "alone_ms", "stale_ms",
        "paused", "paused_by", "paused_at_ms", "wanted",   "wanted_at_ms",
        "forced", "refused",   "sharing",      "vip",      "nodes"};
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
    cluster_warn(page);
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, "nodes", &page);

    (void)arguments;
    if (end != CTL_DONE)
        return end;
    if (cluster_is_alone(page))
        print_alone(ctl, page);
    else if (ctl->is_json)
        print_json(page);
    else
        print(ctl, page);
    json_decref(page);
    return CTL_DONE;
}

const struct command nodes_command = {
    .name = "nodes",
    .usage = "",
    .summary = "list the nodes of the cluster, and who leads",
    .text = "As the node that is asked sees them. One that is away is a member that is not\n"
            "here: 'dueqctl forget' is for those that will not come back. SCANS: in cluster\n"
            "mode, it moves what is due in its share of the topics.\n",
    .run = run,
};
