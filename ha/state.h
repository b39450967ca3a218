/* All of a node's state in ha/, and the parts of its tick. For ha*.c only.
 *
 * What callbacks store are facts; only the tick changes the role. Times are `_boot_ms`.
 */
#ifndef DUEQ_HA_STATE_H
#define DUEQ_HA_STATE_H

#include "ha/lead/campaign.h"
#include "ha/rule/promise.h"
#include "ha/ha.h"
#include "ha/lead/beat.h"
#include "ha/lead/lead.h"
#include "ha/lead/membership.h"
#include "ha/rule/role.h"
#include "ha/lead/scanners.h"
#include "ha/context.h"
#include "ha/lead/view.h"

#define HA_REOPEN_MS 5000 /* after a set-up that was refused */

/* What `refused` says: how it ends. */
enum ha_refused_for {
    HA_REFUSED_SETUP,  /* when it joins */
    HA_REFUSED_FENCED, /* when it has led for T without being fenced */
    HA_REFUSED_STUCK,  /* when nothing of lead/stuck.c is so any more */
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
    int64_t ticked_boot_ms; /* the newest that has ended */

    /* Facts of the session. */
    int64_t session;        /* the newest that was connected */
    int64_t tick_ms;        /* of its servers, as it began; 0: they did not tell */
    int64_t reopen_boot_ms; /* closed until then; 0: not */
    bool has_joined;        /* ever */
    bool is_refused_told;
    int64_t unlisted_since_boot_ms; /* a leader is here and has not added this node; 0: not */
    int64_t long_rtt_ms;            /* to ZooKeeper and back; 0: it is short enough */
    char refused[320];              /* "": not */
    enum ha_refused_for refused_for;

    /* Facts from outside. */
    bool store_up;
    /* Since then another's is up, its own not; 0: that is not so. Of a leader, another that
     * could lead; of a node that scans, another that does. */
    int64_t store_away_boot_ms, shares_away_boot_ms;
    int64_t store_looked_boot_ms;  /* so: when the others' nodes were read last for that */
    int64_t address_since_boot_ms; /* membership.is_address_away is as it is */
    int64_t address_given_boot_ms; /* the lead, for want of the address; 0: never */
    bool is_drained;               /* since DRAINING was entered */
    bool is_fenced;                /* and the tick has not seen it yet */
    struct token fenced_by;

    /* What keeps it from standing, or leading. */
    struct token fence; /* the highest that Redis has shown, of its ensemble */
    int64_t stands_from_boot_ms;
    int64_t resumes_from_boot_ms;     /* fenced by another ensemble */
    int64_t stood_back_until_boot_ms; /* it gave the lead away: others first */

    /* Standing: since when it could; 0: it could not. */
    int64_t able_since_boot_ms;
    int64_t force_since_boot_ms; /* the request to take the lead by force was seen */
    int32_t force_version;       /* of `control`, that says it */
    enum role_reason draining_for;
    int64_t asked_boot_ms; /* the members, by a failsafe leader */
    bool has_won_told;     /* the lead it has, or had, is in the history */
    struct token won;      /* that one */

    struct coord_request control_request; /* a request taken back */
    struct coord_change control_changes[2];
    struct buf control_text;

    struct coord_request history_request;
    int64_t history_retry_boot_ms; /* not before, after a refusal; 0: none */
    struct coord_change history_change;
    struct buf history_text;
    struct ha_transition pending; /* to be put into the history */
    bool has_pending;
    bool is_flapping;
    bool is_pause_told;

    int64_t in_touch_boot_ms; /* newest, with ZooKeeper */

    /* The leader: when it was seen, and seen to beat. */
    bool has_seen_leader;
    int64_t leader_seen_boot_ms; /* newest */
    int64_t alone_since_boot_ms; /* 0: there is one */
    uint64_t beat_epoch;         /* whose beat */
    int32_t beat_version;        /* of its nodes/<node> */
    int64_t beat_boot_ms;
    int64_t gone_boot_ms; /* its znode; 0: it is there, or that is not known */
    uint64_t dead_epoch;  /* the leader whose process was proven dead */
    uint64_t ended_epoch; /* of the leader before this node was elected; 0: none was seen */
    const char *ended_how;

    struct peer_name others[PEERS_MAX];
    unsigned other_count;
    struct list commands; /* to be looked at in the next tick */
    struct ha_node *nodes_shown;

    bool is_stopping;        /* it takes no lead up; its znode under scanners/ goes */
    bool is_leaving;         /* that has gone, or was waited for: its own lead is given away */
    bool is_left;            /* it has said good-bye, and its session ends */
    int64_t stop_by_boot_ms; /* the lead is given away, or left; from is_leaving on */
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;

    uint64_t fenced_count, session_count, reconnects, without_leader_ms, peer_deaths;
    int64_t last_failover_ms;
};

int64_t ha_t(const struct ha *ha);                            /* T */
uint64_t ha_fence(const struct ha *ha, const char *ensemble); /* its highest epoch seen, or 0 */
void ha_enter(struct ha *ha, enum role_state to, enum role_reason why);

/* This set-up cannot work. For anything else set refused_for behind it. */
void ha_refuse(struct ha *ha, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ha_refused_no_more(struct ha *ha, enum ha_refused_for what);

/* lead/session.c */
void ha_note_session(struct ha *ha); /* on_session */
void ha_session_tick(struct ha *ha, int64_t now);

/* lead/standby.c: OFFLINE and STANDBY. */
void ha_offline_tick(struct ha *ha, int64_t now);
void ha_standby_tick(struct ha *ha, int64_t now);

/* lead/leader.c: LEADER and DRAINING. */
void ha_step_down_tick(struct ha *ha, int64_t now); /* before anything else */
void ha_leader_tick(struct ha *ha, int64_t now);
void ha_draining_tick(struct ha *ha, int64_t now);

/* lead/health.c */
bool ha_is_store_away(struct ha *ha, int64_t now); /* of a leader: the lead is given away */
void ha_shares_tick(struct ha *ha, int64_t now);

/* lead/stuck.c */
void ha_stuck_tick(struct ha *ha, int64_t now);

/* lead/failsafe.c */
void ha_alone_tick(struct ha *ha, int64_t now);
bool ha_answer_question(struct ha *ha, const struct peer_question *question);
void ha_note_death(struct ha *ha, const char *name, const struct coord_credentials *dead);
void ha_peers_tick(struct ha *ha);

/* lead/command.c */
void ha_commands_tick(struct ha *ha, int64_t now);
void ha_commands_end(struct ha *ha); /* when it stops */

/* lead/requests.c */

/* Changes `control` as the command wants; or says why it cannot be done now. */
enum status ha_request_take(struct ha_command *c, struct control *control);
enum status ha_request_refuse(struct ha_command *c, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ha_request_tick(struct ha *ha); /* a pause that begins or ends is said in the log */
/* Does the leader say that Redis follows another ensemble, and refuses what it does? */
bool ha_is_leader_fenced(const struct ha *ha);

/* lead/history.c */
void ha_history_init(struct ha *ha);
void ha_history_note_lead(struct ha *ha, enum role_reason why, int64_t now);
void ha_history_note_left(struct ha *ha, const char *why); /* NULL: it is kept after all */
void ha_history_tick(struct ha *ha, int64_t now);

#endif
