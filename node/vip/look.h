/* Could this node have the virtual address? While the address is elsewhere, the node looks once
 * a second: is there an interface for it, and no foreign address in its place? While this node
 * holds it, repeated failures to put it say more. They are remembered for a while where looking
 * finds nothing wrong; else the node would be elected again at once, and fail again.
 */
#ifndef DUEQ_NODE_VIP_LOOK_H
#define DUEQ_NODE_VIP_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "ha/vip/link.h"

#define VIP_LOOK_MS      1000
#define VIP_FAILURES_MAX 2 /* renewals in a row, then it could not be here */
#define VIP_REMEMBER_MS  60000

struct vip_look {
    const struct vip_addresses *addresses;
    const char *interface;
    struct timers *timers;
    /* Is this node to have the address? `why` it has not; "": it has; NULL: not known. */
    bool (*is_held)(void *arg, const char **why);
    void (*on_possible)(void *arg, bool is_possible);
    void *arg;
    struct vip_link *link;
    struct timer timer;
    unsigned failures;     /* in a row */
    int64_t until_mono_ms; /* the failures are remembered; 0: none to remember */
    bool is_possible;
    char on[IF_NAMESIZE]; /* the interface of the first address; "": none */
    char why[320];        /* it could not be here; "": it could */
    char failed[320];     /* the last failure */
};

/* The caller has set all up to `arg`. Looks for the first time in the loop's next turn. */
void vip_look_init(struct vip_look *l);
void vip_look_fini(struct vip_look *l);

#endif
