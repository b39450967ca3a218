/* The listening half of the peer link: tells this process's session to the nodes that watch it,
 * and answers a leader's question.
 *
 * Strangers are few (STRANGERS_MAX, the oldest goes first) and short-lived, so they cannot keep
 * nodes out.
 */
#ifndef DUEQ_HA_PEER_LISTENER_H
#define DUEQ_HA_PEER_LISTENER_H

#include "ha/peer/conn.h"

struct peer_server;

/* Takes over `listen_fd`: bound, listening, non-blocking. It stays open until
 * peer_server_free(), so that no node takes a process that stops gracefully for dead. */
struct peer_server *peer_server_new(const struct peer_self *self, int listen_fd);

/* Not from inside a callback of the port. */
void peer_server_free(struct peer_server *s);
void peer_server_report(struct peer_server *s, const struct coord_credentials *mine);
void peer_server_leave(struct peer_server *s);

/* Is there a connection from this very process? Then it is not dead, in spite of other signs.
 */
bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation);

#endif
