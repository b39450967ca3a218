/* Topics: their settings, their list, their counts, and a pause. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/settings.h"
#include "node/ctl/table.h"
#include "node/ctl/topics.h"

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
        setting_print(&text, row, value);
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
    row = setting_find(word, len);
    if (!row)
        return CTL_USAGE;
    end = option_read(row, "topic: ", word + len + 1, &value);
    return end == CTL_DONE ? put(row, option_json(row, &value), body) : end;
}

/* "ttr" */
static enum ctl_exit read_name(const char *word, json_t *body)
{
    const struct option_row *row = setting_find(word, strlen(word));

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
    .text = "The first five settings are for jobs whose push does not give them.\n"
            "A change holds on all nodes within a second, for jobs pushed from then on. A\n"
            "setting that is not set comes from the node's configuration, or is built in:\n"
            "FROM tells which. Without a TOPIC, show lists those that have settings or are\n"
            "paused.\n",
    .choices = choices,
    .settings = setting_rows,
    .words_min = 1,
    .words_max = WORDS_ANY,
    .run = run,
};

/* topics: all of them, with how many jobs each has; or who scans them. */

enum { TOPICS_OWNERS };

static const struct option_row options[] = {
    {"owners", 'o', OPTION_FLAG, NULL, .text = "who scans each, in cluster mode"},
    {0},
};

/* Does any topic have that member? */
static bool has_any(const json_t *topics, const char *name)
{
    const json_t *topic, *member;
    size_t i;

    json_array_foreach(topics, i, topic)
    {
        member = json_object_get(topic, name);
        if (member && !json_is_null(member))
            return true;
    }
    return false;
}

/* Why a column is empty. */
static void explain(struct ctl *ctl, const json_t *topics)
{
    struct failure failure;
    json_t *page = NULL;

    if (!json_array_size(topics) || has_any(topics, "preferred") ||
        cluster_look(ctl, &page, &failure) != CTL_DONE)
        return;
    if (cluster_is_shared(page))
        ctl_say("this node does not know who scans; 'dueqctl check' says why");
    else if (has_any(topics,
                     "owner")) /* nodes of both modes, while a cluster changes its mode */
        ctl_say("this node is not of ha.mode: cluster, and does not know who is preferred; "
                "those that own topics are");
    else if (cluster_is_standalone(page))
        ctl_say("this node is alone, and scans all topics: there are no owners");
    else
        ctl_say("the leader scans all topics: there are no owners outside ha.mode: cluster");
    json_decref(page);
}

static void warn_of_unreached(const json_t *buckets)
{
    struct buf text = BUF_INIT;
    const json_t *bucket;
    size_t i;

    json_array_foreach(buckets, i, bucket)
    {
        buf_printf(&text, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value(bucket));
    }
    if (text.len)
        ctl_say("the topics of these buckets are missing: %s; 'dueqctl check' says why",
                buf_text(&text));
    buf_fini(&text);
}

static enum ctl_exit show_owners(struct ctl *ctl)
{
    json_t *all = NULL;
    enum ctl_exit end = topics_fetch(ctl, TOPICS_COUNTS, true, &all);
    const json_t *topics = json_object_get(all, "topics");

    if (end == CTL_DONE && ctl->is_json) {
        output_json(all);
    } else if (end == CTL_DONE) {
        topics_print_owners(ctl, topics);
        explain(ctl, topics);
        warn_of_unreached(json_object_get(all, "unreached"));
    }
    json_decref(all);
    return end;
}

static enum ctl_exit show_counts(struct ctl *ctl)
{
    json_t *all = NULL;
    enum ctl_exit end = topics_fetch(ctl, TOPICS_COUNTS, false, &all);
    json_t *topics = json_object_get(all, "topics");

    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "topics", topics));
    else if (end == CTL_DONE)
        topics_print(ctl, topics);
    json_decref(all);
    return end;
}

static enum ctl_exit run_topics(struct ctl *ctl, const struct arguments *arguments)
{
    return arguments->own[TOPICS_OWNERS].is_given ? show_owners(ctl) : show_counts(ctl);
}

static const struct command topics_command = {
    .name = "topics",
    .usage = "",
    .summary = "list all topics with their jobs, or with who scans them",
    .text = "OLDEST READY: how long the first job in line has been due. NEXT DUE: when the\n"
            "next delayed job will be due; '-' where there is none.\n"
            "With --owners: OWNER has the topic's lock for as long as LEFT says, and moves\n"
            "what is due; '-' where nobody has it, as of a topic without due jobs. PREFERRED\n"
            "is the node that should, as the node that is asked sees it. BUCKET is the\n"
            "topic's part of the store; unreached buckets are named.\n",
    .options = options,
    .run = run_topics,
};

/* stats: how many jobs there are, in some topics or in all together. */

static enum ctl_exit show_topics(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *topics = json_array();
    enum ctl_exit end = CTL_DONE;

    for (int i = 0; end == CTL_DONE && i < arguments->word_count; i++) {
        json_t *topic = NULL;

        end = topics_fetch_one(ctl, arguments->words[i], &topic);
        if (end == CTL_DONE && json_array_append_new(topics, topic))
            abort();
    }
    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "topics", topics));
    else if (end == CTL_DONE)
        topics_print(ctl, topics);
    json_decref(topics);
    return end;
}

static void add_up(const json_t *topics, const char *name, json_t *total)
{
    json_int_t sum = 0;
    const json_t *topic;
    size_t i;

    json_array_foreach(topics, i, topic)
    {
        sum += output_number(topic, name, 0);
    }
    json_object_set_new(total, name, json_integer(sum));
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The smaller of those that exist; negative stands for "none". */
static int64_t smaller(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void choose(const json_t *topics, const char *name,
                   int64_t (*better)(int64_t a, int64_t b), json_t *total)
{
    int64_t best = -1;
    const json_t *topic;
    size_t i;

    json_array_foreach(topics, i, topic)
    {
        best = better(best, output_number(topic, name, -1));
    }
    json_object_set_new(total, name, best < 0 ? json_null() : json_integer(best));
}

static enum ctl_exit show_total(struct ctl *ctl)
{
    static const char *const counts[] = {"delayed", "ready", "reserved", "dead"};
    json_t *all = NULL;
    json_t *total;
    const json_t *topics;
    enum ctl_exit end = topics_fetch(ctl, TOPICS_COUNTS, false, &all);

    if (end != CTL_DONE)
        return end;
    topics = json_object_get(all, "topics");
    total = json_pack("{s:I}", "topics", (json_int_t)json_array_size(topics));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        add_up(topics, counts[i], total);
    choose(topics, "oldest_ready_age_ms", larger, total);
    choose(topics, "next_due_in_ms", smaller, total);
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "total", total));
    else
        output_members(ctl, total);
    json_decref(total);
    json_decref(all);
    return end;
}

static enum ctl_exit run_stats(struct ctl *ctl, const struct arguments *arguments)
{
    return arguments->word_count ? show_topics(ctl, arguments) : show_total(ctl);
}

static const struct command stats_command = {
    .name = "stats",
    .usage = "[TOPIC...]",
    .summary = "count jobs, in some topics or in all together",
    .text = "Without a TOPIC the sums over all topics are shown.\n",
    .words_max = WORDS_ANY,
    .run = run_stats,
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

static const struct command pause_command = {
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

static const struct command resume_command = {
    .name = "resume",
    .usage = "TOPIC",
    .summary = "end a topic's pause",
    .words_min = 1,
    .words_max = 1,
    .run = run_resume,
};

const struct command *const topics_commands[] = {
    &topics_command, &stats_command, &topic_command, &pause_command, &resume_command, NULL,
};
