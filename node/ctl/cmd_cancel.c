/* cancel: removes jobs, each with a result of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/interrupt.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"

struct canceller {
    struct ctl *ctl;
    const char *topic;
    bool has_result; /* --json: a first element was printed */
    enum ctl_exit end;
};

/* `id` is NULL for what is none. */
static void print_result(struct canceller *c, const char *id, const struct failure *failure)
{
    json_t *result = json_object();

    json_object_set_new(result, "id", id ? json_string(id) : json_null());
    if (failure->end != CTL_DONE)
        json_object_set_new(result, "error", failure_json(failure));
    if (c->has_result)
        putchar(',');
    c->has_result = true;
    output_json_and_free(result);
}

static void show(struct canceller *c, const char *id, const struct failure *failure)
{
    if (failure->end != CTL_DONE)
        failure_say(failure, id);
    if (c->ctl->is_json)
        print_result(c, id, failure);
    else if (failure->end == CTL_DONE)
        output_done(id, "cancelled");
    c->end = ctl_worse(c->end, failure->end);
}

/* False: no use in going on. */
static bool cancel_one(struct canceller *c, const char *id)
{
    struct failure failure;
    struct request request;
    json_t *answer = NULL;

    request_init(&request, "DELETE", "/v1/topics/%/jobs/%", c->topic, id);
    request_send(c->ctl, &request, &answer, &failure);
    show(c, id, &failure);
    json_decref(answer);
    request_fini(&request);
    return failure.end != CTL_UNREACHABLE && failure.end != CTL_UNKNOWN;
}

/* A line with a NUL in it, cut there, might be the id of another job. */
static bool cancel_line(struct canceller *c, struct bytes line)
{
    struct failure failure;
    bool goes_on;
    char *id;

    if (line.len == 0)
        return true;
    if (!text_is_plain(line)) {
        failure_set(&failure, CTL_USAGE, "bad_id", "a line that is no id: no UTF-8");
        failure.retry_after_s = 0;
        show(c, NULL, &failure);
        return true;
    }
    id = strndup(line.at, line.len);
    if (!id)
        abort();
    goes_on = cancel_one(c, id);
    free(id);
    return goes_on;
}

static void say_interrupted(void)
{
    ctl_say("interrupted: what follows was not cancelled");
}

static bool cancel_from_stdin(struct canceller *c)
{
    enum input_next next = INPUT_LINE;
    bool goes_on = true;
    struct lines lines;
    struct bytes line;

    interrupt_catch();
    lines_init(&lines, STDIN_FILENO);
    while (goes_on && (next = lines_next(&lines, true, &line)) == INPUT_LINE)
        goes_on = cancel_line(c, line);
    if (next == INPUT_FAILED)
        c->end = ctl_worse(c->end, CTL_USAGE);
    if (next == INPUT_INTERRUPTED)
        say_interrupted();
    lines_fini(&lines);
    return goes_on && next == INPUT_END;
}

static bool cancel_word(struct canceller *c, const char *word)
{
    if (!strcmp(word, "-"))
        return cancel_from_stdin(c);
    /* Caught only behind a '-': in front of it an interrupt ends the program at once. */
    if (interrupt_is_caught()) {
        say_interrupted();
        return false;
    }
    return cancel_one(c, word);
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    struct canceller c = {.ctl = ctl, .topic = arguments->words[0]};
    bool goes_on = true;

    if (ctl->is_json)
        fputs("{\"results\":[", stdout);
    for (int i = 1; goes_on && i < arguments->word_count; i++)
        goes_on = cancel_word(&c, arguments->words[i]);
    if (ctl->is_json)
        puts("]}");
    return c.end;
}

const struct command cancel_command = {
    .name = "cancel",
    .usage = "TOPIC ID... | -",
    .summary = "remove jobs, wherever they are",
    .text = "'-' reads ids from stdin, one a line. An unknown id does not stop the others;\n"
            "the exit code is 5 then. When the node does not answer any more, the rest is\n"
            "left alone.\n",
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run,
};
