#include "node/ctl/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

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

void cluster_warn(const json_t *page)
{
    warn_of_pause(page);
    if (!cluster_is_standalone(page))
        warn_of_leader(page);
    warn_of_modes(page);
    warn_of_request(page);
    if (output_text(page, "refused").len)
        ctl_say("this node needs a human: %s", output_text(page, "refused").at);
}
