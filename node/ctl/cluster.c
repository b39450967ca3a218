#include "node/ctl/cluster.h"

#include <string.h>

#include "node/ctl/output.h"
#include "node/ctl/request.h"

/* Of these words failure.c knows what they mean for jobs. */
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

static void speak(struct ctl *ctl, struct failure *failure, const char *what)
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
        speak(ctl, &failure, what);
    return end;
}

bool cluster_is_alone(const json_t *page)
{
    return !strcmp(output_text(page, "mode").at, "standalone");
}

enum ctl_exit cluster_wish(struct ctl *ctl, const char *what, const char *path, json_t *body)
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
        speak(ctl, &failure, what);
    json_decref(answer);
    request_fini(&request);
    return end;
}

void cluster_warn(const json_t *page)
{
    if (json_is_true(json_object_get(page, "paused")))
        ctl_say("automatic failover is paused; 'dueqctl cluster resume' ends that");
    if (!cluster_is_alone(page) && !output_text(page, "leader").len)
        ctl_say("no node leads now; 'dueqctl check' says more");
    if (output_text(page, "refused").len)
        ctl_say("this node cannot take part: %s", output_text(page, "refused").at);
}
