/* The virtual address joined to the lead: which role of this node does what to it, and to the
 * clients that came over it.
 *
 *   role                        address                       its clients on this node
 *   LEADER                      taken                         served
 *   DRAINING                    kept, renewed                 drained: idle ones are closed,
 *                                                             waiting pops end, all others are
 *                                                             closed after their reply; new
 *                                                             ones get one reply each
 *   handed over, stopping       kept until the successor is   the same
 *                               heard, a second at most, and
 *                               for the last replies
 *   any other                   dropped at once               cut off, new ones too: no answer
 *                                                             would reach them
 *
 * With `vip.hook` a program moves the address in place of the kernel: see hook.h. A successor
 * cannot be heard then, so the program is told to drop the address when the lead has been
 * handed over.
 *
 * A leader that cannot have the address (mover_kernel.c finds that out) gives the lead to a
 * node that can (ha_address_is()).
 *
 *   vip_app.c       by role; stopping
 *   mover_kernel.c  the address on an interface; could it be there?
 *   mover_hook.c    the address where a program puts it
 *   hook.c          how that program is run
 *   clients.c       its clients
 */
#ifndef DUEQ_NODE_VIP_VIP_APP_H
#define DUEQ_NODE_VIP_VIP_APP_H

#include <sys/types.h>

#include "base/loop.h"
#include "conf/conf.h"
#include "ha/rule/role.h"
#include "protocol/api/report.h"

struct port;

struct vip_app_options {
    const struct conf *conf; /* borrowed */
    struct loop *loop;
    bool (*may_hold)(void *arg); /* the lease, asked before each renewal */
    /* "held", "leaving" or "away": what has just happened to the address. */
    void (*on_state)(void *arg, const char *state);
    /* The address could not be here, or could be again. Until the first call it could. */
    void (*on_possible)(void *arg, bool is_possible);
    /* `vip.hook take` runs, in this process group, which must not outlive the worker; 0: it has
     * ended. */
    void (*on_take)(void *arg, pid_t group);
    void *arg;
};

struct vip_app;

/* Never NULL: without vip.address it does nothing. The warden's checks are not repeated; later
 * failures are logged, tried again and shown in vip_app_read(). */
struct vip_app *vip_app_new(const struct vip_app_options *options);
void vip_app_free(struct vip_app *v); /* drops the address first; NULL is fine */

/* Sets the ports whose clients are drained or cut off; borrowed. Call before they have clients.
 */
void vip_app_serve(struct vip_app *v, struct port *const *ports, unsigned count);

void vip_app_role(struct vip_app *v, const struct role *role);

/* The node stops: calls back, in a later turn, when the address is gone from here. That is when
 * the last replies are out, VIP_LAST_REPLIES_MS at most; where another node `is_expected` to
 * take the address, when that node has it, within a second or so. */
void vip_app_stop(struct vip_app *v, bool is_expected, void (*on_gone)(void *arg), void *arg);

/* Call after that: calls back, in a later turn, when the program that moves the address
 * (`vip.hook`) has ended, or after `patience_ms`. Without that wait, systemd and containers
 * would kill the program with this process. */
void vip_app_finish(struct vip_app *v, int64_t patience_ms, void (*on_done)(void *arg),
                    void *arg);

/* False: there is no virtual address. Texts are borrowed until the loop turns. */
bool vip_app_read(struct vip_app *v, struct vip_status *status);

#endif
