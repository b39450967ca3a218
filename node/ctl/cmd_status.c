/* status: what the node says about itself, whatever that comes to be. */
#include <stdio.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

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
    bool has_several = json_array_size(masters) > 1; /* of a single one all was said */

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
    request_fini(&request);
    return end;
}

const struct command status_command = {
    .name = "status",
    .usage = "",
    .summary = "show how the node is, and whether it is ready",
    .text = "Ends with 0 when the node has answered, ready or not. Of a Redis Cluster the\n"
            "masters are shown, and which buckets are not reached. Warnings say what of\n"
            "Redis's set-up may lose jobs, and what of ZooKeeper's makes leases unsafe, or\n"
            "cannot be known. Of a cluster: for how long this node has seen no leader that\n"
            "proves its lease (0: it sees one); for how long it has had no connection to\n"
            "ZooKeeper (0: it has one; what is said of other nodes is as old); and the next\n"
            "leader, where an operator wants another one (*: any).\n",
    .run = run,
};
