/* What a supervisor like systemd is told over $NOTIFY_SOCKET (sd_notify(3)): READY=1 when the
 * worker works, RELOADING=1 and STOPPING=1, STATUS=... for people, and WATCHDOG=1 twice per
 * $WATCHDOG_USEC, for as long as the warden's loop turns. Without that socket nothing happens.
 */
#ifndef DUEQ_NODE_WARDEN_NOTIFY_H
#define DUEQ_NODE_WARDEN_NOTIFY_H

#include <stdint.h>

struct notify {
    int fd;              /* -1: nobody listens */
    int64_t watchdog_ms; /* 0: none is wanted */
    int64_t next_mono_ms;
};

/* Takes the two variables out of the environment: they are for this process alone. */
void notify_init(struct notify *n);
void notify_fini(struct notify *n);

/* "READY=1", "STATUS=...", several with \n between. Never blocks. */
void notify_send(struct notify *n, const char *text);

/* Returns the ms until it wants to be called again; -1: never. */
int64_t notify_tick(struct notify *n, int64_t now_mono_ms);

#endif
