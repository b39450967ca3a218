/* vip.hook: the operator's program that moves the address where the kernel cannot, as in a cloud:
 *
 *     HOOK take ADDRESS NODE TOKEN     this node leads: bring it here, from whoever has it
 *     HOOK drop ADDRESS NODE TOKEN     it does not any more: give it up, if it is still here
 *     HOOK check ADDRESS NODE TOKEN    every 10 s while it is held: 0: it is here, else: take again
 *
 * ADDRESS is vip.address as it is written. One run at a time; `take` is tried again after 100 ms,
 * then with pauses that double up to 5 s, for as long as this node leads. What is out of date by
 * the time it could run is not run: of take, drop, take only the last one counts. A run that takes
 * longer than 10 s is killed, with all that it has started. A worker that dies says nothing: the
 * next leader's `take` must do without a `drop`.
 */
#ifndef DUEQ_NODE_VIP_HOOK_H
#define DUEQ_NODE_VIP_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

#define VIP_HOOK_TIMEOUT_MS 10000
#define VIP_HOOK_CHECK_MS   10000

struct vip_hook;

/* Texts are borrowed for its life. Never NULL. */
struct vip_hook *vip_hook_new(struct loop *loop, const char *program, const char *address,
                              const char *node);
void vip_hook_free(struct vip_hook *h); /* a run goes on, unheard; NULL is fine */

void vip_hook_take(struct vip_hook *h, const char *token);
void vip_hook_drop(struct vip_hook *h);

/* Has the newest `take` or `check` ended with 0? */
bool vip_hook_is_here(const struct vip_hook *h);

/* Nothing runs, and nothing is to be run. */
bool vip_hook_is_idle(const struct vip_hook *h);

/* What went wrong last, for people; "": nothing, or it went well since. */
const char *vip_hook_why(const struct vip_hook *h);

#endif
