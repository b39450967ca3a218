/* What cmd_nodes.c does for other commands: the page of GET /v1/cluster. */
#ifndef DUEQ_NODE_CTL_CMD_NODES_H
#define DUEQ_NODE_CTL_CMD_NODES_H

#include <jansson.h>
#include <stdbool.h>

#include "node/ctl/ctl.h"
#include "node/ctl/output.h"

/* Speaks up when it fails; else `*page` is the caller's. */
enum ctl_exit cluster_fetch(struct ctl *ctl, const char *what, json_t **page);

/* The same, and says nothing. */
enum ctl_exit cluster_look(struct ctl *ctl, json_t **page, struct failure *failure);

/* Is it the page of a node without a cluster? */
bool cluster_is_standalone(const json_t *page);

/* Is it of a node in cluster mode, in which all nodes scan? */
bool cluster_is_shared(const json_t *page);

/* For how long the node has known nothing new of the others; 0: it is connected. */
int64_t cluster_stale_ms(const json_t *page);

/* For what did not work. */
extern const struct advice cluster_advice[];

#endif
