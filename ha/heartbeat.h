/* The requests that prove a lease, each T/6 (each T/12 where little is left of it).
 *
 * A leader writes: check its epoch, set nodes/<node>. Not the znode `leader`, which all
 * standbys watch. Anybody else reads `leader`: so that the session has an older request to
 * count on when it is elected, and a watch that was lost does no harm.
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
    struct coord_change changes[2];
    char path[SITE_PATH_MAX];
    struct buf text;
    uint64_t beats;
    uint64_t epoch;        /* of the beat in flight */
    int64_t sent_boot_ms;  /* of the newest beat, or read */
    uint64_t proven_epoch; /* of the newest beat that was answered */
};

void heartbeat_init(struct heartbeat *h, struct site *s, struct election *e,
                    struct membership *m);
void heartbeat_fini(struct heartbeat *h);

void heartbeat_tick(struct heartbeat *h, int64_t now_boot_ms);

#endif
