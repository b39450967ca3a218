#include "node/warden/aof_files.h"

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
#define EMPTY_BASE    256     /* bytes: the base of an empty Redis is smaller */
#define END           "end\n" /* a mark without it was not finished */
#define MARK_MAX      4096
#define LOSS          "-" /* in the place of a name: bytes that were missing at a start before */
#define LIST_LINE_MAX 1024 /* bytes: Redis refuses a list with a longer one */

/* The size of a plain file, also at the end of a link; -1: there is none. */
static int64_t size_of(int dir_fd, const char *name)
{
    struct stat st;

    return !fstatat(dir_fd, name, &st, 0) && S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* The same, with the file's bytes synced to disk; -1 also where that failed. */
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

/* Not so the manifest, which is written anew each time, and a rewrite's temporary files. */
static bool only_grows(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && (!strcmp(name + len - 4, ".aof") || !strcmp(name + len - 4, ".rdb")) &&
           strncmp(name, "temp-", 5) != 0 && !strpbrk(name, " \n");
}

/* The file's bytes; 0 when it holds no data. The base of an empty Redis has some bytes, too. */
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
        aof_mark_remove(d);
    if (fd >= 0)
        close(fd);
}

void aof_mark_write(const struct datadir *d)
{
    struct buf text = BUF_INIT;
    int dir_fd = datadir_open_aof(d);

    if (dir_fd < 0)
        return;
    describe(&text, dir_fd);
    write_mark(d, &text);
    buf_fini(&text);
}

void aof_mark_keep_loss(const struct datadir *d, uint64_t missing)
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

/* The directory is gone, or none of the files is in it. A dangling link does not count: Redis
 * does not start with one. */
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
        is_gone = !entry && !errno; /* an unreadable directory is not gone */
        closedir(dir);
    } else if (dir_fd >= 0) {
        close(dir_fd);
    }
    return is_gone;
}

uint64_t aof_mark_missing(const struct datadir *d)
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

void aof_mark_remove(const struct datadir *d)
{
    (void)unlinkat(d->dir_fd, AOF_MARK_FILE, 0);
}

/* ---- what Redis reads at its start ---- */

/* NULL: there is no directory, or it cannot be read; errno says why. */
static DIR *open_files(const struct datadir *d)
{
    int dir_fd = datadir_open_aof(d), error;
    DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;

    if (!dir && dir_fd >= 0) {
        error = errno;
        close(dir_fd);
        errno = error;
    }
    return dir;
}

static void close_files(DIR *dir)
{
    if (dir)
        closedir(dir);
}

/* The files that the manifest lists. It is read as Redis 7 does: what Redis refuses is refused.
 */
struct list {
    struct buf names;   /* "\nname\nname\n" */
    struct buf removed; /* the same, of those that Redis is to remove */
    bool is_there, has_base;
    long long base_seq;
    long long first_seq, last_seq; /* of files that grow; 0: none yet */
    bool lacks_growth;             /* one that grows, and has data, is not listed */
};

static void list_fini(struct list *l)
{
    buf_fini(&l->names);
    buf_fini(&l->removed);
}

struct list_line {
    char name[NAME_MAX + 1];
    long long seq;
    char type; /* b(ase), i(ncremental), h(istory: to be removed) */
};

/* Redis reads names in quotes, though it writes none. False: what is in them is more than a
 * name of Redis's own. */
static bool unquote(char **value)
{
    size_t len = strlen(*value);
    char quote = **value;

    if ((quote == '"' || quote == '\'') && len > 1 && (*value)[len - 1] == quote) {
        (*value)[len - 1] = '\0';
        ++*value;
    }
    return !strpbrk(*value, "\"'\\/");
}

/* Pairs of a word and its value; unknown words are allowed. */
static bool read_line(char *text, struct list_line *line)
{
    const char *blanks = " \t\r\n\v\f";
    char *rest, *value;

    *line = (struct list_line){0};
    for (char *word = strtok_r(text, blanks, &rest); word;
         word = strtok_r(NULL, blanks, &rest)) {
        value = strtok_r(NULL, blanks, &rest);
        if (!value || !unquote(&value))
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
    if (line->type == 'i') {
        l->first_seq = l->first_seq ? l->first_seq : line->seq;
        l->last_seq = line->seq;
    } else if (line->type == 'b') {
        l->has_base = true;
        l->base_seq = line->seq;
    }
    buf_printf(line->type == 'h' ? &l->removed : &l->names, "%s\n", line->name);
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

static bool has_name(struct buf *names, const char *name)
{
    char line[NAME_MAX + 3];

    snprintf(line, sizeof(line), "\n%s\n", name);
    return strstr(buf_text(names), line);
}

enum kind { KIND_OTHER, KIND_BASE, KIND_GROWS };

/* By Redis's own names; the one file of a Redis before 7 becomes a base. */
static enum kind kind_of(const char *name, long long *seq)
{
    int seq_end = 0;
    const char *rest;

    *seq = 0;
    if (!strcmp(name, AOF_FILE))
        return KIND_BASE;
    if (sscanf(name, AOF_FILE ".%18lld%n", seq, &seq_end) != 1)
        return KIND_OTHER;
    rest = name + seq_end;
    if (!strcmp(rest, ".base.rdb") || !strcmp(rest, ".base.aof"))
        return KIND_BASE;
    return strcmp(rest, ".incr.aof") ? KIND_OTHER : KIND_GROWS;
}

/* Has the listed base all of it? A rewrite makes the next base and the next file that grows, so
 * no base has a higher number than the first file that grows behind it, and it has what grew
 * under lower numbers than its own. It also has what its list tells Redis to remove. In a list
 * without a file that grows nothing is told by numbers: Redis begins again with 1. */
static bool is_in_base(struct list *l, const char *name, long long seq)
{
    return l->has_base && seq < l->first_seq &&
           ((l->base_seq <= l->first_seq && seq < l->base_seq) || has_name(&l->removed, name));
}

/* A rewrite makes one base more than is listed, and has listed a file that grows before. */
static bool may_be_rewrites(const struct list *l, long long base_seq)
{
    return !l->lacks_growth && base_seq <= l->base_seq + 1 && l->first_seq != l->last_seq;
}

/* A rewrite lists a growing file before writing to it. A new base exists before it is listed;
 * until then the old base is listed, and all that grows. A base of a lower number is left over.
 */
static uint64_t unlisted_bytes(struct list *l, int dir_fd, const char *name)
{
    long long seq;
    enum kind kind = kind_of(name, &seq);

    if (kind == KIND_OTHER || has_name(&l->names, name))
        return 0;
    if (kind == KIND_GROWS && is_in_base(l, name, seq))
        return 0;
    if (kind == KIND_BASE && l->has_base && (seq <= l->base_seq || may_be_rewrites(l, seq)))
        return 0;
    return data_of(name, size_of(dir_fd, name));
}

static bool lacks_growth(struct list *l, DIR *dir)
{
    const struct dirent *entry;
    bool is_found = false;
    long long seq;

    while (!is_found && (entry = readdir(dir)))
        is_found = kind_of(entry->d_name, &seq) == KIND_GROWS &&
                   unlisted_bytes(l, dirfd(dir), entry->d_name);
    rewinddir(dir);
    return is_found;
}

/* False: Redis cannot read the list either; then it logs that and writes nothing. */
static bool read_list(struct list *l, DIR *dir)
{
    int dir_fd = dirfd(dir), fd;
    bool is_good = true;
    FILE *file;

    buf_add_char(&l->names, '\n');
    buf_add_char(&l->removed, '\n');
    l->is_there = size_of(dir_fd, AOF_MANIFEST) >= 0;
    if (l->is_there) {
        fd = openat(dir_fd, AOF_MANIFEST, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        file = fd >= 0 ? fdopen(fd, "r") : NULL;
        is_good = file && read_lines(l, file);
        if (file)
            fclose(file);
    }
    l->lacks_growth = is_good && lacks_growth(l, dir);
    return is_good;
}

static struct aof_unlisted sum_of_unlisted(struct list *l, DIR *dir)
{
    struct aof_unlisted u = {.is_tail = l->has_base};
    const struct dirent *entry;
    uint64_t most = 0, all = 0;
    long long seq;

    while ((entry = readdir(dir))) {
        uint64_t bytes = unlisted_bytes(l, dirfd(dir), entry->d_name);
        enum kind kind = kind_of(entry->d_name, &seq);

        if (bytes && kind == KIND_GROWS && seq <= l->last_seq)
            u.is_tail = false;
        if (bytes > most && l->is_there)
            snprintf(u.name, sizeof(u.name), "%s", entry->d_name);
        u.bytes += bytes;
        most = bytes > most ? bytes : most;
        if (kind != KIND_OTHER)
            all += data_of(entry->d_name, size_of(dirfd(dir), entry->d_name));
    }
    u.aside_bytes = u.is_tail || !u.bytes ? u.bytes : all;
    return u;
}

struct aof_unlisted aof_unlisted(const struct datadir *d)
{
    DIR *dir = open_files(d);
    struct list list = {.names = BUF_INIT, .removed = BUF_INIT};
    struct aof_unlisted u = {0};

    if (dir && read_list(&list, dir))
        u = sum_of_unlisted(&list, dir);
    close_files(dir);
    list_fini(&list);
    return u;
}

/* ---- what is to be done with it ---- */

/* Also for root: its Redis has no capability to override a file's mode. */
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
    DIR *dir = open_files(d);
    const struct dirent *entry;
    bool is_found = is_denied(d->dir_fd, DATADIR_AOF);

    snprintf(name, AOF_NAME_MAX + 1, "%s", DATADIR_AOF);
    while (!is_found && dir && (entry = readdir(dir))) {
        is_found = !strncmp(entry->d_name, AOF_FILE, strlen(AOF_FILE)) &&
                   is_denied(dirfd(dir), entry->d_name);
        snprintf(name, AOF_NAME_MAX + 1, DATADIR_AOF "/%s", entry->d_name);
    }
    close_files(dir);
    return is_found;
}

/* Redis goes by its list alone, and leaves a file of another name alone. */
static enum status rename_unlisted(struct list *l, DIR *dir, enum kind kind)
{
    const struct dirent *entry;
    char aside[AOF_NAME_MAX + 1];
    long long seq;

    rewinddir(dir);
    while ((entry = readdir(dir))) {
        if (kind_of(entry->d_name, &seq) != kind ||
            !unlisted_bytes(l, dirfd(dir), entry->d_name))
            continue;
        snprintf(aside, sizeof(aside), "%s" AOF_ASIDE, entry->d_name);
        if (renameat2(dirfd(dir), entry->d_name, dirfd(dir), aside, RENAME_NOREPLACE))
            return STATUS_IO_ERROR;
    }
    return STATUS_OK;
}

/* Bases first: where that ends half-way, a base that is left is known by what grows beside it.
 */
static enum status rename_tail(const struct datadir *d)
{
    DIR *dir = open_files(d);
    struct list list = {.names = BUF_INIT, .removed = BUF_INIT};
    enum status status = STATUS_IO_ERROR;
    int error;

    if (dir && read_list(&list, dir))
        status = rename_unlisted(&list, dir, KIND_BASE);
    if (status == STATUS_OK)
        status = rename_unlisted(&list, dir, KIND_GROWS);
    error = errno;
    close_files(dir);
    list_fini(&list);
    errno = error;
    return status;
}

/* Replaces an empty directory of the new name, but not a full one, or a link. */
static enum status rename_directory(const struct datadir *d)
{
    const char *aside = DATADIR_AOF AOF_ASIDE;
    struct stat st;

    if (!fstatat(d->dir_fd, aside, &st, AT_SYMLINK_NOFOLLOW) && !S_ISDIR(st.st_mode)) {
        errno = EEXIST;
        return STATUS_IO_ERROR;
    }
    return renameat(d->dir_fd, DATADIR_AOF, d->dir_fd, aside) ? STATUS_IO_ERROR : STATUS_OK;
}

enum status aof_put_aside(const struct datadir *d, const struct aof_unlisted *unlisted)
{
    return unlisted->is_tail ? rename_tail(d) : rename_directory(d);
}
