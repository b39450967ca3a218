/* check: would a failover succeed now? The node judges, this prints. */
#include <stdio.h>

#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"

static void print(const json_t *page, bool is_fine)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(json_object_get(page, "check"), i, finding)
    {
        output_finding(output_text(finding, "level").at, finding);
    }
    puts(is_fine ? "A failover would succeed now." : "A failover would not succeed now.");
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
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
        print(page, is_fine);
    json_decref(page);
    return is_fine ? CTL_DONE : CTL_REFUSED;
}

const struct command check_command = {
    .name = "check",
    .usage = "",
    .summary = "say whether a failover would succeed now, and what to mend",
    .text = "As the node that is asked sees it: ask each. Ends with 0 when another node could\n"
            "take over, even where there are warnings, and with 1 when none could.\n",
    .run = run,
};
