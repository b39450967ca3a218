/* switchover and failover: another leader, in order or by force; and waiting until it leads.
 *
 * The node that is asked takes the wish down for the cluster, and is then looked at until it
 * knows of a leader with a higher epoch. It may be away for a moment, or for good when it was
 * the leader: until the patience is over it is asked again.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "node/ctl/cluster.h"
#include "node/ctl/commands.h"
#include "node/ctl/duration.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"
#include "node/ctl/text.h"

#define LOOK_EVERY_MS   20
#define PATIENCE_MS     30000
#define SETTLED_MS      1000 /* a wish gone for so long, with the same leader, was given up */
#define HISTORY_MS      1000 /* the new leader writes it right after it was elected */
#define NOT_SEEN_SO_FAR (-1)

struct waiting {
    struct ctl *ctl;
    const char *what;
    int64_t epoch; /* of the leader before */
    bool had_wish;
    int64_t begin_mono_ms;
    int64_t new_mono_ms;  /* since a new leader was seen; NOT_SEEN_SO_FAR */
    int64_t gone_mono_ms; /* since the wish is gone; the same */
};

static const json_t *change_since(const json_t *page, int64_t epoch)
{
    const json_t *history = json_object_get(page, "history");
    const json_t *last = json_array_get(history, json_array_size(history) - 1);

    return output_number(last, "epoch", -1) > epoch ? last : NULL;
}

static void print_for_people(const json_t *page, int64_t without_ms)
{
    struct buf text = BUF_INIT;

    text_escape(&text, output_text(page, "leader"));
    buf_printf(&text, ": leads now (epoch %" PRId64 "); ",
               output_number(page, "leader_epoch", 0));
    if (without_ms < 0) {
        buf_add_text(&text, "for how long due jobs stood still was not seen");
    } else {
        buf_add_text(&text, "due jobs stood still for ");
        duration_print(&text, without_ms);
    }
    puts(buf_text(&text));
    buf_fini(&text);
}

static void print_done(const struct ctl *ctl, const json_t *page, const json_t *change)
{
    int64_t without_ms = output_number(change, "without_leader_ms", -1);
    json_t *without = without_ms < 0 ? json_null() : json_integer(without_ms);

    if (ctl->is_json)
        output_json_and_free(json_pack(
            "{s:O, s:O, s:O}", "leader", json_object_get(page, "leader"), "leader_epoch",
            json_object_get(page, "leader_epoch"), "without_leader_ms", without));
    else
        print_for_people(page, without_ms);
    json_decref(without);
}

/* For so long it has been like this. */
static int64_t since(int64_t *mono_ms)
{
    int64_t now = clock_mono_ms();

    if (*mono_ms == NOT_SEEN_SO_FAR)
        *mono_ms = now;
    return now - *mono_ms;
}

/* Is there an end to the waiting? */
static bool judge(struct waiting *w, const json_t *page, enum ctl_exit *end)
{
    const json_t *change = change_since(page, w->epoch);
    bool has_wish = output_text(page, "wanted").len > 0;

    if (output_text(page, "leader").len && output_number(page, "leader_epoch", 0) > w->epoch) {
        if (!change && since(&w->new_mono_ms) < HISTORY_MS)
            return false;
        print_done(w->ctl, page, change);
        return true;
    }
    w->had_wish |= has_wish;
    if (has_wish || !w->had_wish || !output_text(page, "leader").len)
        w->gone_mono_ms = NOT_SEEN_SO_FAR;
    else if (since(&w->gone_mono_ms) >= SETTLED_MS) {
        ctl_say("%s: it was given up; %s still leads", w->what, output_text(page, "leader").at);
        *end = CTL_REFUSED;
        return true;
    }
    return false;
}

static enum ctl_exit wait_for_leader(struct waiting *w)
{
    enum ctl_exit end = CTL_DONE;
    bool is_over = false;

    while (!is_over && clock_mono_ms() - w->begin_mono_ms < PATIENCE_MS) {
        struct failure failure;
        json_t *page = NULL;

        if (cluster_look(w->ctl, &page, &failure) == CTL_DONE)
            is_over = judge(w, page, &end);
        json_decref(page);
        if (!is_over)
            poll(NULL, 0, LOOK_EVERY_MS);
    }
    if (is_over)
        return end;
    ctl_say("%s: no other node leads after %d s; it may still happen", w->what,
            PATIENCE_MS / 1000);
    fputs("'dueqctl nodes' and 'dueqctl check' show how things are.\n", stderr);
    return CTL_UNKNOWN;
}

/* `body` is taken over. */
static enum ctl_exit change_leader(struct ctl *ctl, const char *what, const char *path,
                                   json_t *body, bool is_for_later)
{
    struct waiting w = {.ctl = ctl,
                        .what = what,
                        .new_mono_ms = NOT_SEEN_SO_FAR,
                        .gone_mono_ms = NOT_SEEN_SO_FAR};
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, what, &page);

    if (end != CTL_DONE) {
        json_decref(body);
        return end;
    }
    w.epoch = output_number(page, "leader_epoch", 0);
    json_decref(page);
    end = cluster_wish(ctl, what, path, body);
    w.begin_mono_ms = clock_mono_ms();
    return end == CTL_DONE && !is_for_later ? wait_for_leader(&w) : end;
}

static void set_text(json_t *body, const char *name, const struct option_value *value)
{
    if (value->is_given)
        json_object_set_new(body, name, json_string(value->text));
}

/* ---- switchover ---- */

enum { TO, AT };

static const struct option_row switchover_options[] = {
    [TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best", 0, 0, NULL},
    [AT] = {"at", 0, OPTION_MOMENT, "TIME", "not before then; does not wait for it", 0, 0,
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

static enum ctl_exit run_switchover(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    json_t *body = json_object();
    enum ctl_exit end;

    set_text(body, "to", &own[TO]);
    if (own[AT].is_given)
        json_object_set_new(body, "at_ms", json_integer(own[AT].number));
    end = change_leader(ctl, "switchover", "/v1/cluster/switchover", body, own[AT].is_given);
    if (end == CTL_DONE && own[AT].is_given)
        print_noted(ctl, own[AT].number);
    return end;
}

const struct command switchover_command = {
    .name = "switchover",
    .usage = "",
    .summary = "let another node lead, in order",
    .text = "The leader ends what it has begun and gives the lead away; this waits until\n"
            "another node leads, and tells for how long due jobs stood still. Clients keep\n"
            "their connections: all nodes serve them all the time.\n",
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
    return change_leader(ctl, "failover", "/v1/cluster/failover", body, false);
}

const struct command failover_command = {
    .name = "failover",
    .usage = "--force",
    .summary = "depose a leader that does not answer",
    .text = "The leader is asked first. When it does not give the lead away it is deposed,\n"
            "and its successor waits until the old lease is over for certain: less than one\n"
            "session timeout. Priorities, no_failover and a pause do not count here.\n",
    .options = failover_options,
    .run = run_failover,
};
