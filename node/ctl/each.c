#include "node/ctl/each.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"

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
    if (w->has_result)
        putchar(',');
    w->has_result = true;
    output_json_and_free(result);
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
static void show(struct work *w, const char *id, const json_t *answer,
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
    show(w, id, answer, &failure);
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
        show(w, NULL, NULL, &failure);
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
