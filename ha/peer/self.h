/* Shared by all parts of the peer link: this process's identity, and the limit of warnings. */
#ifndef DUEQ_HA_PEER_SELF_H
#define DUEQ_HA_PEER_SELF_H

#include "base/loop.h"
#include "ha/peer/wire.h"

#define PEER_WARNING_MS 60000 /* between two warnings about the same */

struct peer_self {
    struct loop *loop;
    struct peers *port;
    const char *node;
    const char *secret;
    uint64_t incarnation; /* of this process */
    int64_t handshake_ms; /* limit from the first packet to the last proof */
    int64_t silence_ms;   /* a connection silent for this time is closed */
};

/* The interval at which both ends beat. */
static inline int64_t peer_beat_ms(const struct peer_self *self)
{
    return self->silence_ms / 4;
}

/* Is it time for another warning? Each subject of warnings has its `next_mono_ms`, 0 at first.
 */
static inline bool peer_may_warn(const struct peer_self *self, int64_t *next_mono_ms)
{
    int64_t now = timers_now(&self->loop->timers);

    if (now < *next_mono_ms)
        return false;
    *next_mono_ms = now + PEER_WARNING_MS;
    return true;
}

#endif
