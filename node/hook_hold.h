/* Keeps changes of role that come to nothing from the hook. A leader that another ensemble
 * fences tries again every few seconds, with the same token, until that is mended: it is told
 * as promoted, and as fenced, once. Then a promotion with that token is held until the lead has
 * lasted; one that is lost before was none, and neither is its end told.
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
    char fenced[TOKEN_TEXT_LEN + 1]; /* told as fenced last; "": none */
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
