/* status: what the node says about itself, whatever that comes to be. */
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

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
        output_members(ctl, status);
    json_decref(status);
    request_fini(&request);
    return end;
}

const struct command status_command = {
    .name = "status",
    .usage = "",
    .summary = "show how the node is, and whether it is ready",
    .text = "Ends with 0 when the node has answered, ready or not.\n",
    .run = run,
};
