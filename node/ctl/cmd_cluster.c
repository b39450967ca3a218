/* cluster, fence and forget: what operators want of the cluster, but for another leader. */
#include <string.h>

#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"

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
    end = cluster_wish(ctl, is_pause ? "cluster pause" : "cluster resume",
                       is_pause ? "/v1/cluster/pause" : "/v1/cluster/resume", NULL);
    if (end == CTL_DONE)
        print_done(ctl, "automatic failover", is_pause ? "paused" : "resumed");
    return end;
}

static const char *const cluster_choices[] = {"pause", "resume", NULL};

const struct command cluster_command = {
    .name = "cluster",
    .usage = "pause|resume",
    .summary = "pause or resume automatic failover",
    .text = "Paused, nobody takes over from a leader that dies, but by switchover or\n"
            "failover: for work on ZooKeeper or on the network. The leader goes on.\n"
            "The commands pause and resume are about topics.\n",
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
    end = cluster_wish(ctl, "fence adopt", "/v1/cluster/fence/adopt", NULL);
    if (end == CTL_DONE)
        print_done(ctl, "fence", "adopted");
    return end;
}

static const char *const fence_choices[] = {"adopt", NULL};

static const struct option_row fence_options[] = {
    [FENCE_YES] = {"yes", 'y', OPTION_FLAG, NULL, "do not ask on a terminal", 0, 0, NULL},
    {0},
};

const struct command fence_command = {
    .name = "fence",
    .usage = "adopt",
    .summary = "take Redis over from another ZooKeeper ensemble",
    .text = "Redis knows the ensemble whose leaders have used it, and refuses those of any\n"
            "other. Adopt when ZooKeeper was set up anew, or when Redis came from another\n"
            "cluster: be sure that no leader of the former one lives, because it is refused\n"
            "from then on. Ask the node that leads: any other refuses, and names it; so does\n"
            "a leader that Redis follows already. While ZooKeeper does not answer, none does\n"
            "it. On a terminal it asks first.\n",
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
        cluster_wish(ctl, "forget", "/v1/cluster/forget", json_pack("{s:s}", "node", node));

    if (end == CTL_DONE)
        print_done(ctl, node, "forgotten");
    return end;
}

const struct command forget_command = {
    .name = "forget",
    .usage = "NODE",
    .summary = "make a node that will not come back no member any more",
    .text = "With ha.on_zookeeper_loss: failsafe a leader goes on without ZooKeeper only\n"
            "while all members agree. A node that comes back is a member again.\n",
    .words_min = 1,
    .words_max = 1,
    .run = run_forget,
};
