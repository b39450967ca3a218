/* Proving to another node that one knows the cluster's secret, without saying it.
 *
 * Each side's proof is an HMAC-SHA256 under the secret over all that both have said: which side
 * it is, both names, both incarnations, both random challenges. So a recorded proof fits no
 * second conversation, a listener's proof cannot be used as a dialer's, and nobody can pass on
 * a conversation with one node as one with another.
 *
 * The one file that sees libcrypto.
 */
#ifndef DUEQ_HA_PEER_AUTH_H
#define DUEQ_HA_PEER_AUTH_H

#include "ha/peer/wire.h"

enum peer_side { PEER_DIALER, PEER_LISTENER };

/* Both hellos of one conversation. */
struct peer_hellos {
    struct peer_message of[2]; /* by side */
};

/* The proof that `side` has to give. */
void peer_auth_prove(const char *secret, enum peer_side side, const struct peer_hellos *hellos,
                     unsigned char mac[PEER_MAC_BYTES]);

/* Is it that proof? Takes the same time for every answer. */
bool peer_auth_is_proven(const char *secret, enum peer_side side,
                         const struct peer_hellos *hellos,
                         const unsigned char mac[PEER_MAC_BYTES]);

/* Fit for challenges; aborts when the system has no randomness. */
void peer_auth_random(void *at, size_t len);

#endif
