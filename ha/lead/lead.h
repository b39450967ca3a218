/* The leader's znode, as far as this session owns it: a fact about ZooKeeper. The role is the
 * decision based on it. */
#ifndef DUEQ_HA_LEAD_LEAD_H
#define DUEQ_HA_LEAD_LEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/rule/token.h"

struct lead {
    bool is_mine;
    /* A give-away was sent and is not known to have failed: the znode may be gone. This node
     * does not act until a beat has checked that the znode is there. */
    bool is_doubtful;
    bool is_taken_up; /* this node has been LEADER with it: older leases are over */
    struct token token;
    int32_t epoch_version; /* of the znode `epoch`; every write of the leader checks it */
    bool is_forced;
    int32_t done_request; /* version of `control` whose request this lead has ended; -1: none */
    /* Not to act before: the lease of a leader deposed by force may last until then. */
    int64_t from_boot_ms;
};

#endif
