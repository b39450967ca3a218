/* This node's own znode, and who may stand.
 *
 * Joining creates what the cluster lacks, one znode after the other, and last nodes/<node>,
 * which lives as long as the session. Where that is there already it is an older session's: of
 * this node's earlier process (it ends soon), or of another machine with the same name (it does
 * not).
 *
 * `members` says who may stand. The first election makes the list, leaders add to it, `forget`
 * takes away. A name counts as a member from the moment at which an addition was sent. It also
 * says the newest leader's T: so long (2T/3) whoever starts has to wait, because it may have
 * promised to that one. A leader puts it there when older leases are over.
 */
#ifndef DUEQ_HA_LEAD_MEMBERSHIP_H
#define DUEQ_HA_LEAD_MEMBERSHIP_H

#include "ha/lead/lead.h"
#include "ha/lead/view.h"
#include "ha/rule/promise.h"

struct membership {
    struct context *context;
    struct view *view;
    bool store_up;
    bool is_fenced;       /* said by the own znode, too */
    bool is_address_away; /* the same */
    bool is_store_known;
    int64_t register_boot_ms; /* not before, until it is known; reset with the session */

    struct coord_request request; /* a parent, or nodes/<node> */
    struct coord_change change;
    char path[CONTEXT_PATH_MAX];
    struct buf text;
    unsigned step; /* the next to be created; reset with the session */
    bool is_registered;
    bool lacks_parent; /* one of those that the view does not read was found missing */
    int64_t retry_boot_ms;

    int64_t rival; /* the session that has our name; 0: none */
    int64_t rival_since_boot_ms;
    bool is_duplicate; /* the rival stays for 2T, though there is a quorum */
    bool is_denied; /* the znodes are of other credentials: so the newest write was answered */

    struct coord_request adding;
    struct coord_change add[2];
    struct buf add_text;
    int64_t add_boot_ms; /* not before, after an addition that failed */
    /* Added by this node, and not read back yet. */
    char proposed[PEERS_MAX][HA_NODE_MAX + 1];
    unsigned proposed_count;
};

void membership_init(struct membership *m, struct context *s, struct view *v);
void membership_fini(struct membership *m);
void membership_begin(struct membership *m); /* another session */

/* Registers, and for a leader adds who is here. Beats keep the own znode right. */
void membership_tick(struct membership *m, const struct lead *lead, int64_t now_boot_ms);

/* What nodes/<node> says with beat so many; 0: none yet. */
void membership_print(const struct membership *m, uint64_t beat, struct buf *text);

/* What all share is there, as far as this session knows. */
bool membership_has_parents(const struct membership *m);

/* All parents are there, but another session, most often an earlier one of its own, has its
 * name. */
bool membership_waits_for_name(const struct membership *m);

/* nodes/<node> was found missing. */
void membership_lost(struct membership *m);

/* All that are here or members already, and T, as `members` says it. They count from now on. */
void membership_propose(struct membership *m, int64_t session_ms, struct buf *text);

/* Is the list known, and this node on it? Where it is not, others may stand that are not known.
 */
bool membership_is_listed(const struct membership *m);

/* A node is here that is no member, and cannot become one. */
bool membership_is_full(const struct membership *m);

/* Everybody who may stand, as far as this node can know. */
void membership_tell(const struct membership *m, struct failsafe *f);

/* Here, a member, its Redis answers, and not barred. */
bool membership_can_lead(const struct membership *m, const struct ha_node *n, bool is_wanted);

/* Is that another node, and can it lead without being asked for? */
bool membership_is_candidate(const struct membership *m, const struct view_node *n);

/* The best other node that can lead: by priority, then by name. NULL: none. */
const struct ha_node *membership_best(const struct membership *m);

#endif
