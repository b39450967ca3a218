/* Between ha/ and those who ask about it: the cluster as HTTP tells it, operators' wishes on
 * their way to ha/, and hooks run at changes of role. Renames, and decides nothing.
 */
#ifndef DUEQ_NODE_APP_CLUSTER_H
#define DUEQ_NODE_APP_CLUSTER_H

#include "ha/ha.h"
#include "node/hook_hold.h"
#include "node/hooks.h"
#include "protocol/http/cluster.h"

#define APP_CLUSTER_NODES_MAX  (2 * PEERS_MAX + 1)
#define APP_CLUSTER_COUNTS_MAX (ROLE_COUNT * ROLE_REASON_COUNT)

struct ha_app;
struct queue;
struct vip_app;

struct app_cluster {
    struct http_cluster port; /* for the HTTP port */
    struct ha_app *ha;
    struct queue *queue;
    struct vip_app *vip;
    struct timers *timers;
    const struct hooks *hooks;
    const char *node;
    int64_t asked_ms; /* the session timeout */

    /* What was read last. */
    struct ha_status status;
    char token[TOKEN_TEXT_LEN + 1];
    struct http_cluster_node nodes[APP_CLUSTER_NODES_MAX];
    struct http_cluster_change changes[HA_TRANSITIONS_MAX];
    struct http_cluster_count counts[APP_CLUSTER_COUNTS_MAX];
    struct http_cluster_hook hook_counts[HOOKS_COUNTS];
    struct http_vip_status vip_status;
};

/* All are borrowed. */
void app_cluster_init(struct app_cluster *c, struct ha_app *ha, struct queue *queue,
                      struct vip_app *vip, struct timers *timers, const struct hooks *hooks,
                      const char *node, int64_t asked_ms);

/* Runs the hook for a change of role, if there is one. */
void app_cluster_tell(struct hook_hold *hold, const struct role *role, enum role_state before);

#endif
