#include "node/warden/aof_sizes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define AOF_FILE      "appendonly.aof"
#define AOF_MANIFEST  AOF_FILE ".manifest"
#define EMPTY_BASE    256     /* bytes: more than that of a Redis without a key has */
#define END           "end\n" /* a mark without it was not finished */
#define MARK_MAX      4096
#define LOSS          "-" /* in the place of a name: bytes that were missing at a start before */
#define LIST_LINE_MAX 1024 /* bytes: Redis refuses a list with a longer one */

/* Of a plain file, where links lead to one as well; -1: there is none. */
static int64_t size_of(int dir_fd, const char *name)
{
    struct stat st;

    return !fstatat(dir_fd, name, &st, 0) && S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* The same of a file whose bytes are on disk then; -1, too: they may not be. */
static int64_t synced_size_of(int dir_fd, const char *name)
{
    int64_t size = size_of(dir_fd, name);
    int fd = size >= 0 ? openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

    if (fd < 0 || fsync(fd))
        size = -1;
    if (fd >= 0)
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
        int64_t size = only_grows(entry->d_name) ? synced_size_of(dir_fd, entry->d_name) : -1;

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
    int dir_fd = datadir_open_aof(d);

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
    int64_t is = dir_fd >= 0 ? size_of(dir_fd, name) : -1;

    return is >= 0 && is < was ? (uint64_t)(was - is) : 0;
}

/* Their directory is, or there is none of them in it. A link that leads nowhere says nothing of
 * them: without what it should lead to Redis does not start. */
static bool are_all_gone(const struct datadir *d)
{
    int dir_fd = datadir_open_aof(d);
    struct stat st;
    bool is_gone = dir_fd < 0 && fstatat(d->dir_fd, DATADIR_AOF, &st, AT_SYMLINK_NOFOLLOW) &&
                   errno == ENOENT;
    DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
    const struct dirent *entry;

    if (dir) {
        errno = 0;
        while ((entry = readdir(dir)) && !only_grows(entry->d_name))
            ;
        is_gone = !entry && !errno; /* what cannot be read is not gone */
        closedir(dir);
    } else if (dir_fd >= 0) {
        close(dir_fd);
    }
    return is_gone;
}

uint64_t aof_sizes_missing(const struct datadir *d)
{
    char text[MARK_MAX + 1], name[NAME_MAX + 1];
    int dir_fd = datadir_open_aof(d);
    bool is_all_gone = are_all_gone(d);
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

/* ---- what Redis reads at its start ---- */

/* The files that the manifest lists. It is read as Redis 7 does: what Redis refuses is refused.
 */
struct list {
    struct buf names; /* "\nname\nname\n" */
    bool is_there, has_base;
    long long last_seq; /* of a file that grows; 0: none yet */
};

struct list_line {
    char name[NAME_MAX + 1];
    long long seq;
    char type; /* b(ase), i(ncremental), h(istory: to be removed) */
};

/* Pairs of a word and its value; some words may be new. Redis quotes none of its own names. */
static bool read_line(char *text, struct list_line *line)
{
    const char *blanks = " \t\r\n\v\f";
    char *rest, *value;

    *line = (struct list_line){0};
    for (char *word = strtok_r(text, blanks, &rest); word;
         word = strtok_r(NULL, blanks, &rest)) {
        value = strtok_r(NULL, blanks, &rest);
        if (!value || strpbrk(value, "\"'\\/"))
            return false;
        if (!strcasecmp(word, "file"))
            snprintf(line->name, sizeof(line->name), "%s", value);
        else if (!strcasecmp(word, "seq"))
            line->seq = atoll(value);
        else if (!strcasecmp(word, "type"))
            line->type = *value;
    }
    return *line->name && line->seq && line->type && strchr("bih", line->type);
}

static bool add_line(struct list *l, const struct list_line *line)
{
    if (line->type == 'b' && l->has_base)
        return false;
    if (line->type == 'i' && line->seq <= l->last_seq)
        return false;
    if (line->type == 'i')
        l->last_seq = line->seq;
    l->has_base = l->has_base || line->type == 'b';
    buf_printf(&l->names, "%s\n", line->name);
    return true;
}

static bool read_lines(struct list *l, FILE *file)
{
    char text[LIST_LINE_MAX + 1];
    struct list_line line;
    bool is_empty = true;

    for (; fgets(text, sizeof(text), file); is_empty = false)
        if (*text != '#' &&
            (!strchr(text, '\n') || !read_line(text, &line) || !add_line(l, &line)))
            return false;
    return !is_empty && !ferror(file);
}

/* False: Redis cannot read it, says so, and writes nothing. */
static bool read_list(struct list *l, int dir_fd)
{
    bool is_good = true;
    FILE *file;
    int fd;

    buf_add_char(&l->names, '\n');
    l->is_there = size_of(dir_fd, AOF_MANIFEST) >= 0;
    if (l->is_there) {
        fd = openat(dir_fd, AOF_MANIFEST, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        file = fd >= 0 ? fdopen(fd, "r") : NULL;
        is_good = file && read_lines(l, file);
        if (file)
            fclose(file);
    }
    return is_good;
}

static bool has_name(struct list *l, const char *name)
{
    char line[NAME_MAX + 3];

    snprintf(line, sizeof(line), "\n%s\n", name);
    return strstr(buf_text(&l->names), line);
}

enum kind { KIND_OTHER, KIND_BASE, KIND_GROWS };

/* By Redis's own names; the one file of a Redis before 7 becomes a base. */
static enum kind kind_of(const char *name)
{
    int seq_end = 0;
    const char *rest;

    if (!strcmp(name, AOF_FILE))
        return KIND_BASE;
    (void)sscanf(name, AOF_FILE ".%*[0-9]%n", &seq_end);
    rest = name + seq_end;
    if (!seq_end)
        return KIND_OTHER;
    if (!strcmp(rest, ".base.rdb") || !strcmp(rest, ".base.aof"))
        return KIND_BASE;
    return strcmp(rest, ".incr.aof") ? KIND_OTHER : KIND_GROWS;
}

/* A rewrite lists a file that grows before it writes to it. A new base is there before it is
 * listed, and until then the one before is. */
static uint64_t unlisted_bytes(struct list *l, int dir_fd, const char *name)
{
    enum kind kind = kind_of(name);

    if (kind == KIND_OTHER || (kind == KIND_BASE && l->has_base) || has_name(l, name))
        return 0;
    return data_of(name, size_of(dir_fd, name));
}

static uint64_t sum_of_unlisted(struct list *l, DIR *dir, char name[NAME_MAX + 1])
{
    const struct dirent *entry;
    uint64_t sum = 0, most = 0;

    while ((entry = readdir(dir))) {
        uint64_t bytes = unlisted_bytes(l, dirfd(dir), entry->d_name);

        sum += bytes;
        if (bytes > most && l->is_there)
            snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
        most = bytes > most ? bytes : most;
    }
    return sum;
}

uint64_t aof_unlisted(const struct datadir *d, char name[NAME_MAX + 1])
{
    int dir_fd = datadir_open_aof(d);
    DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
    struct list list = {.names = BUF_INIT};
    uint64_t sum = 0;

    *name = '\0';
    if (dir && read_list(&list, dir_fd))
        sum = sum_of_unlisted(&list, dir, name);
    if (dir)
        closedir(dir);
    else if (dir_fd >= 0)
        close(dir_fd);
    buf_fini(&list.names);
    return sum;
}

/* ---- what is to be done with it ---- */

/* Of root's own, too: its Redis has no capability to pass over the mode. */
static bool is_denied(int dir_fd, const char *name)
{
    struct stat st;
    mode_t needed;

    if (fstatat(dir_fd, name, &st, 0))
        return errno == EACCES;
    needed = S_IRUSR | S_IWUSR | (S_ISDIR(st.st_mode) ? S_IXUSR : 0);
    if (st.st_uid == geteuid())
        return (st.st_mode & needed) != needed;
    return faccessat(dir_fd, name, R_OK | W_OK | (S_ISDIR(st.st_mode) ? X_OK : 0), AT_EACCESS);
}

bool aof_is_denied(const struct datadir *d, char name[AOF_NAME_MAX + 1])
{
    int dir_fd = datadir_open_aof(d);
    DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
    const struct dirent *entry;
    bool is_found = is_denied(d->dir_fd, DATADIR_AOF);

    snprintf(name, AOF_NAME_MAX + 1, "%s", DATADIR_AOF);
    while (!is_found && dir && (entry = readdir(dir))) {
        is_found = !strncmp(entry->d_name, AOF_FILE, strlen(AOF_FILE)) &&
                   is_denied(dir_fd, entry->d_name);
        snprintf(name, AOF_NAME_MAX + 1, DATADIR_AOF "/%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    else if (dir_fd >= 0)
        close(dir_fd);
    return is_found;
}

enum status aof_put_aside(const struct datadir *d)
{
    struct stat st;

    /* Over an empty directory of that name, but not over one that has something, or a link. */
    if (!fstatat(d->dir_fd, AOF_ASIDE, &st, AT_SYMLINK_NOFOLLOW) && !S_ISDIR(st.st_mode)) {
        errno = EEXIST;
        return STATUS_IO_ERROR;
    }
    return renameat(d->dir_fd, DATADIR_AOF, d->dir_fd, AOF_ASIDE) ? STATUS_IO_ERROR : STATUS_OK;
}
