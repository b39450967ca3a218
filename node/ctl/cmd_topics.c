/* Topics: their list, and their counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/cmd_nodes.h"
#include "node/ctl/cmd_topics.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/times.h"

/* ---- topics from a node ---- */

#define PAGE 1000

/* A topic may come twice while jobs move: what came last counts. `by_name` owns. */
static void take_page(json_t *by_name, const json_t *page)
{
    json_t *topic;
    size_t i;

    json_array_foreach(json_object_get(page, "topics"), i, topic)
    {
        const char *name = json_string_value(json_object_get(topic, "topic"));

        if (name && json_object_set(by_name, name, topic))
            abort();
    }
}

/* With several masters, one that is away makes the list without owners fail. */
static const struct advice counts_advice[] = {
    {"unavailable",
     "'dueqctl status' says what the node lacks; 'dueqctl topics --owners' lists "
     "the topics of the buckets that are reached."},
    {"store_error",
     "The node's log says why; 'dueqctl topics --owners' lists the topics of the buckets that "
     "answer."},
    {0}};

struct pages {
    struct ctl *ctl;
    const char *path;
    bool has_owners;
    struct buf cursor; /* of the next page; empty at the end */
    json_t *by_name;
    json_t *unreached;
};

static enum ctl_exit fetch_page(struct pages *pages)
{
    struct request request;
    json_t *page = NULL;
    enum ctl_exit end;

    request_init(&request, "GET", pages->path);
    request_add_query_number(&request, "limit", PAGE);
    if (pages->has_owners)
        request_add_query(&request, "owners", "true");
    if (pages->cursor.len)
        request_add_query(&request, "cursor", buf_text(&pages->cursor));
    request.expects = "topics";
    if (!pages->has_owners && !strcmp(pages->path, TOPICS_COUNTS))
        request.advice = counts_advice;
    end = request_ask(pages->ctl, &request, NULL, &page);
    buf_clear(&pages->cursor);
    if (end == CTL_DONE) {
        take_page(pages->by_name, page);
        json_array_extend(pages->unreached, json_object_get(page, "unreached"));
        buf_add_bytes(&pages->cursor, output_text(page, "next"));
    }
    json_decref(page);
    return end;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *in_order(json_t *by_name)
{
    size_t count = json_object_size(by_name);
    const char **names = calloc(count + 1, sizeof(*names));
    json_t *sorted = json_array();
    const char *name;
    json_t *topic;
    size_t i = 0;

    if (!names || !sorted)
        abort();
    json_object_foreach(by_name, name, topic)
    {
        names[i++] = name;
    }
    qsort(names, count, sizeof(*names), compare);
    for (i = 0; i < count; i++)
        json_array_append(sorted, json_object_get(by_name, names[i]));
    free(names);
    return sorted;
}

enum ctl_exit topics_fetch(struct ctl *ctl, const char *path, bool has_owners, json_t **all)
{
    struct pages pages = {.ctl = ctl,
                          .path = path,
                          .has_owners = has_owners,
                          .by_name = json_object(),
                          .unreached = json_array()};
    enum ctl_exit end;

    do
        end = fetch_page(&pages);
    while (end == CTL_DONE && pages.cursor.len);
    if (end == CTL_DONE)
        *all = json_pack("{s:o, s:O}", "topics", in_order(pages.by_name), "unreached",
                         pages.unreached);
    buf_fini(&pages.cursor);
    json_decref(pages.by_name);
    json_decref(pages.unreached);
    return end;
}

enum ctl_exit topics_fetch_one(struct ctl *ctl, const char *name, json_t **topic)
{
    struct request request;

    request_init(&request, "GET", "/v1/topics/%", name);
    request.expects = "topic";
    return request_ask(ctl, &request, name, topic);
}

/* ---- topics as a table ---- */

void topics_add_pause(struct table *table, const json_t *topic)
{
    int64_t until_ms = output_number(topic, "paused_until_ms", 0);
    struct buf text = BUF_INIT;

    if (!json_is_true(json_object_get(topic, "paused"))) {
        buf_add_text(&text, "no");
    } else if (until_ms) {
        buf_add_text(&text, "until ");
        moment_print(&text, until_ms);
    } else {
        buf_add_text(&text, "yes");
    }
    table_add(table, buf_bytes(&text));
    buf_fini(&text);
}

static void add_row(struct table *table, const json_t *topic)
{
    static const char *const counts[] = {"delayed", "ready", "reserved", "dead"};

    table_add(table, output_text(topic, "topic"));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        table_add_number(table, output_number(topic, counts[i], 0));
    table_add_duration(table, output_number(topic, "oldest_ready_age_ms", -1));
    table_add_duration(table, output_number(topic, "next_due_in_ms", -1));
    if (json_object_get(topic, "paused"))
        topics_add_pause(table, topic);
}

/* The API tells only of a single topic whether it is paused: the last column is for that. */
static void print_topics(const struct ctl *ctl, json_t *topics)
{
    static const struct table_column columns[] = {
        {"TOPIC", false}, {"DELAYED", true},      {"READY", true},    {"RESERVED", true},
        {"DEAD", true},   {"OLDEST READY", true}, {"NEXT DUE", true}, {"PAUSED", false},
    };
    bool has_pauses = json_object_get(json_array_get(topics, 0), "paused");

    if (ctl->is_json)
        output_json_and_free(json_pack("{s:O}", "topics", topics));
    else
        output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]) - !has_pauses, topics,
                    add_row);
}

/* "-" where there is none. */
static void add_number_or_none(struct table *table, const json_t *object, const char *name)
{
    if (json_is_integer(json_object_get(object, name)))
        table_add_number(table, output_number(object, name, 0));
    else
        table_add_text(table, "-");
}

static void add_text_or_none(struct table *table, const json_t *object, const char *name)
{
    struct bytes text = output_text(object, name);

    table_add(table, text.len ? text : BYTES("-"));
}

static void add_owned_row(struct table *table, const json_t *topic)
{
    const json_t *owner = json_object_get(topic, "owner");

    table_add(table, output_text(topic, "topic"));
    add_number_or_none(table, topic, "bucket");
    add_text_or_none(table, owner, "node");
    add_text_or_none(table, topic, "preferred");
    add_number_or_none(table, owner, "token");
    table_add_duration(table, output_number(owner, "left_ms", -1));
    table_add_number(table, output_number(topic, "delayed", 0));
    table_add_number(table, output_number(topic, "ready", 0));
    table_add_duration(table, output_number(topic, "next_due_in_ms", -1));
}

static void print_owners(const struct ctl *ctl, const json_t *topics)
{
    static const struct table_column columns[] = {
        {"TOPIC", false},     {"BUCKET", true}, {"OWNER", false},
        {"PREFERRED", false}, {"TOKEN", true},  {"LEFT", true},
        {"DELAYED", true},    {"READY", true},  {"NEXT DUE", true},
    };

    output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]), topics, add_owned_row);
}

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
        ctl_say("the topics of these buckets are missing: %s; 'dueqctl check', or the node's "
                "log, says why",
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
        print_owners(ctl, topics);
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

    if (end == CTL_DONE)
        print_topics(ctl, json_object_get(all, "topics"));
    json_decref(all);
    return end;
}

static enum ctl_exit run_topics(struct ctl *ctl, const struct arguments *arguments)
{
    return arguments->own[TOPICS_OWNERS].is_given ? show_owners(ctl) : show_counts(ctl);
}

const struct command topics_command = {
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
    if (end == CTL_DONE)
        print_topics(ctl, topics);
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

const struct command stats_command = {
    .name = "stats",
    .usage = "[TOPIC...]",
    .summary = "count jobs, in some topics or in all together",
    .text = "Without a TOPIC the sums over all topics are shown.\n",
    .words_max = WORDS_ANY,
    .run = run_stats,
};
