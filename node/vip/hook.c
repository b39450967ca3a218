/* The next run is one word, and a newer word replaces it: so an outdated run never begins.
 * Everything begins and ends in `step` or at the end of a run, that is, from the loop.
 */
#include "node/vip/hook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/rule/token.h"
#include "node/program.h"

#define WHY_MAX (PROGRAM_HOW_MAX + 80)

enum job { NOTHING, TAKE, DROP, CHECK };

static const char *const words[] = {
    [NOTHING] = "", [TAKE] = "take", [DROP] = "drop", [CHECK] = "check"};

struct vip_hook {
    struct vip_hook_options options;
    char token[TOKEN_TEXT_LEN + 1]; /* of the newest vip_hook_take() */
    bool is_wanted;                 /* from vip_hook_take() to vip_hook_drop() */
    bool is_here;                   /* see vip_hook_is_here() */
    bool is_restoring;              /* the next `take` was asked for by a `check` */
    unsigned failed_takes;          /* in a row */
    enum job now;                   /* what runs */
    enum job next;                  /* begins when `step` fires, or the run ends */
    struct timer step;
    struct program run;
    struct vip_hook_counts counts;
    char why[WHY_MAX];
};

static void plan(struct vip_hook *h, enum job job, int64_t delay_ms)
{
    h->next = job;
    if (h->now == NOTHING)
        timer_arm(&h->options.loop->timers, &h->step, delay_ms);
}

static int64_t pause_ms(unsigned failures)
{
    int64_t ms = VIP_HOOK_RETRY_FIRST_MS;

    while (--failures && ms < VIP_HOOK_RETRY_MAX_MS)
        ms *= 2;
    return ms < VIP_HOOK_RETRY_MAX_MS ? ms : VIP_HOOK_RETRY_MAX_MS;
}

static void tell_take(const struct vip_hook *h, pid_t group)
{
    if (h->now == TAKE && h->options.on_take)
        h->options.on_take(h->options.arg, group);
}

/* ---- what became of a run ---- */

static void took(struct vip_hook *h)
{
    if (h->is_restoring)
        h->counts.restored++;
    else
        h->counts.taken++;
    if (h->failed_takes)
        LOG_INFO("vip", "vip.hook take: done, after %u that failed", h->failed_takes);
    h->is_here = true;
    h->is_restoring = false;
    h->failed_takes = 0;
    plan(h, CHECK, h->options.check_ms);
}

static void on_take_end(struct vip_hook *h, bool is_good)
{
    h->counts.failures += !is_good;
    if (h->next != NOTHING)
        return; /* the run is out of date */
    if (is_good)
        took(h);
    else
        plan(h, TAKE, pause_ms(++h->failed_takes));
}

static void on_drop_end(struct vip_hook *h, bool is_good)
{
    h->counts.failures += !is_good;
}

static void on_check_end(struct vip_hook *h, bool is_good)
{
    if (h->next != NOTHING)
        return;
    h->is_here = is_good;
    h->is_restoring = !is_good;
    if (!is_good)
        LOG_WARN("vip", "vip.hook: the address is not here any more (%s): taken again", h->why);
    plan(h, is_good ? CHECK : TAKE, is_good ? h->options.check_ms : 0);
}

static void settle(struct vip_hook *h, bool is_good, const char *how)
{
    static void (*const on_end_of[])(struct vip_hook * h, bool is_good) = {
        [TAKE] = on_take_end, [DROP] = on_drop_end, [CHECK] = on_check_end};
    enum job job = h->now;

    tell_take(h, 0);
    h->now = NOTHING;
    h->why[0] = '\0';
    if (!is_good)
        snprintf(h->why, sizeof(h->why), "%s %s", words[job], how);
    on_end_of[job](h, is_good);
    if (h->next != NOTHING && !timer_is_armed(&h->step))
        plan(h, h->next, 0); /* what was asked for meanwhile */
    if (h->options.on_change)
        h->options.on_change(h->options.arg);
}

static void on_end(struct program *run, enum program_result result, const char *how)
{
    settle(CONTAINER_OF(run, struct vip_hook, run), result == PROGRAM_DONE, how);
}

/* ---- a run ---- */

static void on_group(struct program *run, pid_t group)
{
    tell_take(CONTAINER_OF(run, struct vip_hook, run), group);
}

/* A run that may repeat often is logged at its first failure and at its outcome only. */
static bool is_quiet(const struct vip_hook *h)
{
    return h->now == CHECK || (h->now == TAKE && h->failed_takes);
}

static void on_step(struct timer *timer)
{
    struct vip_hook *h = CONTAINER_OF(timer, struct vip_hook, step);
    const struct vip_hook_options *o = &h->options;
    const char *argv[] = {o->program, words[h->next], o->address, o->node, h->token, NULL};
    char label[PROGRAM_LABEL_MAX], how[PROGRAM_HOW_MAX];

    h->now = h->next;
    h->next = NOTHING;
    snprintf(label, sizeof(label), "vip.hook %s", words[h->now]);
    if (program_start(&h->run,
                      &(struct program_run){.module = "vip",
                                            .label = label,
                                            .argv = argv,
                                            .timeout_ms = o->timeout_ms,
                                            .is_quiet = is_quiet(h),
                                            .on_group = h->now == TAKE ? on_group : NULL}))
        return;
    snprintf(how, sizeof(how), "cannot be run: %s", strerror(errno));
    settle(h, false, how);
}

/* ---- its owner ---- */

struct vip_hook *vip_hook_new(const struct vip_hook_options *options)
{
    struct vip_hook *h = must(calloc(1, sizeof(*h)));

    h->options = *options;
    if (!h->options.timeout_ms)
        h->options.timeout_ms = VIP_HOOK_TIMEOUT_MS;
    if (!h->options.check_ms)
        h->options.check_ms = VIP_HOOK_CHECK_MS;
    timer_init(&h->step, on_step);
    program_init(&h->run, options->loop, on_end);
    return h;
}

void vip_hook_free(struct vip_hook *h)
{
    if (!h)
        return;
    timer_disarm(&h->options.loop->timers, &h->step);
    program_fini(&h->run);
    free(h);
}

void vip_hook_take(struct vip_hook *h, const char *token)
{
    if (h->is_wanted && !strcmp(h->token, token))
        return;
    snprintf(h->token, sizeof(h->token), "%s", token);
    h->is_wanted = true;
    h->is_here = false;
    h->is_restoring = false;
    h->failed_takes = 0;
    plan(h, TAKE, 0);
}

void vip_hook_drop(struct vip_hook *h)
{
    if (!h->is_wanted)
        return;
    h->is_wanted = false;
    h->is_here = false;
    h->why[0] = '\0';
    plan(h, DROP, 0);
}

bool vip_hook_is_here(const struct vip_hook *h)
{
    return h->is_here;
}

bool vip_hook_is_idle(const struct vip_hook *h)
{
    return h->now == NOTHING && (h->next == NOTHING || h->next == CHECK);
}

const char *vip_hook_why(const struct vip_hook *h)
{
    return h->why;
}

unsigned vip_hook_failed_takes(const struct vip_hook *h)
{
    return h->is_wanted ? h->failed_takes : 0;
}

const struct vip_hook_counts *vip_hook_counts(const struct vip_hook *h)
{
    return &h->counts;
}
