/* topics: all of them, with how many jobs each has; or who scans them. */
#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/topics.h"

enum { TOPICS_OWNERS };

static const struct option_row options[] = {
    {"owners", 'o', OPTION_FLAG, NULL, "who scans each, in cluster mode", 0, 0, NULL},
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
    else if (has_any(topics, "owner")) /* nodes of both modes, while a cluster is changed */
        ctl_say("this node is not of ha.mode: cluster, and does not know who is preferred; "
                "those that own topics are");
    else if (cluster_is_alone(page))
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
    enum ctl_exit end = topics_fetch_owners(ctl, &all);
    const json_t *topics = json_object_get(all, "topics");

    if (end != CTL_DONE)
        return end;
    if (ctl->is_json) {
        output_json_and_free(all);
        return end;
    }
    topics_print_owners(ctl, topics);
    explain(ctl, topics);
    warn_of_unreached(json_object_get(all, "unreached"));
    json_decref(all);
    return end;
}

static enum ctl_exit show_counts(struct ctl *ctl)
{
    json_t *topics = NULL;
    enum ctl_exit end = topics_fetch(ctl, "/v1/topics", &topics);

    if (end != CTL_DONE)
        return end;
    if (ctl->is_json) {
        output_json_and_free(json_pack("{s:o}", "topics", topics));
        return end;
    }
    topics_print(ctl, topics);
    json_decref(topics);
    return end;
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    return arguments->own[TOPICS_OWNERS].is_given ? show_owners(ctl) : show_counts(ctl);
}

const struct command topics_command = {
    .name = "topics",
    .usage = "",
    .summary = "list all topics with their jobs, or with who scans them",
    .text = "OLDEST READY is for how long the job that is first in line has been due,\n"
            "NEXT DUE when the next delayed one will be; '-' where there is none.\n"
            "With --owners: OWNER has the topic's lock for as long as LEFT says, and moves\n"
            "what is due; '-' where nobody has it, as of a topic without due jobs. PREFERRED\n"
            "is the node that should, as the node that is asked sees it. BUCKET is the\n"
            "topic's part of the store; those that are not reached are named.\n",
    .options = options,
    .run = run,
};
