/* The worker as the warden sees it: a child that beats.
 *
 * Forked, not executed: it starts in a millisecond, with the configuration the warden has and
 * with the listening sockets. It dies with the warden (PDEATHSIG), so there is never one that
 * nobody watches.
 */
#ifndef DUEQ_NODE_WARDEN_WORKER_H
#define DUEQ_NODE_WARDEN_WORKER_H

#include "ha/coord/coordinator.h"
#include "node/warden_child.h"

struct worker {
    struct child child;
    int channel_fd;                   /* -1: no process */
    struct coord_credentials session; /* what it would leave behind; number 0: nothing */
    int64_t address_until_boot_ms;    /* it may have the virtual address; 0: it may not */
    bool is_alone;                    /* it led, and knew of nobody who would take over */
    pid_t program;     /* a group of processes that must not outlive it; 0: none */
    bool is_store_up;  /* this one has said so */
    bool store_was_up; /* some worker has said so: store and configuration fit */

    /* In the new process: closes what is the warden's, and does the work. Returns the exit
     * code. `channel_fd` is its own end. */
    int (*run)(void *arg, int channel_fd);
    void *arg;
};

void worker_init(struct worker *w, int (*run)(void *arg, int channel_fd), void *arg);
void worker_fini(struct worker *w);

/* To be called when channel_fd can be read. */
void worker_read_channel(struct worker *w, int64_t now_mono_ms);

/* child_exited(), and the end of the channel. `session` is then what the dead one left. */
void worker_exited(struct worker *w, const char *how, int64_t now_mono_ms);

#endif
