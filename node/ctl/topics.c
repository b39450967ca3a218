#include "node/ctl/topics.h"

#include <stdlib.h>
#include <string.h>

#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/times.h"

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
void topics_print(const struct ctl *ctl, const json_t *topics)
{
    static const struct table_column columns[] = {
        {"TOPIC", false}, {"DELAYED", true},      {"READY", true},    {"RESERVED", true},
        {"DEAD", true},   {"OLDEST READY", true}, {"NEXT DUE", true}, {"PAUSED", false},
    };
    bool has_pauses = json_object_get(json_array_get(topics, 0), "paused");

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

void topics_print_owners(const struct ctl *ctl, const json_t *topics)
{
    static const struct table_column columns[] = {
        {"TOPIC", false},     {"BUCKET", true}, {"OWNER", false},
        {"PREFERRED", false}, {"TOKEN", true},  {"LEFT", true},
        {"DELAYED", true},    {"READY", true},  {"NEXT DUE", true},
    };

    output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]), topics, add_owned_row);
}
