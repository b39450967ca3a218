/* Who scans, in a cluster in which all nodes do (doc/cluster.md): this node's own znode
 * scanners/<node>, and the list of all of them.
 *
 * The own znode is there while this node wants to scan, has its name in the cluster, does not
 * stop, and is not cut off from Redis alone; ZooKeeper deletes it with the session. As far as
 * this session knows, it is THERE, GONE, or UNSURE: an answer was lost, another session still
 * has it, or the list lacks it. An UNSURE znode is read, and its owner decides.
 *
 * The list and its number are reported when they have changed. While ZooKeeper is away nothing
 * is reported, and the last list stands. A node that stops gets the last list without itself,
 * under the same number, as soon as its own znode is known to be gone.
 */
#ifndef DUEQ_HA_LEAD_SCANNERS_H
#define DUEQ_HA_LEAD_SCANNERS_H

#include "ha/lead/membership.h"

#define SCANNERS_MAX VIEW_NODES_MAX

enum scanners_own { SCANNERS_GONE, SCANNERS_THERE, SCANNERS_UNSURE };
enum scanners_call { SCANNERS_CREATE, SCANNERS_DELETE, SCANNERS_READ };

struct scanners {
    struct context *context;
    struct membership *membership;
    bool is_wanted;
    bool is_cut_off; /* Redis answers only other nodes, which scan instead of it (standby.c) */
    bool is_leaving; /* for good */
    int64_t leave_by_boot_ms;

    char own_path[CONTEXT_PATH_MAX];
    enum scanners_own own; /* reset with the session */
    struct coord_request own_request;
    enum scanners_call asked; /* by own_request */
    struct coord_change change;
    int64_t own_retry_boot_ms; /* no call before that, after an answer that does not help */
    bool is_own_denied;

    char list_path[CONTEXT_PATH_MAX];
    struct coord_request list_request;
    bool is_stale;
    int64_t list_retry_boot_ms;
    bool is_list_denied;

    /* The list as last read, sorted; number 0: never read. */
    uint64_t number;
    char names[SCANNERS_MAX][HA_NODE_MAX + 1];
    unsigned count;
    bool is_news; /* not reported yet */

    bool is_mixed; /* a node of the other kind is here: with `shares`, or without */
};

void scanners_init(struct scanners *s, struct context *context, struct membership *m);
void scanners_begin(struct scanners *s);                     /* another session */
void scanners_changed(struct scanners *s, const char *path); /* a watch's notice; "": all */

/* Creates or deletes the own znode; reads the list when it is stale. Without ha_options.shares
 * it only looks for nodes of the other kind. */
void scanners_tick(struct scanners *s, int64_t now_boot_ms);
void scanners_report(struct scanners *s); /* on_scanners, if there is news */

/* Deletes the own znode for good. scanners_has_left() says when to stop waiting: the deletion
 * is acknowledged, the connection is lost, or T/4 is over (half a second at most). */
void scanners_leave(struct scanners *s, int64_t now_boot_ms);
bool scanners_has_left(const struct scanners *s, int64_t now_boot_ms);

bool scanners_have(const struct scanners *s, const char *node); /* as last read */

/* The path that ZooKeeper does not let this node read or write; NULL: none. */
const char *scanners_denied(const struct scanners *s);

#endif
