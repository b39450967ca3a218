/* Is the process at the other end dead? The rules of what counts as proof. Pure.
 *
 * A process that dies closes its connections, but a living process may do so, too. So an end of
 * file is only a reason to look: PROBING makes a few attempts at the same address at once.
 * Their outcomes and what they prove:
 *
 *   refused, twice in a row, from two    dead, unless the same process still has a connection
 *   source ports                         of its own to us: nobody listens there any more, and
 *                                        a node listens from before it campaigns to its end
 *   an authenticated answer of the same  dead, with the same exception, and at any later time,
 *   name at the same address, by         too: a node's one listening socket goes to a new
 *   another incarnation                  worker only after waitpid for the old one, or was free
 *                                        to be bound again
 *   the same incarnation                 it lives
 *   silence, unreachable, an ICMP        nothing
 *   rejection, another name, another
 *   address of the same host name
 *
 * A refusal counts only while probing, that is, right after an authenticated connection was
 * closed. Nothing counts after a good-bye, or if the process told no session: then there is no
 * session to end.
 *
 * The warden binds the listening socket and hands it down to its worker, like those for
 * clients. So a refusal says that both are gone:
 *   worker dead, warden alive   the warden ends the session after waitpid; a probe waits in the
 *                               kernel's queue for the next worker, another incarnation: proof
 *   both dead                   nobody holds the socket: refused: proof
 *   warden dead                 its worker dies with it (PDEATHSIG): as both dead
 *   warden frozen, worker dead  no proof: the session times out
 *
 * Two things can forge a proof: a firewall that answers a living leader's connections *and* new
 * ones with TCP resets, in both directions; and an address that moves to another machine. Set
 * firewalls to drop, and never let nodes reach one another by a virtual address. A forged proof
 * costs a living leader its lease if another node is elected before the leader notices; fencing
 * keeps the data safe even then.
 */
#ifndef DUEQ_HA_PEER_DEATH_H
#define DUEQ_HA_PEER_DEATH_H

#include <sys/socket.h>

#include "ha/peer/conn.h"

struct peer_address {
    struct sockaddr_storage at; /* unused bytes are zero */
    int len;                    /* 0: not known */
};

/* The process at the other end, as last connected. */
struct peer_watched {
    uint64_t incarnation; /* 0: none yet */
    struct peer_address home;
    struct coord_credentials reported; /* its session; 0: none, or it has said good-bye */
    unsigned probes_left;              /* above 0: PROBING */
    unsigned refusals;                 /* in a row */
};

/* Notes an authenticated process, the same one as before or another. */
void peer_watched_meet(struct peer_watched *w, uint64_t incarnation,
                       const struct peer_address *at);

/* Does the process that answers prove that the watched one is dead? To be asked before
 * peer_watched_meet(). `is_heard`: the watched process still has a connection to us. */
bool peer_watched_is_replaced(const struct peer_watched *w, uint64_t incarnation,
                              const struct peer_address *at, bool is_heard);

/* The connection has ended. True: probing begins. */
bool peer_watched_suspect(struct peer_watched *w, enum peer_end how);

enum peer_verdict {
    PEER_LOOK_AGAIN, /* after peer_watched_wait_ms() */
    PEER_NOT_PROVEN, /* probing is over */
    PEER_DEAD,       /* probing is over, with proof */
};

/* An attempt of PROBING has ended without an answer. */
enum peer_verdict peer_watched_probed(struct peer_watched *w, enum peer_end how, bool is_heard);
int64_t peer_watched_wait_ms(const struct peer_watched *w);

#endif
