/* switchover and failover: another leader, in order or by force. The node that is asked takes
 * the wish down for the cluster.
 */
#include <stdio.h>
#include <string.h>

#include "node/ctl/await_leader.h"
#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"

/* `body` is taken over. */
static enum ctl_exit change_leader(struct ctl *ctl, const char *what, const char *path,
                                   json_t *body)
{
    struct await_leader w;
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, what, &page);

    if (end != CTL_DONE) {
        json_decref(body);
        return end;
    }
    json_incref(body); /* `to` is borrowed from it */
    await_leader_init(&w, ctl, what, output_text(body, "to").at, page);
    json_decref(page);
    end = cluster_wish(ctl, what, path, body);
    if (end == CTL_DONE)
        end = await_leader(&w);
    json_decref(body);
    return end;
}

static void set_text(json_t *body, const char *name, const struct option_value *value)
{
    if (value->is_given)
        json_object_set_new(body, name, json_string(value->text));
}

/* ---- switchover ---- */

enum { TO, AT, CANCEL };

static const struct option_row switchover_options[] = {
    [TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best", 0, 0, NULL},
    [AT] = {"at", 0, OPTION_MOMENT, "TIME", "not before then; does not wait for it", 0, 0,
            NULL},
    [CANCEL] = {"cancel", 0, OPTION_FLAG, NULL, "take back what is not carried out yet", 0, 0,
                NULL},
    {0},
};

static void print_noted(const struct ctl *ctl, int64_t at_ms)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "taken down, for ");
    moment_print(&text, at_ms);
    if (ctl->is_json)
        output_json_and_free(
            json_pack("{s:s, s:I}", "status", "accepted", "at_ms", (json_int_t)at_ms));
    else
        output_done("switchover", buf_text(&text));
    buf_fini(&text);
}

/* Taken down, and not waited for. */
static enum ctl_exit switch_later(struct ctl *ctl, json_t *body, int64_t at_ms)
{
    enum ctl_exit end;

    json_object_set_new(body, "at_ms", json_integer(at_ms));
    end = cluster_wish(ctl, "switchover", "/v1/cluster/switchover", body);
    if (end == CTL_DONE)
        print_noted(ctl, at_ms);
    return end;
}

static enum ctl_exit cancel(struct ctl *ctl, const struct option_value *own, json_t *body)
{
    enum ctl_exit end;

    if (own[TO].is_given || own[AT].is_given) {
        json_decref(body);
        return ctl_misused("switchover: --cancel goes with neither --to nor --at");
    }
    json_object_set_new(body, "cancel", json_true());
    end = cluster_wish(ctl, "switchover", "/v1/cluster/switchover", body);
    if (end == CTL_DONE && ctl->is_json)
        output_json_and_free(json_pack("{s:s}", "status", "accepted"));
    else if (end == CTL_DONE)
        output_done("switchover", "taken back");
    return end;
}

static enum ctl_exit run_switchover(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    json_t *body = json_object();

    set_text(body, "to", &own[TO]);
    if (own[CANCEL].is_given)
        return cancel(ctl, own, body);
    if (own[AT].is_given)
        return switch_later(ctl, body, own[AT].number);
    return change_leader(ctl, "switchover", "/v1/cluster/switchover", body);
}

const struct command switchover_command = {
    .name = "switchover",
    .usage = "",
    .summary = "let another node lead, in order",
    .text = "The leader ends what it has begun and gives the lead away; this waits until\n"
            "another node leads, and tells for how long due jobs stood still. Clients keep\n"
            "their connections: all nodes serve them all the time. Ends with 1 where another\n"
            "node leads then than was wanted, or where none could.\n",
    .options = switchover_options,
    .run = run_switchover,
};

/* ---- failover ---- */

enum { FORCE, FORCE_TO };

static const struct option_row failover_options[] = {
    [FORCE] = {"force", 0, OPTION_FLAG, NULL, "must be given: it is not in order", 0, 0, NULL},
    [FORCE_TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best", 0, 0,
                  NULL},
    {0},
};

static enum ctl_exit run_failover(struct ctl *ctl, const struct arguments *arguments)
{
    json_t *body;

    if (!arguments->own[FORCE].is_given)
        return ctl_misused("failover: only with --force; in order there is 'switchover'");
    body = json_pack("{s:b}", "force", 1);
    set_text(body, "to", &arguments->own[FORCE_TO]);
    return change_leader(ctl, "failover", "/v1/cluster/failover", body);
}

const struct command failover_command = {
    .name = "failover",
    .usage = "--force",
    .summary = "depose a leader that does not answer",
    .text = "The leader is asked first. When it does not give the lead away it is deposed,\n"
            "and its successor waits until the old lease is over for certain: less than one\n"
            "session timeout. Priorities, no_failover and a pause do not count here. Ends\n"
            "with 1 where another node leads then than was wanted.\n",
    .options = failover_options,
    .run = run_failover,
};
