/* The listening half of the peer link: tells this process's session to the nodes that watch it,
 * and answers a leader's question.
 *
 * Strangers are few (STRANGERS_MAX, the oldest goes first) and short-lived, so they cannot keep
 * nodes out.
 */
#ifndef DUEQ_HA_PEER_LISTENER_H
#define DUEQ_HA_PEER_LISTENER_H

#include "base/list.h"
#include "ha/peer/conn.h"
#include "ha/peer/self.h"

/* A connection that another node, or a stranger, has dialed.
 *
 *      accepted --> GREETING --hello--> PROVING --right proof--> UP
 *                       |                  |                      |
 *                       +---- 2 s, garbage, wrong proof ----------+---- silence, garbage
 *
 * Before UP an inbound peer is a stranger: it gets this node's name, a random number, and no
 * more. From UP on it gets this process's session, and answers to its questions.
 */

struct peer_inbound;

/* Shared by all inbound peers. */
struct peer_host {
    const struct peer_self *self;
    struct coord_credentials mine; /* session 0: none yet */
    bool is_leaving;
    int64_t next_warning_mono_ms;

    bool (*has_room)(const struct peer_host *h); /* for one more authenticated peer */
    void (*on_proven)(struct peer_inbound *g);   /* right before it is UP */
    void (*on_end)(struct peer_inbound *g);      /* closed, not freed yet */
};

enum peer_inbound_state { INBOUND_GREETING, INBOUND_PROVING, INBOUND_UP };

struct peer_inbound {
    struct peer_conn conn;
    struct list link; /* the host's */
    struct peer_host *host;
    enum peer_inbound_state state;
    struct peer_hellos hellos;
    struct timer timer; /* strangers: the handshake's deadline; UP: the limit of silence */
};

struct peer_server;

/* Takes over `listen_fd`: bound, listening, non-blocking. It stays open until
 * peer_server_free(), so that no node takes a process that stops gracefully for dead. */
struct peer_server *peer_server_new(const struct peer_self *self, int listen_fd);

/* Not from inside a callback of the port. */
void peer_server_free(struct peer_server *s);
void peer_server_tell(struct peer_server *s, const struct coord_credentials *mine);
void peer_server_leave(struct peer_server *s);

/* Is there a connection from this very process? Then it is not dead, in spite of other signs.
 */
bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation);

#endif
