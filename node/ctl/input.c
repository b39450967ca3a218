#include "node/ctl/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_MAX      ((size_t)256 << 20) /* of a body */
#define INPUT_LINE_MAX ((size_t)64 << 20)

static volatile sig_atomic_t caught; /* the signal's number */
static int ends[2] = {-1, -1};       /* a pipe: a signal that comes just before poll() shows; -1
                                      * without interrupt_catch() */

static void note(int number)
{
    int before = errno;

    if (caught) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    caught = number;
    (void)!write(ends[1], "", 1); /* into an empty pipe: there is room */
    errno = before;
}

static void listen_to(int number)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct sigaction before;

    /* One after the other: the second must see the first. */
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(number, NULL, &before);
    if (before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void interrupt_catch(void)
{
    if (ends[0] >= 0)
        return;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        abort();
    listen_to(SIGINT);
    listen_to(SIGTERM);
}

bool interrupt_is_caught(void)
{
    return caught != 0;
}

void interrupt_end(void)
{
    if (!caught)
        return;
    signal(caught, SIG_DFL);
    raise(caught);
}

/* ---- input ---- */

#define CHUNK 65536

/* open() takes a directory, and read() would complain without a name. */
static bool is_directory(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

int input_open(const char *path)
{
    int fd;

    if (!path || !strcmp(path, "-"))
        return STDIN_FILENO;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && is_directory(fd)) {
        close(fd);
        errno = EISDIR;
        fd = -1;
    }
    if (fd < 0)
        ctl_say("%s: %s", path, strerror(errno));
    return fd;
}

void input_close(int fd)
{
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Returns 1 when there was some, 0 at the end, -1 when it failed. */
static int read_some(int fd, struct buf *to)
{
    ssize_t n;

    do
        n = read(fd, buf_reserve(to, CHUNK), CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        ctl_say("the input cannot be read: %s", strerror(errno));
        return -1;
    }
    to->len += (size_t)n;
    return n > 0;
}

enum ctl_exit input_read_all(int fd, struct buf *to)
{
    int more;

    while ((more = read_some(fd, to)) > 0) {
        if (to->len > INPUT_MAX) {
            ctl_say("the input is longer than 256 MiB");
            return CTL_USAGE;
        }
    }
    return more < 0 ? CTL_USAGE : CTL_DONE;
}

void lines_init(struct lines *lines, int fd)
{
    *lines = (struct lines){.fd = fd, .read = BUF_INIT};
}

void lines_fini(struct lines *lines)
{
    buf_fini(&lines->read);
}

/* True: there is something to read, or an end. */
static bool wait_for_some(int fd, bool may_wait)
{
    struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};

    while (poll(p, 2, may_wait ? -1 : 0) < 0 && errno == EINTR)
        ;
    return p[0].revents != 0;
}

/* Bytes are searched only once. */
static bool take_line(struct lines *lines, struct bytes *line)
{
    const char *begin = lines->read.at + lines->at;
    size_t rest = lines->read.len - lines->at;
    size_t searched = lines->searched;
    const char *end = rest > searched ? memchr(begin + searched, '\n', rest - searched) : NULL;

    lines->searched = end ? 0 : rest;
    if (!end && !(lines->is_end && rest))
        return false;
    *line = bytes_of(begin, end ? (size_t)(end - begin) : rest);
    lines->at += line->len + (end != NULL);
    return true;
}

static bool read_more(struct lines *lines)
{
    int more;

    buf_drop(&lines->read, lines->at);
    lines->at = 0;
    if (lines->read.len > INPUT_LINE_MAX) {
        ctl_say("a line is longer than 64 MiB");
        return false;
    }
    more = read_some(lines->fd, &lines->read);
    lines->is_end = more == 0;
    return more >= 0;
}

enum input_next lines_next(struct lines *lines, bool may_wait, struct bytes *line)
{
    while (!interrupt_is_caught()) {
        if (take_line(lines, line))
            return INPUT_LINE;
        if (lines->is_end)
            return INPUT_END;
        if (!wait_for_some(lines->fd, false)) {
            if (!may_wait)
                return INPUT_LATER;
            fflush(stdout);
            if (!wait_for_some(lines->fd, true))
                continue;
        }
        if (!read_more(lines))
            return INPUT_FAILED;
    }
    return INPUT_INTERRUPTED;
}
