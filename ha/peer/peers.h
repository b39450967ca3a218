/* The other nodes, without ZooKeeper between: a port, real as link.c, faked in simulation.
 *
 * Each node keeps a connection to each other one that it knows. It serves two ends only:
 *
 *   proof of death: the connection to a node ended and the next attempt was refused, or another
 *     process (another incarnation) answers there: that process is dead, and its session may be
 *     closed. A closed connection proves nothing, nor does silence;
 *
 *   failsafe: while ZooKeeper is away a leader asks all members whether it may go on.
 *
 * Nothing here decides anything; all facts go to ha.c.
 */
#ifndef DUEQ_HA_PEER_PEERS_H
#define DUEQ_HA_PEER_PEERS_H

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
    int64_t session_ms; /* the asker's T, by which it counts */
};

struct peers;

struct peers_ops {
    void (*set)(struct peers *p, const struct peer_name *names, unsigned count);
    void (*tell)(struct peers *p, const struct coord_credentials *mine);
    void (*ask)(struct peers *p, const struct peer_question *question);
    void (*leave)(struct peers *p);
};

struct peers {
    const struct peers_ops *ops;

    /* Set by the user before anything else. None is called from inside an operation. */

    /* The process that had these credentials is dead: proven. */
    void (*on_death)(struct peers *p, const char *name, const struct coord_credentials *dead);
    /* Another node asks. Answer true for a promise not to stand for write_lease_promise_ms()
     * of its T from now on. */
    bool (*on_question)(struct peers *p, const char *name,
                        const struct peer_question *question);
    /* Another node has promised, in answer to the question with this number. */
    void (*on_promise)(struct peers *p, const char *name, uint64_t seq);
    void *user;
};

/* All other nodes there are now; connections to others end, and prove nothing. */
void peers_set(struct peers *p, const struct peer_name *names, unsigned count);

/* This process's session, told to all who are connected, or will be. */
void peers_tell(struct peers *p, const struct coord_credentials *mine);

/* To all who are connected. */
void peers_ask(struct peers *p, const struct peer_question *question);

/* Good-bye: from now on this process's end proves nothing, because it closes its session
 * itself. */
void peers_leave(struct peers *p);

#endif
