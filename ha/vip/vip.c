#include "ha/vip/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

int64_t vip_now(const struct vip *v)
{
    return timers_now(v->options.timers);
}

bool vip_may_hold(const struct vip *v)
{
    return v->options.may_hold(v->options.arg);
}

/* ---- states ---- */

const char *vip_state_word(enum vip_state state)
{
    static const char *const words[] = {"away", "held", "leaving"};

    return words[state];
}

static void enter(struct vip *v, enum vip_state state)
{
    LOG_INFO("vip", "%s -> %s", vip_state_word(v->state), vip_state_word(state));
    v->state = state;
    v->options.on_state(v->options.arg, state);
}

static void stop_timers(struct vip *v)
{
    timer_disarm(v->options.timers, &v->renewal);
    timer_disarm(v->options.timers, &v->settle);
    timer_disarm(v->options.timers, &v->leaving);
}

static void go_away(struct vip *v)
{
    stop_timers(v);
    EACH_ITEM (it, v)
        vip_item_take_away(it);
    enter(v, VIP_AWAY);
}

/* may_hold() is asked for each: putting may take its time. */
static void hold(struct vip *v)
{
    timer_arm(v->options.timers, &v->renewal, VIP_RENEW_MS);
    EACH_ITEM (it, v) {
        if (vip_may_hold(v))
            vip_item_put(it);
        else
            vip_item_withhold(it);
    }
}

/* Until the lead is given away nobody else may have it, however long that takes: the last
 * second begins with the last renewal, in the kernel as here. Who fails is not tried again. */
static void stay(struct vip *v)
{
    const struct vip_options *o = &v->options;
    const char *why;

    EACH_ITEM (it, v) {
        if (!vip_may_hold(v))
            return;
        if (it->is_here)
            o->ops->put(o->ops_arg, it->address, &why);
    }
    timer_arm(o->timers, &v->renewal, VIP_RENEW_MS);
    timer_arm(o->timers, &v->leaving, VIP_LEAVING_MAX_MS);
}

static void on_renewal(struct timer *timer)
{
    struct vip *v = CONTAINER_OF(timer, struct vip, renewal);

    if (v->state == VIP_HELD)
        hold(v);
    else
        stay(v);
}

static void on_settled(struct timer *timer)
{
    struct vip *v = CONTAINER_OF(timer, struct vip, settle);

    EACH_ITEM (it, v) {
        if (it->is_here)
            vip_item_ask(it);
    }
}

static void on_left(struct timer *timer)
{
    struct vip *v = CONTAINER_OF(timer, struct vip, leaving);

    LOG_INFO("vip", "the next leader was not heard to have every address in %d ms",
             VIP_LEAVING_MAX_MS);
    go_away(v);
}

static size_t count_here(const struct vip *v)
{
    size_t count = 0;

    for (size_t i = 0; i < v->options.addresses.count; i++)
        count += v->items[i].is_here;
    return count;
}

void vip_take(struct vip *v)
{
    if (v->state == VIP_HELD) {
        if (!vip_is_here(v))
            hold(v);
        return;
    }
    stop_timers(v);
    EACH_ITEM (it, v) {
        it->is_here = it->has_been_here = false; /* all is announced anew */
        it->heard_mono_ms = it->answered_mono_ms = VIP_LONG_AGO;
    }
    v->stats.taken++;
    v->taken_mono_ms = vip_now(v);
    timer_arm(v->options.timers, &v->settle, VIP_SETTLE_MS);
    hold(v);
    enter(v, VIP_HELD);
}

void vip_hand_over(struct vip *v)
{
    if (v->state != VIP_HELD)
        return;
    stop_timers(v);
    EACH_ITEM (it, v) {
        vip_item_be_silent(it);
        if (!it->is_here)
            vip_item_take_away(it);
    }
    if (count_here(v) == 0) {
        enter(v, VIP_AWAY);
        return;
    }
    timer_arm(v->options.timers, &v->leaving, VIP_LEAVING_MAX_MS);
    stay(v);
    enter(v, VIP_LEAVING);
}

void vip_drop(struct vip *v)
{
    if (v->state != VIP_AWAY)
        go_away(v);
}

/* Who had it while it was held. Nobody is made the leader by that: it stays one. */
static bool is_stranger(const struct vip *v, const char *mac)
{
    return vip_now(v) - v->conflict_mono_ms < VIP_CONFLICT_MS && !strcmp(mac, v->conflict);
}

static struct vip_item *item_of(struct vip *v, const struct vip_address *a)
{
    EACH_ITEM (it, v) {
        if (it->address->family == a->family &&
            !memcmp(it->address->bytes, a->bytes, vip_address_len(a)))
            return it;
    }
    return NULL;
}

void vip_heard(struct vip *v, const struct vip_address *a, const char *mac)
{
    struct vip_item *it = item_of(v, a);

    if (!it)
        return;
    it->heard_mono_ms = vip_now(v);
    snprintf(it->heard_mac, sizeof(it->heard_mac), "%s", mac);
    if (v->state == VIP_HELD && it->is_here)
        vip_item_answer(it);
    if (v->state != VIP_LEAVING || !it->is_here || is_stranger(v, mac))
        return;
    LOG_INFO("vip", "%s has %s now", mac, a->text);
    vip_item_take_away(it);
    if (count_here(v) == 0) {
        stop_timers(v);
        enter(v, VIP_AWAY);
    }
}

/* ---- what is told ---- */

enum vip_state vip_state(const struct vip *v)
{
    return v->state;
}

const struct vip_stats *vip_stats(const struct vip *v)
{
    return &v->stats;
}

bool vip_is_here(const struct vip *v)
{
    return count_here(v) == v->options.addresses.count;
}

const char *vip_why(const struct vip *v)
{
    for (size_t i = 0; i < v->options.addresses.count; i++) {
        if (v->state == VIP_HELD && !v->items[i].is_here)
            return v->items[i].why;
    }
    return "";
}

const char *vip_conflict(const struct vip *v)
{
    bool is_recent = vip_now(v) - v->conflict_mono_ms < VIP_CONFLICT_MS;

    return v->state == VIP_HELD && is_recent ? v->conflict : "";
}

/* ---- life ---- */

struct vip *vip_new(const struct vip_options *options)
{
    struct vip *v = calloc(1, sizeof(*v));
    size_t i = 0;

    if (!v)
        abort();
    v->options = *options;
    v->conflict_mono_ms = VIP_LONG_AGO;
    timer_init(&v->renewal, on_renewal);
    timer_init(&v->settle, on_settled);
    timer_init(&v->leaving, on_left);
    EACH_ITEM (it, v)
        vip_item_init(it, v, &v->options.addresses.at[i++]);
    return v;
}

void vip_free(struct vip *v)
{
    if (!v)
        return;
    stop_timers(v);
    EACH_ITEM (it, v) {
        if (v->state != VIP_AWAY)
            vip_item_take_away(it);
    }
    free(v);
}
