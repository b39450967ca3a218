#include "node/ctl/output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "node/ctl/table.h"
#include "node/ctl/text.h"
#include "node/ctl/times.h"

/* The API's words that need another exit code than a refusal's, or an advice. */
static const struct row {
    const char *code;
    enum ctl_exit end;
    const char *advice; /* NULL: the message says it all */
} error_rows[] = {
    {"unreachable", CTL_UNREACHABLE,
     "Is the node running, and is --url (or $DUEQ_URL) its HTTP address?"},
    {"unknown", CTL_UNKNOWN,
     "Look before you repeat it: 'dueqctl get TOPIC ID' shows a job, 'dueqctl stats TOPIC' how "
     "many there are."},
    {"unauthorized", CTL_REFUSED, "Give a token: --token-file FILE, or $DUEQ_TOKEN_FILE."},
    {"not_found", CTL_NOTHING, NULL},
    {"duplicate", CTL_REFUSED,
     "Choose another --id, or replace the job that has this one: --mode replace."},
    {"not_owner", CTL_REFUSED,
     "To have longer: 'dueqctl touch' in time, or a longer --ttr of push or pop."},
    {"not_reserved", CTL_REFUSED,
     "The lease is over: its time to run, its ttl or its tries are, or it was given back, "
     "moved or buried."},
    {"bad_topic", CTL_USAGE, NULL},
    {"bad_id", CTL_USAGE, NULL},
    {"wrong_state", CTL_REFUSED,
     "'dueqctl get TOPIC ID' shows its state; kick is for dead jobs."},
    {"too_large", CTL_REFUSED,
     "The node's limits.body_bytes is for a job, limits.http_body_bytes for a request."},
    {"no_such_path", CTL_REFUSED,
     "Is --url (or $DUEQ_URL) that of a dueq node, and the node as new as this program?"},
    {"bad_answer", CTL_REFUSED, "Is --url (or $DUEQ_URL) that of a dueq node?"},
    {"wrong_host", CTL_REFUSED,
     "Call the node by its address, or add the name to its http.hosts."},
    {"unavailable", CTL_REFUSED, "'dueqctl status' says what the node lacks."},
};

static const struct row *row_of(const char *code)
{
    for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
        if (!strcmp(error_rows[i].code, code))
            return &error_rows[i];
    }
    return NULL;
}

void failure_set(struct failure *failure, enum ctl_exit end, const char *code,
                 const char *format, ...)
{
    va_list args;

    *failure = (struct failure){.end = end};
    snprintf(failure->code, sizeof(failure->code), "%s", code);
    va_start(args, format);
    vsnprintf(failure->message, sizeof(failure->message), format, args);
    va_end(args);
}

bool failure_is_ours(const json_t *error, int status)
{
    static const char *const server_words[] = {
        "store_error", "not_ready", "shutting_down",   "unavailable",
        "too_many",    "unknown",   "not_implemented", "version_not_supported",
    };
    const char *code = json_string_value(json_object_get(error, "code"));

    if (!code || status < 500)
        return code;
    for (size_t i = 0; i < sizeof(server_words) / sizeof(server_words[0]); i++) {
        if (!strcmp(server_words[i], code))
            return true;
    }
    return false;
}

void failure_read(struct failure *failure, const json_t *error)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const struct row *row = row_of(code ? code : "bad_answer");

    failure_set(failure, row ? row->end : CTL_REFUSED, code ? code : "bad_answer", "%s",
                message ? message : "the answer gives no reason");
    failure->count = output_number(error, "count", 0);
}

json_t *failure_json(const struct failure *failure)
{
    json_t *code = json_string(failure->code);
    json_t *message = json_string(failure->message);

    /* A text cut inside a character is no UTF-8, and so no JSON. */
    return json_pack("{s:o, s:o}", "code", code ? code : json_string(""), "message",
                     message ? message : json_string(""));
}

void failure_say(const struct failure *failure, const char *what)
{
    const struct row *row = row_of(failure->code);
    const char *advice = failure->advice ? failure->advice : row ? row->advice : NULL;

    ctl_say("%s%s%s (%s)", what ? what : "", what ? ": " : "", failure->message, failure->code);
    if (advice)
        fprintf(stderr, "%s\n", advice);
    if (failure->retry_after_s > 0)
        fprintf(stderr, "Try again in %" PRId64 " s.\n", failure->retry_after_s);
}

void failure_advise(struct failure *failure, const struct advice *list)
{
    failure->advice = NULL;
    for (; list && list->code && !failure->advice; list++) {
        if (!strcmp(list->code, failure->code))
            failure->advice = list->text;
    }
}

enum ctl_exit failure_tell(const struct ctl *ctl, const struct failure *failure,
                           const char *what)
{
    failure_say(failure, what);
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:o}", "error", failure_json(failure)));
    return failure->end;
}

/* ---- progress ---- */

#define SHOW_AFTER_MS 2000
#define SHOW_EACH_MS  200

void progress_init(struct progress *p, const char *what)
{
    *p = (struct progress){
        .what = what, .is_shown = isatty(STDERR_FILENO), .begin_ms = clock_mono_ms()};
}

void progress_show(struct progress *p, int64_t done, int64_t total)
{
    int64_t now_ms = clock_mono_ms();
    int64_t took_ms = now_ms - p->begin_ms;
    struct buf text = BUF_INIT;

    if (!p->is_shown || took_ms < SHOW_AFTER_MS || now_ms - p->shown_ms < SHOW_EACH_MS)
        return;
    p->shown_ms = now_ms;
    text_number(&text, done, true);
    if (total) {
        buf_add_text(&text, " of ");
        text_number(&text, total, true);
    }
    buf_printf(&text, " %s, ", p->what);
    text_number(&text, done * 1000 / took_ms, true);
    fprintf(stderr, "\r%s/s\033[K", buf_text(&text));
    buf_fini(&text);
}

void progress_wipe(struct progress *p)
{
    if (p->shown_ms)
        fputs("\r\033[K", stderr);
}

/* ---- output ---- */

/* fflush() alone would miss output lost before: nothing is left to flush then. */
bool output_flush(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* ---- JSON ---- */

void output_json(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);

    if (!text)
        abort();
    puts(text);
    free(text);
}

void output_item(bool *has_items, const json_t *value)
{
    if (*has_items)
        putchar(',');
    *has_items = true;
    output_json(value);
}

void output_json_and_free(json_t *value)
{
    output_json(value);
    json_decref(value);
}

int64_t output_number(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

struct bytes output_text(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_string(value) ? bytes_of(json_string_value(value), json_string_length(value))
                                 : BYTES("");
}

/* As bytes, whichever way it travelled. */
static void add_body(struct buf *to, const json_t *job)
{
    if (!json_is_string(json_object_get(job, "body_base64")) ||
        !text_from_base64(to, output_text(job, "body_base64")))
        buf_add_bytes(to, output_text(job, "body"));
}

bool output_has_body(const json_t *job)
{
    return json_object_get(job, "body") || json_object_get(job, "body_base64");
}

void output_body(const json_t *job)
{
    struct buf body = BUF_INIT;

    add_body(&body, job);
    fwrite(body.at, 1, body.len, stdout);
    buf_fini(&body);
}

/* ---- objects ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);

    return len > end_len && !strcmp(text + len - end_len, end);
}

/* Moments and spans both have "_ms"; the names tell them apart. */
static bool is_moment(const char *name)
{
    static const char *const names[] = {"due_ms",     "at_ms",           "now_ms",
                                        "expires_ms", "deadline_ms",     "died_ms",
                                        "since_ms",   "paused_until_ms", "until_ms"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(name, names[i]))
            return true;
    }
    return false;
}

static void print_number(const struct ctl *ctl, const char *name, int64_t n, struct buf *to)
{
    if (is_moment(name))
        moment_print(to, n);
    else if (ends_with(name, "_ms"))
        duration_print(to, n);
    else
        text_number(to, n, ctl->is_terminal && strcmp(name, "pid") != 0);
}

void output_backoff(struct buf *to, const json_t *value)
{
    struct backoff b = {
        .kind = output_text(value, "kind").at,
        .base_ms = output_number(value, "base_ms", 0),
        .cap_ms = output_number(value, "cap_ms", 0),
        .jitter_percent = output_number(value, "jitter_percent", 0),
    };

    backoff_print(to, &b);
}

/* Of texts, one or more. */
static void print_list(const json_t *values, struct buf *to)
{
    const json_t *value;
    size_t i;

    json_array_foreach(values, i, value)
    {
        buf_add_text(to, i ? ", " : "");
        buf_add(to, json_string_value(value), json_string_length(value));
    }
}

static void print_value(const struct ctl *ctl, const char *name, const json_t *value,
                        struct buf *to)
{
    if (json_is_string(value))
        buf_add(to, json_string_value(value), json_string_length(value));
    else if (json_is_boolean(value))
        buf_add_text(to, json_is_true(value) ? "yes" : "no");
    else if (json_is_real(value))
        buf_printf(to, "%g", json_real_value(value));
    else if (json_is_integer(value))
        print_number(ctl, name, json_integer_value(value), to);
    else if (json_is_object(value))
        output_backoff(to, value);
    else if (json_is_string(json_array_get(value, 0)))
        print_list(value, to);
    else
        buf_add_char(to, '-');
}

/* Members whose names say too little without the API's description. */
static const char *label_of(const char *name)
{
    static const char *const labels[][2] = {{"leaderless_ms", "without a leader for"},
                                            {"stale_ms", "without ZooKeeper for"},
                                            {"wanted", "wanted as leader"}};

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        if (!strcmp(name, labels[i][0]))
            return labels[i][1];
    }
    return name;
}

/* The member "oldest_ready_age_ms" is shown as "oldest ready age". */
static void add_name(struct table *table, const char *prefix, const char *member)
{
    const char *name = label_of(member);
    size_t len = strlen(name) - (ends_with(name, "_ms") ? 3 : 0);
    struct buf text = BUF_INIT;

    buf_add_text(&text, prefix);
    for (size_t i = 0; i < len; i++)
        buf_add_char(&text, name[i] == '_' ? ' ' : name[i]);
    table_add(table, buf_bytes(&text));
    buf_fini(&text);
}

static void add_member(struct table *table, const struct ctl *ctl, const char *prefix,
                       const char *name, const json_t *value)
{
    struct buf text = BUF_INIT;

    add_name(table, prefix, name);
    print_value(ctl, name, value, &text);
    table_add(table, buf_bytes(&text));
    buf_fini(&text);
}

/* Objects in objects are shown the same way; but a backoff there is one value. */
static void add_members(struct table *table, const struct ctl *ctl, const char *prefix,
                        const json_t *object)
{
    struct buf inner = BUF_INIT;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        if (json_is_object(value) && (!*prefix || strcmp(name, "backoff") != 0)) {
            buf_clear(&inner);
            buf_printf(&inner, "%s%s ", prefix, name);
            add_members(table, ctl, buf_text(&inner), value);
        } else {
            add_member(table, ctl, prefix, name, value);
        }
    }
    buf_fini(&inner);
}

static const struct table_column no_heading[] = {{NULL, false}, {NULL, false}};

void output_members(const struct ctl *ctl, const json_t *object)
{
    struct table table;

    table_init(&table, no_heading, 2, ctl->is_terminal);
    add_members(&table, ctl, "", object);
    table_print(&table, stdout);
    table_fini(&table);
}

void output_job(const struct ctl *ctl, const json_t *job)
{
    static const char *const names[] = {"topic",       "id",         "lease",     "state",
                                        "death",       "died_ms",    "due_ms",    "delay_ms",
                                        "ttr_ms",      "tries",      "max_tries", "backoff",
                                        "deadline_ms", "expires_ms", "holder",    "priority"};
    struct buf body = BUF_INIT;
    struct table table;

    table_init(&table, no_heading, 2, ctl->is_terminal);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const json_t *value = json_object_get(job, names[i]);

        if (value)
            add_member(&table, ctl, "", names[i], value);
    }
    if (output_has_body(job))
        add_body(&body, job);
    else
        buf_add_text(&body, "(not shown: that takes the role produce or consume)");
    table_add_text(&table, "body");
    table_add(&table, buf_bytes(&body));
    table_print(&table, stdout);
    table_fini(&table);
    buf_fini(&body);
}

void output_rows(const struct ctl *ctl, const struct table_column *columns, size_t column_count,
                 const json_t *rows, void (*add_row)(struct table *table, const json_t *row))
{
    const json_t *row;
    struct table table;
    size_t i;

    table_init(&table, columns, column_count, ctl->is_terminal);
    json_array_foreach(rows, i, row)
    {
        add_row(&table, row);
    }
    table_print(&table, stdout);
    table_fini(&table);
}

void output_finding(const char *level, const json_t *finding)
{
    struct buf text = BUF_INIT;

    text_escape(&text, bytes_of_text(level));
    buf_add_text(&text, ": ");
    text_escape(&text, output_text(finding, "message"));
    buf_add_text(&text, "\n  hint: ");
    text_escape(&text, output_text(finding, "advice"));
    puts(buf_text(&text));
    buf_fini(&text);
}

void output_done(const char *name, const char *what)
{
    struct buf text = BUF_INIT;

    text_escape(&text, bytes_of_text(name));
    printf("%s: %s\n", buf_text(&text), what);
    buf_fini(&text);
}

void output_due(struct buf *to, int64_t due_ms)
{
    int64_t left_ms = due_ms - clock_wall_ms();

    buf_add_text(to, "due ");
    moment_print(to, due_ms);
    if (left_ms >= 1000) {
        buf_add_text(to, ", in ");
        duration_print(to, (left_ms + 99) / 100 * 100); /* the answer took a moment */
    }
}
