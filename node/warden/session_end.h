/* Ends the session that a dead worker has left, so that another node can lead at once instead
 * of after the session's timeout.
 *
 * Only after waitpid() has returned the worker: ending the session of a leader that lives would
 * void its lease. A child process of its own does it, because it talks to servers that may be
 * slow, and the warden waits for nobody. That child outlives even the warden; it ends by itself
 * when the session would have ended by itself, too.
 */
#ifndef DUEQ_NODE_WARDEN_SESSION_END_H
#define DUEQ_NODE_WARDEN_SESSION_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ha/coord/coordinator.h"

#define SESSION_ENDINGS     4 /* children at the same time; more are not started */
#define SESSION_END_WAIT_MS 1000

struct session_end {
    const char *servers; /* "host:port,..."; borrowed */
    int64_t patience_ms; /* the session's timeout */
    /* zk_end_session_run(): 0 when the session is over. */
    int (*run)(const char *servers, const struct coord_credentials *whose, int64_t deadline_ms);
    /* In the child: closes what is the warden's. Listening sockets and locks that it kept would
     * look like a node that lives. */
    void (*close_all)(void *arg);
    void *arg;

    struct session_ending { /* a child that ends a session */
        pid_t pid;          /* 0: none */
        int64_t since_mono_ms;
    } endings[SESSION_ENDINGS];
};

/* Starts a child. Harmless when `whose` is no session. */
void session_end_start(struct session_end *e, const struct coord_credentials *whose,
                       int64_t now_mono_ms);

/* waitpid() has returned `pid`: was it e's child? Says how long it took. */
bool session_end_exited(struct session_end *e, pid_t pid, int status, int64_t now_mono_ms);

/* At a stop: how many ms more to wait for the children; -1: there is none. A child takes some
 * milliseconds where servers answer, and a session timeout where none does. */
int64_t session_end_wait_ms(const struct session_end *e, int64_t now_mono_ms);

#endif
