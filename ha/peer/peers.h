/* The other nodes, without ZooKeeper between: a port, real as link.c, faked in simulation.
 *
 * Each node keeps a connection to each other node that it knows, for two purposes only:
 *
 *   proof of death: the connection to a process ended, and the next attempt was refused or was
 *     answered by another process (another incarnation). Then the first process is dead, and
 *     its session may be closed. Neither a closed connection nor silence proves anything;
 *
 *   failsafe: while ZooKeeper is away, a leader asks all members whether it may go on.
 *
 * Nothing here decides anything; all facts go to ha.c.
 */
#ifndef DUEQ_HA_PEER_PEERS_H
#define DUEQ_HA_PEER_PEERS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "ha/coord/coordinator.h"
#include "ha/rule/token.h"

#define PEERS_MAX     64
#define PEER_NAME_MAX 64
#define PEER_ADDR_MAX 128

struct peer_name {
    char name[PEER_NAME_MAX + 1];
    char address[PEER_ADDR_MAX + 1]; /* host:port of its peer link; "": unknown */
};

/* A leader's question. Sequence numbers are the asker's own. */
struct peer_question {
    struct token token;
    uint64_t seq;
    int64_t session_ms; /* the asker's T, from which the length of a promise follows */
};

struct peers;

struct peers_ops {
    void (*set)(struct peers *p, const struct peer_name *names, unsigned count);
    void (*report)(struct peers *p, const struct coord_credentials *mine);
    void (*ask)(struct peers *p, const struct peer_question *question);
    void (*leave)(struct peers *p);
};

struct peers {
    const struct peers_ops *ops;

    /* Set by the user before anything else. None is called from inside an operation. */

    /* The process that had these credentials is proven dead. */
    void (*on_death)(struct peers *p, const char *name, const struct coord_credentials *dead);
    /* Another node asks. Return true to promise not to campaign for write_lease_promise_ms() of
     * its T from now on. */
    bool (*on_question)(struct peers *p, const char *name,
                        const struct peer_question *question);
    /* Another node has promised, in answer to the question with this number. */
    void (*on_promise)(struct peers *p, const char *name, uint64_t seq);
    void *user;
};

/* Sets the list of all other nodes. Connections to nodes not on it end, which proves nothing.
 */
static inline void peers_set(struct peers *p, const struct peer_name *names, unsigned count)
{
    assert(count <= PEERS_MAX);
    p->ops->set(p, names, count);
}

/* Sets this process's session, which is reported to every node that is or will be connected. */
static inline void peers_report(struct peers *p, const struct coord_credentials *mine)
{
    p->ops->report(p, mine);
}

/* Asks all connected nodes. */
static inline void peers_ask(struct peers *p, const struct peer_question *question)
{
    p->ops->ask(p, question);
}

/* Says good-bye: from now on the end of this process proves nothing, because it closes its
 * session itself. */
static inline void peers_leave(struct peers *p)
{
    p->ops->leave(p);
}

#endif
