#include "node/warden_datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define LOCK_FILE     "lock"
#define LOOK_AGAIN_MS 20

/* Who wrote the lock file. */
struct holder {
    int pid; /* 0: it does not say */
    char host[65];
};

static void own_host(char host[65])
{
    if (gethostname(host, 65))
        host[0] = '\0';
    host[64] = '\0';
}

static struct holder read_holder(int lock_fd)
{
    struct holder holder = {0};
    char text[128];
    ssize_t len = pread(lock_fd, text, sizeof(text) - 1, 0);

    text[len > 0 ? len : 0] = '\0';
    if (sscanf(text, "%d %64s", &holder.pid, holder.host) != 2 || holder.pid < 1)
        holder = (struct holder){0};
    return holder;
}

static void write_holder(int lock_fd)
{
    char host[65], text[128];
    int len;

    own_host(host);
    len = snprintf(text, sizeof(text), "%d %s\n", (int)getpid(), host);
    if (ftruncate(lock_fd, 0) || pwrite(lock_fd, text, (size_t)len, 0) != len)
        LOG_WARN("warden", "cannot write the lock file: %s", strerror(errno));
}

/* A zombie answers kill(pid, 0), but holds nothing any more. */
static bool is_zombie(int pid)
{
    char path[64], state = '?';
    FILE *stat_file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    stat_file = fopen(path, "re");
    if (!stat_file)
        return false;
    if (fscanf(stat_file, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(stat_file);
    return state == 'Z';
}

/* On another host (or in another container) the pid says nothing, and neither does our own,
 * which a predecessor in the same container had as well. */
static bool is_alive(const struct holder *holder)
{
    char host[65];

    own_host(host);
    if (!holder->pid || holder->pid == getpid() || strcmp(host, holder->host))
        return false;
    return (kill(holder->pid, 0) == 0 || errno == EPERM) && !is_zombie(holder->pid);
}

static void log_held(const char *path, const struct holder *holder)
{
    if (!holder->pid)
        LOG_ERROR("warden",
                  "node.data_dir: %s is in use by another process; give this node "
                  "a directory of its own",
                  path);
    else
        LOG_ERROR("warden",
                  "node.data_dir: %s is in use by the node with pid %d on host %s, or by what "
                  "it left running; stop that one, or give this node a directory of its own",
                  path, holder->pid, holder->host);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_MS * 1000000L}, NULL);
}

static enum status lock(const char *path, int lock_fd, int64_t wait_ms)
{
    int64_t until_mono_ms = clock_mono_ms() + wait_ms;
    bool is_said = false;

    while (flock(lock_fd, LOCK_EX | LOCK_NB)) {
        int error = errno;
        struct holder holder = read_holder(lock_fd);

        if (error != EWOULDBLOCK && error != EINTR) {
            LOG_ERROR("warden", "node.data_dir: cannot lock %s: %s", path, strerror(error));
            return STATUS_IO_ERROR;
        }
        if (is_alive(&holder) || clock_mono_ms() >= until_mono_ms) {
            log_held(path, &holder);
            return STATUS_IO_ERROR;
        }
        if (!is_said)
            LOG_INFO("warden",
                     "%s is still in use by what the last node (pid %d) left running; "
                     "waiting up to %d ms",
                     path, holder.pid, (int)wait_ms);
        is_said = true;
        nap();
    }
    return STATUS_OK;
}

static enum status refuse(const char *path, const char *what)
{
    int error = errno;
    const char *hint = "";

    if (error == EACCES || error == EPERM || error == EROFS)
        hint = "; it must be writable for this user";
    else if (error == ENOTDIR)
        hint = "; it must be a directory";
    else if (error == ENOENT)
        hint = "; the directory above it must exist";
    LOG_ERROR("warden", "node.data_dir: cannot %s %s (as user %d): %s%s", what, path,
              (int)geteuid(), strerror(error), hint);
    return STATUS_IO_ERROR;
}

static enum status open_dir(struct datadir *d)
{
    if (mkdir(d->path, 0700) && errno != EEXIST)
        return refuse(d->path, "create");
    d->dir_fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir_fd < 0)
        return refuse(d->path, "open");
    if (faccessat(d->dir_fd, ".", W_OK | X_OK, AT_EACCESS))
        return refuse(d->path, "write to");
    d->lock_fd = openat(d->dir_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock_fd < 0)
        return refuse(d->path, "write the lock file in");
    return STATUS_OK;
}

enum status datadir_open(struct datadir *d, const char *path, int64_t wait_ms)
{
    enum status s;

    *d = (struct datadir){.path = strdup(path), .dir_fd = -1, .lock_fd = -1};
    if (!d->path)
        abort();
    s = open_dir(d);
    if (s == STATUS_OK)
        s = lock(path, d->lock_fd, wait_ms);
    if (s == STATUS_OK)
        write_holder(d->lock_fd);
    else
        datadir_close(d);
    return s;
}

void datadir_close(struct datadir *d)
{
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    if (d->dir_fd >= 0)
        close(d->dir_fd);
    free(d->path);
    *d = (struct datadir){.dir_fd = -1, .lock_fd = -1};
}
