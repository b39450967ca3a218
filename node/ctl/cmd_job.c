/* One job: get, trace; one after the other: cancel, run, reschedule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/table.h"
#include "node/ctl/text.h"

/* get: shows a job without taking it. */

enum { BODY_ONLY };

static const struct option_row options[] = {
    [BODY_ONLY] = {"body-only", 'b', OPTION_FLAG, NULL,
                   .text = "print its body, byte for byte"},
    {0},
};

static enum ctl_exit show(const struct ctl *ctl, const struct arguments *arguments,
                          const json_t *job)
{
    if (ctl->is_json)
        output_json(job);
    else if (!arguments->own[BODY_ONLY].is_given)
        output_job(ctl, job);
    else if (output_has_body(job))
        output_body(job);
    else
        ctl_say("%s: its body is not shown: that takes the role produce or consume",
                arguments->words[1]);
    return output_has_body(job) || !arguments->own[BODY_ONLY].is_given ? CTL_DONE : CTL_REFUSED;
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
        end = show(ctl, arguments, job);
    json_decref(job);
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

/* Something done to jobs by their ids, each with a request and a result of its own. A missing
 * id does not stop the others; a node that does not answer does. */

struct work {
    struct ctl *ctl;
    const struct arguments *arguments;
    const char *method;
    json_t *body;    /* NULL: none */
    bool has_result; /* --json: a first element was printed */
    enum ctl_exit end;
};

static const char *done_word(const struct work *w)
{
    return w->arguments->command->done;
}

/* The node's answer is part of the result. */
static void print_result(struct work *w, const char *id, const json_t *answer,
                         const struct failure *failure)
{
    json_t *result = json_object();

    json_object_set_new(result, "id", id ? json_string(id) : json_null());
    json_object_update_missing(result, (json_t *)answer);
    if (failure->end != CTL_DONE)
        json_object_set_new(result, "error", failure_json(failure));
    output_item(&w->has_result, result);
    json_decref(result);
}

/* A job that is due at another time now: when. */
static void print_done(const struct work *w, const char *id, const json_t *answer)
{
    int64_t due_ms = output_number(answer, "due_ms", 0);
    struct buf text = BUF_INIT;

    buf_add_text(&text, done_word(w));
    if (due_ms && w->body) {
        buf_add_text(&text, ", ");
        output_due(&text, due_ms);
    }
    output_done(id, buf_text(&text));
    buf_fini(&text);
}

/* `id` is NULL for a line that is no id, `answer` where there was none. */
static void show_result(struct work *w, const char *id, const json_t *answer,
                        const struct failure *failure)
{
    if (failure->end != CTL_DONE)
        failure_say(failure, id);
    if (w->ctl->is_json)
        print_result(w, id, answer, failure);
    else if (failure->end == CTL_DONE)
        print_done(w, id, answer);
    w->end = ctl_worse(w->end, failure->end);
}

/* False: there is no point in going on. */
static bool do_one(struct work *w, const char *id)
{
    struct failure failure;
    struct request request;
    json_t *answer = NULL;

    request_init(&request, w->method,
                 strcmp(w->method, "DELETE") ? "/v1/topics/%/jobs/%/%" : "/v1/topics/%/jobs/%",
                 w->arguments->words[0], id, w->arguments->command->name);
    request.body = json_incref(w->body);
    request.expects = w->arguments->command->expects;
    request_send(w->ctl, &request, &answer, &failure);
    show_result(w, id, answer, &failure);
    json_decref(answer);
    return failure.end != CTL_UNREACHABLE && failure.end != CTL_UNKNOWN;
}

/* A line with a NUL in it, cut there, might be the id of another job. */
static bool do_line(struct work *w, struct bytes line)
{
    struct failure failure;
    bool goes_on;
    char *id;

    if (line.len == 0)
        return true;
    if (!text_is_plain(line)) {
        failure_set(&failure, CTL_USAGE, "bad_id", "a line that is no id: no UTF-8");
        show_result(w, NULL, NULL, &failure);
        return true;
    }
    id = bytes_copy(line);
    goes_on = do_one(w, id);
    free(id);
    return goes_on;
}

static void say_interrupted(const struct work *w)
{
    ctl_say("interrupted: what follows was not %s", done_word(w));
}

static bool do_stdin(struct work *w)
{
    enum input_next next = INPUT_LINE;
    bool goes_on = true;
    struct lines lines;
    struct bytes line;

    interrupt_catch();
    lines_init(&lines, STDIN_FILENO);
    while (goes_on && (next = lines_next(&lines, true, &line)) == INPUT_LINE)
        goes_on = do_line(w, line);
    if (next == INPUT_FAILED)
        w->end = ctl_worse(w->end, CTL_USAGE);
    if (next == INPUT_INTERRUPTED)
        say_interrupted(w);
    lines_fini(&lines);
    return goes_on && next == INPUT_END;
}

static bool do_word(struct work *w, const char *word)
{
    if (!strcmp(word, "-"))
        return do_stdin(w);
    /* Caught only behind a '-': in front of it an interrupt ends the program at once. */
    if (interrupt_is_caught()) {
        say_interrupted(w);
        return false;
    }
    return do_one(w, word);
}

enum ctl_exit each_run(struct ctl *ctl, const struct arguments *arguments, const char *method,
                       json_t *body)
{
    struct work w = {.ctl = ctl, .arguments = arguments, .method = method, .body = body};
    bool goes_on = true;

    if (ctl->is_json)
        fputs("{\"results\":[", stdout);
    for (int i = 1; goes_on && i < arguments->word_count; i++)
        goes_on = do_word(&w, arguments->words[i]);
    if (ctl->is_json)
        puts("]}");
    json_decref(body);
    return w.end;
}

/* cancel: removes jobs, wherever they are. */

static enum ctl_exit run_cancel(struct ctl *ctl, const struct arguments *arguments)
{
    return each_run(ctl, arguments, "DELETE", NULL);
}

const struct command cancel_command = {
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
        return ctl_misused("reschedule: to when? One of --delay and --at");
    return each_run(ctl, arguments, "POST", options_json(move_options, arguments));
}

const struct command run_command = {
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

const struct command reschedule_command = {
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

const struct command trace_command = {
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
