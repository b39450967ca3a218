/* One virtual address at this host: in the kernel, and in the neighbours' eyes. */
#include "ha/vip/private.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- here, or not ---- */

void vip_item_be_silent(struct vip_item *it)
{
    timer_disarm(it->v->options.timers, &it->announce);
    timer_disarm(it->v->options.timers, &it->answer);
}

void vip_item_take_away(struct vip_item *it)
{
    const struct vip_options *o = &it->v->options;

    vip_item_be_silent(it);
    o->ops->remove(o->ops_arg, it->address);
    it->is_here = it->has_been_here = false;
    it->why[0] = '\0';
}

/* Said once, as long as it stays the same. */
static void is_missing(struct vip_item *it, const char *why)
{
    char text[sizeof(it->why)];

    vip_item_be_silent(it);
    it->is_here = false;
    snprintf(text, sizeof(text), "%s: %s", it->address->text, why);
    if (strcmp(text, it->why) != 0)
        LOG_WARN("vip", "not here although this node leads: %s", text);
    memcpy(it->why, text, sizeof(text));
}

/* What could not be renewed may be there still. */
void vip_item_withhold(struct vip_item *it)
{
    const struct vip_options *o = &it->v->options;

    o->ops->remove(o->ops_arg, it->address);
    it->has_been_here = false; /* put again later, it was not gone */
    is_missing(it, "the lease does not permit it at the moment");
}

void vip_withhold(struct vip *v)
{
    EACH_ITEM (it, v)
        vip_item_withhold(it);
}

static void send_announcement(struct vip_item *it)
{
    const struct vip_options *o = &it->v->options;

    o->ops->announce(o->ops_arg, it->address);
    it->v->stats.announcements++;
}

void vip_item_ask(struct vip_item *it)
{
    const struct vip_options *o = &it->v->options;

    o->ops->probe(o->ops_arg, it->address);
}

static void announce(struct vip_item *it)
{
    static const int64_t waits_ms[] = {100, 200, 400, 800};
    bool is_new = it->announced < ARRAY_LEN(waits_ms);

    if (!vip_may_hold(it->v)) {
        vip_withhold(it->v);
        return;
    }
    send_announcement(it);
    if (it->announced > ARRAY_LEN(waits_ms))
        vip_item_ask(it);
    timer_arm(it->v->options.timers, &it->announce,
              is_new ? waits_ms[it->announced] : VIP_ANNOUNCE_EVERY_MS);
    it->announced++;
}

static void on_announce(struct timer *timer)
{
    announce(CONTAINER_OF(timer, struct vip_item, announce));
}

static void announce_anew(struct vip_item *it)
{
    it->announced = 0;
    announce(it);
}

void vip_item_put(struct vip_item *it)
{
    struct vip *v = it->v;
    const char *why = "";
    enum vip_put done = v->options.ops->put(v->options.ops_arg, it->address, &why);
    bool is_new = done == VIP_PUT_ADDED || !it->is_here;

    if (done == VIP_PUT_FAILED) {
        v->stats.failures++;
        is_missing(it, why);
        return;
    }
    if (done == VIP_PUT_ADDED && it->has_been_here) {
        v->stats.restored++;
        LOG_WARN("vip", "%s was gone; it is put back", it->address->text);
    } else if (it->why[0]) {
        LOG_INFO("vip", "%s is here now", it->address->text);
    }
    it->why[0] = '\0';
    it->is_here = it->has_been_here = true;
    if (is_new)
        announce_anew(it);
}

/* ---- what others say ---- */

static void note_conflict(struct vip *v, const struct vip_item *it)
{
    v->stats.conflicts++;
    if (strcmp(it->heard_mac, vip_conflict(v)) != 0)
        LOG_WARN("vip", "%s has %s as well; it is announced against that host", it->heard_mac,
                 it->address->text);
    memcpy(v->conflict, it->heard_mac, sizeof(v->conflict));
    v->conflict_mono_ms = it->heard_mono_ms;
}

void vip_item_answer(struct vip_item *it)
{
    struct vip *v = it->v;
    int64_t now = vip_now(v), wait_ms = it->answered_mono_ms + VIP_DEFEND_MS - now;

    if (!vip_may_hold(v)) {
        vip_withhold(v);
        return;
    }
    if (wait_ms > 0) { /* neighbours believe the other one meanwhile */
        if (!timer_is_armed(&it->answer))
            timer_arm(v->options.timers, &it->answer, wait_ms);
        return;
    }
    it->answered_mono_ms = now;
    if (it->heard_mono_ms - v->taken_mono_ms >= VIP_SETTLE_MS)
        note_conflict(v, it);
    send_announcement(it);
}

static void on_answer(struct timer *timer)
{
    vip_item_answer(CONTAINER_OF(timer, struct vip_item, answer));
}

void vip_item_init(struct vip_item *it, struct vip *v, const struct vip_address *address)
{
    *it = (struct vip_item){.v = v,
                            .address = address,
                            .heard_mono_ms = VIP_LONG_AGO,
                            .answered_mono_ms = VIP_LONG_AGO};
    timer_init(&it->announce, on_announce);
    timer_init(&it->answer, on_answer);
}
