/* The role of this node in its cluster. One enter() changes the role, logs and reports it.
 *
 *     OFFLINE --1--> STANDBY --2--> LEADER --3--> DRAINING
 *        |  <---4---    |  <---5---   |  <---6---    |
 *        |              |             |              |
 *        |              <-----------7----------------+
 *        <----------------8-----------+--------------+
 *        +----------------9----------->
 *
 *     1 joined                     5 fenced, other ensemble, deposed
 *     2 elected, forced, resumed   6 not taken
 *     3 stopping, switchover,      7 handed over; as 5
 *       preferred, store away,     8 lease over, expired; from DRAINING also stopping
 *     4 disconnected, expired,     9 resumed
 *       stopping
 *
 *   OFFLINE   does not act: it has no session, or one that proves nothing now. It may still own
 *             the leader's znode; it becomes LEADER again when the znode and a lease are proven
 *   STANDBY   does not act; registered under its name, watches the leader, may be elected. If
 *             Redis follows another ensemble, it keeps the leader's znode and tries again
 *   LEADER    owns the leader's znode with this token. It acts while its lease lasts, and
 *             nobody else has a lease meanwhile
 *   DRAINING  starts nothing new; still owns the znode, so that nobody else acts before it is
 *             done. Lasts a second at most
 *
 * A tick decides the role. Whether a LEADER may act at this very moment depends on its lease
 * (ha_may_act).
 */
#ifndef DUEQ_HA_RULE_ROLE_H
#define DUEQ_HA_RULE_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/rule/token.h"

#define ROLE_DRAINING_MAX_MS 1000

/*    name      word */
#define ROLE_LIST(X)      \
    X(OFFLINE, "offline") \
    X(STANDBY, "standby") \
    X(LEADER, "leader")   \
    X(DRAINING, "draining")

enum role_state {
#define X(name, word) ROLE_##name,
    ROLE_LIST(X)
#undef X
        ROLE_COUNT
};

/*    name          word            text for people */
#define ROLE_REASON_LIST(X)                                                                 \
    X(STARTED, "started", "the node has just started")                                      \
    X(JOINED, "joined", "registered in the cluster")                                        \
    X(ELECTED, "elected", "there was no leader")                                            \
    X(FORCED, "forced", "an operator forced it")                                            \
    X(RESUMED, "resumed", "the lease is proven again and the lead was never given away")    \
    X(LEASE_OVER, "lease_over", "ZooKeeper did not prove the lease in time")                \
    X(DISCONNECTED, "disconnected", "the session's connection is lost")                     \
    X(EXPIRED, "expired", "ZooKeeper has ended the session")                                \
    X(DEPOSED, "deposed", "the leader's znode is another's")                                \
    X(FENCED, "fenced", "Redis has seen a higher token")                                    \
    X(OTHER_ENSEMBLE, "other_ensemble", "Redis follows another ZooKeeper ensemble")         \
    X(SWITCHOVER, "switchover", "an operator wants another leader")                         \
    X(PREFERRED, "preferred", "a node of higher priority is there")                         \
    X(STORE_AWAY, "store_away", "its Redis does not answer, another node's does")           \
    X(ADDRESS_AWAY, "address_away", "it cannot have the virtual address, another node can") \
    X(HANDED_OVER, "handed_over", "the lead was given away gracefully")                     \
    X(NOT_TAKEN, "not_taken", "nobody took the lead over")                                  \
    X(STOPPING, "stopping", "the node stops")

enum role_reason {
#define X(name, word, text) ROLE_##name##_REASON,
    ROLE_REASON_LIST(X)
#undef X
        ROLE_REASON_COUNT
};

struct role {
    enum role_state state;
    enum role_reason reason; /* of the last change */
    /* LEADER and DRAINING: its own token; else its last one. Set before LEADER is entered. */
    struct token token;
    int64_t since_boot_ms;                           /* of the last change */
    uint64_t entered[ROLE_COUNT][ROLE_REASON_COUNT]; /* since start */
    void (*on_change)(struct role *role, enum role_state before);
};

void role_init(struct role *r, void (*on_change)(struct role *role, enum role_state before));

/* Changes the role, logs it, and calls on_change last. A change that is no arrow of the diagram
 * is a bug of ours, and aborts. */
void role_enter(struct role *r, enum role_state to, enum role_reason why, int64_t now_boot_ms);

const char *role_word(enum role_state state);
const char *role_reason_word(enum role_reason reason);

#endif
