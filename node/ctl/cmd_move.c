/* run and reschedule: jobs become due at another time, wherever they are. */
#include <stdlib.h>

#include "node/ctl/commands.h"
#include "node/ctl/each.h"

enum { DELAY, AT };

static const struct option_row options[] = {
    [DELAY] = {"delay", 'd', OPTION_DURATION, "DURATION", "due so long from now", 0,
               YEARS_10_MS, NULL},
    [AT] = {"at", 'a', OPTION_MOMENT, "TIME",
            "due at '2026-12-01 09:00' (local), RFC 3339, or ms", 0, 0, NULL},
    {0},
};

static enum ctl_exit run_run(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct each each = {.method = "POST",
                                     .path = "/v1/topics/%/jobs/%/run",
                                     .expects = "due_ms",
                                     .done = "made ready"};

    return each_run(ctl, &each, arguments);
}

static enum ctl_exit run_reschedule(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    struct each each = {.method = "POST",
                        .path = "/v1/topics/%/jobs/%/reschedule",
                        .expects = "due_ms",
                        .done = "rescheduled",
                        .shows_due = true};
    json_t *body;
    enum ctl_exit end;

    if (own[DELAY].is_given == own[AT].is_given)
        return ctl_misused("reschedule: to when? --delay or --at");
    body = own[AT].is_given ? json_pack("{s:I}", "at_ms", (json_int_t)own[AT].number)
                            : json_pack("{s:I}", "delay_ms", (json_int_t)own[DELAY].number);
    if (!body)
        abort();
    each.body = body;
    end = each_run(ctl, &each, arguments);
    json_decref(body);
    return end;
}

const struct command run_command = {
    .name = "run",
    .usage = "TOPIC ID... | -",
    .summary = "make jobs due now",
    .text = "Delayed ones need not wait any more; one that a consumer holds is taken from it.\n"
            "Dead ones are for 'dueqctl kick'. '-' reads ids from stdin, one a line.\n",
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run_run,
};

const struct command reschedule_command = {
    .name = "reschedule",
    .usage = "TOPIC ID... | -",
    .summary = "make jobs due at another time",
    .text = "From any state; one that a consumer holds is taken from it. '-' reads ids from\n"
            "stdin, one a line.\n",
    .options = options,
    .words_min = 2,
    .words_max = WORDS_ANY,
    .run = run_reschedule,
};
