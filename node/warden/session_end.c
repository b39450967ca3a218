#include "node/warden/session_end.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

static struct session_ending *find(struct session_end *e, pid_t pid)
{
    for (unsigned i = 0; i < SESSION_ENDINGS; i++)
        if (e->endings[i].pid == pid)
            return &e->endings[i];
    return NULL;
}

int64_t session_end_wait_ms(const struct session_end *e, int64_t now_mono_ms)
{
    int64_t wait_ms = -1;

    for (unsigned i = 0; i < SESSION_ENDINGS; i++) {
        int64_t left_ms = e->endings[i].since_mono_ms + SESSION_END_WAIT_MS - now_mono_ms;

        if (!e->endings[i].pid)
            continue;
        if (left_ms < 0)
            left_ms = 0;
        if (left_ms > wait_ms)
            wait_ms = left_ms;
    }
    return wait_ms;
}

void session_end_start(struct session_end *e, const struct coord_credentials *whose,
                       int64_t now_mono_ms)
{
    struct session_ending *ending = find(e, 0);
    pid_t pid;

    if (!whose->session)
        return;
    if (!ending) {
        LOG_WARN("warden", "too many sessions to end at once: one runs into its timeout");
        return;
    }
    pid = fork();
    if (pid == 0) {
        e->close_all(e->arg);
        _exit(e->run(e->servers, whose, e->patience_ms) ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    if (pid < 0) {
        LOG_ERROR("warden", "cannot end the worker's session: %s", strerror(errno));
        return;
    }
    *ending = (struct session_ending){.pid = pid, .since_mono_ms = now_mono_ms};
}

bool session_end_exited(struct session_end *e, pid_t pid, int status, int64_t now_mono_ms)
{
    struct session_ending *ending = find(e, pid);

    if (!ending)
        return false;
    ending->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        LOG_INFO("warden", "the worker's session is over, %" PRId64 " ms after its end",
                 now_mono_ms - ending->since_mono_ms);
    else
        LOG_WARN("warden", "the worker's session could not be ended: it runs into its timeout");
    return true;
}
