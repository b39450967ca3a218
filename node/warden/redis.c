#include "node/warden/redis.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "node/warden/aof_files.h"
#include "node/capabilities.h"
#include "node/warden/redis_text.h"

#define PROBE_EVERY_MS  10
#define PROBE_AGAIN_MS  100 /* Redis is there, but still loads */
#define REPORT_AFTER_MS 2000
#define REPORT_EVERY_MS 5000
#define WORDS_MAX_BYTES 4096

#define AOF_OF_ONE_FILE "appendonly.aof" /* before Redis 7 */

/* ---- its append-only file ---- */

static uint64_t file_bytes(int dir_fd, const char *name)
{
    struct stat st;

    return !fstatat(dir_fd, name, &st, 0) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* The bytes of all files of the append-only file, except this one. */
static uint64_t aof_bytes(const struct datadir *d, struct bytes without)
{
    bool is_one = bytes_equal(without, BYTES(AOF_OF_ONE_FILE));
    uint64_t sum = is_one ? 0 : file_bytes(d->dir_fd, AOF_OF_ONE_FILE);
    int fd = datadir_open_aof(d);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (!bytes_equal(without, bytes_of_text(entry->d_name)))
            sum += file_bytes(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
    return sum;
}

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
    signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    capabilities_give_up_all();
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
    embedded_redis_read_log(r); /* the last lines of the process before */
    close_fd(&r->log_fd);
    close_fd(&r->probe_fd);
    buf_clear(&r->words);
    r->aof_bytes = aof_bytes(r->datadir, bytes_of("", 0));
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

/* How many bytes longer the file was when this process started. */
static void note_cut(struct embedded_redis *r, struct bytes message)
{
    struct bytes file;
    uint64_t left, cut;

    if (!redis_text_cuts(message, &file, &left))
        return;
    left += aof_bytes(r->datadir, file.len ? file : BYTES(AOF_OF_ONE_FILE));
    cut = r->aof_bytes > left ? r->aof_bytes - left : 0;
    r->facts->cut_bytes += cut ? cut : 1; /* unknown how much: at least that it was cut */
    LOG_WARN(
        "warden",
        "the append-only file in %s ended within a command, and %" PRIu64
        " bytes were cut off. After a power failure that is a write nobody was told of "
        "(store.appendfsync: always); else the file has been shortened or damaged, and jobs "
        "that were acknowledged may be missing: compare with a backup",
        r->datadir->path, cut);
}

/* With `always` Redis then ends itself, and the node sees its connection refused. With
 * `everysec` Redis refuses to write, and goes on when it can. */
static void note_cannot_write(struct embedded_redis *r, struct bytes message)
{
    if (redis_text_writes_again(message))
        r->facts->cannot_write = false;
    if (!redis_text_cannot_write(message) || r->facts->cannot_write)
        return;
    r->facts->cannot_write = true;
    LOG_ERROR("warden",
              "the embedded Redis cannot write its file: the disk of %s is full, or fails. "
              "Make room: it goes on by itself then",
              r->datadir->path);
}

static void advise(const struct embedded_redis *r, struct bytes words)
{
    char name[AOF_NAME_MAX + 1];

    if (redis_text_is_denied(words) && aof_is_denied(r->datadir, name))
        LOG_ERROR(
            "warden",
            "the embedded Redis, as user %d, may not read and write %s/%s: give that user "
            "all of Redis's own files there, and the directory itself (chown, chmod u+rwX)",
            (int)geteuid(), r->datadir->path, name);
    if (redis_text_must_not_cut(words))
        LOG_ERROR("warden",
                  "store.strict is on, so the file is not cut by itself: jobs that were "
                  "acknowledged may be missing. Make a copy of %s; then cut it with "
                  "redis-check-aof --fix, or start once with store.strict: false",
                  r->datadir->path);
}

static void repeat_words(struct embedded_redis *r)
{
    const char *at = buf_text(&r->words);

    LOG_ERROR("warden", "redis ended before it worked%s", *at ? "; its last words:" : "");
    for (; *at; at += strcspn(at, "\n") + 1)
        LOG_ERROR("redis-server", "%.*s", (int)strcspn(at, "\n"), at);
    advise(r, buf_bytes(&r->words));
}

static void log_line(struct embedded_redis *r)
{
    struct bytes message;
    enum log_level level = redis_text_log_line(bytes_of(r->line, r->line_len), &message);
    bool is_chatter = r->child.state != CHILD_UP && message.at != r->line;

    if (r->child.state == CHILD_STARTING && level == LEVEL_WARN && message.len)
        remember(r, message);
    note_cut(r, message);
    note_cannot_write(r, message);
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

/* Connects and sends a probe; on failure there is none, and the time for the next one is set.
 */
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
    if (!is_loading) {
        r->facts->cannot_write = false;
        aof_mark_remove(r->datadir); /* the facts have it, and the files change from now on */
    }
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

/* The file's text, as far as there is room: files of /proc and /sys are short. */
static struct bytes read_text(const char *path, char *room, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, room, size) : 0;

    close_fd(&fd);
    return bytes_of(room, len > 0 ? (size_t)len : 0);
}

/* A part of the memory there is, because a rewrite of the file copies pages written meanwhile.
 * The limits of this process's control group and all groups above count. In a container with
 * control groups of version 1 the path is the machine's, and only its end exists. */
static uint64_t memory_by_default(void)
{
    char groups[2048], meminfo[256], limit[64];
    struct bytes machine = read_text("/proc/meminfo", meminfo, sizeof(meminfo));
    uint64_t least = 0, here;
    struct buf path = BUF_INIT;

    redis_text_limit_path(&path, read_text("/proc/self/cgroup", groups, sizeof(groups)));
    do {
        here = redis_text_memory(machine, read_text(buf_text(&path), limit, sizeof(limit)));
        if (here && (!least || here < least))
            least = here;
    } while (redis_text_limit_above(&path));
    buf_fini(&path);
    return least / 2;
}

static enum status write_conf(const struct datadir *d,
                              const struct embedded_redis_options *options)
{
    struct redis_text_options lines = {
        .appendfsync = options->appendfsync,
        .is_strict = options->is_strict,
        .memory_bytes = options->memory_bytes ? options->memory_bytes : memory_by_default(),
    };
    struct buf text = BUF_INIT;
    int fd = datadir_open_file(d, EMBEDDED_REDIS_CONF);
    bool is_written;

    redis_text_conf(&text, &lines);
    is_written =
        fd >= 0 && !ftruncate(fd, 0) && write(fd, text.at, text.len) == (ssize_t)text.len;
    if (fd >= 0 && !is_written)
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

/* Was the file shortened since Redis ended well? Logged at each start until one has succeeded;
 * a strict node refuses to start until an operator decides. */
static enum status look_at_mark(struct embedded_redis *r, bool is_strict)
{
    const char *path = r->datadir->path;
    uint64_t missing = aof_mark_missing(r->datadir);

    if (missing && is_strict) {
        LOG_ERROR(
            "warden",
            "the append-only file in %s is %" PRIu64 " bytes shorter than when this node "
            "was stopped, and store.strict is on: jobs that were acknowledged are missing. "
            "Restore a backup or accept it; then remove %s/" AOF_MARK_FILE
            ", or start once with store.strict: false",
            path, missing, path);
        return STATUS_IO_ERROR;
    }
    r->facts->cut_bytes += missing;
    if (missing)
        aof_mark_keep_loss(r->datadir, missing);
    if (missing)
        LOG_WARN("warden",
                 "the append-only file in %s is %" PRIu64
                 " bytes shorter than when this node was "
                 "stopped: jobs that were acknowledged are missing. Compare with a backup",
                 path, missing);
    return STATUS_OK;
}

/* The loss is marked first, so that the next start knows of it whatever happens before. False,
 * with errno: not all was put aside. */
static bool put_aside(struct embedded_redis *r, const struct aof_unlisted *unlisted)
{
    uint64_t lost = r->facts->cut_bytes + unlisted->aside_bytes;
    int error;

    aof_mark_keep_loss(r->datadir, lost);
    if (aof_put_aside(r->datadir, unlisted) == STATUS_OK)
        return true;
    error = errno;
    lost -= aof_unlisted(r->datadir).aside_bytes;
    aof_mark_remove(r->datadir);
    if (lost)
        aof_mark_keep_loss(r->datadir, lost);
    errno = error;
    return false;
}

/* Redis would not read files that its list lacks, and overwrite some. They are put aside; a
 * strict node refuses to start until an operator decides. */
static enum status look_at_list(struct embedded_redis *r, bool is_strict)
{
    const char *path = r->datadir->path;
    struct aof_unlisted unlisted = aof_unlisted(r->datadir);
    bool is_tail = unlisted.is_tail;
    struct buf what = BUF_INIT;
    enum status status = STATUS_IO_ERROR;

    if (!unlisted.bytes)
        return STATUS_OK;
    buf_printf(&what,
               "%s/" DATADIR_AOF "/appendonly.aof.manifest %s%s, so Redis would not "
               "read %" PRIu64 " bytes of files there",
               path, *unlisted.name ? "does not list " : "is missing", unlisted.name,
               unlisted.bytes);
    if (is_strict) {
        LOG_ERROR("warden",
                  "%s, and store.strict is on: jobs that were acknowledged would be missing. "
                  "Restore that list, or a backup; or start once with store.strict: false, "
                  "which puts %s",
                  buf_text(&what),
                  is_tail ? "those files aside and begins with what came before them"
                          : "all of the directory aside and begins with an empty store");
    } else if (!put_aside(r, &unlisted)) {
        LOG_ERROR("warden",
                  "%s but overwrite some, and \"" AOF_ASIDE "\" cannot be put behind "
                  "the name of %s: %s",
                  buf_text(&what), is_tail ? "those files" : "the directory", strerror(errno));
    } else {
        LOG_WARN("warden",
                 "%s: \"" AOF_ASIDE "\" stands behind the name of %s now (%" PRIu64
                 " bytes), and the store begins "
                 "%s: jobs that were acknowledged are missing. Restore that list, or a backup",
                 buf_text(&what), is_tail ? "those files" : "the directory",
                 unlisted.aside_bytes, is_tail ? "as it was before them" : "empty");
        r->facts->cut_bytes += unlisted.aside_bytes;
        status = STATUS_OK;
    }
    buf_fini(&what);
    return status;
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
    r->facts = mmap(NULL, sizeof(*r->facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                    -1, 0);
    if (r->facts == MAP_FAILED)
        abort();
    r->program = find_program(options->program);
    if (r->program && check_socket_path(r->socket_path) == STATUS_OK &&
        write_conf(datadir, options) == STATUS_OK &&
        look_at_mark(r, options->is_strict) == STATUS_OK && /* first: the next may rename */
        look_at_list(r, options->is_strict) == STATUS_OK)
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
    if (r->facts)
        munmap(r->facts, sizeof(*r->facts));
    r->facts = NULL;
    r->program = r->socket_path = NULL;
}
