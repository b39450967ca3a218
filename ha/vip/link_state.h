/* For vip_link*.c only: the link itself, and the addresses of this machine as the kernel tells
 * them. */
#ifndef DUEQ_HA_VIP_LINK_STATE_H
#define DUEQ_HA_VIP_LINK_STATE_H

#include "ha/vip/link.h"
#include "ha/vip/rtnl.h"

struct vip_link {
    struct vip_rtnl *rtnl;
    unsigned lifetime_s; /* VIP_LIFETIME_S; slow tests have more */
    char why[200];
};

/* An address of an interface. */
struct vip_entry {
    unsigned index, prefix_len, flags;
    unsigned valid_s;            /* UINT32_MAX: for ever */
    const unsigned char *local;  /* borrowed from the message, of the family's length */
    const unsigned char *subnet; /* not the same at the end of a tunnel */
};

/* Lists those of interface `index`, or, 0, of all: `on_entry` gets each of this family, when
 * the list has changed meanwhile some twice. 0, or an errno. */
int vip_link_list(struct vip_link *l, int family, unsigned index,
                  void (*on_entry)(void *arg, const struct vip_entry *e), void *arg) MUST_CHECK;

/* Has a node put it? */
bool vip_link_is_ours(const struct vip_link *l, const struct vip_entry *e,
                      const struct vip_address *a);

#endif
