#include "node/program.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <event2/event.h>

#include "base/list.h"

#define LINE_MAX_BYTES 500
#define LINES_MAX      200 /* of one run; the rest is left away */
#define READS_PER_TURN 16

static void say(const struct program *p, enum log_level level, const char *text)
{
    if (log_is_on(level, p->module))
        log_write(level, p->module, "%s: %s", p->label, text);
}

/* ---- what it prints ---- */

static void end_line(struct program *p)
{
    if (p->line.len && p->lines++ < LINES_MAX)
        say(p, p->level, buf_text(&p->line));
    buf_clear(&p->line);
}

static void take_output(struct program *p, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n' || p->line.len == LINE_MAX_BYTES)
            end_line(p);
        if (data[i] != '\n')
            buf_add_char(&p->line, data[i]);
    }
}

/* False: there is no more output now. Reads a part only: endless output must not hold up the
 * loop. */
static bool read_output(struct program *p)
{
    char data[4096];

    for (unsigned i = 0; i < READS_PER_TURN; i++) {
        ssize_t len = read(p->output_fd, data, sizeof(data));

        if (len <= 0)
            return len < 0 && (errno == EAGAIN || errno == EINTR);
        take_output(p, data, (size_t)len);
    }
    return true;
}

static void on_output(int fd, short what, void *arg)
{
    struct program *p = arg;

    loop_touch(p->loop);
    if (!read_output(p))
        event_del(p->on_output);
}

/* ---- its end ---- */

static enum program_result judge(struct program *p, const siginfo_t *end)
{
    bool is_good = end->si_code == CLD_EXITED && end->si_status == 0;

    if (p->is_late)
        return PROGRAM_TIMEOUT; /* on_timeout() has said it */
    if (end->si_code != CLD_EXITED)
        snprintf(p->how, sizeof(p->how), "killed by signal %d", end->si_status);
    else if (!is_good)
        snprintf(p->how, sizeof(p->how), "ended with %d", end->si_status);
    else
        snprintf(p->how, sizeof(p->how), "done");
    say(p, is_good ? p->level : p->level_of_failure, p->how);
    return is_good ? PROGRAM_DONE : PROGRAM_FAILED;
}

static void release(struct program *p)
{
    timer_disarm(&p->loop->timers, &p->timeout);
    event_free(p->on_exit);
    event_free(p->on_output);
    close(p->process_fd);
    close(p->output_fd);
    p->pid = 0;
}

static void on_exit_of_process(int fd, short what, void *arg)
{
    struct program *p = arg;
    enum program_result result;
    siginfo_t end = {0};

    loop_touch(p->loop);
    if (waitid(P_PID, (id_t)p->pid, &end, WEXITED | WNOHANG) || !end.si_pid)
        return;
    read_output(p);
    end_line(p);
    result = judge(p, &end);
    release(p);
    p->on_end(p, result, p->how);
}

static void on_timeout(struct timer *timer)
{
    struct program *p = CONTAINER_OF(timer, struct program, timeout);

    p->is_late = true;
    snprintf(p->how, sizeof(p->how), "not done after %" PRId64 " ms, killed", p->timeout_ms);
    say(p, p->level_of_failure, p->how);
    kill(-p->pid, SIGKILL);
}

/* ---- a process ---- */

static struct event *watch(struct program *p, int fd, event_callback_fn on_readable)
{
    struct event *event = event_new(p->loop->base, fd, EV_READ | EV_PERSIST, on_readable, p);

    if (!event || event_add(event, NULL))
        abort();
    return event;
}

/* 0, or an errno. */
static int spawn(pid_t *pid, const char *const *argv, int output)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGPIPE); /* stays ignored: one that outlives the node prints to nobody */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    error = posix_spawn(pid, argv[0], &files, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* ---- one that waits until its group is known ---- */

/* In the child, whose signals are blocked: waits until `gate` is opened, or closed because the
 * node has died. Only async-signal-safe calls. */
static _Noreturn void become(const char *const *argv, int output, int gate, int failure)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    char go;

    setpgid(0, 0);
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGPIPE) /* as in spawn() */
            sigaction(number, &plain, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (read(gate, &go, 1) != 1)
        _exit(EXIT_FAILURE);
    if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(output, STDERR_FILENO) >= 0)
        execve(argv[0], (char *const *)argv, environ);
    (void)!write(failure, &errno, sizeof(errno));
    _exit(EXIT_FAILURE);
}

/* fork(), but no signal handler of this process runs in the child. */
static pid_t fork_quietly(void)
{
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid)
        sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Opens the gate. 0, or the errno of a failed exec. */
static int let_begin(pid_t pid, int gate, int failure)
{
    int error = 0;

    if (write(gate, "", 1) != 1 || read(failure, &error, sizeof(error)) != sizeof(error))
        return 0; /* it runs, or has been killed meanwhile */
    waitpid(pid, NULL, 0);
    return error;
}

/* As spawn(). posix_spawn() returns the process only when the program has begun; so this forks,
 * which takes longer the more memory the node has. */
static int spawn_behind_gate(struct program *p, const struct program_run *run, int output)
{
    int gate[2], failure[2], error = 0;

    if (pipe2(gate, O_CLOEXEC))
        return errno;
    if (pipe2(failure, O_CLOEXEC)) {
        error = errno;
        close(gate[0]);
        close(gate[1]);
        return error;
    }
    p->pid = fork_quietly();
    if (p->pid == 0) {
        close(gate[1]);
        become(run->argv, output, gate[0], failure[1]);
    }
    error = p->pid < 0 ? errno : 0;
    close(gate[0]);
    close(failure[1]);
    if (!error) {
        setpgid(p->pid, p->pid); /* whoever comes first */
        run->on_group(p, p->pid);
        error = let_begin(p->pid, gate[1], failure[0]);
    }
    close(gate[1]);
    close(failure[0]);
    return error;
}

/* ---- its beginning ---- */

/* 0, or an errno. */
static int begin(struct program *p, const struct program_run *run)
{
    int ends[2], error;

    if (pipe2(ends, O_CLOEXEC))
        return errno;
    error =
        run->on_group ? spawn_behind_gate(p, run, ends[1]) : spawn(&p->pid, run->argv, ends[1]);
    close(ends[1]);
    if (error) {
        p->pid = 0;
        close(ends[0]);
        return error;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p->output_fd = ends[0];
    p->process_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->process_fd < 0)
        abort(); /* out of descriptors for our own child: it could not be reaped */
    return 0;
}

bool program_start(struct program *p, const struct program_run *run)
{
    char text[LINE_MAX_BYTES];
    int error;

    assert(p->pid == 0);
    p->module = run->module;
    snprintf(p->label, sizeof(p->label), "%s", run->label);
    p->level = run->is_quiet ? LEVEL_DEBUG : LEVEL_INFO;
    p->level_of_failure = run->is_quiet ? LEVEL_DEBUG : LEVEL_WARN;
    p->timeout_ms = run->timeout_ms;
    p->lines = 0;
    p->is_late = false;
    error = begin(p, run);
    if (error) {
        snprintf(text, sizeof(text), "%s cannot be run: %s", run->argv[0], strerror(error));
        say(p, run->is_quiet ? LEVEL_DEBUG : LEVEL_ERROR, text);
        errno = error;
        return false;
    }
    p->on_exit = watch(p, p->process_fd, on_exit_of_process);
    p->on_output = watch(p, p->output_fd, on_output);
    timer_arm(&p->loop->timers, &p->timeout, p->timeout_ms);
    return true;
}

void program_init(struct program *p, struct loop *loop,
                  void (*on_end)(struct program *p, enum program_result result,
                                 const char *how))
{
    *p = (struct program){.loop = loop, .on_end = on_end, .line = BUF_INIT};
    timer_init(&p->timeout, on_timeout);
}

void program_fini(struct program *p)
{
    if (p->pid)
        release(p);
    buf_fini(&p->line);
}
