/* Facts: the cluster's znodes as last read, and read again when they change.
 *
 * All items and the list of nodes/ are watched. The znodes under nodes/ change with every beat,
 * so they are not watched but read in turn, each once in T. A change, or a lost connection,
 * makes an item stale; the next tick reads it again. An item that is stale, or being read, may
 * be shown, but no decision may rest on it.
 */
#ifndef DUEQ_HA_LEAD_VIEW_H
#define DUEQ_HA_LEAD_VIEW_H

#include "base/buf.h"
#include "ha/rule/control.h"
#include "ha/rule/token.h"
#include "ha/rule/transitions.h"
#include "ha/context.h"

/*    name      znode */
#define VIEW_LIST(X)        \
    X(ENSEMBLE, "ensemble") \
    X(EPOCH, "epoch")       \
    X(LEADER, "leader")     \
    X(MEMBERS, "members")   \
    X(CONTROL, "control")   \
    X(HISTORY, "history")

enum view_item {
#define X(name, znode) VIEW_##name,
    VIEW_LIST(X)
#undef X
        VIEW_ITEMS
};

struct view_znode {
    struct coord_request request;
    struct view *view;
    char path[CONTEXT_PATH_MAX];
    bool is_stale;         /* to be read again */
    bool is_known;         /* was read in this session */
    bool is_denied;        /* the newest read ended DENIED */
    int64_t retry_boot_ms; /* no read before that, after an answer that makes no sense */
    bool exists;
    int32_t version;
    int64_t owner;
};

struct view_node {
    struct view_znode znode;
    bool is_used;
    bool is_listed;        /* in the newest list, though it may not have been read yet */
    struct ha_node node;   /* as last read, also when it has gone; is_member is not set here */
    int64_t timeout_ms;    /* its T; 0: not said, or not valid */
    int64_t since_boot_ms; /* when its present session was first seen */
};

struct view_leader {
    char node[HA_NODE_MAX + 1];
    uint64_t epoch;
    int64_t timeout_ms;
};

#define VIEW_NODES_MAX (PEERS_MAX + 1)

struct view {
    struct context *context;
    struct view_znode items[VIEW_ITEMS];
    struct view_znode list; /* nodes; version and owner are not used */
    struct view_node nodes[VIEW_NODES_MAX];
    unsigned turn; /* the next node to be read */

    /* The contents of the items; valid once they are known. */
    char ensemble[TOKEN_ENSEMBLE_LEN + 1]; /* "": the znode has none */
    uint64_t epoch;
    bool has_epoch; /* false: damaged, or higher than any can be */
    struct view_leader leader;
    char members[PEERS_MAX][HA_NODE_MAX + 1];
    unsigned member_count;
    int64_t members_timeout_ms; /* T of the newest leader; 0: not said */
    struct control control;
    struct transitions history;
};

/* All nodes that are known. */
#define VIEW_EACH_NODE(n, v)                                                           \
    for (const struct view_node *n = (v)->nodes; n < (v)->nodes + VIEW_NODES_MAX; n++) \
        if (!n->is_used) {                                                             \
        } else

void view_init(struct view *v, struct context *c);
void view_forget(struct view *v); /* another session: nothing is known */

/* Reads the stale items. */
void view_tick(struct view *v, int64_t now_boot_ms);

/* A watch's notice makes items stale; "": all. */
void view_changed(struct view *v, const char *path);
void view_refresh(struct view *v, enum view_item item);
void view_refresh_nodes(struct view *v);

/* To be called with each beat: reads the leader's node, which shows its beats, some of the
 * other nodes, and `leader` once a round, in case its watch was lost. */
void view_read_in_turn(struct view *v);

/* Was the item read in this session, and is nothing newer known to be there? */
bool view_is_fresh(const struct view *v, enum view_item item);
bool view_has_leader(const struct view *v); /* as last read */
bool view_leader_is(const struct view *v, int64_t session);

/* The node that leads, as last read; NULL: no node leads, or nothing is known of it. */
const struct view_node *view_leader_node(const struct view *v);

/* The path of a znode that this node is not allowed to read, the most important one; or NULL.
 */
const char *view_denied(const struct view *v);
const char *view_denied_node(const struct view *v);          /* one of nodes/ */
bool view_is_member(const struct view *v, const char *name); /* of an empty list all are */
const struct view_node *view_find(const struct view *v, const char *name); /* or NULL */

/* The longest T of all known nodes, this one and the newest leader included. */
int64_t view_longest_session_ms(const struct view *v);

/* The leader's znode, as far as this session owns it: a fact about ZooKeeper. The role is the
 * decision based on it. */
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
