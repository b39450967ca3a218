/* The address where the operator's program puts it: node/vip/hook.h. A successor cannot be
 * heard then: the program is told to drop the address when the lead has been given away, and
 * clients get as long as with the kernel.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "node/vip/hook.h"
#include "node/vip/mover.h"

/* After so many failed runs of `take` in a row the address cannot be here, and other nodes go
 * first, until it was not wanted here for so long. */
#define FAILURES_MAX  3
#define IMPOSSIBLE_MS 60000

struct by_hook {
    struct vip_mover base;
    struct vip_hook *hook;
    bool is_wanted;  /* this node leads */
    bool is_leaving; /* it gives the lead away */
    bool is_impossible;
    char why[160];       /* it is */
    struct timer cut;    /* the clients that were let go */
    struct timer forget; /* that it is impossible */
};

static struct by_hook *by_hook_of(const struct vip_mover *m)
{
    return CONTAINER_OF(m, struct by_hook, base);
}

/* ---- could it be here? ---- */

static void be_possible(struct by_hook *b, bool is_possible)
{
    const struct vip_app_options *options = b->base.options;

    if (b->is_impossible == !is_possible)
        return;
    b->is_impossible = !is_possible;
    options->on_possible(options->arg, is_possible);
}

static void on_run(void *arg)
{
    struct by_hook *b = arg;

    if (vip_hook_is_here(b->hook)) {
        be_possible(b, true);
    } else if (vip_hook_failed_takes(b->hook) >= FAILURES_MAX) {
        snprintf(b->why, sizeof(b->why), "%s", vip_hook_why(b->hook));
        be_possible(b, false);
    }
}

static void on_take(void *arg, pid_t group)
{
    const struct vip_app_options *options = ((struct by_hook *)arg)->base.options;

    options->on_take(options->arg, group);
}

static void on_forget(struct timer *timer)
{
    be_possible(CONTAINER_OF(timer, struct by_hook, forget), true);
}

/* ---- by the lead ---- */

static void take(struct vip_mover *m, const char *token)
{
    struct by_hook *b = by_hook_of(m);

    b->is_wanted = true;
    b->is_leaving = false;
    timer_disarm(vip_mover_timers(m), &b->cut);
    timer_disarm(vip_mover_timers(m), &b->forget);
    vip_clients_welcome(m->clients);
    vip_hook_take(b->hook, token);
    vip_mover_say(m, "held");
}

static void give(struct vip_mover *m)
{
    struct by_hook *b = by_hook_of(m);

    b->is_leaving = b->is_wanted;
    vip_clients_drain(m->clients);
    vip_mover_say(m, "leaving");
}

static void stop_wanting(struct by_hook *b)
{
    if (!b->is_wanted)
        return;
    b->is_wanted = b->is_leaving = false;
    vip_hook_drop(b->hook);
    timer_arm(vip_mover_timers(&b->base), &b->forget, IMPOSSIBLE_MS);
    vip_mover_say(&b->base, "away");
}

static void given(struct vip_mover *m)
{
    struct by_hook *b = by_hook_of(m);

    stop_wanting(b);
    timer_arm(vip_mover_timers(m), &b->cut, VIP_LEAVING_MAX_MS);
}

static void on_cut(struct timer *timer)
{
    vip_clients_cut_off(CONTAINER_OF(timer, struct by_hook, cut)->base.clients);
}

static void drop(struct vip_mover *m)
{
    struct by_hook *b = by_hook_of(m);

    timer_disarm(vip_mover_timers(m), &b->cut);
    vip_clients_cut_off(m->clients);
    stop_wanting(b);
}

static bool is_gone(const struct vip_mover *m)
{
    const struct by_hook *b = by_hook_of(m);

    return !b->is_wanted && vip_hook_is_idle(b->hook);
}

/* ---- what is told ---- */

/* A `drop` that has failed says nothing of the next `take`. */
static const char *why_not(const struct by_hook *b)
{
    if (!b->is_wanted)
        return b->is_impossible ? b->why : "";
    if (vip_hook_is_here(b->hook) || vip_hook_why(b->hook)[0])
        return vip_hook_why(b->hook);
    return "vip.hook is at work";
}

static void read_state(struct vip_mover *m, struct vip_status *to)
{
    struct by_hook *b = by_hook_of(m);
    const struct vip_hook_counts *counts = vip_hook_counts(b->hook);

    to->state = b->is_leaving ? "leaving" : b->is_wanted ? "held" : "away";
    to->is_here = vip_hook_is_here(b->hook);
    to->is_possible = !b->is_impossible;
    to->why = why_not(b);
    to->taken = counts->taken;
    to->restored = counts->restored;
    to->failures = counts->failures;
}

/* ---- life ---- */

static void free_by_hook(struct vip_mover *m)
{
    struct by_hook *b = by_hook_of(m);

    drop(m);
    timer_disarm(vip_mover_timers(m), &b->forget);
    vip_hook_free(b->hook);
    free(b);
}

struct vip_mover *vip_mover_hook_new(const struct vip_app_options *options,
                                     struct vip_clients *clients)
{
    static const struct vip_mover_ops ops = {.take = take,
                                             .give = give,
                                             .given = given,
                                             .drop = drop,
                                             .is_gone = is_gone,
                                             .read = read_state,
                                             .free = free_by_hook};
    const struct conf *conf = options->conf;
    struct by_hook *b = must(calloc(1, sizeof(*b)));

    b->base = (struct vip_mover){.ops = &ops, .options = options, .clients = clients};
    timer_init(&b->cut, on_cut);
    timer_init(&b->forget, on_forget);
    b->hook = vip_hook_new(&(struct vip_hook_options){.loop = options->loop,
                                                      .program = conf->vip.hook,
                                                      .address = conf->vip.address,
                                                      .node = conf->node.id,
                                                      .on_change = on_run,
                                                      .on_take = on_take,
                                                      .arg = b});
    return &b->base;
}
