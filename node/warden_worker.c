#include "node/warden_worker.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/list.h"
#include "node/warden_channel.h"

static void close_channel(struct worker *w)
{
    if (w->channel_fd >= 0)
        close(w->channel_fd);
    w->channel_fd = -1;
}

/* In the child; never returns. A process group of its own: Ctrl-C is for the warden. */
static void become_worker(struct worker *w, pid_t warden, int channel_fd)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != warden)
        _exit(EXIT_FAILURE); /* the warden died before it could be noticed */
    exit(w->run(w->arg, channel_fd));
}

static pid_t spawn(struct child *c)
{
    struct worker *w = CONTAINER_OF(c, struct worker, child);
    pid_t warden = getpid(), pid;
    int worker_fd;

    close_channel(w);
    w->session = (struct coord_credentials){0};
    w->address_until_boot_ms = 0;
    w->is_alone = false;
    w->program = 0;
    w->is_store_up = false;
    if (channel_open(&w->channel_fd, &worker_fd) != STATUS_OK)
        return -1;
    pid = fork();
    if (pid == 0) {
        close_channel(w);
        become_worker(w, warden, worker_fd);
    }
    close(worker_fd);
    return pid;
}

static void send_signal(struct child *c, int number)
{
    kill(c->pid, number);
}

static const struct child_ops ops = {.spawn = spawn, .send = send_signal};

void worker_init(struct worker *w, int (*run)(void *arg, int channel_fd), void *arg)
{
    *w = (struct worker){
        .child = {.name = "worker", .ops = &ops}, .channel_fd = -1, .run = run, .arg = arg};
}

void worker_fini(struct worker *w)
{
    close_channel(w);
}

static void heed(struct worker *w, const struct channel_message *m, int64_t now_mono_ms)
{
    child_heard(&w->child, true, now_mono_ms);
    if (m->kind == CHANNEL_STORE_UP)
        w->is_store_up = w->store_was_up = true;
    else if (m->kind == CHANNEL_SESSION)
        w->session = m->session;
    else if (m->kind == CHANNEL_ADDRESS)
        w->address_until_boot_ms = m->until_boot_ms;
    else if (m->kind == CHANNEL_ALONE)
        w->is_alone = m->is_alone;
    else if (m->kind == CHANNEL_PROGRAM)
        w->program = m->group;
}

void worker_read_channel(struct worker *w, int64_t now_mono_ms)
{
    struct channel_message message;

    while (w->channel_fd >= 0 && channel_receive(w->channel_fd, &message))
        heed(w, &message, now_mono_ms);
}

void worker_exited(struct worker *w, const char *how, int64_t now_mono_ms)
{
    worker_read_channel(w, now_mono_ms); /* its last words */
    close_channel(w);
    child_exited(&w->child, how, now_mono_ms);
}
