#include "protocol/access/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "protocol/json/write.h"

#define TELL_EVERY_MS 60000
#define TRY_EVERY_MS  1000

struct audit {
    char *file; /* "": there is no audit log */
    int fd;     /* -1: none, or it could not be opened */
    struct buf line;
    int64_t next_try_mono_ms;
    int64_t next_warning_mono_ms;
};

struct audit *audit_new(void)
{
    struct audit *a = must(calloc(1, sizeof(*a)));

    a->file = must(strdup(""));
    a->fd = -1;
    buf_init(&a->line);
    return a;
}

static void use_fd(struct audit *a, int fd)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = fd;
}

void audit_free(struct audit *a)
{
    if (!a)
        return;
    use_fd(a, -1);
    buf_fini(&a->line);
    free(a->file);
    free(a);
}

static int open_now(const char *file)
{
    int fd = log_open(file);

    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
    return fd;
}

static bool is_open_already(const struct audit *a, const char *file)
{
    struct stat own, named;

    return a->fd >= 0 && !stat(file, &named) && !fstat(a->fd, &own) &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

enum status audit_use(struct audit *a, const char *file)
{
    int fd = a->fd;

    if (!is_open_already(a, file)) {
        fd = *file ? open_now(file) : -1;
        if (fd < 0 && *file && a->fd >= 0)
            return STATUS_IO_ERROR;
        use_fd(a, fd);
    }
    free(a->file);
    a->file = must(strdup(file));
    return fd < 0 && *file ? STATUS_IO_ERROR : STATUS_OK;
}

bool audit_is_wanted(const struct audit *a)
{
    return *a->file;
}

bool audit_is_open(const struct audit *a)
{
    return a->fd >= 0;
}

/* ---- a line ---- */

static void put(struct buf *to, const char *before, struct bytes text)
{
    if (text.len)
        json_put_text(to, before, text);
    else
        json_put_text_or_null(to, before, NULL);
}

static void print_line(struct buf *to, const struct audit_entry *e)
{
    char when[LOG_TIME_MAX];

    log_print_time(when);
    put(to, "{\"time\":", bytes_of_text(when));
    put(to, ",\"who\":", e->who);
    put(to, ",\"from\":", e->from);
    put(to, ",\"operation\":", e->operation);
    put(to, ",\"role\":", e->role);
    put(to, ",\"topic\":", e->topic);
    put(to, ",\"id\":", e->id);
    put(to, ",\"body\":", e->body);
    put(to, ",\"request\":", e->request);
    json_put_number(to, ",\"status\":", e->status);
    put(to, ",\"error\":", e->error);
    json_put_number_or_null(to, ",\"count\":", e->count);
    buf_add_text(to, "}\n");
}

static bool lose(struct audit *a, const char *why)
{
    int64_t now_ms = clock_mono_ms();

    if (now_ms >= a->next_warning_mono_ms)
        LOG_ERROR("log", "log.audit: a line is lost: %s (metrics count them)", why);
    if (now_ms >= a->next_warning_mono_ms)
        a->next_warning_mono_ms = now_ms + TELL_EVERY_MS;
    return false;
}

static void try_again(struct audit *a)
{
    int64_t now_ms = clock_mono_ms();

    if (now_ms < a->next_try_mono_ms)
        return;
    a->next_try_mono_ms = now_ms + TRY_EVERY_MS;
    a->fd = open_now(a->file);
}

/* After a full disk, or a worker that was killed, a file may end within a line. Asked before
 * each line, so that neither a new worker nor a rotation has to remember. */
static bool ends_within_a_line(int fd)
{
    char path[40], last = '\n';
    struct stat about;
    int reader;

    if (fstat(fd, &about) || !S_ISREG(about.st_mode) || !about.st_size)
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    reader = open(path, O_RDONLY | O_CLOEXEC);
    if (reader < 0)
        return false;
    (void)!pread(reader, &last, 1, about.st_size - 1);
    close(reader);
    return last != '\n';
}

/* Within PIPE_BUF, at the cost of the body. */
static void fill_line(struct audit *a, const struct audit_entry *entry)
{
    struct audit_entry e = *entry;
    bool is_torn = ends_within_a_line(a->fd);

    for (;; e.body.len /= 2) {
        buf_reuse(&a->line);
        if (is_torn)
            buf_add_char(&a->line, '\n');
        print_line(&a->line, &e);
        if (a->line.len <= PIPE_BUF || !e.body.len)
            return;
    }
}

bool audit_write(struct audit *a, const struct audit_entry *entry)
{
    ssize_t written;

    if (a->fd < 0 && *a->file)
        try_again(a);
    if (a->fd < 0)
        return !*a->file || lose(a, "the file cannot be opened");
    fill_line(a, entry);
    written = write(a->fd, a->line.at, a->line.len);
    if (written < 0)
        return lose(a, strerror(errno));
    return (size_t)written == a->line.len || lose(a, "only a part of it was written");
}
