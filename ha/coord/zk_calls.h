/* The calls of the port in the words of ZooKeeper's client, and its answers in ours.
 *
 * Here every call ends: from inside zookeeper_interest() or zookeeper_process() when a server
 * answers or the connection is lost; in a later turn when it could not begin, or the handle
 * is closed.
 */
#ifndef DUEQ_HA_COORD_ZK_CALLS_H
#define DUEQ_HA_COORD_ZK_CALLS_H

#include <zookeeper/zookeeper.h>

#include "base/timer.h"
#include "ha/coord/coordinator.h"

struct zk_calls {
    struct coordinator *coordinator; /* on_change */
    zhandle_t *handle;               /* NULL: calls end UNAVAILABLE */
    const struct ACL_vector *acl;    /* of what is created */
    struct later ended;
};

void zk_calls_init(struct zk_calls *z, struct coordinator *c, struct timers *timers);
void zk_calls_fini(struct zk_calls *z); /* when none is in flight */

void zk_read(struct zk_calls *z, struct coord_call *call);
void zk_list(struct zk_calls *z, struct coord_call *call);
void zk_write(struct zk_calls *z, struct coord_call *call);

#endif
