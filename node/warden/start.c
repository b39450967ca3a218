#include "node/warden/private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "ha/coord/zk_closer.h"
#include "node/warden/listen.h"
#include "protocol/access/audit.h"

/* A Redis left behind by a killed predecessor may still have to write its last file. */
#define LOCK_WAIT_MS 15000

/* The embedded Redis gets a part of node.stop_timeout for its last write, or this. */
#define REDIS_STOP_PART   4
#define REDIS_STOP_MAX_MS 1000

void warden_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void warden_close_ports(struct warden *w)
{
    for (unsigned i = 0; i < CONF_PORTS; i++)
        warden_close_fd(&w->port_fds[i]);
    warden_close_fd(&w->socket_fd);
}

/* What is there now may be another node's. */
static bool is_our_socket(const struct warden *w)
{
    struct stat now;

    return !lstat(w->socket_path, &now) && now.st_dev == w->socket_file.st_dev &&
           now.st_ino == w->socket_file.st_ino;
}

void warden_remove_socket(struct warden *w)
{
    if (w->socket_path && is_our_socket(w))
        (void)unlink(w->socket_path);
    free(w->socket_path);
    w->socket_path = NULL;
}

/* A name is one in the data directory, which is the default: a node without it serves all the
 * same, for a directory need not be fit for sockets. */
static enum status open_socket(struct warden *w)
{
    const char *given = w->conf->admin.socket;
    bool is_name = !strchr(given, '/');
    char *path;

    if (!*given)
        return STATUS_OK;
    if (asprintf(&path, "%s%s%s", is_name ? w->conf->node.data_dir : "", is_name ? "/" : "",
                 given) < 0)
        abort();
    if (listen_open_path("admin.socket", path, 0600, is_name ? LEVEL_WARN : LEVEL_ERROR,
                         &w->socket_fd) == STATUS_OK) {
        w->socket_path = path;
        return lstat(path, &w->socket_file) ? STATUS_IO_ERROR : STATUS_OK;
    }
    free(path);
    return is_name ? STATUS_OK : STATUS_IO_ERROR;
}

static enum status listen_if_on(const char *key, const struct conf_address *address, int *fd)
{
    if (address->kind == ADDRESS_OFF)
        return STATUS_OK;
    if (address->kind == ADDRESS_UNIX)
        return listen_open_path(key, address->path, 0777, LEVEL_ERROR, fd);
    return listen_open(key, address->host, address->port, fd);
}

/* All of them, so that all mistakes are seen at once. */
static enum status open_listeners(struct warden *w)
{
    enum status all = STATUS_OK, one;

    for (unsigned i = 0; i < CONF_PORTS; i++) {
        one = listen_if_on(conf_port_key(i), &w->conf->listen[i], &w->port_fds[i]);
        all = all != STATUS_OK ? all : one;
    }
    if (conf_has_others(w->conf)) {
        one = listen_if_on("ha.peer.listen", &w->conf->ha.peer, &w->peer_fd);
        all = all != STATUS_OK ? all : one;
    }
    one = open_socket(w);
    return all != STATUS_OK ? all : one;
}

static enum status prepare_redis(struct warden *w)
{
    const struct conf *conf = w->conf;
    struct embedded_redis_options options = {
        .program = conf->store.redis_server,
        .appendfsync = conf->store.appendfsync == APPENDFSYNC_ALWAYS ? "always" : "everysec",
        .is_strict = conf->store.strict,
        .memory_bytes = conf->store.memory_bytes,
        .backoff_max_ms = conf->warden.backoff_max_ms,
    };

    if (conf->store.redis.kind != ADDRESS_EMBEDDED)
        return STATUS_OK;
    if (embedded_redis_init(&w->redis, &options, &w->datadir) != STATUS_OK)
        return STATUS_IO_ERROR;
    w->has_redis = true;
    return STATUS_OK;
}

static void share_stop_timeout(struct warden *w)
{
    int64_t all_ms = w->conf->node.stop_timeout_ms;
    int64_t redis_ms = w->has_redis ? all_ms / REDIS_STOP_PART : 0;

    if (redis_ms > REDIS_STOP_MAX_MS)
        redis_ms = REDIS_STOP_MAX_MS;
    w->worker.child.stop_timeout_ms = all_ms - redis_ms;
    w->redis.child.stop_timeout_ms = redis_ms;
}

/* A hanging leader has lost its lead after 2T/3, and must be gone by then. */
static int64_t silence_max_ms(const struct conf *conf)
{
    int64_t half_ms = conf->ha.session_ms / 2;

    if (conf_has_others(conf) && half_ms < conf->warden.hang_timeout_ms)
        return half_ms;
    return conf->warden.hang_timeout_ms;
}

/* In the child that ends a session: closes the warden's descriptors, except the log. */
static void close_all(void *arg)
{
    struct warden *w = arg;

    warden_close_ports(w);
    warden_close_fd(&w->peer_fd);
    warden_close_fd(&w->signal_fd);
    warden_close_fd(&w->redis.log_fd);
    warden_close_fd(&w->redis.probe_fd);
    warden_close_fd(&w->datadir.dir_fd);
    warden_close_fd(&w->datadir.lock_fd);
    warden_vip_close(&w->vip);
    notifier_fini(&w->told);
    audit_free(w->audit);
}

static void prepare_session_end(struct warden *w)
{
    if (getrandom(&w->incarnation, sizeof(w->incarnation), 0) != sizeof(w->incarnation))
        abort();
    w->session_end = (struct session_end){.servers = w->conf->ha.zookeeper,
                                          .patience_ms = w->conf->ha.session_ms,
                                          .run = zk_end_session_run,
                                          .close_all = close_all,
                                          .arg = w};
}

static void prepare_worker(struct warden *w, int (*run_worker)(void *arg, int channel_fd))
{
    worker_child_init(&w->worker, run_worker, w);
    share_stop_timeout(w);
    w->worker.child.silence_max_ms = silence_max_ms(w->conf);
    w->worker.child.backoff_max_ms = w->conf->warden.backoff_max_ms;
}

/* Errors before this call go to standard error, where the operator looks. */
static enum status open_log(struct warden *w)
{
    struct log_options options = conf_log_options(w->conf);

    if (log_configure(&options) == STATUS_OK)
        return STATUS_OK;
    LOG_ERROR("warden", "log.file: cannot open %s: %s", options.file, strerror(errno));
    return STATUS_IO_ERROR;
}

static enum status open_audit_log(struct warden *w)
{
    const char *file = w->conf->log.audit;

    if (audit_use(w->audit, file) == STATUS_OK)
        return STATUS_OK;
    LOG_ERROR("warden", "log.audit: cannot open %s: %s", file, strerror(errno));
    return STATUS_IO_ERROR;
}

static enum status open_signals(struct warden *w)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of write, not our end */
    w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w->signal_fd >= 0)
        return STATUS_OK;
    LOG_ERROR("warden", "cannot watch for signals: %s", strerror(errno));
    return STATUS_IO_ERROR;
}

enum status warden_prepare(struct warden *w, int (*run_worker)(void *arg, int channel_fd))
{
    enum status s;

    notifier_init(&w->told);
    w->audit = audit_new();
    s = datadir_open(&w->datadir, w->conf->node.data_dir, LOCK_WAIT_MS);
    if (s == STATUS_OK)
        s = open_listeners(w);
    if (s == STATUS_OK)
        s = prepare_redis(w);
    if (s == STATUS_OK)
        s = warden_vip_init(&w->vip, w->conf);
    if (s == STATUS_OK && *w->conf->vip.address) /* also where a hook moves it, as root */
        for (unsigned i = 0; i < CONF_PORTS; i++)
            if (conf_port_is_for_clients(i))
                listen_outlive_address(w->port_fds[i]);
    if (s == STATUS_OK)
        s = open_audit_log(w);
    if (s == STATUS_OK)
        s = open_log(w);
    if (s == STATUS_OK)
        s = open_signals(w);
    prepare_worker(w, run_worker);
    prepare_session_end(w);
    return s;
}

void warden_release(struct warden *w)
{
    worker_child_fini(&w->worker);
    warden_vip_fini(&w->vip);
    notifier_fini(&w->told);
    embedded_redis_fini(&w->redis);
    warden_close_fd(&w->signal_fd);
    warden_remove_socket(w);
    warden_close_ports(w);
    warden_close_fd(&w->peer_fd);
    audit_free(w->audit);
    datadir_close(&w->datadir);
}
