#include "node/warden/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"

#define LOCK_FILE     "lock"
#define LOOK_AGAIN_MS 20

/* The process that wrote the lock file. */
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

/* A pid of another host (or container) says nothing; nor does our own pid, which a predecessor
 * in the same container had as well. */
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
        nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_MS * 1000000L}, NULL);
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

/* ---- what others could do to it ---- */

/* Logs what is wrong with `name` in the directory; "": with the directory itself. */
static void log_refusal(const struct datadir *d, const char *name, const struct stat *about,
                        const char *what, const char *advice)
{
    LOG_ERROR(
        "warden",
        "node.data_dir: %s%s%s %s (its owner is user %d, its mode %04o), and this node is "
        "root's: others could make it write to any file. %s",
        d->path, *name ? "/" : "", name, what, (int)about->st_uid,
        (unsigned)about->st_mode & 07777, advice);
}

static void log_unsafe(const struct datadir *d, const char *name, const struct stat *about,
                       const char *what)
{
    log_refusal(
        d, name, about, what,
        "Run it as a user of its own (what is there: chown -R to that user), or let root "
        "alone own it (chown -R root) and write to it (chmod go-w)");
}

/* For the open directory `name` in the data directory; "": the data directory itself. */
static bool is_only_roots(const struct datadir *d, const char *name, int fd)
{
    struct stat about;
    const char *what = NULL;

    if (fstat(fd, &about))
        abort(); /* it is open */
    if (about.st_uid != 0)
        what = "is another user's";
    else if (about.st_mode & (S_IWGRP | S_IWOTH))
        what = "can be written to by others";
    if (what)
        log_unsafe(d, name, &about, what);
    return !what;
}

/* The path behind a link at way[..end]: where it leads, and the rest. False: it is too long. */
static bool follow(const char *way, size_t end, char behind[PATH_MAX])
{
    char link[PATH_MAX], target[PATH_MAX];
    ssize_t len;
    int printed;

    snprintf(link, sizeof(link), "%.*s", (int)end, way);
    len = readlink(link, target, sizeof(target) - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    *(strrchr(link, '/') ? strrchr(link, '/') : link) = '\0';
    if (*target == '/')
        printed = snprintf(behind, PATH_MAX, "%s%s", target, way + end);
    else
        printed = snprintf(behind, PATH_MAX, "%s/%s%s", *link ? link : ".", target, way + end);
    return printed < PATH_MAX;
}

/* A part of a way that others can change, or that cannot be followed. */
struct weak_part {
    char path[PATH_MAX];
    struct stat about;
};

/* Can only root change where the path leads? Directories with a sticky bit, such as /tmp, let
 * nobody else move root's files. A way that ends before is only root's, too. False: `weak` is
 * the first part that others can change, or a link that leads too far. */
static bool is_roots_way(const char *path, unsigned links_left, struct weak_part *weak)
{
    char behind[PATH_MAX];

    for (size_t end = 0; path[end];) {
        end += strspn(path + end, "/");
        end += strcspn(path + end, "/");
        snprintf(weak->path, sizeof(weak->path), "%.*s", (int)end, path);
        if (lstat(weak->path, &weak->about))
            return true; /* who opens it will hear why */
        if (weak->about.st_uid != 0)
            return false;
        if (S_ISLNK(weak->about.st_mode))
            return links_left > 0 && follow(path, end, behind) &&
                   is_roots_way(behind, links_left - 1, weak);
        if (weak->about.st_mode & (S_IWGRP | S_IWOTH) && !(weak->about.st_mode & S_ISVTX))
            return false;
    }
    return true;
}

#define LINKS_MAX 40 /* as many as the kernel follows */

static void log_weak_part(const struct datadir *d, const char *name,
                          const struct weak_part *weak)
{
    bool is_roots_link = S_ISLNK(weak->about.st_mode) && weak->about.st_uid == 0;
    char what[PATH_MAX + 64];

    snprintf(what, sizeof(what), "is reached through %s, which %s", weak->path,
             is_roots_link ? "leads too far" : "others can change");
    log_refusal(
        d, name, &weak->about, what,
        "Run it as a user of its own, or give it a directory that only root can reach, such "
        "as one in /var/lib");
}

/* Another user who can change a part of the way could put a directory of theirs in its place at
 * any time. Of the directory itself is_only_roots() says more. */
static bool leads_astray(const struct datadir *d)
{
    char path[PATH_MAX], here[PATH_MAX] = "";
    bool is_absolute = *d->path == '/';
    struct weak_part weak = {.path = ""};
    struct stat about;

    if ((!is_absolute && !getcwd(here, sizeof(here))) ||
        snprintf(path, sizeof(path), "%s%s%s", here, is_absolute ? "" : "/", d->path) >=
            PATH_MAX) {
        errno = ENAMETOOLONG;
        (void)refuse(d->path, "look at the way to");
        return true;
    }
    if (is_roots_way(path, LINKS_MAX, &weak))
        return false;
    if (!S_ISLNK(weak.about.st_mode) && !stat(path, &about) &&
        about.st_ino == weak.about.st_ino && about.st_dev == weak.about.st_dev)
        return false;
    log_weak_part(d, "", &weak);
    return true;
}

/* Redis opens its files by name, again and again: where root's own link leads to them, no other
 * user may be able to redirect any part of the way. */
static bool leads_through_others(const struct datadir *d)
{
    char path[PATH_MAX], target[PATH_MAX];
    struct weak_part weak = {.path = DATADIR_AOF};

    if (fstatat(d->dir_fd, DATADIR_AOF, &weak.about, AT_SYMLINK_NOFOLLOW) ||
        !S_ISLNK(weak.about.st_mode))
        return false;
    if (snprintf(path, sizeof(path), "%s/" DATADIR_AOF, d->path) < PATH_MAX &&
        follow(path, strlen(path), target) && is_roots_way(target, LINKS_MAX, &weak))
        return false;
    log_weak_part(d, DATADIR_AOF, &weak);
    return true;
}

int datadir_open_aof(const struct datadir *d)
{
    return openat(d->dir_fd, DATADIR_AOF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Finds files planted before the directory was root's alone. Takes `fd`, the open directory,
 * over; `below`: its name in the data directory with a '/', or "". */
static bool has_only_roots(const struct datadir *d, const char *below, int fd)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    char name[sizeof(DATADIR_AOF) + NAME_MAX + 1];
    struct stat about;
    bool is_good = true;

    if (!dir)
        return fd < 0; /* it is not there */
    while (is_good && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW))
            continue;
        is_good = about.st_uid == 0;
        snprintf(name, sizeof(name), "%s%s", below, entry->d_name);
        if (!is_good)
            log_unsafe(d, name, &about, "is another user's");
    }
    closedir(dir);
    return is_good;
}

static bool is_aof_only_roots(const struct datadir *d)
{
    int fd = datadir_open_aof(d);

    if (fd < 0)
        return true; /* it is not there */
    if (!is_only_roots(d, DATADIR_AOF "/.", fd)) {
        close(fd);
        return false;
    }
    return has_only_roots(d, DATADIR_AOF "/", fd);
}

static bool is_safe(const struct datadir *d)
{
    struct stat about;

    if (geteuid() == 0)
        return is_only_roots(d, "", d->dir_fd) &&
               has_only_roots(d, "",
                              openat(d->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) &&
               !leads_through_others(d) && is_aof_only_roots(d);
    if (!fstat(d->dir_fd, &about) && about.st_mode & S_IWOTH)
        LOG_WARN(
            "warden",
            "node.data_dir: everybody on this machine may write to %s (mode %04o): chmod o-w",
            d->path, (unsigned)about.st_mode & 07777);
    return true;
}

/* ---- opening ---- */

static enum status open_dir(struct datadir *d)
{
    if (geteuid() == 0 && leads_astray(d))
        return STATUS_IO_ERROR;
    if (mkdir(d->path, 0700) && errno != EEXIST)
        return refuse(d->path, "create");
    if (geteuid() == 0 && leads_astray(d)) /* somebody was faster in a directory for all */
        return STATUS_IO_ERROR;
    d->dir_fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir_fd < 0)
        return refuse(d->path, "open");
    if (faccessat(d->dir_fd, ".", W_OK | X_OK, AT_EACCESS))
        return refuse(d->path, "write to");
    if (!is_safe(d))
        return STATUS_IO_ERROR;
    d->lock_fd = datadir_open_file(d, LOCK_FILE);
    return d->lock_fd < 0 ? STATUS_IO_ERROR : STATUS_OK;
}

/* Without blocking: it may be a pipe with nobody at its other end. */
int datadir_open_file(const struct datadir *d, const char *name)
{
    int fd =
        openat(d->dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat about;
    char path[PATH_MAX];

    if (fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_nlink == 1)
        return fd;
    snprintf(path, sizeof(path), "%s/%s", d->path, name);
    if (fd < 0 && errno != ELOOP && errno != EISDIR)
        (void)refuse(path, "write");
    else
        LOG_ERROR(
            "warden",
            "node.data_dir: %s is a link, or no plain file: the node does not write to it. "
            "See who has put it there, and remove it",
            path);
    if (fd >= 0)
        close(fd);
    return -1;
}

enum status datadir_open(struct datadir *d, const char *path, int64_t wait_ms)
{
    enum status s;

    *d = (struct datadir){.path = must(strdup(path)), .dir_fd = -1, .lock_fd = -1};
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
