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
 * PROOF OF DEATH. A process that dies closes its connections; but so does one that lives. So
 * an end of file is only a reason to look: PROBING is a few attempts at the same address, at
 * once. What they find:
 *
 *   refused, twice in a row, from two    dead, unless the same process still has a connection
 *   source ports                         of its own to us: nobody listens there any more, and
 *                                        a node listens from before it stands to its very end
 *   an authenticated answer of the same  dead, with the same exception, and at any later time,
 *   name at the same address, by         too: the one listening socket of a node is given to a
 *   another incarnation                  new worker when the old one has been waited for, or
 *                                        was free to be bound again
 *   the same incarnation                 it lives
 *   silence, unreachable, an ICMP        nothing
 *   rejection, another name, another
 *   address of the same host name
 *
 * A refusal counts only while probing, that is right after an authenticated connection was
 * closed; nothing counts after a good-bye, or when no session was told: there is nothing to
 * close then.
 *
 * Who binds the listening socket: the warden, and it hands it down, like those for clients. So
 *   worker dead, warden alive   the warden ends the session after waitpid; a probe waits in the
 *                               kernel's queue for the next worker, another incarnation: proof;
 *   both dead                   nobody holds the socket: refused: proof;
 *   warden dead                 its worker dies with it (PDEATHSIG): as before;
 *   warden frozen, worker dead  no proof: the session times out.
 * Were it the worker's own, a refusal would say less: here it says that both are gone.
 *
 * What can forge it: a firewall that answers a living leader's connections *and* new ones with
 * TCP resets, in both directions; and an address that moves to another machine. Set firewalls
 * to drop, and never let nodes reach one another by a virtual address. A forged proof costs the
 * lease of a living leader, as long as another one is elected before it notices: fencing keeps
 * the data safe even then.
 */
#ifndef DUEQ_HA_PEER_DIAL_H
#define DUEQ_HA_PEER_DIAL_H

#include <sys/socket.h>

#include "base/list.h"
#include "ha/peer_auth.h"
#include "ha/peer_conn.h"
#include "ha/peer_self.h"
#include "ha/resolve.h"

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
    struct sockaddr_storage at; /* where it was connected, or tries to be */
    int at_len;                 /* 0: not known */
    unsigned attempts;          /* in vain, since it was UP; names have several addresses */
    int64_t heard_mono_ms;
    int64_t next_warning_mono_ms;

    /* The process it was last UP with. */
    uint64_t incarnation;         /* 0: none yet */
    struct sockaddr_storage home; /* where that was */
    int home_len;
    struct coord_credentials told; /* session 0: none, or it has said good-bye */

    unsigned probes_left; /* above 0: PROBING */
    unsigned refusals;    /* in a row */
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
