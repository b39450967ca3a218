/* A topic's settings, in the words of the command line (those of the configuration's list
 * `topics`) and in the API's; and its pause. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/topic_settings.h"
#include "node/ctl/cmd_topics.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/table.h"
#include "node/ctl/text.h"
#include "node/ctl/times.h"

/* ---- the settings ---- */

static const char *const switches[] = {"false", "true", NULL};

#define ROW_DURATION(most) OPTION_DURATION, "DURATION", .max = (most)
#define ROW_COUNT(most)    OPTION_COUNT, "N", .max = (most)
#define ROW_SIZE(most)     OPTION_SIZE, "SIZE", .max = (most)
#define ROW_BACKOFF(most)  OPTION_BACKOFF, "BACKOFF"
#define ROW_SWITCH(most)   OPTION_SWITCH, "SWITCH", .choices = switches

static const struct option_row setting_rows[] = {
#define X(name, word, field, kind, bytes, most, built_in, help) \
    {word, 0, ROW_##kind(most), .text = help, .member = #field},
    TOPIC_SETTING_LIST(X)
#undef X
        {0},
};

/* The rest of a line of 80 beside the word. */
#define X(name, word, field, kind, bytes, max, built_in, help) \
    _Static_assert(sizeof(help) <= 54 + 1, "the help of " word " is too long");
TOPIC_SETTING_LIST(X)
#undef X

/* For a change that may or may not have happened. */
static const struct advice setting_advice[] = {
    {"unknown", "Look before you repeat it: 'dueqctl topic show TOPIC' shows what holds."},
    {0}};

/* The row whose name is the first `len` bytes; NULL: there is none; a message was printed. */
static const struct option_row *find_setting(const char *name, size_t len)
{
    struct nearest nearest = nearest_to(bytes_of(name, len));
    struct buf known = BUF_INIT;

    for (const struct option_row *row = setting_rows; row->name; row++) {
        if (strlen(row->name) == len && !memcmp(row->name, name, len)) {
            buf_fini(&known);
            return row;
        }
        if (bytes_equal(bytes_of(name, len), bytes_of_text(row->member)))
            nearest_offer_at(&nearest, row->name, 1);
        nearest_offer(&nearest, row->name);
        buf_printf(&known, "%s%s", known.len ? ", " : "", row->name);
    }
    if (nearest.found)
        ctl_misused("there is no setting '%.*s'; did you mean %s?", (int)len, name,
                    nearest.found);
    else
        ctl_misused("there is no setting '%.*s': there are %s", (int)len, name,
                    buf_text(&known));
    buf_fini(&known);
    return NULL;
}

/* So that it reads back; "-" where there is none. */
static void print_setting(struct buf *to, const struct option_row *row, const json_t *value)
{
    if (json_is_object(value))
        output_backoff(to, value);
    else if (json_is_boolean(value))
        buf_add_text(to, switches[json_is_true(value)]);
    else if (json_is_integer(value) && row->kind == OPTION_DURATION)
        duration_write(to, json_integer_value(value));
    else if (json_is_integer(value) && row->kind == OPTION_SIZE)
        size_write(to, json_integer_value(value));
    else if (json_is_integer(value))
        buf_printf(to, "%" PRId64, (int64_t)json_integer_value(value));
    else
        buf_add_char(to, '-');
}

/* topic: a topic's settings shown, set and unset. */

/* ---- one topic ---- */

static const json_t *setting_in(const json_t *answer, const char *source, const char *member)
{
    return json_object_get(json_object_get(answer, source), member);
}

static const char *source_of(const json_t *answer, const char *member)
{
    if (setting_in(answer, "own", member))
        return "topic";
    return setting_in(answer, "configured", member) ? "configuration" : "built in";
}

static void add_setting(struct table *table, const struct option_row *row, const json_t *answer)
{
    const char *member = row->member;
    struct buf text = BUF_INIT;

    print_setting(&text, row, setting_in(answer, "effective", member));
    table_add_text(table, row->name);
    table_add(table, buf_bytes(&text));
    table_add_text(table, source_of(answer, member));
    buf_fini(&text);
}

static void print_one(const struct ctl *ctl, const json_t *answer)
{
    static const struct table_column columns[] = {
        {"SETTING", false}, {"VALUE", false}, {"FROM", false}};
    struct table table;

    table_init(&table, columns, 3, ctl->is_terminal);
    for (const struct option_row *row = setting_rows; row->name; row++)
        add_setting(&table, row, answer);
    table_add_text(&table, "paused");
    topics_add_pause(&table, answer);
    table_add_text(&table, "");
    table_print(&table, stdout);
    table_fini(&table);
}

/* `body` is taken over; NULL: only look. */
static enum ctl_exit ask(struct ctl *ctl, const char *topic, json_t *body)
{
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, body ? "PATCH" : "GET", "/v1/topics/%/settings", topic);
    request.body = body;
    request.expects = "effective";
    request.advice = setting_advice;
    end = request_ask(ctl, &request, topic, &answer);
    if (end == CTL_DONE && ctl->is_json)
        output_json(answer);
    else if (end == CTL_DONE)
        print_one(ctl, answer);
    json_decref(answer);
    return end;
}

/* ---- all topics that have settings ---- */

/* The settings in the words of `set`: "ttr=5m history=true". */
static void add_topic(struct table *table, const json_t *topic)
{
    const json_t *own = json_object_get(topic, "own");
    struct buf text = BUF_INIT;

    table_add(table, output_text(topic, "topic"));
    topics_add_pause(table, topic);
    for (const struct option_row *row = setting_rows; row->name; row++) {
        const json_t *value = json_object_get(own, row->member);

        if (!value || json_is_null(value))
            continue;
        buf_printf(&text, "%s%s=", text.len ? " " : "", row->name);
        print_setting(&text, row, value);
    }
    table_add(table, buf_bytes(&text));
    buf_fini(&text);
}

static enum ctl_exit show_all(struct ctl *ctl)
{
    static const struct table_column columns[] = {
        {"TOPIC", false}, {"PAUSED", false}, {"SETTINGS", false}};
    json_t *all = NULL;
    enum ctl_exit end = topics_fetch(ctl, TOPICS_SETTINGS, false, &all);
    json_t *topics = json_object_get(all, "topics");

    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "topics", topics));
    else if (end == CTL_DONE)
        output_rows(ctl, columns, 3, topics, add_topic);
    json_decref(all);
    return end;
}

/* ---- what is to be changed ---- */

static enum ctl_exit put(const struct option_row *row, json_t *value, json_t *body)
{
    if (json_object_get(body, row->member)) {
        json_decref(value);
        return ctl_misused("topic: %s is given twice", row->name);
    }
    if (json_object_set_new(body, row->member, value))
        abort();
    return CTL_DONE;
}

/* "ttr=5m" */
static enum ctl_exit read_change(const char *word, json_t *body)
{
    size_t len = strcspn(word, "=");
    const struct option_row *row;
    struct option_value value;
    enum ctl_exit end;

    if (!word[len])
        return ctl_misused("topic: expected NAME=VALUE, not '%s'", word);
    row = find_setting(word, len);
    if (!row)
        return CTL_USAGE;
    end = option_read(row, "topic: ", word + len + 1, &value);
    return end == CTL_DONE ? put(row, option_json(row, &value), body) : end;
}

/* "ttr" */
static enum ctl_exit read_name(const char *word, json_t *body)
{
    const struct option_row *row = find_setting(word, strlen(word));

    return row ? put(row, json_null(), body) : CTL_USAGE;
}

static enum ctl_exit change(struct ctl *ctl, const struct arguments *arguments,
                            enum ctl_exit (*read)(const char *word, json_t *body))
{
    json_t *body = json_object();
    enum ctl_exit end = CTL_DONE;

    if (arguments->word_count < 3)
        end = ctl_misused("topic: something is missing: %s", topic_command.usage);
    for (int i = 2; end == CTL_DONE && i < arguments->word_count; i++)
        end = read(arguments->words[i], body);
    if (end == CTL_DONE)
        return ask(ctl, arguments->words[1], body);
    json_decref(body);
    return end;
}

static enum ctl_exit run_topic(struct ctl *ctl, const struct arguments *arguments)
{
    const char *what = arguments->words[0];
    int count = arguments->word_count;

    if (!strcmp(what, "set"))
        return change(ctl, arguments, read_change);
    if (!strcmp(what, "unset"))
        return change(ctl, arguments, read_name);
    if (strcmp(what, "show") != 0)
        return ctl_misused("topic: there are show, set and unset, not '%s'", what);
    if (count > 2)
        return ctl_misused("topic: there is a word too many: '%s'", arguments->words[2]);
    return count == 2 ? ask(ctl, arguments->words[1], NULL) : show_all(ctl);
}

static const char *const choices[] = {"show", "set", "unset", NULL};

const struct command topic_command = {
    .name = "topic",
    .usage = "show|set|unset [TOPIC] [NAME[=VALUE]...]",
    .summary = "show or change a topic's settings",
    .text = "The first five settings are for jobs whose push does not give them.\n"
            "A change holds on all nodes within a second, for jobs pushed from then on. A\n"
            "setting that is not set comes from the node's configuration, or is built in:\n"
            "FROM tells which. Without a TOPIC, show lists those that have settings or are\n"
            "paused.\n",
    .choices = choices,
    .settings = setting_rows,
    .words_min = 1,
    .words_max = WORDS_ANY,
    .run = run_topic,
};

/* pause and resume: a topic hands out nothing for a while; pushing goes on. */

enum { FOR, UNTIL };

static const struct option_row pause_options[] = {
    [FOR] = {"for", 'f', OPTION_DURATION, "DURATION", "for so long from now", 1, YEARS_10_MS,
             .member = "for_ms"},
    [UNTIL] = {"until", 0, OPTION_MOMENT, "TIME",
               "until '2026-12-01 09:00' (local), RFC 3339, or ms", .member = "until_ms"},
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

static enum ctl_exit ask_pause(struct ctl *ctl, const char *path, const char *topic,
                               json_t *body)
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
    return end;
}

static enum ctl_exit run_pause(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;

    if (own[FOR].is_given && own[UNTIL].is_given)
        return ctl_misused("pause: --for and --until exclude each other");
    return ask_pause(ctl, "/v1/topics/%/pause", arguments->words[0],
                     options_json(pause_options, arguments));
}

static enum ctl_exit run_resume(struct ctl *ctl, const struct arguments *arguments)
{
    return ask_pause(ctl, "/v1/topics/%/resume", arguments->words[0], NULL);
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
