/* The dialing half of the peer link: watches one other node, and asks it.
 *
 *              address            connected           its hello            its proof
 *   RESOLVING ---------> CONNECTING -------> GREETING ---------> PROVING ------------> UP
 *       ^                    ^ |                |                   |                  |
 *       |       after 0 to   | |                |                   |                  |
 *       |       80 ms        | +----------------+-------------------+                  |
 *       |                    |                  |                                      |
 *       +------ WAITING -----+ <----------------+---- closed, refused, silent, 2 s ----+
 *            20 ms to 1 s
 *
 * An end of file is a reason to look at once whether the process is dead: then WAITING goes
 * straight to CONNECTING, a few times. What that proves is written in death.h.
 */
#ifndef DUEQ_HA_PEER_DIALER_H
#define DUEQ_HA_PEER_DIALER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/resolve.h"
#include "ha/peer/conn.h"
#include "ha/peer/death.h"
#include "ha/peer/self.h"

/* The wait after so many failed attempts: 20 ms, doubled each time, 1 s at most; of that by
 * chance between a half and all, so that nodes that lost one another do not meet in step. */
int64_t peer_retry_ms(unsigned attempts);

/* A name may have several addresses ("address:port,[address]:port"): each attempt takes the
 * next one. False when there is none. */
bool peer_retry_address(const char *servers, unsigned attempts, struct sockaddr_storage *at,
                        int *at_len);

struct peer_server;

enum peer_dial_state {
    DIAL_WAITING,
    DIAL_RESOLVING,
    DIAL_CONNECTING,
    DIAL_GREETING,
    DIAL_PROVING,
    DIAL_UP
};

struct peer_dial {
    const struct peer_self *self;
    const struct peer_server *server; /* whom it hears */
    struct list link;                 /* the owner's */
    struct peer_name who;

    enum peer_dial_state state;
    struct peer_conn conn;
    struct resolve resolve;
    struct timer timer; /* WAITING: the next attempt; UP: the next beat; else: patience */
    struct peer_hellos hellos;
    struct peer_address at; /* where it was connected, or tries to be */
    unsigned attempts;      /* failed ones, since it was UP; names have several addresses */
    int64_t heard_mono_ms;
    int64_t next_warning_mono_ms;
    struct peer_watched watched; /* the process it was last UP with */
};

/* Starts in the next turn. Both are borrowed for its life. */
void peer_dial_init(struct peer_dial *d, const struct peer_self *self,
                    const struct peer_server *server, const struct peer_name *who);

/* Ends it; its memory must last for this turn of the loop. Then peer_dial_fini(). */
void peer_dial_stop(struct peer_dial *d);
void peer_dial_fini(struct peer_dial *d);

/* Only when UP; else it is lost. */
void peer_dial_ask(struct peer_dial *d, const struct peer_question *question);

#endif
