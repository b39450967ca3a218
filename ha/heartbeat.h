/* The writes that prove a lease: each node sets its nodes/<node> every T/6.
 *
 * A leader checks with it that the epoch is its own and `leader` is there (so it is its own: an
 * epoch has one), and writes more often where little is left of its lease.
 * Not to the znode `leader`, which all standbys watch. A standby does it so that its lease is
 * proven in the moment in which it is elected. One is in flight at a time.
 */
#ifndef DUEQ_HA_HEARTBEAT_H
#define DUEQ_HA_HEARTBEAT_H

#include "ha/election.h"

struct heartbeat {
    struct site *site;
    struct election *election;
    struct membership *membership;
    const struct lead *lead;
    struct ask ask;
    struct coord_change changes[3];
    char path[SITE_PATH_MAX];
    struct buf text;
    uint64_t beats;
    uint64_t epoch; /* of the beat in flight; 0: a standby's */
    uint64_t gives; /* give-aways that were sent before it */
    int64_t sent_boot_ms,
        acked_boot_ms; /* of the newest; acked also when its answer was lost */
};

void heartbeat_init(struct heartbeat *h, struct site *s, struct election *e,
                    struct membership *m);
void heartbeat_fini(struct heartbeat *h);

void heartbeat_tick(struct heartbeat *h, int64_t now_boot_ms);

#endif
