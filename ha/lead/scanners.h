/* Who scans, in a cluster in which all nodes do (doc/cluster.md): this node's own znode
 * scanners/<node>, and the list of all of them.
 *
 * The own one is there while this node wants to scan, is not the only one that its Redis does
 * not answer, has its name in the cluster and does not stop; ZooKeeper takes it away with the
 * session. It is THERE or GONE as far as this session knows, or UNSURE: an answer was lost,
 * another session still has it, or the list lacks it. Then it is read, and belongs to whom its
 * owner says.
 *
 * The list and its number are told when they have changed. While ZooKeeper is away nothing is
 * told, and what was told last stands. A node that stops is told, as soon as its own znode is
 * known to have gone, the last list without itself, of the same number.
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
    bool is_cut_off; /* Redis answers others: they scan in its place (standby.c) */
    bool is_leaving; /* for good */
    int64_t leave_by_boot_ms;

    char own_path[CONTEXT_PATH_MAX];
    enum scanners_own own; /* reset with the session */
    struct coord_request own_request;
    enum scanners_call asked; /* by own_request */
    struct coord_change change;
    int64_t own_retry_boot_ms; /* not before, after an answer that does not help */
    bool is_own_denied;

    char list_path[CONTEXT_PATH_MAX];
    struct coord_request list_request;
    bool is_stale;
    int64_t list_retry_boot_ms;
    bool is_list_denied;

    /* As read last, in the order of the alphabet; of number 0: never. */
    uint64_t number;
    char names[SCANNERS_MAX][HA_NODE_MAX + 1];
    unsigned count;
    bool is_news; /* not told yet */

    bool is_mixed; /* a node is here that is of the other kind: with or without `shares` */
};

void scanners_init(struct scanners *s, struct context *context, struct membership *m);
void scanners_begin(struct scanners *s);                     /* another session */
void scanners_changed(struct scanners *s, const char *path); /* the watch's word; "": all */

/* Puts the own znode, or takes it away; reads the list when it is stale. Without
 * ha_options.shares it only looks for nodes of the other kind. */
void scanners_tick(struct scanners *s, int64_t now_boot_ms);
void scanners_tell(struct scanners *s); /* on_scanners, if there is news */

/* For good; waited for until scanners_has_left(): it is acknowledged, or there is nobody to
 * tell it, or T/4 is over (half a second at most). */
void scanners_leave(struct scanners *s, int64_t now_boot_ms);
bool scanners_has_left(const struct scanners *s, int64_t now_boot_ms);

bool scanners_have(const struct scanners *s, const char *node); /* as last read */

/* What ZooKeeper does not let this node read or write; NULL: nothing. */
const char *scanners_denied(const struct scanners *s);

#endif
