/* stats: how many jobs there are, in some topics or in all together. */
#include <stdlib.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/topics.h"

static enum ctl_exit fetch_one(struct ctl *ctl, const char *name, json_t *to)
{
    struct request request;
    json_t *topic = NULL;
    enum ctl_exit end;

    request_init(&request, "GET", "/v1/topics/%", name);
    request.expects = "topic";
    end = request_ask(ctl, &request, name, &topic);
    request_fini(&request);
    if (end == CTL_DONE && json_array_append_new(to, topic))
        abort();
    return end;
}

static enum ctl_exit show_topics(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *topics = json_array();
    enum ctl_exit end = CTL_DONE;

    for (int i = 0; end == CTL_DONE && i < arguments->word_count; i++)
        end = fetch_one(ctl, arguments->words[i], topics);
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

/* Of those that are there; negative stands for "none". */
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
    json_t *topics = NULL;
    json_t *total;
    enum ctl_exit end = topics_fetch(ctl, "/v1/topics", &topics);

    if (end != CTL_DONE)
        return end;
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
    json_decref(topics);
    return end;
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    return arguments->word_count ? show_topics(ctl, arguments) : show_total(ctl);
}

const struct command stats_command = {
    .name = "stats",
    .usage = "[TOPIC...]",
    .summary = "count jobs, in some topics or in all together",
    .text = "Without a TOPIC the sums over all topics are shown.\n",
    .words_max = WORDS_ANY,
    .run = run,
};
