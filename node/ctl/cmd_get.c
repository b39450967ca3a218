/* get: shows a job without taking it. */
#include <stdio.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

enum { BODY_ONLY };

static const struct option_row options[] = {
    [BODY_ONLY] = {"body-only", 'b', OPTION_FLAG, NULL, "print its body, byte for byte", 0, 0,
                   NULL},
    {0},
};

static void show(const struct ctl *ctl, const struct arguments *arguments, const json_t *job)
{
    struct buf body = BUF_INIT;

    if (ctl->is_json) {
        output_json(job);
    } else if (arguments->own[BODY_ONLY].is_given) {
        output_body(job, &body);
        fwrite(body.at, 1, body.len, stdout);
        buf_fini(&body);
    } else {
        output_job(ctl, job);
    }
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    struct request request;
    json_t *job = NULL;
    enum ctl_exit end;

    if (ctl->is_json && arguments->own[BODY_ONLY].is_given)
        return ctl_misused("get: --json and --body-only exclude each other");
    request_init(&request, "GET", "/v1/topics/%/jobs/%", arguments->words[0],
                 arguments->words[1]);
    request.expects = "id";
    end = request_ask(ctl, &request, arguments->words[1], &job);
    if (end == CTL_DONE)
        show(ctl, arguments, job);
    json_decref(job);
    request_fini(&request);
    return end;
}

const struct command get_command = {
    .name = "get",
    .usage = "TOPIC ID",
    .summary = "show a job, wherever it is, and leave it there",
    .text = "'state' is delayed, ready, reserved or dead. Ends with 5 where there is none.\n",
    .options = options,
    .words_min = 2,
    .words_max = 2,
    .run = run,
};
