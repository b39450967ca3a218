#include "node/ctl/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/ctl/await_leader.h"
#include "node/ctl/commands.h"
#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

/* Words whose advice in output.c is about jobs. */
static const char *advice_for(const struct failure *failure)
{
    if (!strcmp(failure->code, "not_found"))
        return "'dueqctl nodes' lists those that there are.";
    if (!strcmp(failure->code, "wrong_state") || !strcmp(failure->code, "unavailable"))
        return "'dueqctl nodes' and 'dueqctl check' show how things are.";
    if (!strcmp(failure->code, "unknown"))
        return "'dueqctl nodes' and 'dueqctl history' show whether it did; to repeat it is "
               "safe.";
    return NULL;
}

void cluster_fail(const struct ctl *ctl, struct failure *failure, const char *what)
{
    failure->advice = advice_for(failure);
    failure_say(failure, what);
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:o}", "error", failure_json(failure)));
}

enum ctl_exit cluster_look(struct ctl *ctl, json_t **page, struct failure *failure)
{
    struct request request;
    enum ctl_exit end;

    request_init(&request, "GET", "/v1/cluster");
    request.expects = "can_fail_over";
    end = request_send(ctl, &request, page, failure);
    request_fini(&request);
    return end;
}

enum ctl_exit cluster_fetch(struct ctl *ctl, const char *what, json_t **page)
{
    struct failure failure;
    enum ctl_exit end = cluster_look(ctl, page, &failure);

    if (end != CTL_DONE)
        cluster_fail(ctl, &failure, what);
    return end;
}

bool cluster_is_alone(const json_t *page)
{
    return !strcmp(output_text(page, "mode").at, "standalone");
}

bool cluster_is_shared(const json_t *page)
{
    return !strcmp(output_text(page, "mode").at, "cluster");
}

/* POSTs `body` (taken over; may be NULL); speaks up when it is refused. */
static enum ctl_exit cluster_request(struct ctl *ctl, const char *what, const char *path,
                                     json_t *body)
{
    struct request request;
    struct failure failure;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", path);
    request.body = body;
    request.expects = "status";
    end = request_send(ctl, &request, &answer, &failure);
    if (end != CTL_DONE)
        cluster_fail(ctl, &failure, what);
    json_decref(answer);
    request_fini(&request);
    return end;
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
    int64_t alone_ms = output_number(page, "alone_ms", 0);

    if (cluster_stale_ms(page) > 0)
        ctl_say("this node has had no connection to ZooKeeper for %" PRId64
                " s; of the others this was known then",
                cluster_stale_ms(page) / 1000);
    if (leader.len && is_leader_fenced(page))
        ctl_say("%s leads, but Redis follows another ZooKeeper ensemble; 'dueqctl check' says "
                "more",
                leader.at);
    else if (leader.len && alone_ms > 0)
        ctl_say("%s holds the lead, but has not proven its lease for %" PRId64 " ms", leader.at,
                alone_ms);
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
    if (!cluster_is_alone(page))
        warn_of_leader(page);
    warn_of_modes(page);
    warn_of_request(page);
    if (output_text(page, "refused").len)
        ctl_say("this node needs a human: %s", output_text(page, "refused").at);
}

/* cluster, fence and forget: operators' requests except for another leader. */

static void print_done(const struct ctl *ctl, const char *name, const char *what)
{
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:s}", "status", "accepted"));
    else
        output_done(name, what);
}

/* ---- cluster ---- */

static enum ctl_exit run_cluster(struct ctl *ctl, const struct arguments *arguments)
{
    const char *what = arguments->words[0];
    bool is_pause = !strcmp(what, "pause");
    enum ctl_exit end;

    if (!is_pause && strcmp(what, "resume") != 0)
        return ctl_misused("cluster: there are pause and resume, not '%s'", what);
    end = cluster_request(ctl, is_pause ? "cluster pause" : "cluster resume",
                          is_pause ? "/v1/cluster/pause" : "/v1/cluster/resume", NULL);
    if (end == CTL_DONE)
        print_done(ctl, "automatic failover", is_pause ? "paused" : "resumed");
    return end;
}

static const char *const cluster_choices[] = {"pause", "resume", NULL};

static const struct command cluster_command = {
    .name = "cluster",
    .usage = "pause|resume",
    .summary = "pause or resume automatic failover",
    .text = "While failover is paused, another node takes over from a dead leader only by\n"
            "switchover or failover: for work on ZooKeeper or on the network. The leader goes\n"
            "on. The commands pause and resume are about topics.\n",
    .choices = cluster_choices,
    .words_min = 1,
    .words_max = 1,
    .run = run_cluster,
};

/* ---- fence ---- */

enum { FENCE_YES };

static enum ctl_exit run_fence(struct ctl *ctl, const struct arguments *arguments)
{
    enum ctl_exit end;

    if (strcmp(arguments->words[0], "adopt") != 0)
        return ctl_misused("fence: there is adopt, not '%s'", arguments->words[0]);
    if (!arguments->own[FENCE_YES].is_given &&
        !ctl_confirm("Refuse the leaders of the other ZooKeeper at this Redis from now on?")) {
        ctl_say("nothing was adopted");
        return CTL_REFUSED;
    }
    end = cluster_request(ctl, "fence adopt", "/v1/cluster/fence/adopt", NULL);
    if (end == CTL_DONE)
        print_done(ctl, "fence", "adopted");
    return end;
}

static const char *const fence_choices[] = {"adopt", NULL};

static const struct option_row fence_options[] = {
    [FENCE_YES] = {"yes", 'y', OPTION_FLAG, NULL, "do not ask on a terminal", 0, 0, NULL},
    {0},
};

static const struct command fence_command = {
    .name = "fence",
    .usage = "adopt",
    .summary = "take Redis over from another ZooKeeper ensemble",
    .text = "Redis knows the ensemble whose leaders have used it, and refuses those of any\n"
            "other. Adopt when ZooKeeper was set up anew, or when Redis came from another\n"
            "cluster: be sure that no leader of the former one lives, because it is refused\n"
            "from then on. Ask the node that leads: any other refuses, and names it; so does\n"
            "a leader that Redis follows already. Without an answer from ZooKeeper no node\n"
            "adopts. Ask one node only: two at the same time can divide the buckets of Redis,\n"
            "and then at least one of the commands fails. On a terminal it asks first.\n",
    .options = fence_options,
    .choices = fence_choices,
    .words_min = 1,
    .words_max = 1,
    .run = run_fence,
};

/* ---- forget ---- */

static enum ctl_exit run_forget(struct ctl *ctl, const struct arguments *arguments)
{
    const char *node = arguments->words[0];
    enum ctl_exit end =
        cluster_request(ctl, "forget", "/v1/cluster/forget", json_pack("{s:s}", "node", node));

    if (end == CTL_DONE)
        print_done(ctl, node, "forgotten");
    return end;
}

static const struct command forget_command = {
    .name = "forget",
    .usage = "NODE",
    .summary = "remove a node that will not come back from the members",
    .text = "With ha.on_zookeeper_loss: failsafe a leader goes on without ZooKeeper only\n"
            "while all members agree. A node that comes back is a member again.\n",
    .words_min = 1,
    .words_max = 1,
    .run = run_forget,
};

/* switchover and failover: another leader, gracefully or by force. The node that is asked
 * records the request for the cluster.
 */

/* `body` is taken over. */
static enum ctl_exit change_leader(struct ctl *ctl, const char *what, const char *path,
                                   json_t *body)
{
    struct await_leader w;
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, what, &page);

    if (end != CTL_DONE) {
        json_decref(body);
        return end;
    }
    json_incref(body); /* `to` is borrowed from it */
    await_leader_init(&w, ctl, what, output_text(body, "to").at, page);
    json_decref(page);
    end = cluster_request(ctl, what, path, body);
    if (end == CTL_DONE)
        end = await_leader(&w);
    json_decref(body);
    return end;
}

static void set_text(json_t *body, const char *name, const struct option_value *value)
{
    if (value->is_given)
        json_object_set_new(body, name, json_string(value->text));
}

/* ---- switchover ---- */

enum { TO, AT, CANCEL };

static const struct option_row switchover_options[] = {
    [TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best", 0, 0, NULL},
    [AT] = {"at", 0, OPTION_MOMENT, "TIME", "not before then; does not wait for it", 0, 0,
            NULL},
    [CANCEL] = {"cancel", 0, OPTION_FLAG, NULL, "take back what is not carried out yet", 0, 0,
                NULL},
    {0},
};

static void print_noted(const struct ctl *ctl, int64_t at_ms)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "taken down, for ");
    moment_print(&text, at_ms);
    if (ctl->is_json)
        output_json_and_free(
            json_pack("{s:s, s:I}", "status", "accepted", "at_ms", (json_int_t)at_ms));
    else
        output_done("switchover", buf_text(&text));
    buf_fini(&text);
}

/* The request is recorded, and not waited for. */
static enum ctl_exit switch_later(struct ctl *ctl, json_t *body, int64_t at_ms)
{
    enum ctl_exit end;

    json_object_set_new(body, "at_ms", json_integer(at_ms));
    end = cluster_request(ctl, "switchover", "/v1/cluster/switchover", body);
    if (end == CTL_DONE)
        print_noted(ctl, at_ms);
    return end;
}

static enum ctl_exit cancel(struct ctl *ctl, const struct option_value *own, json_t *body)
{
    enum ctl_exit end;

    if (own[TO].is_given || own[AT].is_given) {
        json_decref(body);
        return ctl_misused("switchover: --cancel goes with neither --to nor --at");
    }
    json_object_set_new(body, "cancel", json_true());
    end = cluster_request(ctl, "switchover", "/v1/cluster/switchover", body);
    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:s}", "status", "accepted"));
    else if (end == CTL_DONE)
        output_done("switchover", "taken back");
    return end;
}

static enum ctl_exit run_switchover(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    json_t *body = json_object();

    set_text(body, "to", &own[TO]);
    if (own[CANCEL].is_given)
        return cancel(ctl, own, body);
    if (own[AT].is_given)
        return switch_later(ctl, body, own[AT].number);
    return change_leader(ctl, "switchover", "/v1/cluster/switchover", body);
}

static const struct command switchover_command = {
    .name = "switchover",
    .usage = "",
    .summary = "let another node lead, gracefully",
    .text = "The leader ends what it has begun and gives the lead away; this waits until\n"
            "another node leads, and tells how long due jobs stood still. Clients keep their\n"
            "connections: all nodes serve them all the time. Ends with 1 where another node\n"
            "than the wanted one leads then, or where none could.\n",
    .options = switchover_options,
    .run = run_switchover,
};

/* ---- failover ---- */

enum { FORCE, FORCE_TO };

static const struct option_row failover_options[] = {
    [FORCE] = {"force", 0, OPTION_FLAG, NULL, "must be given: it is not graceful", 0, 0, NULL},
    [FORCE_TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best", 0, 0,
                  NULL},
    {0},
};

static enum ctl_exit run_failover(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *body;

    if (!arguments->own[FORCE].is_given)
        return ctl_misused("failover: only with --force; the graceful way is 'switchover'");
    body = json_pack("{s:b}", "force", 1);
    set_text(body, "to", &arguments->own[FORCE_TO]);
    return change_leader(ctl, "failover", "/v1/cluster/failover", body);
}

static const struct command failover_command = {
    .name = "failover",
    .usage = "--force",
    .summary = "depose a leader that does not answer",
    .text = "The leader is asked first. When it does not give the lead away it is deposed,\n"
            "and its successor waits until the old lease is over for certain: less than one\n"
            "session timeout. Priorities, no_failover and a pause do not count here. Ends\n"
            "with 1 where another node than the wanted one leads then.\n",
    .options = failover_options,
    .run = run_failover,
};

const struct command *const cluster_commands[] = {
    &switchover_command, &failover_command, &cluster_command,
    &fence_command,      &forget_command,   NULL,
};
