/* list: a topic's jobs, without their bodies, page after page. */
#include <stdio.h>
#include <stdlib.h>

#include "node/ctl/commands.h"
#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/table.h"

#define PAGE          100
#define LIMIT_DEFAULT 100
#define LIMIT_MAX     INT64_C(1000000000)

enum { STATE, LIMIT, ALL };

static const char *const states[] = {"delayed", "ready", "reserved", "dead", NULL};

static const struct option_row options[] = {
    [STATE] = {"state", 's', OPTION_CHOICE, "STATE",
               "delayed, ready, reserved or dead; default: all", .choices = states},
    [LIMIT] = {"limit", 'n', OPTION_COUNT, "N", "at most so many; default: 100", 1,
               .max = LIMIT_MAX},
    [ALL] = {"all", 'a', OPTION_FLAG, NULL, .text = "all there are"},
    {0},
};

static const struct table_column columns[] = {
    {"ID", false},   {"STATE", false}, {"DUE", false},  {"PRIORITY", true},
    {"TRIES", true}, {"BYTES", true},  {"NOTE", false},
};

struct list {
    struct ctl *ctl;
    const struct arguments *arguments;
    struct table table;
    struct buf cursor; /* of the next page; empty: the first, or there is none */
    int64_t left;      /* to be shown */
    bool has_result;   /* --json: a first element was printed */
    bool has_more;     /* behind what was to be shown */
};

static void add_moment(struct buf *to, const char *before, const json_t *job, const char *name)
{
    int64_t ms = output_number(job, name, -1);

    if (ms < 0)
        return;
    buf_add_text(to, before);
    moment_print(to, ms);
}

/* "until ..., held by worker-1"; "tries at ..., last held by worker-1" */
static void add_note(struct table *table, const json_t *job)
{
    struct bytes holder = output_text(job, "holder");
    bool is_held = bytes_equal(output_text(job, "state"), BYTES("reserved"));
    struct buf note = BUF_INIT;

    buf_add_bytes(&note, output_text(job, "death"));
    add_moment(&note, " at ", job, "died_ms");
    add_moment(&note, "until ", job, "deadline_ms");
    if (holder.len)
        buf_printf(&note, "%s%sheld by %.*s", note.len ? ", " : "", is_held ? "" : "last ",
                   BYTES_ARG(holder));
    table_add(table, buf_bytes(&note));
    buf_fini(&note);
}

static void add_row(struct table *table, const json_t *job)
{
    table_add(table, output_text(job, "id"));
    table_add(table, output_text(job, "state"));
    table_add_moment(table, output_number(job, "due_ms", 0));
    table_add_number(table, output_number(job, "priority", 0));
    table_add_number(table, output_number(job, "tries", 0));
    table_add_number(table, output_number(job, "body_bytes", 0));
    add_note(table, job);
}

static void show(struct list *l, const json_t *page)
{
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(page, "jobs"), i, job)
    {
        if (l->ctl->is_json)
            output_item(&l->has_result, job);
        else
            add_row(&l->table, job);
    }
    l->left -= (int64_t)json_array_size(json_object_get(page, "jobs"));
    if (!l->ctl->is_json)
        table_print(&l->table, stdout);
}

static enum ctl_exit fetch(struct list *l, int64_t limit, json_t **page,
                           struct failure *failure)
{
    const struct option_value *state = &l->arguments->own[STATE];
    struct request request;

    request_init(&request, "GET", "/v1/topics/%/jobs", l->arguments->words[0]);
    if (state->is_given)
        request_add_query(&request, "state", state->text);
    request_add_query_number(&request, "limit", limit);
    if (l->cursor.len)
        request_add_query(&request, "cursor", buf_text(&l->cursor));
    request.expects = "jobs";
    request_send(l->ctl, &request, page, failure);
    return failure->end;
}

static void take_cursor(struct list *l, const json_t *page)
{
    buf_clear(&l->cursor);
    buf_add_bytes(&l->cursor, output_text(page, "next"));
}

/* True: there may be another page. */
static bool show_page(struct list *l, struct failure *failure)
{
    json_t *page = NULL;

    if (fetch(l, l->left < PAGE ? l->left : PAGE, &page, failure) != CTL_DONE)
        return false;
    show(l, page);
    take_cursor(l, page);
    json_decref(page);
    return l->cursor.len > 0;
}

/* A cursor does not prove that there is more: the pages behind it may be empty. */
static void look_ahead(struct list *l, struct failure *failure)
{
    json_t *page = NULL;

    while (!l->has_more && l->cursor.len && fetch(l, 1, &page, failure) == CTL_DONE) {
        l->has_more = json_array_size(json_object_get(page, "jobs")) > 0;
        take_cursor(l, page);
        json_decref(page);
    }
}

/* Rows printed before a page failed stay valid. */
static void end_output(const struct list *l, const struct failure *failure)
{
    if (failure->end != CTL_DONE)
        failure_say(failure, l->arguments->words[0]);
    if (!l->ctl->is_json)
        return;
    putchar(']');
    if (failure->end == CTL_DONE) {
        printf(",\"has_more\":%s}\n", l->has_more ? "true" : "false");
        return;
    }
    fputs(",\"error\":", stdout);
    output_json_and_free(failure_json(failure));
    puts("}");
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    struct list l = {.ctl = ctl, .arguments = arguments, .left = LIMIT_DEFAULT};
    struct failure failure = {.end = CTL_DONE};

    if (own[LIMIT].is_given && own[ALL].is_given)
        return ctl_misused("list: --limit and --all exclude each other");
    if (own[LIMIT].is_given || own[ALL].is_given)
        l.left = own[ALL].is_given ? INT64_MAX : own[LIMIT].number;
    table_init(&l.table, columns, sizeof(columns) / sizeof(columns[0]), ctl->is_terminal);
    if (ctl->is_json)
        fputs("{\"jobs\":[", stdout);
    while (show_page(&l, &failure) && l.left > 0 && output_flush())
        continue;
    if (failure.end == CTL_DONE)
        look_ahead(&l, &failure);
    end_output(&l, &failure);
    if (l.has_more && !ctl->is_json)
        ctl_say("there are more: --limit, or --all");
    table_fini(&l.table);
    buf_fini(&l.cursor);
    return failure.end;
}

const struct command list_command = {
    .name = "list",
    .usage = "TOPIC",
    .summary = "list a topic's jobs, without their bodies",
    .text = "First the delayed ones, by when they are due, then the ready, as they would be\n"
            "handed out, the reserved, by when that ends, and the dead, by when they died. A\n"
            "job that moves meanwhile may be missing, or be there twice.\n",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
