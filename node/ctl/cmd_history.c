/* history: who led when, and for how long nobody did. */
#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"
#include "node/ctl/table.h"

static const struct table_column columns[] = {
    {"TIME", false}, {"LEADER", false}, {"REASON", false}, {"EPOCH", true}, {"WITHOUT", true},
};

static void add_row(struct table *table, const json_t *change)
{
    struct buf when = BUF_INIT;

    moment_print(&when, output_number(change, "at_ms", 0));
    table_add(table, buf_bytes(&when));
    table_add(table, output_text(change, "node"));
    table_add(table, output_text(change, "reason"));
    table_add_number(table, output_number(change, "epoch", 0));
    table_add_duration(table, output_number(change, "without_leader_ms", -1));
    buf_fini(&when);
}

static void print(const struct ctl *ctl, const json_t *history)
{
    output_rows(ctl, columns, sizeof(columns) / sizeof(columns[0]), history, add_row);
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *page = NULL, *history;
    enum ctl_exit end = cluster_fetch(ctl, "history", &page);

    (void)arguments;
    if (end != CTL_DONE)
        return end;
    history = json_object_get(page, "history");
    if (ctl->is_json)
        output_json_and_free(history ? json_pack("{s:O}", "history", history)
                                     : json_pack("{s:[]}", "history"));
    else if (cluster_is_alone(page))
        ctl_say("this node is alone: the lead never changes");
    else
        print(ctl, history);
    json_decref(page);
    return CTL_DONE;
}

const struct command history_command = {
    .name = "history",
    .usage = "",
    .summary = "list the last hundred changes of the lead",
    .text = "Oldest first. WITHOUT is for how long nobody led before, as the new leader saw\n"
            "it: for so long due jobs stood still. Of a leader that fell silent it is\n"
            "counted from its last beat, which is a sixth of ha.session_timeout too long at\n"
            "most; '-' where that was not seen. 'resumed' is no change: the same leader has\n"
            "proven its lease again. doc/ha.md explains the other reasons.\n",
    .run = run,
};
