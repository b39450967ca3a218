/* pause and resume: a topic hands out nothing for a while; pushing goes on. */
#include <stdlib.h>

#include "node/ctl/commands.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/settings.h"

enum { FOR, UNTIL };

static const struct option_row pause_options[] = {
    [FOR] = {"for", 'f', OPTION_DURATION, "DURATION", "for so long from now", 1, YEARS_10_MS,
             NULL},
    [UNTIL] = {"until", 0, OPTION_MOMENT, "TIME",
               "until '2026-12-01 09:00' (local), RFC 3339, or ms", 0, 0, NULL},
    {0},
};

static void show(const struct ctl *ctl, const char *topic, const json_t *answer)
{
    int64_t until_ms = output_number(answer, "paused_until_ms", 0);
    struct buf text = BUF_INIT;

    if (ctl->is_json) {
        output_json(answer);
        return;
    }
    buf_add_text(&text, json_is_true(json_object_get(answer, "paused")) ? "paused" : "resumed");
    if (until_ms) {
        buf_add_text(&text, " until ");
        moment_print(&text, until_ms);
    }
    output_done(topic, buf_text(&text));
    buf_fini(&text);
}

static enum ctl_exit ask(struct ctl *ctl, const char *path, const char *topic, json_t *body)
{
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", path, topic);
    request.body = body;
    request.expects = "paused";
    request.advice = setting_advice;
    end = request_ask(ctl, &request, topic, &answer);
    if (end == CTL_DONE)
        show(ctl, topic, answer);
    json_decref(answer);
    request_fini(&request);
    return end;
}

static enum ctl_exit run_pause(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    json_t *body = json_object();

    if (own[FOR].is_given && own[UNTIL].is_given) {
        json_decref(body);
        return ctl_misused("pause: --for and --until exclude each other");
    }
    if (own[FOR].is_given)
        json_object_set_new(body, "for_ms", json_integer(own[FOR].number));
    if (own[UNTIL].is_given)
        json_object_set_new(body, "until_ms", json_integer(own[UNTIL].number));
    return ask(ctl, "/v1/topics/%/pause", arguments->words[0], body);
}

static enum ctl_exit run_resume(struct ctl *ctl, const struct arguments *arguments)
{
    return ask(ctl, "/v1/topics/%/resume", arguments->words[0], NULL);
}

const struct command pause_command = {
    .name = "pause",
    .usage = "TOPIC",
    .summary = "hand out no job of a topic, for a while or until resumed",
    .text = "Pushing goes on, and jobs become ready; consumers wait as if there were none.\n"
            "Jobs that were handed out before are not touched.\n",
    .options = pause_options,
    .words_min = 1,
    .words_max = 1,
    .run = run_pause,
};

const struct command resume_command = {
    .name = "resume",
    .usage = "TOPIC",
    .summary = "end a topic's pause",
    .words_min = 1,
    .words_max = 1,
    .run = run_resume,
};
