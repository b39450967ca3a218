/* The virtual addresses from inside: vip.c has the states, item.c what is done about each
 * address: put, taken away, announced, defended.
 */
#ifndef DUEQ_HA_VIP_PRIVATE_H
#define DUEQ_HA_VIP_PRIVATE_H

#include "ha/vip/vip.h"

#define VIP_LONG_AGO (-VIP_CONFLICT_MS - 1) /* on a clock that begins at 0 */

/* One address. */
struct vip_item {
    struct vip *v;
    const struct vip_address *address;
    struct timer announce;
    struct timer answer; /* what was heard too soon after the last one */
    unsigned announced;  /* since it was put, or taken */
    bool is_here;
    bool has_been_here;       /* since it was taken */
    int64_t heard_mono_ms;    /* another host has it */
    char heard_mac[32];       /* which */
    int64_t answered_mono_ms; /* that */
    char why[288];            /* it is not here; "": it is, or need not be */
};

struct vip {
    struct vip_options options;
    enum vip_state state;
    struct timer renewal; /* HELD; LEAVING, as long as it may */
    struct timer settle;  /* HELD, in the beginning */
    struct timer leaving; /* LEAVING */
    int64_t taken_mono_ms;
    struct vip_item items[VIP_ADDRESSES_MAX];
    struct vip_stats stats;
    char conflict[32]; /* who */
    int64_t conflict_mono_ms;
};

#define EACH_ITEM(it, v) \
    for (struct vip_item *it = (v)->items; it < (v)->items + (v)->options.addresses.count; it++)

int64_t vip_now(const struct vip *v);

/* At this moment? Asked before whatever puts or announces. */
bool vip_may_hold(const struct vip *v);

/* ---- item.c ---- */

/* The address is borrowed for its life. */
void vip_item_init(struct vip_item *it, struct vip *v, const struct vip_address *address);

/* Put, or renewed; announced where it is new. What fails is said. */
void vip_item_put(struct vip_item *it);
void vip_item_take_away(struct vip_item *it);
void vip_item_withhold(struct vip_item *it); /* the lease does not permit it */
void vip_withhold(struct vip *v);            /* all of them */

/* Nothing is announced any more; nor answered. */
void vip_item_be_silent(struct vip_item *it);

void vip_item_ask(struct vip_item *it);    /* who else has it? */
void vip_item_answer(struct vip_item *it); /* another host says that it has it: it.heard_ */

#endif
