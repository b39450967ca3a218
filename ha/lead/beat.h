/* The writes that prove a lease: each node sets its nodes/<node> every T/6.
 *
 * A leader checks with it that the epoch is its own and `leader` is there (so it is its own: an
 * epoch has one), and writes more often where little is left of its lease.
 * Not to the znode `leader`, which all standbys watch. A standby does it so that its lease is
 * proven in the moment in which it is elected. One whose name is still taken, by its own
 * session before, writes nothing: it checks that the parent is there, which a quorum commits
 * like any write. One is in flight at a time.
 */
#ifndef DUEQ_HA_LEAD_BEAT_H
#define DUEQ_HA_LEAD_BEAT_H

#include "ha/lead/campaign.h"

#define HEARTBEAT_RTTS 3

struct heartbeat {
    struct context *context;
    struct election *election;
    struct membership *membership;
    const struct lead *lead;
    struct coord_request request;
    struct coord_change changes[3];
    char path[CONTEXT_PATH_MAX];
    struct buf text;
    uint64_t beats;
    uint64_t epoch;                  /* of the beat in flight; 0: a standby's */
    bool is_urgent;                  /* the next one is not to wait for its time */
    bool is_nameless;                /* the beat in flight does not set nodes/<node> */
    uint64_t gives;                  /* give-aways that were sent before it */
    int64_t sent_boot_ms;            /* of the newest */
    int64_t acked_boot_ms;           /* of the newest; also when its answer was lost */
    int64_t rtts_ms[HEARTBEAT_RTTS]; /* of the newest that were answered; 0: none yet */
    unsigned next_rtt;               /* the next of them */
};

void heartbeat_init(struct heartbeat *h, struct context *s, struct election *e,
                    struct membership *m);
void heartbeat_fini(struct heartbeat *h);

void heartbeat_tick(struct heartbeat *h, int64_t now_boot_ms);

/* The next beat is sent in this tick or the next, T/24 after the one before it at least. */
void heartbeat_send_soon(struct heartbeat *h);

/* The newest is unanswered for T/12 and the usual round trip: perhaps there is no quorum any
 * more. */
bool heartbeat_is_late(const struct heartbeat *h, int64_t now_boot_ms);

/* The shortest of the newest three round trips; 0: not known yet. */
int64_t heartbeat_rtt_ms(const struct heartbeat *h);

#endif
