/* trace: what the history says of a job, also of one that is gone. */
#include "node/ctl/commands.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/table.h"

#define LIMIT_MAX 1000

enum { LIMIT };

static const struct option_row options[] = {
    [LIMIT] = {"limit", 'n', OPTION_COUNT, "N", "at most so many, the newest; default: 100", 1,
               LIMIT_MAX, NULL},
    {0},
};

static const struct table_column columns[] = {
    {"TIME", false}, {"EVENT", false}, {"TRIES", true},
    {"AT", false},   {"NODE", false},  {"CLIENT", false},
};

static void add_moment(struct table *table, const json_t *item, const char *name)
{
    int64_t ms = output_number(item, name, 0);
    struct buf text = BUF_INIT;

    if (ms)
        moment_print(&text, ms);
    table_add(table, buf_bytes(&text));
    buf_fini(&text);
}

static void add_row(struct table *table, const json_t *item)
{
    struct buf event = BUF_INIT;

    buf_add_bytes(&event, output_text(item, "event"));
    if (output_text(item, "death").len)
        buf_printf(&event, ": %s", output_text(item, "death").at);
    add_moment(table, item, "time_ms");
    table_add(table, buf_bytes(&event));
    if (json_object_get(item, "tries"))
        table_add_number(table, output_number(item, "tries", 0));
    else
        table_add_text(table, "");
    add_moment(table, item, "at_ms");
    table_add(table, output_text(item, "node"));
    table_add(table, output_text(item, "client"));
    buf_fini(&event);
}

static void print(const struct ctl *ctl, const json_t *history)
{
    output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]), history, add_row);
}

/* Either there is none, or it lives and nothing was written down. */
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
    request_fini(&request);
}

static enum ctl_exit show(struct ctl *ctl, char **words, const json_t *answer)
{
    const json_t *history = json_object_get(answer, "history");
    size_t count = json_array_size(history);

    if (ctl->is_json)
        output_json(answer);
    else if (count)
        print(ctl, history);
    if (!json_is_true(json_object_get(answer, "is_on")))
        ctl_say("the history is off; 'dueqctl topic set %s history=true' turns it on",
                words[0]);
    else if (!count)
        say_why_none(ctl, words);
    return count ? CTL_DONE : CTL_NOTHING;
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
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
        end = show(ctl, words, answer);
    json_decref(answer);
    request_fini(&request);
    return end;
}

const struct command trace_command = {
    .name = "trace",
    .usage = "TOPIC ID",
    .summary = "show what a job went through, even when it is gone",
    .text = "Oldest first, as far as it was written down and is still kept: the setting\n"
            "history of the topic switches it on. AT is when the job was due next, or how\n"
            "long its consumer had it. Ends with 5 where nothing is known.\n",
    .options = options,
    .words_min = 2,
    .words_max = 2,
    .run = run,
};
