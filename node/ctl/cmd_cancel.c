/* cancel: removes jobs, wherever they are. */
#include "node/ctl/commands.h"
#include "node/ctl/each.h"

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct each cancel = {
        .method = "DELETE", .path = "/v1/topics/%/jobs/%", .done = "cancelled"};

    return each_run(ctl, &cancel, arguments);
}

const struct command cancel_command = {
    .name = "cancel",
    .usage = "TOPIC ID... | -",
    .summary = "remove jobs, wherever they are",
    .text = "'-' reads ids from stdin, one a line. An unknown id does not stop the others;\n"
            "the exit code is 5 then. When the node does not answer any more, the rest is\n"
            "left alone.\n",
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run,
};
