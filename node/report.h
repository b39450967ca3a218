/* Turns what the node's parts know into the structs of protocol/api/report.h, and passes
 * operators' requests on to ha/. Nothing but renaming, and the room for it. */
#ifndef DUEQ_NODE_REPORT_H
#define DUEQ_NODE_REPORT_H

#include "ha/ha.h"
#include "node/hook_hold.h"
#include "node/hooks.h"
#include "node/store/redis/store.h"
#include "protocol/api/report.h"

/* The store: its numbers, its masters, which buckets are not reached, and why. */
struct report_store {
    struct redis_store *store; /* borrowed */
    unsigned buckets;
    const _Atomic uint64_t *aof_cut_bytes; /* NULL: the Redis is not embedded */
    struct store_master masters[STORE_MASTERS_MAX];
    struct store_unreached unreached[STORE_BUCKETS_MAX];
};

/* Fills in all of `to`. Its texts and arrays are borrowed until the next call, or until the
 * loop turns. */
void report_store_read(struct report_store *s, struct store_numbers *to);

#define REPORT_NODES_MAX  (2 * PEERS_MAX + 1)
#define REPORT_COUNTS_MAX (ROLE_COUNT * ROLE_REASON_COUNT)

struct node_lead;
struct queue;
struct vip_app;

/* The cluster, and operators' requests. */
struct report_cluster {
    struct cluster_port port; /* for the HTTP port */

    struct node_lead *lead;
    struct queue *queue;
    struct vip_app *vip;
    struct timers *timers;
    const struct hooks *hooks;
    const char *node;
    int64_t asked_ms; /* the session timeout */

    /* As read last. */
    struct ha_status status;
    char token[TOKEN_TEXT_LEN + 1];
    struct cluster_node nodes[REPORT_NODES_MAX];
    struct cluster_change changes[HA_TRANSITIONS_MAX];
    struct cluster_count counts[REPORT_COUNTS_MAX];
    struct cluster_hook hook_counts[HOOKS_COUNTS];
    struct vip_status vip_status;
    char divided[512];
};

/* Makes the port; the other parts, all borrowed, are set already. */
void report_cluster_init(struct report_cluster *c);

/* Runs the hook for a change of role, if there is one. */
void report_cluster_tell(struct hook_hold *hold, const struct role *role,
                         enum role_state before);

#endif
