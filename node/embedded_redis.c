#include "node/embedded_redis.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "node/embedded_redis_text.h"

#define PROBE_EVERY_MS  10
#define PROBE_AGAIN_MS  100 /* it is there, but it loads */
#define REPORT_AFTER_MS 2000
#define REPORT_EVERY_MS 5000
#define WORDS_MAX_BYTES 4096

/* ---- the process ---- */

/* In the child; never returns. */
static void become_redis(struct embedded_redis *r, pid_t warden, int log_fd)
{
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != warden)
        _exit(EXIT_FAILURE); /* the warden died before it could be noticed */
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    fcntl(r->datadir->lock_fd, F_SETFD, 0); /* it holds the lock as long as it lives */
    umask(077);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!fchdir(r->datadir->dir_fd))
        execlp(r->program, "redis-server", EMBEDDED_REDIS_CONF, (char *)NULL);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", r->program, strerror(errno));
    _exit(EXIT_FAILURE);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static pid_t spawn(struct child *c)
{
    struct embedded_redis *r = CONTAINER_OF(c, struct embedded_redis, child);
    pid_t warden = getpid(), pid;
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC))
        return -1;
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    pid = fork();
    if (pid == 0)
        become_redis(r, warden, pipe_fds[1]);
    close_fd(&pipe_fds[1]);
    if (pid < 0) {
        close_fd(&pipe_fds[0]);
        return -1;
    }
    embedded_redis_read_log(r); /* the last words of the one before */
    close_fd(&r->log_fd);
    close_fd(&r->probe_fd);
    buf_clear(&r->words);
    r->log_fd = pipe_fds[0];
    r->has_answered = false;
    r->probe_mono_ms = 0;
    r->report_mono_ms = clock_mono_ms() + REPORT_AFTER_MS;
    return pid;
}

static void send_signal(struct child *c, int number)
{
    kill(c->pid, number);
}

static const struct child_ops ops = {.spawn = spawn, .send = send_signal};

/* ---- its log ---- */

static void remember(struct embedded_redis *r, struct bytes message)
{
    buf_add_bytes(&r->words, message);
    buf_add_char(&r->words, '\n');
    while (r->words.len > WORDS_MAX_BYTES)
        buf_drop(&r->words, strcspn(buf_text(&r->words), "\n") + 1);
}

static void repeat_words(struct embedded_redis *r)
{
    const char *at = buf_text(&r->words);

    LOG_ERROR("warden", "redis ended before it worked%s", *at ? "; its last words:" : "");
    for (; *at; at += strcspn(at, "\n") + 1)
        LOG_ERROR("redis-server", "%.*s", (int)strcspn(at, "\n"), at);
}

static void log_line(struct embedded_redis *r)
{
    struct bytes message;
    enum log_level level = redis_text_log_line(bytes_of(r->line, r->line_len), &message);
    bool is_chatter = r->child.state != CHILD_UP && message.at != r->line;

    if (r->child.state == CHILD_STARTING && level == LEVEL_WARN && message.len)
        remember(r, message);
    if (is_chatter)
        level = level == LEVEL_WARN ? LEVEL_INFO : LEVEL_DEBUG;
    if (message.len)
        LOG_AT(level, "redis-server", "%.*s", BYTES_ARG(message));
    r->line_len = 0;
}

void embedded_redis_read_log(struct embedded_redis *r)
{
    char some[4096];
    ssize_t len = 0;

    while (r->log_fd >= 0 && (len = read(r->log_fd, some, sizeof(some))) > 0) {
        for (ssize_t i = 0; i < len; i++) {
            if (some[i] == '\n' || r->line_len == sizeof(r->line))
                log_line(r);
            if (some[i] != '\n')
                r->line[r->line_len++] = some[i];
        }
    }
    if (len == 0 && r->log_fd >= 0) {
        log_line(r);
        close_fd(&r->log_fd);
    }
}

void embedded_redis_exited(struct embedded_redis *r, const char *how, int64_t now_mono_ms)
{
    embedded_redis_read_log(r);
    if (r->child.state == CHILD_STARTING)
        repeat_words(r);
    child_exited(&r->child, how, now_mono_ms);
}

/* ---- does it answer? ---- */

/* Connects and asks; on failure there is no question and the time for the next one is set. */
static void ask(struct embedded_redis *r, int64_t now)
{
    static const char question[] = "PING\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    r->probe_mono_ms = now + PROBE_EVERY_MS;
    r->probe_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r->probe_fd < 0)
        return;
    memcpy(address.sun_path, r->socket_path, strlen(r->socket_path));
    if (connect(r->probe_fd, (struct sockaddr *)&address, sizeof(address)) ||
        send(r->probe_fd, question, sizeof(question) - 1, MSG_NOSIGNAL) < 0)
        close_fd(&r->probe_fd);
}

void embedded_redis_read_probe(struct embedded_redis *r, int64_t now_mono_ms)
{
    char answer[64];
    ssize_t len = recv(r->probe_fd, answer, sizeof(answer), 0);
    bool is_loading;

    if (len < 0 && errno == EAGAIN)
        return;
    close_fd(&r->probe_fd);
    r->probe_mono_ms = now_mono_ms + PROBE_AGAIN_MS;
    if (len <= 0)
        return;
    is_loading = len >= 8 && !memcmp(answer, "-LOADING", 8);
    r->has_answered = true;
    child_heard(&r->child, !is_loading, now_mono_ms);
}

static void report(struct embedded_redis *r, int64_t now)
{
    if (now < r->report_mono_ms)
        return;
    r->report_mono_ms = now + REPORT_EVERY_MS;
    LOG_INFO("warden", "redis: %s for %lld ms now",
             r->has_answered ? "loads its data" : "does not answer",
             (long long)(now - r->child.since_mono_ms));
}

int64_t embedded_redis_tick(struct embedded_redis *r, int64_t now_mono_ms)
{
    int64_t wait_ms = child_tick(&r->child, now_mono_ms);
    int64_t probe_ms;

    if (r->child.state != CHILD_STARTING)
        return wait_ms;
    report(r, now_mono_ms);
    if (r->probe_fd < 0 && now_mono_ms >= r->probe_mono_ms)
        ask(r, now_mono_ms);
    probe_ms = r->probe_fd < 0 ? r->probe_mono_ms - now_mono_ms : PROBE_AGAIN_MS;
    return wait_ms >= 0 && wait_ms < probe_ms ? wait_ms : probe_ms;
}

/* ---- preparation ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_in_path(const char *name)
{
    const char *dirs = getenv("PATH");
    char path[PATH_MAX];

    for (; dirs && *dirs; dirs += strcspn(dirs, ":"), dirs += *dirs == ':') {
        snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(dirs, ":"), dirs, name);
        if (is_program(path))
            return true;
    }
    return false;
}

/* NULL: the log says why. The caller's to free. */
static char *find_program(const char *program)
{
    bool is_path = strchr(program, '/');
    char *found = NULL;

    if (is_path ? is_program(program) : is_in_path(program))
        found = is_path ? realpath(program, NULL) : strdup(program);
    if (!found)
        LOG_ERROR("warden",
                  "store.redis_server: there is no program '%s'%s; install Redis "
                  "(Debian: redis-server), or let store.redis name a running one",
                  program, is_path ? "" : " in PATH");
    return found;
}

static enum status write_conf(const struct datadir *d, const char *appendfsync)
{
    struct buf text = BUF_INIT;
    int fd =
        openat(d->dir_fd, EMBEDDED_REDIS_CONF, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_written;

    redis_text_conf(&text, appendfsync);
    is_written = fd >= 0 && write(fd, text.at, text.len) == (ssize_t)text.len;
    if (!is_written)
        LOG_ERROR("warden", "cannot write %s/" EMBEDDED_REDIS_CONF ": %s", d->path,
                  strerror(errno));
    close_fd(&fd);
    buf_fini(&text);
    return is_written ? STATUS_OK : STATUS_IO_ERROR;
}

static enum status check_socket_path(const char *path)
{
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

    if (strlen(path) <= most)
        return STATUS_OK;
    LOG_ERROR("warden",
              "node.data_dir: the path of the socket in it, %s, has %zu bytes, and "
              "a socket's may have %zu; give a shorter path, a relative one will do",
              path, strlen(path), most);
    return STATUS_IO_ERROR;
}

enum status embedded_redis_init(struct embedded_redis *r,
                                const struct embedded_redis_options *options,
                                const struct datadir *datadir)
{
    *r = (struct embedded_redis){
        .child = {.name = "redis", .ops = &ops, .backoff_max_ms = options->backoff_max_ms},
        .datadir = datadir,
        .log_fd = -1,
        .probe_fd = -1,
    };
    if (asprintf(&r->socket_path, "%s/" EMBEDDED_REDIS_SOCKET, datadir->path) < 0)
        abort();
    r->program = find_program(options->program);
    if (r->program && check_socket_path(r->socket_path) == STATUS_OK &&
        write_conf(datadir, options->appendfsync) == STATUS_OK)
        return STATUS_OK;
    embedded_redis_fini(r);
    return STATUS_IO_ERROR;
}

void embedded_redis_fini(struct embedded_redis *r)
{
    close_fd(&r->log_fd);
    close_fd(&r->probe_fd);
    buf_fini(&r->words);
    free(r->program);
    free(r->socket_path);
    r->program = r->socket_path = NULL;
}
