#include "node/warden/aof_sizes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define AOF_DIRECTORY "appendonlydir"
#define AOF_MANIFEST  "appendonly.aof.manifest"
#define EMPTY_BASE    256     /* bytes: more than that of a Redis without a key has */
#define END           "end\n" /* a mark without it was not finished */
#define MARK_MAX      4096
#define LOSS          "-" /* in the place of a name: bytes that were missing at a start before */

static int open_directory(const struct datadir *d)
{
    return openat(d->dir_fd, AOF_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Of a plain file; -1: there is none. Where it is to be on disk, it is then. */
static int64_t size_of(int dir_fd, const char *name, bool is_to_be_on_disk)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int64_t size = -1;
    struct stat st;

    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!is_to_be_on_disk || !fsync(fd)))
        size = st.st_size;
    close(fd);
    return size;
}

/* Not its list of files, which is written anew each time, nor what a rewrite has begun. */
static bool only_grows(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && (!strcmp(name + len - 4, ".aof") || !strcmp(name + len - 4, ".rdb")) &&
           strncmp(name, "temp-", 5) != 0 && !strpbrk(name, " \n");
}

/* Its bytes; 0 of a file without data. The base of an empty Redis has some bytes, too. */
static uint64_t data_of(const char *name, int64_t size)
{
    bool is_base = strstr(name, ".base.") != NULL;

    return size > (is_base ? EMPTY_BASE : 0) ? (uint64_t)size : 0;
}

static void describe(struct buf *to, int dir_fd)
{
    DIR *dir = fdopendir(dir_fd);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int64_t size = only_grows(entry->d_name) ? size_of(dir_fd, entry->d_name, true) : -1;

        if (size >= 0)
            buf_printf(to, "%" PRId64 " %s\n", size, entry->d_name);
    }
    buf_add_text(to, END);
    if (dir)
        closedir(dir);
    else
        close(dir_fd);
}

static void write_mark(const struct datadir *d, const struct buf *text)
{
    int fd = text->len <= MARK_MAX ? datadir_open_file(d, AOF_MARK_FILE) : -1;

    if (fd >= 0 &&
        (ftruncate(fd, 0) || write(fd, text->at, text->len) != (ssize_t)text->len || fsync(fd)))
        aof_sizes_remove(d);
    if (fd >= 0)
        close(fd);
}

void aof_sizes_write(const struct datadir *d)
{
    struct buf text = BUF_INIT;
    int dir_fd = open_directory(d);

    if (dir_fd < 0)
        return;
    describe(&text, dir_fd);
    write_mark(d, &text);
    buf_fini(&text);
}

void aof_sizes_keep_loss(const struct datadir *d, uint64_t missing)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%" PRIu64 " " LOSS "\n" END, missing);
    write_mark(d, &text);
    buf_fini(&text);
}

/* "": there is none, or it was not finished. */
static void read_mark(const struct datadir *d, char text[MARK_MAX + 1])
{
    int fd = openat(d->dir_fd, AOF_MARK_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, MARK_MAX) : 0;
    size_t end = strlen(END);

    if (fd >= 0)
        close(fd);
    if (len < (ssize_t)end || memcmp(text + len - end, END, end) != 0)
        len = 0;
    text[len] = '\0';
}

static uint64_t missing_of(int dir_fd, const char *name, int64_t was)
{
    int64_t is = dir_fd >= 0 ? size_of(dir_fd, name, false) : -1;

    return is >= 0 && is < was ? (uint64_t)(was - is) : 0;
}

uint64_t aof_sizes_missing(const struct datadir *d)
{
    char text[MARK_MAX + 1], name[NAME_MAX + 1];
    int dir_fd = open_directory(d);
    bool is_all_gone = dir_fd < 0 && errno == ENOENT;
    uint64_t missing = 0;
    int64_t was;

    read_mark(d, text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (sscanf(line, "%" SCNd64 " %255[^\n]", &was, name) == 2 && !strchr(name, '/'))
            missing += !strcmp(name, LOSS) ? (uint64_t)was
                       : is_all_gone       ? data_of(name, was)
                                           : missing_of(dir_fd, name, was);
    if (dir_fd >= 0)
        close(dir_fd);
    return missing;
}

void aof_sizes_remove(const struct datadir *d)
{
    (void)unlinkat(d->dir_fd, AOF_MARK_FILE, 0);
}

uint64_t aof_unlisted(const struct datadir *d)
{
    int dir_fd = open_directory(d);
    DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
    const struct dirent *entry;
    uint64_t sum = 0;

    while (dir && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, AOF_MANIFEST)) {
            sum = 0;
            break;
        }
        if (only_grows(entry->d_name))
            sum += data_of(entry->d_name, size_of(dir_fd, entry->d_name, false));
    }
    if (dir)
        closedir(dir);
    else if (dir_fd >= 0)
        close(dir_fd);
    return sum;
}

enum status aof_put_aside(const struct datadir *d)
{
    /* Over an empty directory of that name, but not over one that has something. */
    return renameat(d->dir_fd, AOF_DIRECTORY, d->dir_fd, AOF_ASIDE) ? STATUS_IO_ERROR
                                                                    : STATUS_OK;
}
