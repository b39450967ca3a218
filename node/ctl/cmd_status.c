/* status: what the node says about itself, whatever that comes to be. */
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

/* Takes the findings out: a table has no room for sentences. */
static void print(const struct ctl *ctl, json_t *status)
{
    json_t *store = json_object_get(status, "store");
    json_t *check = json_incref(json_object_get(store, "check"));
    const json_t *finding;
    size_t i;

    json_object_del(store, "check");
    output_members(ctl, status);
    json_array_foreach(check, i, finding)
    {
        output_finding("warning", finding);
    }
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
    .text = "Ends with 0 when the node has answered, ready or not. Warnings say what of\n"
            "Redis's set-up may lose jobs.\n",
    .run = run,
};
