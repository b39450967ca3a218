/* Who scans, from ha/ to the queue, in a cluster in which all nodes do (doc/cluster.md).
 *
 *   at the start          an empty view: until ZooKeeper has said who scans, and where it never
 *                         does, this node moves what nobody else has moved in time
 *   on_scanners           that view
 *
 * The queue goes on with the last one for good, also while it leaves the cluster. */
#ifndef DUEQ_NODE_SHARE_APP_H
#define DUEQ_NODE_SHARE_APP_H

#include "ha/ha.h"

struct queue;

void share_app_begin(struct queue *queue);
void share_app_see(struct queue *queue, const struct ha_scanners *scanners);

#endif
