/* ack, release and touch: what a consumer says about a job it holds. The lease, as pop has
 * printed it, proves that it still does. */
#include <stdio.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

#define YEARS_10_MS INT64_C(315576000000)
#define DAYS_7_MS   INT64_C(604800000)

enum { TOPIC, ID, LEASE };

static const struct option_row release_options[] = {
    {"delay", 'd', OPTION_DURATION, "DURATION", "due again so long from now; default: at once",
     0, YEARS_10_MS},
    {0},
};

static const struct option_row touch_options[] = {
    {"ttr", 't', OPTION_DURATION, "DURATION",
     "hold it so long from now; default: as it was pushed", 0, DAYS_7_MS},
    {0},
};

/* Sends the lease, and the one option under the API's name for it. */
static enum ctl_exit send(struct ctl *ctl, const struct arguments *arguments, const char *path,
                          const char *number, const char *done)
{
    char **words = arguments->words;
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", path, words[TOPIC], words[ID]);
    request.body = json_pack("{s:s}", "lease", words[LEASE]);
    if (number && arguments->own[0].is_given)
        json_object_set_new(request.body, number, json_integer(arguments->own[0].number));
    end = request_ask(ctl, &request, words[ID], &answer);
    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(
            json_pack("{s:s, s:s, s:s}", "topic", words[TOPIC], "id", words[ID], "done", done));
    else if (end == CTL_DONE)
        output_done(words[ID], done);
    json_decref(answer);
    request_fini(&request);
    return end;
}

static enum ctl_exit run_ack(struct ctl *ctl, const struct arguments *arguments)
{
    return send(ctl, arguments, "/v1/topics/%/jobs/%/ack", NULL, "acknowledged");
}

static enum ctl_exit run_release(struct ctl *ctl, const struct arguments *arguments)
{
    return send(ctl, arguments, "/v1/topics/%/jobs/%/release", "delay_ms", "released");
}

static enum ctl_exit run_touch(struct ctl *ctl, const struct arguments *arguments)
{
    return send(ctl, arguments, "/v1/topics/%/jobs/%/touch", "ttr_ms", "touched");
}

const struct command ack_command = {
    .name = "ack",
    .usage = "TOPIC ID LEASE",
    .summary = "acknowledge a job: it is done, and gone",
    .words_min = 3,
    .words_max = 3,
    .run = run_ack,
};

const struct command release_command = {
    .name = "release",
    .usage = "TOPIC ID LEASE",
    .summary = "give a job back, for now or for later",
    .options = release_options,
    .words_min = 3,
    .words_max = 3,
    .run = run_release,
};

const struct command touch_command = {
    .name = "touch",
    .usage = "TOPIC ID LEASE",
    .summary = "hold a job longer: its time to run begins anew",
    .options = touch_options,
    .words_min = 3,
    .words_max = 3,
    .run = run_touch,
};
