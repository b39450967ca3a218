/* vip.hook: the operator's program that moves the address where the kernel cannot, as in a
 * cloud:
 *
 *     HOOK take ADDRESS NODE TOKEN     this node leads: bring it here, from whoever has it
 *     HOOK drop ADDRESS NODE TOKEN     it does not any more: give it up, if it is still here
 *     HOOK check ADDRESS NODE TOKEN    every 10 s while it is held; not 0: take again
 *
 * ADDRESS is vip.address as it is written, TOKEN that of the lead that begins or ends. One run
 * at a time; `take` is tried again after 100 ms, then with pauses that double up to 5 s, for as
 * long as this node leads. A run that is out of date before it begins is skipped: of take,
 * drop, take only the last counts. A run that takes longer than 10 s is killed, with all that
 * it has started. After a worker's death, and after a `drop` that failed (it is not tried
 * again), the next leader's `take` must do without a `drop`.
 *
 * A `take` does not outlive the worker: the warden kills it, with all that it has started,
 * before the other nodes know of the death. A request that it has sent to a cloud by then may
 * still be carried out.
 *
 * A `take` that runs when the lead is lost is not killed, because it is unknown what it has
 * done by then: `drop` follows it. If it was slow enough to take the address from the next
 * leader, that leader finds out by its `check`.
 */
#ifndef DUEQ_NODE_VIP_HOOK_H
#define DUEQ_NODE_VIP_HOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

#define VIP_HOOK_TIMEOUT_MS     10000
#define VIP_HOOK_CHECK_MS       10000
#define VIP_HOOK_RETRY_FIRST_MS 100
#define VIP_HOOK_RETRY_MAX_MS   5000

struct vip_hook;

struct vip_hook_options {
    struct loop *loop;
    const char *program, *address, *node; /* borrowed */
    int64_t timeout_ms;                   /* 0: VIP_HOOK_TIMEOUT_MS */
    int64_t check_ms;                     /* 0: VIP_HOOK_CHECK_MS */
    /* A run has ended, or could not begin. Called from the loop alone, never from inside the
     * calls below. May be NULL. */
    void (*on_change)(void *arg);
    /* A `take` is about to run, in this process group: it begins when this has returned. 0: it
     * has ended. May be NULL. */
    void (*on_take)(void *arg, pid_t group);
    void *arg;
};

/* Never NULL. The options are copied. */
struct vip_hook *vip_hook_new(const struct vip_hook_options *options);
/* A run goes on, unheard. But the warden kills a `take`, and systemd and containers kill all
 * that the node leaves behind: so wait until vip_hook_is_idle(). NULL is fine. */
void vip_hook_free(struct vip_hook *h);

void vip_hook_take(struct vip_hook *h, const char *token); /* harmless twice with one token */
void vip_hook_drop(struct vip_hook *h); /* harmless twice, and before a take */

/* Has the newest `take` or `check` ended with 0? */
bool vip_hook_is_here(const struct vip_hook *h);

/* Nothing runs, and nothing but a later `check` is to run. */
bool vip_hook_is_idle(const struct vip_hook *h);

/* The last failure, for people; "": none, or a run went well since. Valid until the loop turns.
 */
const char *vip_hook_why(const struct vip_hook *h);

/* How many runs of `take` have failed in a row, for the current lead. */
unsigned vip_hook_failed_takes(const struct vip_hook *h);

/* Since the start. */
struct vip_hook_counts {
    uint64_t taken;    /* by a `take` that this node's lead had asked for */
    uint64_t restored; /* by a `take` after a `check` that failed */
    uint64_t failures; /* of `take` and `drop`, each run */
};
const struct vip_hook_counts *vip_hook_counts(const struct vip_hook *h);

#endif
