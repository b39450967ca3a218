/* The two ways to move the virtual address: by the kernel (mover_kernel.c), or by the
 * operator's program (mover_hook.c). Private to this folder: vip_app.c decides when.
 */
#ifndef DUEQ_NODE_VIP_MOVER_H
#define DUEQ_NODE_VIP_MOVER_H

#include "node/vip/vip_app.h"
#include "node/vip/clients.h"

/* By the kernel: could this node have the address? */
#define VIP_LOOK_MS      1000
#define VIP_FAILURES_MAX 2 /* renewals in a row, then it could not be here */
#define VIP_REMEMBER_MS  60000

struct vip_mover;

struct vip_mover_ops {
    void (*take)(struct vip_mover *m, const char *token); /* harmless twice */
    void (*give)(struct vip_mover *m);  /* gracefully, to a successor not known yet */
    void (*given)(struct vip_mover *m); /* the lead has been given away */
    void (*drop)(struct vip_mover *m);  /* at once; harmless where it is not here */
    bool (*is_gone)(const struct vip_mover *m);
    /* All but `addresses` comes zeroed, texts "" and the state "away". */
    void (*read)(struct vip_mover *m, struct vip_status *to);
    void (*free)(struct vip_mover *m); /* drops it first */
};

/* The base of each. All are borrowed. */
struct vip_mover {
    const struct vip_mover_ops *ops;
    const struct vip_app_options *options;
    struct vip_clients *clients; /* a mover welcomes, drains and cuts off */
};

static inline struct timers *vip_mover_timers(const struct vip_mover *m)
{
    return &m->options->loop->timers;
}

static inline void vip_mover_say(const struct vip_mover *m, const char *state)
{
    m->options->on_state(m->options->arg, state);
}

/* Never NULL. */
struct vip_mover *vip_mover_kernel_new(const struct vip_app_options *options,
                                       struct vip_clients *clients);
struct vip_mover *vip_mover_hook_new(const struct vip_app_options *options,
                                     struct vip_clients *clients);

#endif
