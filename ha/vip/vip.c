/* One virtual address at this host: in the kernel, and in the neighbours' eyes. */
#include "ha/vip/vip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/log.h"

/* One address. */
struct vip_item {
    struct vip *v;
    const struct vip_address *address;
    struct timer announce;
    struct timer answer; /* to a claim that was heard too soon after the last answer */
    unsigned announced;  /* since it was put, or taken */
    bool is_here;
    bool has_been_here;       /* since it was taken */
    int64_t heard_mono_ms;    /* when another host was last heard to have it */
    char heard_mac[32];       /* that host */
    int64_t answered_mono_ms; /* when this was last answered */
    char why[288];            /* why it is not here; "": it is, or need not be */
};

struct vip {
    struct vip_options options;
    enum vip_state state;
    struct timer renewal; /* HELD; LEAVING, while may_hold() permits */
    struct timer settle;  /* HELD, in the first VIP_SETTLE_MS */
    struct timer leaving; /* LEAVING */
    int64_t taken_mono_ms;
    struct vip_item items[VIP_ADDRESSES_MAX];
    struct vip_stats stats;
    char conflict[32]; /* the host in conflict */
    int64_t conflict_mono_ms;
};

#define VIP_LONG_AGO (-VIP_CONFLICT_MS - 1) /* on a clock that begins at 0 */
#define EACH_ITEM(it, v) \
    for (struct vip_item *it = (v)->items; it < (v)->items + (v)->options.addresses.count; it++)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static int64_t vip_now(const struct vip *v)
{
    return timers_now(v->options.timers);
}

/* May the address be here at this moment? Asked before each put and each announcement. */
static bool vip_may_hold(const struct vip *v)
{
    return v->options.may_hold(v->options.arg);
}

/* ---- here, or not ---- */

/* Stops announcements and answers. */
static void vip_item_be_silent(struct vip_item *it)
{
    timer_disarm(it->v->options.timers, &it->announce);
    timer_disarm(it->v->options.timers, &it->answer);
}

static void vip_item_take_away(struct vip_item *it)
{
    const struct vip_options *o = &it->v->options;

    vip_item_be_silent(it);
    o->ops->remove(o->ops_arg, it->address);
    it->is_here = it->has_been_here = false;
    it->why[0] = '\0';
}

/* Logs the reason once, as long as it stays the same. */
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

/* Removes the address, also after a failed renewal: it may still be there. */
static void vip_item_withhold(struct vip_item *it)
{
    const struct vip_options *o = &it->v->options;

    o->ops->remove(o->ops_arg, it->address);
    it->has_been_here = false; /* putting it again later does not count as restored */
    is_missing(it, "the lease does not permit it at the moment");
}

static void vip_withhold(struct vip *v)
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

static void vip_item_ask(struct vip_item *it)
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

/* Puts or renews the address; announces a new one, logs a failure. */
static void vip_item_put(struct vip_item *it)
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

static void vip_item_answer(struct vip_item *it)
{
    struct vip *v = it->v;
    int64_t now = vip_now(v), wait_ms = it->answered_mono_ms + VIP_DEFEND_MS - now;

    if (!vip_may_hold(v)) {
        vip_withhold(v);
        return;
    }
    if (wait_ms > 0) { /* meanwhile neighbours believe the other host */
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

/* The address is borrowed for the item's life. */
static void vip_item_init(struct vip_item *it, struct vip *v, const struct vip_address *address)
{
    *it = (struct vip_item){.v = v,
                            .address = address,
                            .heard_mono_ms = VIP_LONG_AGO,
                            .answered_mono_ms = VIP_LONG_AGO};
    timer_init(&it->announce, on_announce);
    timer_init(&it->answer, on_answer);
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

/* may_hold() is asked for each address, because putting one may take long. */
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

/* Renews the addresses in LEAVING: until the lead is given away no other node may have them,
 * however long that takes. The last second begins with the last renewal, in the kernel as here.
 * A failed renewal is not tried again. */
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
        it->is_here = it->has_been_here = false; /* every address is announced anew */
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

/* Was the host in conflict while this node held the address? Such a host is no successor. */
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
    struct vip *v = must(calloc(1, sizeof(*v)));
    size_t i = 0;

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
