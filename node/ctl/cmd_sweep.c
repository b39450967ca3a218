/* kick and purge: jobs by their ids, or all of a state, chunk by chunk. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/ctl/commands.h"
#include "node/ctl/ctl.h"
#include "node/ctl/input.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"
#include "node/ctl/times.h"
#include "node/ctl/cmd_topics.h"

/* Many jobs of a topic kicked or purged, request after request, with progress on a terminal.
 *
 * Each request asks for as many as should take a moment, so that none runs into its timeout and
 * an interrupt is obeyed soon: the request under way is finished, and the total is printed. As
 * many jobs are swept as were there at the beginning. Each state is a part with a count of its
 * own: under one count for all, jobs that come into the first state meanwhile would be swept in
 * place of those of the others. But jobs move on from state to state: jobs that a part no
 * longer finds are looked for in the next parts, beside the jobs counted there.
 */

#define SWEEP_PARTS_MAX 4

struct sweep_part {
    json_t *body;  /* what each request says beside its limit */
    int64_t total; /* at most so many are to be swept, and those that earlier parts miss */
    int64_t there; /* so many there were when it began; may be more than `total` */
};

struct sweep {
    const char *topic;
    const struct command *command;            /* names the path, and what is done */
    struct sweep_part parts[SWEEP_PARTS_MAX]; /* one after the other */
    int part_count;
    bool is_cut; /* fewer are wanted than there are: say whether some are left */
};

#define LIMIT_FIRST 1000
#define LIMIT_MAX   100000
#define SOON_MS     200 /* a request that took less may do more */

struct work {
    struct ctl *ctl;
    const struct sweep *sweep;
    struct progress progress;
    int64_t total;   /* of all parts */
    int64_t count;   /* the same, so far */
    int64_t limit;   /* of the next request */
    int64_t missed;  /* counted in the parts that are over, but not there any more */
    bool has_more;   /* as the last answer says of its part */
    bool leaves_any; /* a part that nothing was asked for, though it had some */
    bool is_interrupted;
    bool is_stuck; /* an answer without progress, though there are more */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many it has swept, of at most `left`; -1: it failed. */
static int64_t send(struct work *w, const struct sweep_part *part, int64_t left,
                    struct failure *failure)
{
    json_t *answer = NULL;
    struct request request;
    int64_t count = -1;

    request_init(&request, "POST", "/v1/topics/%/%", w->sweep->topic, w->sweep->command->name);
    request.body = json_deep_copy(part->body);
    request.expects = "count";
    if (!request.body ||
        json_object_set_new(request.body, "limit", json_integer(smaller(left, w->limit))))
        abort();
    if (request_send(w->ctl, &request, &answer, failure) == CTL_DONE) {
        count = output_number(answer, "count", 0);
        w->has_more = json_is_true(json_object_get(answer, "has_more"));
    }
    json_decref(answer);
    return count;
}

/* Without progress there is no use in going on. */
static void sweep_part(struct work *w, const struct sweep_part *part, struct failure *failure)
{
    int64_t left = part->total + w->missed;
    bool is_over = false;

    w->leaves_any |= left == 0 && part->there > 0;
    while (!is_over && left > 0) {
        int64_t begin_ms = clock_mono_ms();
        int64_t count;

        w->is_interrupted = interrupt_is_caught();
        if (w->is_interrupted)
            return;
        count = send(w, part, left, failure);
        if (clock_mono_ms() - begin_ms < SOON_MS && w->limit < LIMIT_MAX)
            w->limit *= 2;
        is_over = !w->has_more || count <= 0;
        w->is_stuck |= w->has_more && count == 0;
        w->count += count < 0 ? failure->count : count;
        left -= count;
        progress_show(&w->progress, w->count, w->total);
    }
    w->missed = left;
}

static void sweep_all(struct work *w, struct failure *failure)
{
    const struct sweep *sweep = w->sweep;

    for (int i = 0; i < sweep->part_count; i++)
        w->total += sweep->parts[i].total;
    for (int i = 0; i < sweep->part_count; i++) {
        if (failure->end == CTL_DONE && !w->is_interrupted)
            sweep_part(w, &sweep->parts[i], failure);
    }
    progress_wipe(&w->progress);
}

static void say_why_not_all(const struct work *w, const struct failure *failure)
{
    if (failure->end != CTL_DONE)
        failure_say(failure, w->sweep->topic);
    else if (w->is_interrupted)
        ctl_say("interrupted: the others were not %s", w->sweep->command->done);
}

/* Are jobs from the beginning left? Jobs that came in meanwhile do not count. */
static bool has_more(const struct work *w, const struct failure *failure)
{
    if (failure->end != CTL_DONE || w->is_interrupted || w->is_stuck)
        return true;
    return w->sweep->is_cut && (w->has_more || w->leaves_any);
}

/* When no request worked, it is unknown whether there are any. */
static void print_json(const struct work *w, const struct failure *failure)
{
    json_t *object = json_pack("{s:I}", "count", (json_int_t)w->count);

    if (failure->end == CTL_DONE || w->count > 0)
        json_object_set_new(object, "has_more", json_boolean(has_more(w, failure)));
    if (failure->end != CTL_DONE)
        json_object_set_new(object, "error", failure_json(failure));
    output_json_and_free(object);
}

static void sum_up(const struct work *w, const struct failure *failure)
{
    struct buf text = BUF_INIT;

    if (w->ctl->is_json) {
        print_json(w, failure);
        return;
    }
    if (failure->end != CTL_DONE && w->count == 0)
        return;
    text_number(&text, w->count, w->ctl->is_terminal);
    buf_printf(&text, " %s%s", w->sweep->command->done,
               has_more(w, failure) ? ", there are more" : "");
    puts(buf_text(&text));
    buf_fini(&text);
}

/* A further part, in the order that jobs go through their states; `body` is taken over. */
static void sweep_add(struct sweep *sweep, json_t *body, int64_t total, int64_t there)
{
    assert(sweep->part_count < SWEEP_PARTS_MAX);
    sweep->parts[sweep->part_count++] =
        (struct sweep_part){.body = body, .total = total, .there = there};
}

static void sweep_fini(struct sweep *sweep)
{
    while (sweep->part_count > 0)
        json_decref(sweep->parts[--sweep->part_count].body);
}

static enum ctl_exit sweep_run(struct ctl *ctl, const struct sweep *sweep)
{
    struct work w = {.ctl = ctl, .sweep = sweep, .limit = LIMIT_FIRST};
    struct failure failure = {.end = CTL_DONE};

    progress_init(&w.progress, sweep->command->done);
    interrupt_catch();
    sweep_all(&w, &failure);
    say_why_not_all(&w, &failure);
    sum_up(&w, &failure);
    return failure.end;
}

/* kick and purge: jobs by the state they are in, some or all. Kick takes ids, too. */

#define COUNT_MAX INT64_C(1000000000)

/* ---- kick ---- */

enum { KICK_ALL, KICK_COUNT, KICK_SINCE, KICK_BEFORE };

static const struct option_row kick_options[] = {
    [KICK_ALL] = {"all", 'a', OPTION_FLAG, NULL, .text = "all that are dead now"},
    [KICK_COUNT] = {"count", 'n', OPTION_COUNT, "N", "so many, those that died first", 1,
                    .max = COUNT_MAX},
    [KICK_SINCE] = {"since", 0, OPTION_PAST, "TIME", "all that died then or later; 2h: ago",
                    .member = "since_ms"},
    [KICK_BEFORE] = {"before", 0, OPTION_PAST, "TIME", "all that died before then",
                     .member = "before_ms"},
    {0},
};

static enum ctl_exit kick_many(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    struct sweep sweep = {.topic = arguments->words[0],
                          .command = arguments->command,
                          .is_cut = own[KICK_COUNT].is_given};
    int64_t total = own[KICK_COUNT].number;
    json_t *body = options_json(kick_options, arguments);
    json_t *counts = NULL;
    enum ctl_exit end = CTL_DONE;

    if (!sweep.is_cut) {
        end = topics_fetch_one(ctl, arguments->words[0], &counts);
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
    return has_ids ? each_run(ctl, arguments, "POST", NULL) : kick_many(ctl, arguments);
}

const struct command kick_command = {
    .name = "kick",
    .usage = "TOPIC [ID... | -]",
    .summary = "bring dead jobs back: they are ready again",
    .text = "Their tries begin anew, and they have no ttl any more. Kicks jobs by their ids\n"
            "('-' reads them from stdin, one a line), or those that died first, or between\n"
            "two times.\n",
    .options = kick_options,
    .expects = "due_ms",
    .done = "kicked",
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
                     "delayed, ready, reserved, dead; with commas between", .choices = states},
    [PURGE_COUNT] = {"count", 'n', OPTION_COUNT, "N", "at most so many; default: all", 1,
                     .max = COUNT_MAX},
    [PURGE_SINCE] = {"since", 0, OPTION_PAST, "TIME", "dead: those that died then or later",
                     .member = "since_ms"},
    [PURGE_BEFORE] = {"before", 0, OPTION_PAST, "TIME", "dead: those that died before; 7d: ago",
                      .member = "before_ms"},
    [PURGE_YES] = {"yes", 'y', OPTION_FLAG, NULL, .text = "do not ask on a terminal"},
    {0},
};

/* A part for each state, with its count; together no more than wanted. Empty states, too: jobs
 * may come there from the states before. */
static void add_parts(struct sweep *sweep, const struct arguments *arguments,
                      const json_t *counts)
{
    const struct option_value *own = arguments->own;
    int64_t left = own[PURGE_COUNT].is_given ? own[PURGE_COUNT].number : INT64_MAX;

    for (int i = 0; states[i]; i++) {
        int64_t n = output_number(counts, states[i], 0);
        int64_t total = n < left ? n : left;
        json_t *body;

        if (!(own[PURGE_STATE].number & 1 << i))
            continue;
        sweep->is_cut |= total < n;
        left -= total;
        body = options_json(purge_options, arguments);
        json_object_set_new(body, "states", json_pack("[s]", states[i]));
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
    struct sweep sweep = {.topic = arguments->words[0], .command = arguments->command};
    struct buf what = BUF_INIT;
    enum ctl_exit end = CTL_REFUSED;

    add_parts(&sweep, arguments, counts);
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
    end = topics_fetch_one(ctl, arguments->words[0], &counts);
    if (end == CTL_DONE)
        end = purge(ctl, arguments, counts);
    json_decref(counts);
    return end;
}

const struct command purge_command = {
    .name = "purge",
    .usage = "TOPIC",
    .summary = "delete a topic's jobs, by their state",
    .text = "Deletes the jobs that are there at the beginning, piece by piece; other clients\n"
            "need not wait. A job that changes its state meanwhile goes with those of the new\n"
            "state, if that is named and comes later in this order: delayed, ready, reserved,\n"
            "dead. On a terminal it asks first. Interrupted, it says how far it came.\n",
    .options = purge_options,
    .done = "purged",
    .words_min = 1,
    .words_max = 1,
    .run = run_purge,
};
