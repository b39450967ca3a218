#include "node/vip/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

static void say(struct vip_look *l, const struct vip_address *a, const char *why)
{
    snprintf(l->why, sizeof(l->why), "%s: %s", a->text, why);
}

/* Says why not. */
static bool could_be_here(struct vip_look *l, const struct vip_address *a)
{
    char name[IF_NAMESIZE], text[80];
    struct vip_interface on;
    const char *why;

    if (vip_link_find(l->link, a, l->interface, &on, &why) != STATUS_OK) {
        say(l, a, why);
        return false;
    }
    if (a == &l->addresses->at[0])
        memcpy(l->on, on.name, sizeof(l->on));
    if (vip_interface_trouble(&on, a)) {
        snprintf(text, sizeof(text), "%s: %s", on.name, vip_interface_trouble(&on, a));
        say(l, a, text);
        return false;
    }
    if (vip_link_presence(l->link, a, name) == VIP_IS_FOREIGN) {
        snprintf(text, sizeof(text), "somebody has configured it on this machine (%s)", name);
        say(l, a, text);
        return false;
    }
    return true;
}

static bool look_around(struct vip_look *l)
{
    l->why[0] = l->on[0] = '\0';
    if (!l->link && !(l->link = vip_link_new())) {
        snprintf(l->why, sizeof(l->why), "no netlink socket: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < l->addresses->count; i++)
        if (!could_be_here(l, &l->addresses->at[i]))
            return false;
    return true;
}

/* A fault that looking finds replaces the remembered failures: looking will see its end, too.
 */
static bool is_possible_elsewhere(struct vip_look *l)
{
    l->failures = 0;
    if (!look_around(l)) {
        l->until_mono_ms = 0;
        return false;
    }
    if (timers_now(l->timers) >= l->until_mono_ms)
        return true;
    memcpy(l->why, l->failed, sizeof(l->why));
    return false;
}

static bool is_possible_here(struct vip_look *l, const char *why)
{
    if (!why)
        return l->is_possible;
    snprintf(l->why, sizeof(l->why), "%s", why);
    l->failures = l->why[0] ? l->failures + 1 : 0;
    if (l->failures < VIP_FAILURES_MAX) {
        l->until_mono_ms = 0;
        return true;
    }
    memcpy(l->failed, l->why, sizeof(l->failed));
    l->until_mono_ms = look_around(l) ? timers_now(l->timers) + VIP_REMEMBER_MS : 0;
    memcpy(l->why, l->failed, sizeof(l->why));
    return false;
}

static void on_timer(struct timer *timer)
{
    struct vip_look *l = CONTAINER_OF(timer, struct vip_look, timer);
    bool before = l->is_possible, is_held;
    const char *why = "";

    is_held = l->is_held(l->arg, &why);
    l->is_possible = is_held ? is_possible_here(l, why) : is_possible_elsewhere(l);
    timer_arm(l->timers, timer, is_held ? VIP_RENEW_MS : VIP_LOOK_MS);
    if (l->is_possible == before)
        return;
    if (l->is_possible)
        LOG_INFO("vip", "this node could have the address again");
    else
        LOG_WARN("vip", "this node could not have the address: %s", l->why);
    l->on_possible(l->arg, l->is_possible);
}

void vip_look_init(struct vip_look *l)
{
    l->is_possible = true;
    timer_init(&l->timer, on_timer);
    timer_arm(l->timers, &l->timer, 0);
}

void vip_look_fini(struct vip_look *l)
{
    timer_disarm(l->timers, &l->timer);
    vip_link_free(l->link);
}
