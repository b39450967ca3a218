/* A child process of the warden, as a state machine. Pure: it starts and kills only through
 * `child_ops`, and time is a parameter.
 *
 *             start                   works
 *      IDLE ---------> STARTING --------------> UP
 *       ^               ^  |  |                 | |
 *       |     time over |  |  +------ exit -----+ |
 *       |               |  v                      |
 *       |<---- stop -- BACKOFF <--+               |
 *       |                         |               |
 *       |                         | exit, when    |
 *       |  exit                   | still wanted  |
 *       +------- STOPPING <-------|------ stop ---+   (also from STARTING)
 *       |           | time over, kill             |
 *       |  exit     v             |               |
 *       +-------- KILLED ---------+ <--- silent --+   (also from STARTING)
 *
 *   state     process  it leaves by itself when
 *   IDLE      none     never
 *   STARTING  runs     it says that it works; it is silent for too long
 *   UP        runs     it is silent for too long
 *   BACKOFF   none     the delay is over
 *   STOPPING  runs     it exits; `stop_timeout_ms` is over
 *   KILLED    runs     it exits, which SIGKILL makes it do
 *
 * BACKOFF and KILLED are entered with a warning in the log.
 *
 * The delay before a new start grows with each exit, and begins anew after one that had
 * worked for CHILD_STEADY_MS.
 */
#ifndef DUEQ_NODE_WARDEN_CHILD_H
#define DUEQ_NODE_WARDEN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ha/coord/coordinator.h"

#define CHILD_STEADY_MS        1000
#define CHILD_BACKOFF_FIRST_MS 10

enum child_state {
    CHILD_IDLE,
    CHILD_STARTING,
    CHILD_UP,
    CHILD_BACKOFF,
    CHILD_STOPPING,
    CHILD_KILLED,
};

struct child;

struct child_ops {
    /* Starts the process; -1, with errno, when the system cannot. */
    pid_t (*spawn)(struct child *c);
    void (*send)(struct child *c, int signal);
};

struct child {
    const char *name;
    const struct child_ops *ops;
    int64_t stop_timeout_ms;
    int64_t silence_max_ms;  /* 0: it may be silent */
    int64_t hang_by_mono_ms; /* a silent child is killed then, if sooner; 0: not asked for */
    int64_t backoff_max_ms;

    enum child_state state;
    bool is_wanted;        /* from child_start to child_stop */
    bool was_up;           /* ever */
    bool was_up_at_stop;   /* a child that worked must end well; one that never did need not */
    pid_t pid;             /* 0: no process */
    unsigned exits;        /* in a row, see CHILD_STEADY_MS */
    int64_t since_mono_ms; /* when it came into this state */
    int64_t lived_mono_ms; /* last sign of life, or the start */
    int64_t heard_mono_ms; /* from then its silence counts: the same, or child_begin_anew() */
    int64_t until_mono_ms; /* BACKOFF and STOPPING: when the time is over */
};

/* The delay before the start that follows the `exits`th exit in a row. */
int64_t child_backoff_ms(unsigned exits, int64_t max_ms);

/* Only when IDLE. */
void child_start(struct child *c, int64_t now_mono_ms);

/* Ends in IDLE, at once when there is no process. Harmless twice. */
void child_stop(struct child *c, const char *reason, int64_t now_mono_ms);

/* No patience any more: SIGKILL to a child that is being stopped. */
void child_kill(struct child *c, const char *reason, int64_t now_mono_ms);

/* A sign of life; `works` when it does what it is there for. */
void child_heard(struct child *c, bool works, int64_t now_mono_ms);

/* Its silence counts from now: the caller itself stood still, and could not hear it. */
void child_begin_anew(struct child *c, int64_t now_mono_ms);

/* waitpid() has returned its pid; `how` is for the log. */
void child_exited(struct child *c, const char *how, int64_t now_mono_ms);

/* Does what the time asks for. Returns the ms until it wants to be called again, -1: none. */
int64_t child_tick(struct child *c, int64_t now_mono_ms);

/* The worker as the warden sees it: a child that beats.
 *
 * Forked, not executed: it starts in a millisecond, with the configuration the warden has and
 * with the listening sockets. It dies with the warden (PDEATHSIG), so there is never one that
 * nobody watches.
 */

struct worker_child {
    struct child child;
    int channel_fd;                   /* -1: no process */
    struct coord_credentials session; /* its death would leave it behind; number 0: none */
    int64_t address_until_boot_ms;    /* it may have the virtual address; 0: it may not */
    bool has_no_successor;            /* it led, and knew of nobody who would take over */
    pid_t program;     /* a group of processes that must not outlive it; 0: none */
    bool is_store_up;  /* this one has said so */
    bool store_was_up; /* some worker has said so: store and configuration fit */

    /* In the new process: closes the warden's descriptors, and does the work. Returns the exit
     * code. `channel_fd` is the worker's end. */
    int (*run)(void *arg, int channel_fd);
    void *arg;
};

void worker_child_init(struct worker_child *w, int (*run)(void *arg, int channel_fd),
                       void *arg);
void worker_child_fini(struct worker_child *w);

/* To be called when channel_fd can be read. */
void worker_child_read_channel(struct worker_child *w, int64_t now_mono_ms);

/* child_exited(), and closes the channel. `session` is then the one that the dead worker left.
 */
void worker_child_exited(struct worker_child *w, const char *how, int64_t now_mono_ms);

#endif
