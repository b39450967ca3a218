/* Hides from the hook changes of role that come to nothing. A leader that another ensemble
 * fences tries again every few seconds, with the same token, until an operator mends that. The
 * hook hears of this token's promotion and fence once. Each later promotion with it is held
 * until the lead has lasted `hold_ms`; when that lead is lost before, the hook hears neither of
 * its beginning nor of its end.
 */
#ifndef DUEQ_NODE_HOOK_HOLD_H
#define DUEQ_NODE_HOOK_HOLD_H

#include "base/timer.h"
#include "ha/rule/token.h"

struct hooks;

struct hook_hold {
    struct hooks *hooks;
    struct timers *timers;
    int64_t hold_ms;
    struct timer lasting;            /* armed: a promotion is held */
    char fenced[TOKEN_TEXT_LEN + 1]; /* token that the hook heard as fenced last; "": none */
    char reason[32];                 /* of what is held */
};

/* Both are borrowed. */
void hook_hold_init(struct hook_hold *h, struct hooks *hooks, struct timers *timers,
                    int64_t hold_ms);
void hook_hold_fini(struct hook_hold *h); /* what is held is not told any more */

/* As hooks_run(). */
void hook_hold_run(struct hook_hold *h, const char *what, const char *token,
                   const char *reason);

#endif
