/* Tells a supervisor like systemd over $NOTIFY_SOCKET (sd_notify(3)) how the node is. Without
 * that socket nothing happens.
 *
 *   READY=1      the worker has reached its store and, in a cluster, joined; or it has worked
 *                for NOTIFIER_PATIENCE_MS without that: requests wait then, the node heals by
 *                itself, and a supervisor that kills a late node only delays the healing. Never
 *                before an embedded Redis answers, which may load its data for long
 *   RELOADING=1  SIGHUP, and READY=1 when the configuration has been read again
 *   STOPPING=1   the first request to stop
 *   STATUS=      for people: what the node does or waits for, whenever that changes
 *   WATCHDOG=1   twice per $WATCHDOG_USEC, while the warden's loop turns and no child survives
 *                SIGKILL
 */
#ifndef DUEQ_NODE_WARDEN_NOTIFY_H
#define DUEQ_NODE_WARDEN_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "node/warden/child.h"

#define NOTIFY_RETRY_MS   100
#define NOTIFY_UNSENT_MAX 1024

struct notify {
    int fd; /* -1: nobody listens */
    struct sockaddr_un to;
    socklen_t to_len;
    int64_t watchdog_ms; /* how often it is told; 0: it is not wanted */
    int64_t next_mono_ms;
    char unsent[NOTIFY_UNSENT_MAX]; /* the supervisor reads too slowly: waits for the next tick
                                     */
};

/* "READY=1", "STATUS=...", several with \n between. Never blocks. */
void notify_send(struct notify *n, const char *text);

#define NOTIFIER_PATIENCE_MS 5000

/* The facts of this moment. */
struct notifier_facts {
    bool is_stopping;
    bool waits_for_redis; /* the embedded one */
    enum child_state worker;
    enum child_state redis; /* CHILD_IDLE also where there is none */
    bool is_store_up;       /* for this worker */
};

struct notifier {
    struct notify notify;
    bool is_ready;         /* has been said */
    bool is_stopping;      /* has been said */
    int64_t works_mono_ms; /* since when the worker has worked; -1: it does not */
    const char *status;    /* said last; NULL: nothing yet */
};

/* Takes $NOTIFY_SOCKET and systemd's other variables out of the environment. */
void notifier_init(struct notifier *t);
void notifier_fini(struct notifier *t);

/* Says what is new. Returns the ms until it wants to be called again, -1: only when something
 * happens. */
int64_t notifier_tick(struct notifier *t, const struct notifier_facts *now,
                      int64_t now_mono_ms);

/* Call before and after the configuration is read again. */
void notifier_reloading(struct notifier *t, int64_t now_mono_us);
void notifier_reloaded(struct notifier *t);

#endif
