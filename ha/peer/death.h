/* Is the process dead that was at the other end? What counts as proof, and what does not. Pure.
 *
 * A process that dies closes its connections; but so does one that lives. So an end of file is
 * only a reason to look: PROBING is a few attempts at the same address, at once. What they
 * find:
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
#ifndef DUEQ_HA_PEER_DEATH_H
#define DUEQ_HA_PEER_DEATH_H

#include <sys/socket.h>

#include "ha/peer/conn.h"

struct peer_address {
    struct sockaddr_storage at; /* unused bytes are zero */
    int len;                    /* 0: not known */
};

/* The process that one was connected with last. */
struct peer_watched {
    uint64_t incarnation; /* 0: none yet */
    struct peer_address home;
    struct coord_credentials told; /* session 0: none, or it has said good-bye */
    unsigned probes_left;          /* above 0: PROBING */
    unsigned refusals;             /* in a row */
};

/* A proven one answers; it may be the same. */
void peer_watched_meet(struct peer_watched *w, uint64_t incarnation,
                       const struct peer_address *at);

/* Does it prove that the one before is dead? To be asked first. `is_heard`: that one still has
 * a connection to us. */
bool peer_watched_is_replaced(const struct peer_watched *w, uint64_t incarnation,
                              const struct peer_address *at, bool is_heard);

/* Its connection has ended. True: there is reason to look. */
bool peer_watched_suspect(struct peer_watched *w, enum peer_end how);

enum peer_verdict {
    PEER_LOOK_AGAIN, /* in peer_watched_wait_ms() */
    PEER_NOT_PROVEN, /* probing is over */
    PEER_DEAD,       /* so it is here */
};

/* An attempt has ended before anybody answered, while probing. */
enum peer_verdict peer_watched_probed(struct peer_watched *w, enum peer_end how, bool is_heard);
int64_t peer_watched_wait_ms(const struct peer_watched *w);

#endif
