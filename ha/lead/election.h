/* How a standby tries to become the leader and learns the outcome; how a lead is given away.
 *
 * An attempt is one write. It raises the epoch by one at the version that was read, creates the
 * leader's znode, and checks that `members` and `control` have not changed: so neither a node
 * that is no member any more is elected, nor one that does not know of a failover by force. Of
 * several attempts one wins.
 *
 *     NONE --attempt--> TRYING --answer--> NONE
 *                         |
 *                         +--connection lost--> UNSURE --`leader` read again--> NONE
 *
 * Won: the lead is ours. Lost: something has changed, or another node was faster.
 *
 * In the end the znode decides, not the attempt: the lead is ours if `leader` belongs to the
 * *current* session, whatever its data say and whichever attempt created it.
 */
#ifndef DUEQ_HA_LEAD_ELECTION_H
#define DUEQ_HA_LEAD_ELECTION_H

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
    bool is_refused;       /* the newest attempt was refused for no good reason */
    int64_t retry_boot_ms; /* no attempt before that, then */
    struct coord_request request;
    struct coord_change changes[ELECTION_CHANGES];
    unsigned change_count;
    struct buf epoch_text, leader_text, members_text;

    bool has_given_away;   /* a give-away was sent; reset by the reader */
    uint64_t gives;        /* give-aways sent, ever */
    bool is_giving_denied; /* the newest give-away ended DENIED: only the session's end helps */
    struct coord_request giving;
    struct coord_change give[2];
};

void election_init(struct election *e, struct context *c, struct view *v, struct membership *m,
                   struct lead *lead);
void election_fini(struct election *e);

/* Another session begins: the lead of the old session is gone. */
void election_begin(struct election *e);

/* All items of the view but the history must be fresh. The epoch will be above `above`. */
void election_try(struct election *e, uint64_t above, bool by_force);

/* Settles an UNSURE attempt, and notes a lead that this session has got or lost. */
void election_tick(struct election *e, int64_t now_boot_ms);

/* Deletes `leader` if it is known to be this session's. To be called in each tick until the
 * lead is gone, and only after acting has ended. */
void election_give_away(struct election *e);

/* A write has checked that `leader` is there, under this lead's epoch. The `gives` give-aways
 * sent before that write have failed; a later one may still have deleted `leader`. */
void election_lead_is_proven(struct election *e, uint64_t gives);

/* Forgets the lead: it is not ours, or counts no more. */
void election_drop_lead(struct election *e);

#endif
