#include "node/warden/child.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "node/channel.h"

static const char *const state_names[] = {
    [CHILD_IDLE] = "IDLE",       [CHILD_STARTING] = "STARTING", [CHILD_UP] = "UP",
    [CHILD_BACKOFF] = "BACKOFF", [CHILD_STOPPING] = "STOPPING", [CHILD_KILLED] = "KILLED",
};

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
    bool is_fault = state == CHILD_BACKOFF || state == CHILD_KILLED;

    assert(has_process(state) == (c->pid > 0));
    LOG_AT(is_fault ? LEVEL_WARN : LEVEL_INFO, "warden", "%s: %s -> %s pid=%d reason=%s",
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
    c->lived_mono_ms = c->heard_mono_ms = now;
    c->hang_by_mono_ms = 0;
    enter(c, CHILD_STARTING, reason, now);
}

static void kill_it(struct child *c, const char *reason, int64_t now)
{
    c->ops->send(c, SIGKILL);
    enter(c, CHILD_KILLED, reason, now);
}

static void kill_silent(struct child *c, int64_t now)
{
    char reason[64];

    snprintf(reason, sizeof(reason), "it hangs: no sign of life for %" PRId64 " ms",
             now - c->lived_mono_ms);
    kill_it(c, reason, now);
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

void child_kill(struct child *c, const char *reason, int64_t now_mono_ms)
{
    if (c->state == CHILD_STOPPING)
        kill_it(c, reason, now_mono_ms);
}

void child_heard(struct child *c, bool works, int64_t now_mono_ms)
{
    c->lived_mono_ms = c->heard_mono_ms = now_mono_ms;
    if (works && c->state == CHILD_STARTING)
        enter(c, CHILD_UP, "it works", now_mono_ms);
}

void child_begin_anew(struct child *c, int64_t now_mono_ms)
{
    c->heard_mono_ms = now_mono_ms;
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
        kill_silent(c, now);
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

/* ---- the worker ---- */

static void close_channel(struct worker_child *w)
{
    if (w->channel_fd >= 0)
        close(w->channel_fd);
    w->channel_fd = -1;
}

/* In the child; never returns. A process group of its own: Ctrl-C is for the warden. */
static void become_worker(struct worker_child *w, pid_t warden, int channel_fd)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != warden)
        _exit(EXIT_FAILURE); /* the warden died before it could be noticed */
    exit(w->run(w->arg, channel_fd));
}

static pid_t spawn_worker(struct child *c)
{
    struct worker_child *w = CONTAINER_OF(c, struct worker_child, child);
    pid_t warden = getpid(), pid;
    int worker_fd;

    close_channel(w);
    w->session = (struct coord_credentials){0};
    w->address_until_boot_ms = 0;
    w->has_no_successor = false;
    w->program = 0;
    w->is_store_up = false;
    if (channel_open(&w->channel_fd, &worker_fd) != STATUS_OK)
        return -1;
    pid = fork();
    if (pid == 0) {
        close_channel(w);
        become_worker(w, warden, worker_fd);
    }
    close(worker_fd);
    return pid;
}

static void send_signal(struct child *c, int number)
{
    kill(c->pid, number);
}

static const struct child_ops ops = {.spawn = spawn_worker, .send = send_signal};

void worker_child_init(struct worker_child *w, int (*run)(void *arg, int channel_fd), void *arg)
{
    *w = (struct worker_child){
        .child = {.name = "worker", .ops = &ops}, .channel_fd = -1, .run = run, .arg = arg};
}

void worker_child_fini(struct worker_child *w)
{
    close_channel(w);
}

static void heed(struct worker_child *w, const struct channel_message *m, int64_t now_mono_ms)
{
    child_heard(&w->child, true, now_mono_ms);
    if (m->kind == CHANNEL_STORE_UP)
        w->is_store_up = w->store_was_up = true;
    else if (m->kind == CHANNEL_SESSION)
        w->session = m->session;
    else if (m->kind == CHANNEL_ADDRESS)
        w->address_until_boot_ms = m->until_boot_ms;
    else if (m->kind == CHANNEL_NO_SUCCESSOR)
        w->has_no_successor = m->has_no_successor;
    else if (m->kind == CHANNEL_PROGRAM)
        w->program = m->group;
}

void worker_child_read_channel(struct worker_child *w, int64_t now_mono_ms)
{
    struct channel_message message;

    while (w->channel_fd >= 0 && channel_receive(w->channel_fd, &message))
        heed(w, &message, now_mono_ms);
}

void worker_child_exited(struct worker_child *w, const char *how, int64_t now_mono_ms)
{
    worker_child_read_channel(w, now_mono_ms); /* its last words */
    close_channel(w);
    child_exited(&w->child, how, now_mono_ms);
}
