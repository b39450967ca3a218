#include "node/hook_hold.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "node/hooks.h"

static void on_lasting(struct timer *timer)
{
    struct hook_hold *h = CONTAINER_OF(timer, struct hook_hold, lasting);
    char token[TOKEN_TEXT_LEN + 1];

    strcpy(token, h->fenced);
    h->fenced[0] = '\0';
    hooks_run(h->hooks, "promote", token, h->reason);
}

void hook_hold_init(struct hook_hold *h, struct hooks *hooks, struct timers *timers,
                    int64_t hold_ms)
{
    *h = (struct hook_hold){.hooks = hooks, .timers = timers, .hold_ms = hold_ms};
    timer_init(&h->lasting, on_lasting);
}

void hook_hold_fini(struct hook_hold *h)
{
    timer_disarm(h->timers, &h->lasting);
}

void hook_hold_run(struct hook_hold *h, const char *what, const char *token, const char *reason)
{
    bool is_promote = !strcmp(what, "promote"), is_held = timer_is_armed(&h->lasting);

    timer_disarm(h->timers, &h->lasting);
    if (is_promote && h->fenced[0] && !strcmp(h->fenced, token)) {
        snprintf(h->reason, sizeof(h->reason), "%s", reason);
        timer_arm(h->timers, &h->lasting, h->hold_ms);
        return;
    }
    if (is_held && !is_promote)
        return;
    snprintf(h->fenced, sizeof(h->fenced), "%s", strcmp(what, "fenced") ? "" : token);
    hooks_run(h->hooks, what, token, reason);
}
