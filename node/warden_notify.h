/* What a supervisor like systemd is told over $NOTIFY_SOCKET (sd_notify(3)): READY=1,
 * RELOADING=1 and STOPPING=1, STATUS=... for people, and WATCHDOG=1 twice per $WATCHDOG_USEC.
 * Without that socket nothing happens. What is said when, is warden_told.h's.
 */
#ifndef DUEQ_NODE_WARDEN_NOTIFY_H
#define DUEQ_NODE_WARDEN_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

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

/* Takes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID out of the environment: they are for
 * this process alone. A socket that cannot be used is logged, once. */
void notify_init(struct notify *n);
void notify_fini(struct notify *n);

/* "READY=1", "STATUS=...", several with \n between. Never blocks. */
void notify_send(struct notify *n, const char *text);

/* Tells the watchdog, if it is time to and `is_well`. Returns the ms until it wants to be
 * called again; -1: never. */
int64_t notify_tick(struct notify *n, bool is_well, int64_t now_mono_ms);

#endif
