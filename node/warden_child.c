#include "node/warden_child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"

static const char *const state_names[] = {
    [CHILD_IDLE] = "IDLE",       [CHILD_STARTING] = "STARTING", [CHILD_UP] = "UP",
    [CHILD_BACKOFF] = "BACKOFF", [CHILD_STOPPING] = "STOPPING", [CHILD_KILLED] = "KILLED",
};

const char *child_state_name(enum child_state state)
{
    return state_names[state];
}

int64_t child_backoff_ms(unsigned exits, int64_t max_ms)
{
    unsigned doublings = exits > 1 ? exits - 1 : 0;
    int64_t delay_ms = CHILD_BACKOFF_FIRST_MS;

    while (doublings-- && delay_ms < max_ms)
        delay_ms *= 2;
    return delay_ms < max_ms ? delay_ms : max_ms;
}

static bool has_process(enum child_state state)
{
    return state != CHILD_IDLE && state != CHILD_BACKOFF;
}

static void enter(struct child *c, enum child_state state, const char *reason, int64_t now)
{
    bool is_trouble = state == CHILD_BACKOFF || state == CHILD_KILLED;

    assert(has_process(state) == (c->pid > 0));
    LOG_AT(is_trouble ? LEVEL_WARN : LEVEL_INFO, "warden", "%s: %s -> %s pid=%d reason=%s",
           c->name, state_names[c->state], state_names[state], (int)c->pid, reason);
    if (c->state == CHILD_UP && now - c->since_mono_ms >= CHILD_STEADY_MS)
        c->exits = 0;
    c->was_up |= state == CHILD_UP;
    c->state = state;
    c->since_mono_ms = now;
}

static void back_off(struct child *c, const char *reason, int64_t now)
{
    enter(c, CHILD_BACKOFF, reason, now);
    c->until_mono_ms = now + child_backoff_ms(++c->exits, c->backoff_max_ms);
}

static void spawn(struct child *c, const char *reason, int64_t now)
{
    pid_t pid = c->ops->spawn(c);

    if (pid < 0) {
        LOG_ERROR("warden", "cannot start the %s process: %s", c->name, strerror(errno));
        back_off(c, "no process", now);
        return;
    }
    c->pid = pid;
    c->heard_mono_ms = now;
    c->hang_by_mono_ms = 0;
    enter(c, CHILD_STARTING, reason, now);
}

static void kill_it(struct child *c, const char *reason, int64_t now)
{
    c->ops->send(c, SIGKILL);
    enter(c, CHILD_KILLED, reason, now);
}

void child_start(struct child *c, int64_t now_mono_ms)
{
    assert(c->state == CHILD_IDLE);
    c->is_wanted = true;
    spawn(c, "start", now_mono_ms);
}

void child_stop(struct child *c, const char *reason, int64_t now_mono_ms)
{
    c->was_up_at_stop = c->is_wanted ? c->state == CHILD_UP : c->was_up_at_stop;
    c->is_wanted = false;
    if (c->state == CHILD_BACKOFF) {
        enter(c, CHILD_IDLE, reason, now_mono_ms);
    } else if (c->state == CHILD_STARTING || c->state == CHILD_UP) {
        c->ops->send(c, SIGTERM);
        c->until_mono_ms = now_mono_ms + c->stop_timeout_ms;
        enter(c, CHILD_STOPPING, reason, now_mono_ms);
    }
}

void child_hurry(struct child *c, const char *reason, int64_t now_mono_ms)
{
    if (c->state == CHILD_STOPPING)
        kill_it(c, reason, now_mono_ms);
}

void child_heard(struct child *c, bool works, int64_t now_mono_ms)
{
    c->heard_mono_ms = now_mono_ms;
    if (works && c->state == CHILD_STARTING)
        enter(c, CHILD_UP, "it works", now_mono_ms);
}

void child_exited(struct child *c, const char *how, int64_t now_mono_ms)
{
    assert(has_process(c->state));
    c->pid = 0;
    if (c->is_wanted)
        back_off(c, how, now_mono_ms);
    else
        enter(c, CHILD_IDLE, how, now_mono_ms);
}

static int64_t silence_deadline(const struct child *c)
{
    int64_t at = c->heard_mono_ms + c->silence_max_ms;

    if (!c->silence_max_ms)
        return INT64_MAX;
    return c->hang_by_mono_ms && c->hang_by_mono_ms < at ? c->hang_by_mono_ms : at;
}

/* When this state ends by itself; INT64_MAX: never. */
static int64_t deadline(const struct child *c)
{
    switch (c->state) {
    case CHILD_STARTING:
    case CHILD_UP:
        return silence_deadline(c);
    case CHILD_BACKOFF:
    case CHILD_STOPPING:
        return c->until_mono_ms;
    case CHILD_IDLE:
    case CHILD_KILLED:
        break;
    }
    return INT64_MAX;
}

static void on_deadline(struct child *c, int64_t now)
{
    if (c->state == CHILD_BACKOFF)
        spawn(c, "start anew", now);
    else if (c->state == CHILD_STOPPING)
        kill_it(c, "it does not stop", now);
    else
        kill_it(c, "it hangs: no sign of life", now);
}

int64_t child_tick(struct child *c, int64_t now_mono_ms)
{
    int64_t at;

    if (deadline(c) <= now_mono_ms)
        on_deadline(c, now_mono_ms);
    at = deadline(c);
    if (at == INT64_MAX)
        return -1;
    return at > now_mono_ms ? at - now_mono_ms : 0;
}
