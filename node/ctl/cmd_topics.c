/* topics: all of them, with how many jobs each has. */
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/topics.h"

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *topics = NULL;
    enum ctl_exit end = topics_fetch(ctl, "/v1/topics", &topics);

    (void)arguments;
    if (end != CTL_DONE)
        return end;
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:o}", "topics", topics));
    else {
        topics_print(ctl, topics);
        json_decref(topics);
    }
    return CTL_DONE;
}

const struct command topics_command = {
    .name = "topics",
    .usage = "",
    .summary = "list all topics with their jobs",
    .text = "OLDEST READY is for how long the job that is first in line has been due,\n"
            "NEXT DUE when the next delayed one will be; '-' where there is none.\n",
    .run = run,
};
