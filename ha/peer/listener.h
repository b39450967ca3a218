/* The listening half of the peer link: tells those who watch this process, and answers a
 * leader's question. What is said on one connection, and to whom, is in guest.h.
 *
 * Strangers are few (STRANGERS_MAX, the oldest goes first) and short-lived, so they cannot keep
 * the others out.
 */
#ifndef DUEQ_HA_PEER_LISTENER_H
#define DUEQ_HA_PEER_LISTENER_H

#include "ha/peer/self.h"

struct peer_server;

/* Takes `listen_fd`: bound, listening, non-blocking. It is open until peer_server_free(), so
 * that nobody takes a process for dead that is stopping in order. */
struct peer_server *peer_server_new(const struct peer_self *self, int listen_fd);

/* Not from inside a callback of the port. */
void peer_server_free(struct peer_server *s);

void peer_server_tell(struct peer_server *s, const struct coord_credentials *mine);
void peer_server_leave(struct peer_server *s);

/* Is there a connection from this very process? Then it is not dead, whatever else is heard. */
bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation);

#endif
