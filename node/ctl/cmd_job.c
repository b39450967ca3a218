/* One job: get, cancel, run and reschedule, trace. */
#include <stdio.h>
#include <stdlib.h>

#include "node/ctl/commands.h"
#include "node/ctl/each.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/settings.h"
#include "node/ctl/table.h"

/* get: shows a job without taking it. */

enum { BODY_ONLY };

static const struct option_row options[] = {
    [BODY_ONLY] = {"body-only", 'b', OPTION_FLAG, NULL,
                   .text = "print its body, byte for byte"},
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
    return end;
}

static const struct command get_command = {
    .name = "get",
    .usage = "TOPIC ID",
    .summary = "show a job, wherever it is, and leave it there",
    .text = "'state' is delayed, ready, reserved or dead. Ends with 5 where there is none.\n",
    .options = options,
    .words_min = 2,
    .words_max = 2,
    .run = run,
};

/* cancel: removes jobs, wherever they are. */

static enum ctl_exit run_cancel(struct ctl *ctl, const struct arguments *arguments)
{
    return each_run(ctl, arguments, "DELETE", NULL);
}

static const struct command cancel_command = {
    .name = "cancel",
    .usage = "TOPIC ID... | -",
    .summary = "remove jobs, wherever they are",
    .text = "'-' reads ids from stdin, one a line. An unknown id does not stop the others;\n"
            "the exit code is 5 then. When the node does not answer any more, the rest is\n"
            "left alone.\n",
    .done = "cancelled",
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run_cancel,
};

/* run and reschedule: jobs become due at another time, wherever they are. */

enum { DELAY, AT };

static const struct option_row move_options[] = {
    [DELAY] = {"delay", 'd', OPTION_DURATION, "DURATION", "due so long from now",
               .max = YEARS_10_MS, .member = "delay_ms"},
    [AT] = {"at", 'a', OPTION_MOMENT, "TIME",
            "due at '2026-12-01 09:00' (local), RFC 3339, or ms", .member = "at_ms"},
    {0},
};

static enum ctl_exit run_run(struct ctl *ctl, const struct arguments *arguments)
{
    return each_run(ctl, arguments, "POST", NULL);
}

static enum ctl_exit run_reschedule(struct ctl *ctl, const struct arguments *arguments)
{
    if (arguments->own[DELAY].is_given == arguments->own[AT].is_given)
        return ctl_misused("reschedule: to when? --delay or --at");
    return each_run(ctl, arguments, "POST", options_json(move_options, arguments));
}

static const struct command run_command = {
    .name = "run",
    .usage = "TOPIC ID... | -",
    .summary = "make jobs due now",
    .text = "Delayed jobs need not wait any more; a job that a consumer holds is taken from\n"
            "it. Dead jobs are for 'dueqctl kick'. '-' reads ids from stdin, one a line.\n",
    .expects = "due_ms",
    .done = "made ready",
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run_run,
};

static const struct command reschedule_command = {
    .name = "reschedule",
    .usage = "TOPIC ID... | -",
    .summary = "make jobs due at another time",
    .text = "From any state; a job that a consumer holds is taken from it. '-' reads ids from\n"
            "stdin, one a line.\n",
    .options = move_options,
    .expects = "due_ms",
    .done = "rescheduled",
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run_reschedule,
};

/* trace: what the history says of a job, also of one that is gone. */

#define LIMIT_MAX 1000

enum { LIMIT };

static const struct option_row trace_options[] = {
    [LIMIT] = {"limit", 'n', OPTION_COUNT, "N", "at most so many, the newest; default: 100", 1,
               .max = LIMIT_MAX},
    {0},
};

static const struct table_column columns[] = {
    {"TIME", false}, {"EVENT", false}, {"TRIES", true},
    {"AT", false},   {"NODE", false},  {"CLIENT", false},
};

static void add_row(struct table *table, const json_t *item)
{
    struct buf event = BUF_INIT;

    buf_add_bytes(&event, output_text(item, "event"));
    if (output_text(item, "death").len)
        buf_printf(&event, ": %s", output_text(item, "death").at);
    table_add_moment(table, output_number(item, "time_ms", 0));
    table_add(table, buf_bytes(&event));
    if (json_object_get(item, "tries"))
        table_add_number(table, output_number(item, "tries", 0));
    else
        table_add_text(table, "");
    table_add_moment(table, output_number(item, "at_ms", 0));
    table_add(table, output_text(item, "node"));
    table_add(table, output_text(item, "client"));
    buf_fini(&event);
}

/* Either there is no such job, or its topic keeps no history. */
static void say_why_none(struct ctl *ctl, char **words)
{
    struct request request;
    struct failure failure;
    json_t *job = NULL;

    request_init(&request, "GET", "/v1/topics/%/jobs/%", words[0], words[1]);
    request.expects = "id";
    if (request_send(ctl, &request, &job, &failure) == CTL_DONE)
        ctl_say("%s: nothing was written down of it so far", words[1]);
    else
        failure_say(&failure, words[1]);
    json_decref(job);
}

static enum ctl_exit show_trace(struct ctl *ctl, char **words, const json_t *answer)
{
    const json_t *history = json_object_get(answer, "history");
    size_t count = json_array_size(history);

    if (ctl->is_json)
        output_json(answer);
    else if (count)
        output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]), history, add_row);
    if (!json_is_true(json_object_get(answer, "is_on")))
        ctl_say("the history is off; 'dueqctl topic set %s history=true' turns it on",
                words[0]);
    else if (!count)
        say_why_none(ctl, words);
    return count ? CTL_DONE : CTL_NOTHING;
}

static enum ctl_exit run_trace(struct ctl *ctl, const struct arguments *arguments)
{
    char **words = arguments->words;
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "GET", "/v1/topics/%/jobs/%/history", words[0], words[1]);
    if (arguments->own[LIMIT].is_given)
        request_add_query_number(&request, "limit", arguments->own[LIMIT].number);
    request.expects = "history";
    end = request_ask(ctl, &request, words[1], &answer);
    if (end == CTL_DONE)
        end = show_trace(ctl, words, answer);
    json_decref(answer);
    return end;
}

static const struct command trace_command = {
    .name = "trace",
    .usage = "TOPIC ID",
    .summary = "show what a job went through, even when it is gone",
    .text = "Oldest first, as far as it was written down and is still kept: the setting\n"
            "history of the topic switches it on. AT is when the job was due next, or how\n"
            "long its consumer had it. Ends with 5 where nothing is known.\n",
    .options = trace_options,
    .words_min = 2,
    .words_max = 2,
    .run = run_trace,
};

const struct command *const job_commands[] = {
    &cancel_command, &run_command, &reschedule_command, &get_command, &trace_command, NULL,
};
