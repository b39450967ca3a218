/* topic: a topic's settings shown, set and unset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/settings.h"
#include "node/ctl/table.h"
#include "node/ctl/topics.h"

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
    const char *member = setting_member(row);
    struct buf text = BUF_INIT;

    setting_print(&text, row, setting_in(answer, "effective", member));
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
    request_fini(&request);
    return end;
}

/* ---- all topics that have settings ---- */

/* In the words of `set`: "ttr=5m history=true". */
static void add_own(struct table *table, const json_t *topic)
{
    const json_t *own = json_object_get(topic, "own");
    struct buf text = BUF_INIT;

    for (const struct option_row *row = setting_rows; row->name; row++) {
        const json_t *value = json_object_get(own, setting_member(row));

        if (!value || json_is_null(value))
            continue;
        buf_printf(&text, "%s%s=", text.len ? " " : "", row->name);
        setting_print(&text, row, value);
    }
    table_add(table, buf_bytes(&text));
    buf_fini(&text);
}

static void print_all(const struct ctl *ctl, const json_t *topics)
{
    static const struct table_column columns[] = {
        {"TOPIC", false}, {"PAUSED", false}, {"SETTINGS", false}};
    const json_t *topic;
    struct table table;
    size_t i;

    table_init(&table, columns, 3, ctl->is_terminal);
    json_array_foreach(topics, i, topic)
    {
        table_add(&table, output_text(topic, "topic"));
        topics_add_pause(&table, topic);
        add_own(&table, topic);
    }
    table_print(&table, stdout);
    table_fini(&table);
}

static enum ctl_exit show_all(struct ctl *ctl)
{
    json_t *topics = NULL;
    enum ctl_exit end = topics_fetch(ctl, "/v1/settings", &topics);

    if (end != CTL_DONE)
        return end;
    if (ctl->is_json) {
        output_json_and_free(json_pack("{s:o}", "topics", topics));
        return end;
    }
    print_all(ctl, topics);
    json_decref(topics);
    return end;
}

/* ---- what is to be changed ---- */

/* "ttr=5m" */
static enum ctl_exit read_change(const char *word, json_t *body)
{
    size_t len = strcspn(word, "=");
    const struct option_row *row;
    struct option_value value;
    enum ctl_exit end;

    if (!word[len])
        return ctl_misused("topic: expected NAME=VALUE, not '%s'", word);
    row = setting_find(word, len);
    if (!row)
        return CTL_USAGE;
    end = option_read(row, "topic: ", word + len + 1, &value);
    if (end == CTL_DONE &&
        json_object_set_new(body, setting_member(row), setting_json(row, &value)))
        abort();
    return end;
}

/* "ttr" */
static enum ctl_exit read_name(const char *word, json_t *body)
{
    const struct option_row *row = setting_find(word, strlen(word));

    if (!row)
        return CTL_USAGE;
    if (json_object_set_new(body, setting_member(row), json_null()))
        abort();
    return CTL_DONE;
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

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
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
    .text = "The first five settings are for jobs whose push does not say it.\n"
            "A change holds on all nodes within a second, for jobs pushed from then on. What\n"
            "is not set is as the node's configuration says, or built in: FROM tells which.\n"
            "Without a TOPIC, show lists those that have settings or are paused.\n",
    .choices = choices,
    .settings = setting_rows,
    .words_min = 1,
    .words_max = WORDS_ANY,
    .run = run,
};
