/* How a standby tries to become the leader, and finds out whether it is; and how a lead is
 * given away.
 *
 * An attempt is one write: the epoch one higher, at the version that was read; the leader's
 * znode created; and the versions of `members` and `control` unchanged, so that nobody who is
 * no member any more is elected, and nobody who does not know of a failover by force. One wins.
 *
 *     NONE --attempt--> TRYING --answer--> NONE
 *                         |
 *                         +--connection lost--> UNSURE --`leader` read again--> NONE
 *
 * Won: the lead is ours. Lost: something has changed, or somebody else was faster.
 *
 * Whether the lead is ours is in the end not the attempt's to say: it is when the znode
 * `leader` belongs to the *current* session, whatever its data say, and whichever attempt made
 * it.
 */
#ifndef DUEQ_HA_LEAD_CAMPAIGN_H
#define DUEQ_HA_LEAD_CAMPAIGN_H

#include "ha/lead/lead.h"
#include "ha/lead/membership.h"
#include "ha/lead/view.h"

enum election_state { ELECTION_NONE, ELECTION_TRYING, ELECTION_UNSURE };

#define ELECTION_CHANGES 5

struct election {
    struct context *context;
    struct view *view;
    struct membership *membership;
    struct lead *lead;
    enum election_state state;
    bool by_force;        /* the newest attempt */
    int32_t done_request; /* see struct lead */
    uint64_t epoch;
    int32_t epoch_version;
    uint64_t lost;
    bool is_refused;       /* the newest attempt was, for no good reason */
    int64_t retry_boot_ms; /* not before, then */
    struct coord_request request;
    struct coord_change changes[ELECTION_CHANGES];
    unsigned change_count;
    struct buf epoch_text, leader_text, members_text;

    bool has_given_away;   /* was tried; reset by whoever wants to know */
    uint64_t gives;        /* give-aways sent, ever */
    bool is_giving_denied; /* the newest was, in this session: only its end frees the lead */
    struct coord_request giving;
    struct coord_change give[2];
};

void election_init(struct election *e, struct context *s, struct view *v, struct membership *m,
                   struct lead *lead);
void election_fini(struct election *e);

/* Another session: what the old one had is gone. */
void election_begin(struct election *e);

/* All items of the view but the history must be fresh. The epoch will be above `above`. */
void election_try(struct election *e, uint64_t above, bool by_force);

/* Settles what is unsure, and notes a lead that has become this session's, or is no more. */
void election_tick(struct election *e, int64_t now_boot_ms);

/* Deletes this session's `leader`, when it is known to be ours; called with each tick until the
 * lead is gone. Acting has ended before. */
void election_give_away(struct election *e);

/* A write has checked that `leader` is there, under this lead's epoch. `gives` give-aways had
 * been sent before it, and have failed; what was given away later may be gone all the same. */
void election_lead_is_proven(struct election *e, uint64_t gives);

/* The lead is not ours, or counts no more. */
void election_drop_lead(struct election *e);

#endif
