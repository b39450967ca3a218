/* A hook is over when its process has ended, which its pidfd tells; what a grandchild that
 * lives on goes on printing is read no more then. It has a process group of its own, so that a
 * kill reaches all that it has started.
 */
#include "node/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <event2/event.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"

#define LINE_MAX_BYTES 500
#define LINES_MAX      200 /* of one hook; the rest is left away */
#define READS_PER_TURN 16

enum { WHAT, TOKEN, REASON, WORDS };
enum result { DONE, FAILED, TIMEOUT, NOT_RUN, RESULTS };

static const char *const result_words[RESULTS] = {"done", "failed", "timeout", "not_run"};
static const char *const whats[] = {"promote", "demote", "fenced"};

#define WHATS (sizeof(whats) / sizeof(whats[0]))

struct call {
    struct list link;
    char *words[WORDS];
};

struct hooks {
    struct loop *loop;
    const char *program, *node;
    int64_t timeout_ms;
    struct list waiting; /* of struct call */
    unsigned waiting_count;
    uint64_t counts[WHATS][RESULTS];

    /* The one that runs. */
    struct call *now; /* NULL: none */
    pid_t pid;
    int process_fd, output_fd;
    struct event *on_end, *on_output;
    struct timer timeout;
    bool is_late;
    struct buf line;
    unsigned lines;
};

static void run_next(struct hooks *h);

static char *copy_of(const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        abort();
    return copy;
}

static void call_free(struct call *c)
{
    for (unsigned i = 0; i < WORDS; i++)
        free(c->words[i]);
    free(c);
}

static void count(struct hooks *h, const struct call *c, enum result result)
{
    for (unsigned i = 0; i < WHATS; i++)
        h->counts[i][result] += !strcmp(whats[i], c->words[WHAT]);
}

/* ---- what it prints ---- */

static void end_line(struct hooks *h)
{
    if (h->line.len && h->lines++ < LINES_MAX)
        LOG_INFO("ha", "hook %s: %s", h->now->words[WHAT], buf_text(&h->line));
    buf_clear(&h->line);
}

static void take_output(struct hooks *h, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n' || h->line.len == LINE_MAX_BYTES)
            end_line(h);
        if (data[i] != '\n')
            buf_add_char(&h->line, data[i]);
    }
}

/* False: there is no more. One that prints without end must not hold up the loop. */
static bool read_output(struct hooks *h)
{
    char data[4096];

    for (unsigned i = 0; i < READS_PER_TURN; i++) {
        ssize_t len = read(h->output_fd, data, sizeof(data));

        if (len <= 0)
            return len < 0 && (errno == EAGAIN || errno == EINTR);
        take_output(h, data, (size_t)len);
    }
    return true;
}

static void on_output(int fd, short what, void *arg)
{
    struct hooks *h = arg;

    loop_touch(h->loop);
    if (!read_output(h))
        event_del(h->on_output);
}

/* ---- its end ---- */

static void say_end(const struct hooks *h, const siginfo_t *end)
{
    const char *what = h->now->words[WHAT];

    if (end->si_code != CLD_EXITED)
        LOG_WARN("ha", "hook %s: killed by signal %d", what, end->si_status);
    else if (end->si_status)
        LOG_WARN("ha", "hook %s: ended with %d", what, end->si_status);
    else
        LOG_INFO("ha", "hook %s: done", what);
}

static void close_process(struct hooks *h)
{
    timer_disarm(&h->loop->timers, &h->timeout);
    event_free(h->on_end);
    event_free(h->on_output);
    close(h->process_fd);
    close(h->output_fd);
    call_free(h->now);
    h->now = NULL;
}

static void on_end(int fd, short what, void *arg)
{
    struct hooks *h = arg;
    siginfo_t end = {0};

    loop_touch(h->loop);
    if (waitid(P_PID, (id_t)h->pid, &end, WEXITED | WNOHANG) || !end.si_pid)
        return;
    read_output(h);
    end_line(h);
    say_end(h, &end);
    count(h, h->now,
          h->is_late                                        ? TIMEOUT
          : end.si_code != CLD_EXITED || end.si_status != 0 ? FAILED
                                                            : DONE);
    close_process(h);
    run_next(h);
}

static void on_timeout(struct timer *timer)
{
    struct hooks *h = CONTAINER_OF(timer, struct hooks, timeout);

    LOG_WARN("ha", "hook %s: not done after %lld ms, killed", h->now->words[WHAT],
             (long long)h->timeout_ms);
    h->is_late = true;
    kill(-h->pid, SIGKILL);
}

/* ---- its beginning ---- */

static struct event *watch(struct hooks *h, int fd, event_callback_fn on_readable)
{
    struct event *event = event_new(h->loop->base, fd, EV_READ | EV_PERSIST, on_readable, h);

    if (!event || event_add(event, NULL))
        abort();
    return event;
}

/* 0, or an errno. */
static int spawn(struct hooks *h, int output)
{
    char *argv[] = {(char *)h->program,   h->now->words[WHAT],   (char *)h->node,
                    h->now->words[TOKEN], h->now->words[REASON], NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGPIPE); /* stays ignored: one that outlives the node prints in vain */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    error = posix_spawn(&h->pid, h->program, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* False: it could not be run, and that was said. */
static bool begin(struct hooks *h)
{
    int ends[2], error;

    if (pipe2(ends, O_CLOEXEC)) {
        LOG_ERROR("ha", "hook %s: not run: %s", h->now->words[WHAT], strerror(errno));
        return false;
    }
    error = spawn(h, ends[1]);
    close(ends[1]);
    if (!error) {
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        h->output_fd = ends[0];
        h->process_fd = (int)syscall(SYS_pidfd_open, h->pid, 0);
        if (h->process_fd < 0)
            abort(); /* out of descriptors for our own child: it could not be reaped */
        return true;
    }
    close(ends[0]);
    LOG_ERROR("ha", "hook %s: %s cannot be run: %s", h->now->words[WHAT], h->program,
              strerror(error));
    return false;
}

static void run_next(struct hooks *h)
{
    while (!h->now && !list_is_empty(&h->waiting)) {
        h->now = CONTAINER_OF(h->waiting.next, struct call, link);
        list_remove(&h->now->link);
        h->waiting_count--;
        h->lines = 0;
        h->is_late = false;
        if (begin(h)) {
            h->on_end = watch(h, h->process_fd, on_end);
            h->on_output = watch(h, h->output_fd, on_output);
            timer_arm(&h->loop->timers, &h->timeout, h->timeout_ms);
        } else {
            count(h, h->now, NOT_RUN);
            call_free(h->now);
            h->now = NULL;
        }
    }
}

/* ---- its owner ---- */

static void drop_first(struct hooks *h)
{
    struct call *c = CONTAINER_OF(h->waiting.next, struct call, link);

    LOG_WARN("ha", "hook %s %s: never run", c->words[WHAT], c->words[REASON]);
    list_remove(&c->link);
    h->waiting_count--;
    count(h, c, NOT_RUN);
    call_free(c);
}

struct hooks *hooks_new(struct loop *loop, const char *program, const char *node,
                        int64_t timeout_ms)
{
    struct hooks *h = calloc(1, sizeof(*h));

    if (!h)
        abort();
    h->loop = loop;
    h->program = program;
    h->node = node;
    h->timeout_ms = timeout_ms;
    list_init(&h->waiting);
    timer_init(&h->timeout, on_timeout);
    return h;
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    while (h->waiting_count)
        drop_first(h);
    if (h->now)
        close_process(h);
    buf_fini(&h->line);
    free(h);
}

void hooks_run(struct hooks *h, const char *what, const char *token, const char *reason)
{
    struct call *c;

    if (!*h->program)
        return;
    c = calloc(1, sizeof(*c));
    if (!c)
        abort();
    c->words[WHAT] = copy_of(what);
    c->words[TOKEN] = copy_of(token);
    c->words[REASON] = copy_of(reason);
    if (h->waiting_count == HOOKS_QUEUE_MAX)
        drop_first(h);
    list_append(&h->waiting, &c->link);
    h->waiting_count++;
    run_next(h);
}

void hooks_count(const struct hooks *h, struct hook_count counts[HOOKS_COUNTS])
{
    _Static_assert(WHATS * RESULTS == HOOKS_COUNTS, "each word with each result");
    for (unsigned i = 0; i < HOOKS_COUNTS; i++)
        counts[i] = (struct hook_count){whats[i / RESULTS], result_words[i % RESULTS],
                                        h->counts[i / RESULTS][i % RESULTS]};
}

bool hooks_is_idle(const struct hooks *h)
{
    return !h->now && !h->waiting_count;
}
