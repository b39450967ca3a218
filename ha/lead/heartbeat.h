/* The writes that prove a lease: each node sets its nodes/<node> every T/6.
 *
 * A leader's beat also checks that the epoch is its own and that `leader` is there; an epoch
 * has one leader. A leader beats more often when little is left of its lease. Beats do not
 * write `leader`, which all standbys watch. A standby beats so that its lease is proven as soon
 * as it is elected. A node whose name its earlier session still has writes nothing: its beat
 * checks that the parent is there, which a quorum commits like any write. One beat is in flight
 * at a time.
 */
#ifndef DUEQ_HA_LEAD_HEARTBEAT_H
#define DUEQ_HA_LEAD_HEARTBEAT_H

#include "ha/lead/election.h"

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
    bool is_urgent;                  /* the next beat is sent before its time */
    bool is_nameless;                /* the beat in flight does not set nodes/<node> */
    uint64_t gives;                  /* election.gives when the beat in flight was sent */
    int64_t sent_boot_ms;            /* of the newest beat */
    int64_t acked_boot_ms;           /* of the newest beat; also when its answer was lost */
    int64_t rtts_ms[HEARTBEAT_RTTS]; /* of the newest beats that were answered; 0: none yet */
    unsigned next_rtt;               /* index of the next round trip */
};

void heartbeat_init(struct heartbeat *h, struct context *c, struct election *e,
                    struct membership *m);
void heartbeat_fini(struct heartbeat *h);

void heartbeat_tick(struct heartbeat *h, int64_t now_boot_ms);

/* Sends the next beat in this tick or the next one, but at least T/24 after the one before. */
void heartbeat_send_soon(struct heartbeat *h);

/* Has the newest beat been unanswered for T/12 and the usual round trip? Perhaps the quorum is
 * lost. */
bool heartbeat_is_late(const struct heartbeat *h, int64_t now_boot_ms);

/* The shortest of the newest round trips; 0: not known yet. */
int64_t heartbeat_rtt_ms(const struct heartbeat *h);

#endif
