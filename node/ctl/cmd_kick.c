/* kick and purge: jobs by the state they are in, some or all. Kick takes ids, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/commands.h"
#include "node/ctl/each.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"
#include "node/ctl/sweep.h"
#include "node/ctl/text.h"

#define COUNT_MAX INT64_C(1000000000)

/* ---- what both have ---- */

static void set_time(json_t *body, const char *name, const struct option_value *value)
{
    if (value->is_given && json_object_set_new(body, name, json_integer(value->number)))
        abort();
}

/* ---- kick ---- */

enum { KICK_ALL, KICK_COUNT, KICK_SINCE, KICK_BEFORE };

static const struct option_row kick_options[] = {
    [KICK_ALL] = {"all", 'a', OPTION_FLAG, NULL, "all that are dead now", 0, 0, NULL},
    [KICK_COUNT] = {"count", 'n', OPTION_COUNT, "N", "so many, those that died first", 1,
                    COUNT_MAX, NULL},
    [KICK_SINCE] = {"since", 0, OPTION_PAST, "TIME", "all that died then or later; 2h: ago", 0,
                    0, NULL},
    [KICK_BEFORE] = {"before", 0, OPTION_PAST, "TIME", "all that died before then", 0, 0, NULL},
    {0},
};

static enum ctl_exit kick_many(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    struct sweep sweep = {.topic = arguments->words[0],
                          .path = "/v1/topics/%/kick",
                          .done = "kicked",
                          .is_cut = own[KICK_COUNT].is_given};
    int64_t total = own[KICK_COUNT].number;
    json_t *body = json_object();
    json_t *counts = NULL;
    enum ctl_exit end = CTL_DONE;

    set_time(body, "since_ms", &own[KICK_SINCE]);
    set_time(body, "before_ms", &own[KICK_BEFORE]);
    if (!sweep.is_cut) {
        end = sweep_counts(ctl, sweep.topic, &counts);
        total = output_number(counts, "dead", 0);
    }
    sweep_add(&sweep, body, total, total);
    if (end == CTL_DONE)
        end = sweep_run(ctl, &sweep);
    json_decref(counts);
    sweep_fini(&sweep);
    return end;
}

static enum ctl_exit run_kick(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct each each = {.method = "POST",
                                     .path = "/v1/topics/%/jobs/%/kick",
                                     .expects = "due_ms",
                                     .done = "kicked"};
    const struct option_value *own = arguments->own;
    bool has_ids = arguments->word_count > 1;
    bool has_some =
        own[KICK_COUNT].is_given || own[KICK_SINCE].is_given || own[KICK_BEFORE].is_given;

    if (has_ids && (has_some || own[KICK_ALL].is_given))
        return ctl_misused("kick: ids and options exclude each other");
    if (own[KICK_ALL].is_given && has_some)
        return ctl_misused("kick: --all is all of them");
    if (!has_ids && !has_some && !own[KICK_ALL].is_given)
        return ctl_misused("kick: which ones? ids, --all, --count, --since or --before");
    return has_ids ? each_run(ctl, &each, arguments) : kick_many(ctl, arguments);
}

const struct command kick_command = {
    .name = "kick",
    .usage = "TOPIC [ID... | -]",
    .summary = "bring dead jobs back: they are ready again",
    .text = "Their tries begin anew, and they have no ttl any more. Some by their ids ('-'\n"
            "reads them from stdin, one a line), or those that died first, or between two\n"
            "times.\n",
    .options = kick_options,
    .words_min = 1,
    .words_max = WORDS_ANY,
    .run = run_kick,
};

/* ---- purge ---- */

enum { PURGE_STATE, PURGE_COUNT, PURGE_SINCE, PURGE_BEFORE, PURGE_YES };
enum { STATE_DEAD = 3 };

static const char *const states[] = {"delayed", "ready", "reserved", "dead", NULL};

static const struct option_row purge_options[] = {
    [PURGE_STATE] = {"state", 's', OPTION_CHOICES, "STATES",
                     "delayed, ready, reserved, dead; with commas between", 0, 0, states},
    [PURGE_COUNT] = {"count", 'n', OPTION_COUNT, "N", "at most so many; default: all", 1,
                     COUNT_MAX, NULL},
    [PURGE_SINCE] = {"since", 0, OPTION_PAST, "TIME", "dead: those that died then or later", 0,
                     0, NULL},
    [PURGE_BEFORE] = {"before", 0, OPTION_PAST, "TIME", "dead: those that died before; 7d: ago",
                      0, 0, NULL},
    [PURGE_YES] = {"yes", 'y', OPTION_FLAG, NULL, "do not ask on a terminal", 0, 0, NULL},
    {0},
};

/* A part for each state, with its count; all together no more than people want. Also where
 * nothing is: jobs may come there from the states before. */
static void add_parts(struct sweep *sweep, const struct option_value *own, const json_t *counts)
{
    int64_t left = own[PURGE_COUNT].is_given ? own[PURGE_COUNT].number : INT64_MAX;

    for (int i = 0; states[i]; i++) {
        int64_t n = output_number(counts, states[i], 0);
        int64_t total = n < left ? n : left;
        json_t *body;

        if (!(own[PURGE_STATE].number & 1 << i))
            continue;
        sweep->is_cut |= total < n;
        left -= total;
        body = json_pack("{s:[s]}", "states", states[i]);
        set_time(body, "since_ms", &own[PURGE_SINCE]);
        set_time(body, "before_ms", &own[PURGE_BEFORE]);
        sweep_add(sweep, body, total, n);
    }
}

static void print_time(struct buf *text, const char *name, const struct option_value *value)
{
    if (!value->is_given)
        return;
    buf_printf(text, " %s ", name);
    moment_print(text, value->number);
}

/* "10 ready, 2 dead", and which of these. */
static void print_what(struct buf *text, const json_t *counts, const struct option_value *own)
{
    int64_t mask = own[PURGE_STATE].number;

    for (int i = 0; states[i]; i++) {
        if (!(mask & 1 << i))
            continue;
        buf_add_text(text, text->len ? ", " : "");
        text_number(text, output_number(counts, states[i], 0), true);
        buf_printf(text, " %s", states[i]);
    }
    if (own[PURGE_SINCE].is_given || own[PURGE_BEFORE].is_given)
        buf_add_text(text, "; of these, those that died");
    print_time(text, "since", &own[PURGE_SINCE]);
    print_time(text, "before", &own[PURGE_BEFORE]);
    if (own[PURGE_COUNT].is_given) {
        buf_add_text(text, "; at most ");
        text_number(text, own[PURGE_COUNT].number, true);
    }
}

static bool has_consent(const struct arguments *arguments, const char *what)
{
    struct buf question = BUF_INIT;
    bool is_given = arguments->own[PURGE_YES].is_given;

    buf_add_text(&question, "Delete jobs of ");
    text_escape(&question, bytes_of_text(arguments->words[0]));
    buf_printf(&question, ": %s?", what);
    is_given = is_given || ctl_confirm(buf_text(&question));
    buf_fini(&question);
    return is_given;
}

static enum ctl_exit purge(struct ctl *ctl, const struct arguments *arguments,
                           const json_t *counts)
{
    const struct option_value *own = arguments->own;
    struct sweep sweep = {
        .topic = arguments->words[0], .path = "/v1/topics/%/purge", .done = "purged"};
    struct buf what = BUF_INIT;
    enum ctl_exit end = CTL_REFUSED;

    add_parts(&sweep, own, counts);
    print_what(&what, counts, own);
    if (has_consent(arguments, buf_text(&what))) {
        end = sweep_run(ctl, &sweep);
    } else {
        ctl_say("nothing was purged");
        if (ctl->is_json)
            output_json_and_free(json_pack("{s:i, s:b}", "count", 0, "has_more", 1));
    }
    sweep_fini(&sweep);
    buf_fini(&what);
    return end;
}

static enum ctl_exit run_purge(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    json_t *counts = NULL;
    enum ctl_exit end;

    if (!own[PURGE_STATE].is_given)
        return ctl_misused("purge: which jobs? --state delayed,ready,reserved,dead or some of "
                           "them");
    if ((own[PURGE_SINCE].is_given || own[PURGE_BEFORE].is_given) &&
        own[PURGE_STATE].number != 1 << STATE_DEAD)
        return ctl_misused("purge: --since and --before are for --state dead");
    end = sweep_counts(ctl, arguments->words[0], &counts);
    if (end == CTL_DONE)
        end = purge(ctl, arguments, counts);
    json_decref(counts);
    return end;
}

const struct command purge_command = {
    .name = "purge",
    .usage = "TOPIC",
    .summary = "delete a topic's jobs, by their state",
    .text = "What is there when it begins is deleted, piece by piece; other clients do not\n"
            "wait for it. Jobs that change their state meanwhile go with those of the new\n"
            "one, if that is named and comes later: delayed, ready, reserved, dead. On a\n"
            "terminal it asks first. Interrupted, it says how far it came.\n",
    .options = purge_options,
    .words_min = 1,
    .words_max = 1,
    .run = run_purge,
};
