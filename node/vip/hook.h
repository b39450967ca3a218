/* vip.hook: the operator's program that moves the address where the kernel cannot, as in a
 * cloud:
 *
 *     HOOK take ADDRESS NODE TOKEN     this node leads: bring it here, from whoever has it
 *     HOOK drop ADDRESS NODE TOKEN     it does not any more: give it up, if it is still here
 *     HOOK check ADDRESS NODE TOKEN    every 10 s while it is held: 0: it is here, else: take
 * again
 *
 * ADDRESS is vip.address as it is written, TOKEN that of the lead that begins or ends. One run
 * at a time; `take` is tried again after 100 ms, then with pauses that double up to 5 s, for as
 * long as this node leads. What is out of date by the time it could run is not run: of take,
 * drop, take only the last one counts. A run that takes longer than 10 s is killed, with all
 * that it has started. A worker that dies says nothing: the next leader's `take` must do
 * without a `drop`. The same holds for a `drop` that fails: it is not tried again.
 *
 * A `take` does not outlive the worker: the warden kills it, with all that it has started,
 * before the others know of the death. What it has asked a cloud for by then may still be done.
 *
 * A `take` that is on its way when the lead is lost is not killed, because what it has done by
 * then is unknown: `drop` follows it. If it was slow enough to take the address from the next
 * leader, that one finds out by its `check`.
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
    /* A run has ended, or could not begin: the last statement of what noticed. May be NULL. It
     * comes from the loop alone, never from inside a call of these. */
    void (*on_change)(void *arg);
    /* A `take` is about to run, in this group of processes: it begins when this has returned.
     * 0: it has ended. May be NULL. */
    void (*on_take)(void *arg, pid_t group);
    void *arg;
};

/* Never NULL. The options are copied. */
struct vip_hook *vip_hook_new(const struct vip_hook_options *options);
/* A run goes on, unheard, if nothing else ends it: the warden ends a `take`, systemd and
 * containers all that the node leaves behind, so wait until it is idle. NULL is fine. */
void vip_hook_free(struct vip_hook *h);

void vip_hook_take(struct vip_hook *h, const char *token); /* harmless twice with one token */
void vip_hook_drop(struct vip_hook *h); /* harmless twice, and before a take */

/* Has the newest `take` or `check` ended with 0? */
bool vip_hook_is_here(const struct vip_hook *h);

/* Nothing runs, and nothing is to be run but a `check` some time. */
bool vip_hook_is_idle(const struct vip_hook *h);

/* What went wrong last, for people; "": nothing, or it went well since. Valid until the loop
 * turns. */
const char *vip_hook_why(const struct vip_hook *h);

/* Runs of `take` that have failed one after the other, for the lead that wants it. */
unsigned vip_hook_failed_takes(const struct vip_hook *h);

/* Since the start. */
struct vip_hook_counts {
    uint64_t taken;    /* by a `take` that this node's lead had asked for */
    uint64_t restored; /* by one that a `check` had asked for */
    uint64_t failures; /* of `take` and `drop`, each run */
};
const struct vip_hook_counts *vip_hook_counts(const struct vip_hook *h);

#endif
