/* All of a node's state in ha/, and the parts of its tick. For ha.c and lead/ only.
 *
 * Callbacks store facts; only the tick changes the role. Times are `_boot_ms`.
 */
#ifndef DUEQ_HA_STATE_H
#define DUEQ_HA_STATE_H

#include "ha/lead/election.h"
#include "ha/rule/failsafe.h"
#include "ha/ha.h"
#include "ha/lead/heartbeat.h"
#include "ha/lead/membership.h"
#include "ha/rule/role.h"
#include "ha/lead/scanners.h"
#include "ha/context.h"
#include "ha/lead/view.h"

#define HA_REOPEN_MS 5000 /* after a set-up that was refused */

/* The fault in `refused`, and when `refused` is cleared. */
enum ha_refused_for {
    HA_REFUSED_SETUP,  /* until the node joins */
    HA_REFUSED_FENCED, /* until it has led for T without being fenced */
    HA_REFUSED_STUCK,  /* until ha_stuck_tick() finds nothing wrong any more */
};

/* How far a node has stopped; each phase is of those before, too. */
enum stop_phase {
    STOP_NOT,      /* it runs */
    STOP_SCANNING, /* it takes up no lead; its znode under scanners/ is deleted */
    STOP_LEADING,  /* its lead is given away */
    STOP_DONE      /* it has said good-bye; its session ends */
};

struct ha {
    struct ha_options options;
    struct peers *peers;
    struct context context;
    struct view view;
    struct membership membership;
    struct scanners scanners;
    struct lead lead;
    struct election election;
    struct heartbeat heartbeat;
    struct failsafe failsafe;        /* this node leads on promises */
    struct failsafe_promise promise; /* this node has promised */
    struct role role;

    int64_t started_boot_ms;
    int64_t ticked_boot_ms; /* the newest tick that has ended */

    /* Facts of the session. */
    int64_t session;        /* the newest session that was connected */
    int64_t tick_ms;        /* tickTime of its servers when it began; 0: not told */
    int64_t reopen_boot_ms; /* the coordinator stays closed until then; 0: it is open */
    bool has_joined;        /* ever */
    bool is_refused_reported;
    int64_t unlisted_since_boot_ms; /* a leader has not added this node; 0: not so */
    int64_t long_rtt_ms;            /* round trip to ZooKeeper; 0: short enough */
    char refused[320];              /* "": not refused */
    enum ha_refused_for refused_for;

    /* Facts from outside. */
    bool store_up;
    /* Since when this node's Redis is away while that of another node is up, which could lead
     * (store_away), or scans (shares_away); 0: not so. */
    int64_t store_away_boot_ms, shares_away_boot_ms;
    int64_t store_looked_boot_ms;  /* when the others' znodes were last read for these two */
    int64_t address_since_boot_ms; /* when membership.is_address_away last changed */
    int64_t address_given_boot_ms; /* the lead was given away for that; 0: never */
    bool is_drained;               /* since DRAINING was entered */
    bool is_fenced;                /* the tick has not seen it yet */
    struct token fenced_by;

    /* What keeps the node from campaigning, or leading. */
    struct token fence; /* the highest token of its ensemble that Redis has shown */
    int64_t campaigns_from_boot_ms;
    int64_t resumes_from_boot_ms; /* does not act as the leader before; set when fenced */
    int64_t yields_until_boot_ms; /* the node gave the lead away: others go first */

    /* Since when the node could campaign; 0: it cannot. */
    int64_t able_since_boot_ms;
    int64_t force_since_boot_ms; /* the request to take the lead by force was seen */
    int32_t force_version;       /* version of `control` with that request */
    enum role_reason draining_for;
    int64_t asked_boot_ms; /* when a failsafe leader last asked the members */
    bool has_won_reported; /* the lead `won` is in the history */
    struct token won;      /* the newest lead of this node */

    struct coord_request control_request; /* clears a request in `control` */
    struct coord_change control_changes[2];
    struct buf control_text;

    struct coord_request history_request;
    int64_t history_retry_boot_ms; /* no write before that, after a refusal; 0: none */
    struct coord_change history_change;
    struct buf history_text;
    struct ha_transition pending; /* to be put into the history */
    bool has_pending;
    bool is_flapping;
    bool is_pause_logged;

    int64_t in_touch_boot_ms; /* last contact with ZooKeeper */

    /* The leader: when it was last seen, and seen to beat. */
    bool has_seen_leader;
    int64_t leader_seen_boot_ms;
    int64_t leaderless_since_boot_ms; /* without a leader since; 0: there is one */
    uint64_t beat_epoch;              /* epoch of the leader whose beat was seen */
    int32_t beat_version;             /* version of its nodes/<node> */
    int64_t beat_boot_ms;
    int64_t gone_boot_ms; /* the leader's znode was gone; 0: it is there, or not known */
    uint64_t dead_epoch;  /* of the leader whose process was proven dead */
    uint64_t ended_epoch; /* of the leader before this node was elected; 0: none was seen */
    const char *ended_how;

    struct peer_name others[PEERS_MAX];
    unsigned other_count;
    struct list commands; /* to be looked at in the next tick */
    struct ha_node *nodes_shown;

    enum stop_phase stop;
    int64_t stop_by_boot_ms; /* deadline of the give-away; from STOP_LEADING on */
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;

    uint64_t fenced_count, session_count, reconnects, without_leader_ms, peer_deaths;
    int64_t last_failover_ms;
};

int64_t ha_t(const struct ha *ha);                            /* T */
uint64_t ha_fence(const struct ha *ha, const char *ensemble); /* highest epoch seen, or 0 */
void ha_enter(struct ha *ha, enum role_state to, enum role_reason why);

/* Notes a fault, by default of the set-up; for another kind set refused_for afterwards. */
void ha_refuse(struct ha *ha, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ha_refused_no_more(struct ha *ha, enum ha_refused_for what);

/* lead/session.c */
void ha_note_session(struct coordinator *c); /* on_session */
void ha_session_tick(struct ha *ha, int64_t now);

/* lead/standby.c: OFFLINE and STANDBY. */
void ha_offline_tick(struct ha *ha, int64_t now);
void ha_standby_tick(struct ha *ha, int64_t now);

/* lead/leader.c: LEADER and DRAINING. */
void ha_step_down_tick(struct ha *ha, int64_t now); /* before anything else */
void ha_leader_tick(struct ha *ha, int64_t now);
void ha_draining_tick(struct ha *ha, int64_t now);

/* lead/standby.c: Redis answers other nodes and not this one. */
bool ha_is_store_away(struct ha *ha, int64_t now); /* true: a leader gives the lead away */
void ha_shares_tick(struct ha *ha, int64_t now);

/* lead/status.c: faults that only a human can mend. */
void ha_stuck_tick(struct ha *ha, int64_t now);

/* lead/failsafe.c */
void ha_failsafe_tick(struct ha *ha, int64_t now);
bool ha_answer_question(struct peers *p, const char *name, /* on_question */
                        const struct peer_question *question);
void ha_note_death(struct peers *p, const char *name, /* on_death */
                   const struct coord_credentials *dead);
void ha_peers_tick(struct ha *ha);

/* lead/requests.c */
void ha_commands_tick(struct ha *ha, int64_t now);
void ha_commands_end(struct ha *ha); /* when the node stops */
void ha_request_tick(struct ha *ha); /* logs a pause that begins or ends */
/* Does the leader say that it is fenced, because Redis follows another ensemble? */
bool ha_is_leader_fenced(const struct ha *ha);

/* lead/status.c: the history of the lead. */
void ha_history_init(struct ha *ha);
void ha_history_note_lead(struct ha *ha, enum role_reason why, int64_t now);
void ha_history_note_left(struct ha *ha, const char *why); /* NULL: the lead is kept */
void ha_history_tick(struct ha *ha, int64_t now);

#endif
