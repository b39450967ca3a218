/* The virtual address joined to the lead: which role of this node does what to it, and to the clients
 * that came over it.
 *
 *   role                        address                       its clients on this node
 *   LEADER                      taken                         served
 *   DRAINING                    kept                          let go: idle ones are closed in order,
 *                                                             waiting pops end, the rest after its
 *                                                             reply; new ones get one reply each
 *   STANDBY, handed over        kept until the successor is   the same
 *                               heard, a second at most
 *   all else                    dropped at once               cut off: no answer would reach them,
 *                                                             and no job may be handed to them
 *
 * By `vip.hook` a program does it in place of the kernel: see vip_hook.h.
 */
#ifndef DUEQ_NODE_VIP_APP_H
#define DUEQ_NODE_VIP_APP_H

#include "base/loop.h"
#include "conf/conf.h"
#include "ha/role.h"
#include "ha/vip.h"
#include "protocol/http/vip.h"

struct gmq;
struct ha_app;
struct http;

struct vip_app_options {
    const struct conf *conf; /* borrowed */
    struct loop *loop;
    bool (*may_hold)(void *arg); /* the lease, asked before each renewal */
    void *arg;
};

struct vip_app;

/* Never NULL: without vip.address it does nothing. What the warden has checked is taken for good;
 * what goes wrong later is logged, tried again and told. */
struct vip_app *vip_app_new(const struct vip_app_options *options);
void vip_app_free(struct vip_app *v); /* drops the address first; NULL is fine */

/* Whose clients are let go or cut off; each may be NULL. */
void vip_app_serve(struct vip_app *v, struct gmq *gmq, struct http *http);

void vip_app_role(struct vip_app *v, const struct role *role);

/* The node stops: calls back, in a later turn, when the address is not here any more. */
void vip_app_stop(struct vip_app *v, void (*on_gone)(void *arg), void *arg);

/* False: there is no virtual address. Texts are borrowed until the loop turns. */
bool vip_app_read(struct vip_app *v, struct http_vip_status *status);

#endif
