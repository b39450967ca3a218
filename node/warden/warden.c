#include "node/warden/warden.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "node/warden/aof_files.h"
#include "node/worker.h"
#include "node/capabilities.h"
#include "node/journal.h"
#include "node/reload.h"
#include "node/warden/listen.h"
#include "node/warden/private.h"

/* One request to stop may arrive as two signals: to the process, and to its group. */
#define SAME_REQUEST_MS 500

#define OWN_FDS 4 /* of wait_and_learn() */

/* ---- the worker's process ---- */

static int run_worker(void *arg, int channel_fd)
{
    struct warden *w = arg;
    struct worker_options options = {
        .conf = w->conf,
        .request = w->request,
        .redis_socket = w->has_redis ? w->redis.socket_path : NULL,
        .redis = w->has_redis ? w->redis.facts : NULL,
        .port_fds = w->port_fds,
        .socket_fd = w->socket_fd,
        .peer_fd = w->peer_fd,
        .incarnation = w->incarnation,
        .channel_fd = channel_fd,
        .audit = w->audit,
        .silence_max_ms = w->worker.child.silence_max_ms,
        .stop_timeout_ms = w->worker.child.stop_timeout_ms,
        .store_was_up = w->worker.store_was_up,
    };

    /* The directory's lock stays open, see datadir.h. */
    warden_close_fd(&w->signal_fd);
    warden_close_fd(&w->redis.log_fd);
    warden_close_fd(&w->redis.probe_fd);
    warden_vip_close(&w->vip);
    notifier_fini(&w->told);
    if (!*w->conf->ha.hook && !*w->conf->vip.hook) /* a hook of root's has what root has */
        capabilities_confine(*w->conf->vip.address);
    if (w->is_draining)
        raise(SIGUSR1); /* blocked, until the worker looks at its signals */
    return worker_run(&options);
}

/* ---- what happens ---- */

static void stop(struct warden *w, const char *reason, int exit_code, int64_t now)
{
    LOG_AT(exit_code ? LEVEL_ERROR : LEVEL_INFO, "warden", "stopping: %s", reason);
    w->exit_code = exit_code;
    w->phase = WARDEN_STOP_WORKER;
    w->stop_mono_ms = now;
    warden_remove_socket(w);
    warden_close_ports(w); /* the worker closes its copies, and no new clients come */
    child_stop(&w->worker.child, reason, now);
}

static void force(struct warden *w, const char *reason, int64_t now)
{
    child_kill(&w->worker.child, reason, now);
    child_kill(&w->redis.child, reason, now);
    w->is_forced = true;
}

/* A stop is graceful only when its children ended so. SIGTERM may meet a Redis that does not
 * handle it yet, or one that is just failing to start. */
static void judge_end(struct warden *w, const struct child *child, int status)
{
    bool is_orderly =
        WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGTERM;

    if (!child->is_wanted && child->was_up_at_stop && !is_orderly && w->exit_code == 0)
        w->exit_code = EXIT_FAILURE;
}

static bool is_death(int status)
{
    return !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS;
}

/* Only now that the worker's process is gone. The next worker starts meanwhile. A worker that
 * ended gracefully has written its journal itself, but may have left a session that no server
 * confirmed as closed. The address is to stay as long as an election may take, so its time
 * begins here: to refuse all who had come to a worker that hung takes a while. */
static void end_session(struct warden *w, int status, int64_t now)
{
    assert(w->worker.child.pid == 0);
    if (!w->worker.session.session)
        return;
    if (w->conf->ha.journal && is_death(status))
        ha_journal_death(w->datadir.path, w->conf->node.id, clock_boot_ms());
    warden_vip_leave_from(&w->vip, clock_mono_ms());
    session_end_start(&w->session_end, &w->worker.session, now);
    w->worker.session = (struct coord_credentials){0};
}

/* Another node is about to lead: the address stays until then, and new clients are refused at
 * once. Not so without a session to end (nobody leads sooner then), or where the worker knew of
 * no other node. If the worker was wrong, the address is still gone before another node leads,
 * and clients notice a second later. */
static void let_address_go(struct warden *w, int status, int64_t now)
{
    if (is_death(status) && w->worker.session.session && !w->worker.has_no_successor &&
        warden_vip_leave(&w->vip, now)) {
        for (unsigned i = 0; i < CONF_PORTS; i++)
            if (conf_port_is_for_clients(i))
                listen_refuse(w->port_fds[i]);
        w->is_refusing = true;
        LOG_INFO("warden", "new clients are refused until the virtual address has moved");
    } else {
        warden_vip_remove(&w->vip);
    }
}

/* The address has gone, or no other node took it. */
static void accept_again(struct warden *w, int64_t now)
{
    bool is_taken = false;

    for (unsigned i = 0; i < CONF_PORTS; i++)
        is_taken |= listen_again(conf_port_key(i), w->port_fds[i]) != STATUS_OK;
    w->is_refusing = false;
    if (is_taken && w->phase == WARDEN_RUN)
        stop(w, "another program has taken a port of this node", EXIT_FAILURE, now);
}

/* A program that moves the address must not do so when another node has it. So it is killed,
 * with all that it has started, before another node knows of the worker's death. */
static void end_program(struct warden *w)
{
    if (w->worker.program > 0 && !kill(-w->worker.program, SIGKILL))
        LOG_WARN("warden", "vip.hook take was at work for the worker: killed, process group %d",
                 (int)w->worker.program);
    w->worker.program = 0;
}

/* First ends what must not reach into another node's lead, then the session, whose end begins
 * that lead. EX_CONFIG counts only before a worker has had its store: a configuration that
 * fitted once will fit again, and the worker is restarted. */
static void on_worker_exit(struct warden *w, int status, const char *how, int64_t now)
{
    worker_child_read_channel(&w->worker, now); /* its last words */
    end_program(w);
    let_address_go(w, status, now);
    judge_end(w, &w->worker.child, status);
    worker_child_exited(&w->worker, how, now);
    end_session(w, status, now);
    if (w->phase == WARDEN_RUN && WIFEXITED(status) && WEXITSTATUS(status) == EX_CONFIG &&
        !w->worker.store_was_up)
        stop(w, "the worker says that the configuration is wrong", EX_CONFIG, now);
}

/* A Redis that has never worked and ends by itself, for example because its file is damaged,
 * will not do better the next time. */
static void on_redis_exit(struct warden *w, int status, const char *how, int64_t now)
{
    /* A worker may have used it before the warden has seen that it answers. */
    bool has_worked = w->redis.child.was_up_at_stop || w->worker.store_was_up;

    judge_end(w, &w->redis.child, status);
    if (!w->redis.child.is_wanted && has_worked && !is_death(status))
        aof_mark_write(w->redis.datadir);
    embedded_redis_exited(&w->redis, how, now);
    if (w->phase == WARDEN_RUN && WIFEXITED(status) && !w->redis.child.was_up) {
        stop(w, "the embedded Redis cannot start, see its own words above", EXIT_FAILURE, now);
        child_stop(&w->redis.child, "it cannot start", now);
    }
}

static void reap(struct warden *w, int64_t now)
{
    char how[64];
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (WIFSIGNALED(status))
            snprintf(how, sizeof(how), "died of SIG%s", sigabbrev_np(WTERMSIG(status)));
        else
            snprintf(how, sizeof(how), "exited with code %d", WEXITSTATUS(status));
        if (pid == w->worker.child.pid)
            on_worker_exit(w, status, how, now);
        else if (pid == w->redis.child.pid)
            on_redis_exit(w, status, how, now);
        else
            session_end_exited(&w->session_end, pid, status, now);
    }
}

static void reload(struct warden *w)
{
    notifier_reloading(&w->told, clock_mono_us());
    reload_conf(w->conf, w->request, w->audit, true);
    if (w->worker.child.pid)
        kill(w->worker.child.pid, SIGHUP);
    notifier_reloaded(&w->told);
}

/* Ports that know the word take no jobs any more, also those of a worker to come. */
static void drain(struct warden *w)
{
    w->is_draining = true;
    if (w->worker.child.pid)
        kill(w->worker.child.pid, SIGUSR1);
}

static void stop_on_signal(struct warden *w, int number, int64_t now)
{
    char reason[32];

    snprintf(reason, sizeof(reason), "SIG%s", sigabbrev_np(number));
    if (w->phase == WARDEN_RUN)
        stop(w, reason, EXIT_SUCCESS, now);
    else if (now - w->stop_mono_ms >= SAME_REQUEST_MS)
        force(w, reason, now);
}

static void read_signals(struct warden *w, int64_t now)
{
    struct signalfd_siginfo info;

    while (read(w->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue; /* several may be one: reap() looks every time */
        if (info.ssi_signo == SIGHUP)
            reload(w);
        else if (info.ssi_signo == SIGUSR1)
            drain(w);
        else
            stop_on_signal(w, (int)info.ssi_signo, now);
    }
}

/* ---- the loop ---- */

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    if (a_ms < 0 || b_ms < 0)
        return a_ms < 0 ? b_ms : a_ms;
    return a_ms < b_ms ? a_ms : b_ms;
}

/* Redis has its own part of node.stop_timeout, and the rest that the worker has left. */
static void stop_redis(struct warden *w, int64_t now)
{
    int64_t left_ms = w->stop_mono_ms + w->conf->node.stop_timeout_ms - now;

    if (left_ms > w->redis.child.stop_timeout_ms)
        w->redis.child.stop_timeout_ms = left_ms;
    child_stop(&w->redis.child, "the worker has stopped", now);
}

/* How long the warden still waits for the children that end sessions. They would end by
 * themselves, but not where the warden is process 1 of a container. */
static int64_t last_wait_ms(const struct warden *w, int64_t now)
{
    int64_t left_ms = w->stop_mono_ms + w->conf->node.stop_timeout_ms - now;
    int64_t wait_ms = session_end_wait_ms(&w->session_end, now);

    if (w->phase != WARDEN_STOP_REDIS || w->redis.child.state != CHILD_IDLE || wait_ms < 0)
        return -1; /* it waits for something else, or for nothing */
    if (w->is_forced || left_ms < 0)
        return 0;
    return wait_ms < left_ms ? wait_ms : left_ms;
}

static void advance(struct warden *w, int64_t now)
{
    if (w->phase == WARDEN_RUN && w->worker.child.state == CHILD_IDLE &&
        (!w->has_redis || w->redis.has_answered))
        child_start(&w->worker.child, now);
    if (w->phase == WARDEN_STOP_WORKER && w->worker.child.state == CHILD_IDLE) {
        w->phase = WARDEN_STOP_REDIS;
        warden_close_fd(&w->peer_fd);
        stop_redis(w, now);
    }
    if (w->phase == WARDEN_STOP_REDIS && w->redis.child.state == CHILD_IDLE &&
        !warden_vip_is_leaving(&w->vip) && last_wait_ms(w, now) <= 0)
        w->phase = WARDEN_DONE;
}

/* If this process itself did not run for longer than that (a frozen machine), the worker may
 * not have run either, and gets its time anew. */
static int64_t stall_max_ms(const struct warden *w)
{
    return w->worker.child.silence_max_ms / 4;
}

static int64_t tell(struct warden *w, int64_t now)
{
    struct notifier_facts facts = {
        .is_stopping = w->phase != WARDEN_RUN,
        .waits_for_redis = w->has_redis && !w->redis.has_answered,
        .worker = w->worker.child.state,
        .redis = w->redis.child.state,
        .is_store_up = w->worker.is_store_up,
    };

    return notifier_tick(&w->told, &facts, now);
}

static int64_t tick_address(struct warden *w, int64_t now)
{
    struct child *c = &w->worker.child;
    const struct warden_vip_word word = {.heard_mono_ms = c->heard_mono_ms,
                                         .until_boot_ms = w->worker.address_until_boot_ms};
    int64_t now_boot_ms = clock_boot_ms();

    if (!c->pid)
        return warden_vip_tick(&w->vip, now);
    c->hang_by_mono_ms =
        warden_vip_hang_by(&w->vip, &word, c->silence_max_ms, now, now_boot_ms);
    return warden_vip_renew(&w->vip, &word, now, now_boot_ms);
}

/* While the address leaves there is no worker, and none starts. */
static int64_t tick_worker(struct warden *w, int64_t now)
{
    if (warden_vip_is_leaving(&w->vip))
        return -1;
    if (w->is_refusing)
        accept_again(w, now);
    return child_tick(&w->worker.child, now);
}

/* Returns the ms until it wants to be called again: often enough to notice its own stalls. */
static int64_t tick(struct warden *w, int64_t now)
{
    int64_t address_ms = tick_address(w, now), children_ms;

    advance(w, now);
    children_ms = sooner(tick_worker(w, now), embedded_redis_tick(&w->redis, now));
    return sooner(sooner(stall_max_ms(w), sooner(last_wait_ms(w, now), address_ms)),
                  sooner(children_ms, tell(w, now)));
}

/* Sleeps, then learns all that happened, before anything is decided by the time. */
static void wait_and_learn(struct warden *w, int64_t wait_ms)
{
    struct pollfd fds[OWN_FDS + VIP_ADDRESSES_MAX] = {
        {.fd = w->signal_fd, .events = POLLIN},
        {.fd = w->worker.channel_fd, .events = POLLIN},
        {.fd = w->redis.log_fd, .events = POLLIN},
        {.fd = w->redis.probe_fd, .events = POLLIN},
    };
    size_t count = OWN_FDS + warden_vip_fds(&w->vip, fds + OWN_FDS);
    int64_t until = clock_mono_ms() + wait_ms, now;

    poll(fds, count, (int)wait_ms);
    now = clock_mono_ms();
    if (now - until > stall_max_ms(w)) {
        LOG_WARN("warden", "stood still for %" PRId64 " ms: the worker gets its time anew",
                 now - until);
        child_begin_anew(&w->worker.child, now);
    }
    read_signals(w, now);
    warden_vip_hear(&w->vip);
    worker_child_read_channel(&w->worker, now);
    if (fds[2].revents)
        embedded_redis_read_log(&w->redis);
    if (fds[3].revents)
        embedded_redis_read_probe(&w->redis, now);
    reap(w, now);
}

static void run(struct warden *w)
{
    LOG_INFO("warden", "dueq-node %s starts as %s, data in %s", build_info()->full,
             w->conf->node.id, w->datadir.path);
    if (geteuid() == 0)
        LOG_WARN(
            "warden",
            "runs as root, which it need not: a user of its own is safer, with CAP_NET_ADMIN "
            "and CAP_NET_RAW where vip.address is set");
    if (w->has_redis)
        child_start(&w->redis.child, clock_mono_ms());
    while (w->phase != WARDEN_DONE) {
        int64_t wait_ms = tick(w, clock_mono_ms());

        if (w->phase != WARDEN_DONE)
            wait_and_learn(w, wait_ms);
    }
    LOG_AT(w->exit_code ? LEVEL_ERROR : LEVEL_INFO, "warden", "stopped, exit code %d",
           w->exit_code);
}

int warden_run(struct conf *conf, const struct conf_request *request)
{
    struct warden w = {
        .conf = conf,
        .request = request,
        .datadir = {.dir_fd = -1, .lock_fd = -1},
        .port_fds = {[0 ... CONF_PORTS - 1] = -1},
        .socket_fd = -1,
        .peer_fd = -1,
        .signal_fd = -1,
        .told = {.notify = {.fd = -1}},
        .redis = {.log_fd = -1, .probe_fd = -1},
    };

    if (warden_prepare(&w, run_worker) == STATUS_OK)
        run(&w);
    else
        w.exit_code = EXIT_FAILURE;
    warden_release(&w);
    return w.exit_code;
}
