/* This node's own znode, and who may campaign.
 *
 * Joining creates the znodes that the cluster lacks, one after the other, and nodes/<node>
 * last, which lives as long as the session. If nodes/<node> is there already, it belongs to
 * another session: that of this node's earlier process, which ends soon, or that of another
 * machine with the same name, which does not.
 *
 * `members` lists the nodes that may campaign. The first election creates the list, leaders add
 * names, `forget` removes a name. A name counts from the moment at which its addition is sent.
 * `members` also has the newest leader's T: a node that starts waits 2T/3, because it may have
 * promised to that leader. A leader writes its T when older leases are over.
 */
#ifndef DUEQ_HA_LEAD_MEMBERSHIP_H
#define DUEQ_HA_LEAD_MEMBERSHIP_H

#include "ha/lead/view.h"
#include "ha/rule/failsafe.h"

struct membership {
    struct context *context;
    struct view *view;
    bool store_up;
    bool is_fenced; /* this one and the next are in the own znode, too */
    bool is_address_away;
    bool is_store_known;
    int64_t register_boot_ms; /* waits until then for is_store_known; reset with the session */

    struct coord_request request; /* creates a parent, or nodes/<node> */
    struct coord_change change;
    char path[CONTEXT_PATH_MAX];
    struct buf text;
    unsigned step; /* the next znode to be created; reset with the session */
    bool is_registered;
    bool lacks_parent; /* a parent that the view does not read was found missing */
    int64_t retry_boot_ms;

    int64_t rival; /* the session that has our name; 0: none */
    int64_t rival_since_boot_ms;
    bool is_duplicate; /* the rival stays for 2T, though there is a quorum */
    bool is_denied;    /* the newest write ended DENIED: the znodes have other credentials */

    struct coord_request adding;
    struct coord_change add[2];
    struct buf add_text;
    int64_t add_boot_ms; /* no addition before that, after one that failed */
    /* Names added by this node and not read back yet. */
    char proposed[PEERS_MAX][HA_NODE_MAX + 1];
    unsigned proposed_count;
};

void membership_init(struct membership *m, struct context *c, struct view *v);
void membership_fini(struct membership *m);
void membership_begin(struct membership *m); /* another session */

/* Registers this node; as the leader, adds the nodes that are here. Beats keep nodes/<node> up
 * to date. */
void membership_tick(struct membership *m, const struct lead *lead, int64_t now_boot_ms);

/* Prints the text of nodes/<node> with beat number `beat`; 0: no beat yet. */
void membership_print(const struct membership *m, uint64_t beat, struct buf *text);

/* Are the znodes that all nodes share there, as far as this session knows? */
bool membership_has_parents(const struct membership *m);

/* Are all parents there, and another session has this node's name? Most often that is the
 * node's own earlier session. */
bool membership_waits_for_name(const struct membership *m);

/* nodes/<node> was found missing. */
void membership_lost(struct membership *m);

/* Prints `members` with T, all members and all nodes that are here; those count from now on. */
void membership_propose(struct membership *m, int64_t session_ms, struct buf *text);

/* Is the list known, and this node on it? If not, nodes that this one does not know may
 * campaign.
 */
bool membership_is_listed(const struct membership *m);

/* Is a node here that cannot become a member, because the list is full? */
bool membership_is_full(const struct membership *m);

/* Adds to `f` every other node that may campaign, as far as this node can know. */
void membership_add_others(const struct membership *m, struct failsafe *f);

/* Is the node here, a member, with a Redis that answers, and not barred by no_failover? */
bool membership_can_lead(const struct membership *m, const struct ha_node *n, bool is_wanted);

/* Is it another node that can lead without being wanted by an operator? */
bool membership_is_candidate(const struct membership *m, const struct view_node *n);

/* The best other node that can lead: by priority, then by name. NULL: none. */
const struct ha_node *membership_best(const struct membership *m);

#endif
