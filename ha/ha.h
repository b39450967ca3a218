/* Who may act: this node's part in a cluster of which one node leads at a time.
 *
 * The front door of ha/, which knows nothing of jobs. It says "you lead, with this token" or
 * "you do not lead", and answers "may I act now?"; the answer is safe at the moment it is
 * given.
 *
 *   ha.c             the tick: from facts to decisions; nothing else changes the role
 *   context.c        shared by all parts: clock, lease, calls to the coordinator
 *   rule/            the rules, pure: no I/O, no clock
 *     lease.c          until when a leader may act
 *     role.c           OFFLINE, STANDBY, LEADER, DRAINING; one enter()
 *     token.c          the fencing token
 *     failsafe.c       going on without ZooKeeper while every member agrees
 *     control.c        operators' requests: paused, another leader, by force
 *     transitions.c    the last hundred changes of the lead
 *     record.c         the text of a znode: lines of "key value"
 *   lead/            a node's way to the lead, and back
 *     session.c        sessions that begin, go on and end; set-ups that are refused
 *     view.c           facts: the znodes as last read, and read again when they change; the
 *                      leader's own, as far as this session owns it
 *     membership.c     joining: the node's own znode; who may campaign, and who could lead now
 *     heartbeat.c      the writes that prove the lease, every T/6
 *     election.c       how a standby tries to become the leader, and finds out whether it is
 *     standby.c        not leading: joining, campaigning, taking up a lead; cut off from Redis
 *     leader.c         leading: stepping down, giving the lead away
 *     failsafe.c       without ZooKeeper: asking the members, and promising
 *     requests.c       operators' requests: checked, and written into `control`
 *     scanners.c       who scans, where all nodes do
 *     status.c         for people: why nobody can lead, the state, the history of the lead
 *   coord/           coordinator.h, the port to ZooKeeper: zk_*.c
 *   peer/            peers.h, the port to the other nodes, and the link to them
 *   vip/             the virtual address; knows nothing of the rest
 *   sim/             nodes and ZooKeeper in virtual time, for tests and simulation
 *
 * Replies and notices only store facts and ask for a tick; the tick decides. The tick also runs
 * at every deadline: the end of the lease, the next beat, the end of a wait. If more time than
 * the lease has passed since the last turn (a stopped process, a sleeping machine), the tick
 * first steps down.
 *
 * Times: `_boot_ms` is CLOCK_BOOTTIME, on which leases are judged; timers are the loop's.
 */
#ifndef DUEQ_HA_HA_H
#define DUEQ_HA_HA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/status.h"
#include "base/timer.h"
#include "ha/coord/coordinator.h"
#include "ha/peer/peers.h"
#include "ha/rule/role.h"
#include "ha/rule/token.h"

#define HA_FENCED_AGAIN_MS 5000

enum ha_on_loss { HA_STOP, HA_FAILSAFE };

#define HA_NODE_MAX      64
#define HA_VERSION_MAX   32
#define HA_ABILITIES_MAX 512 /* newer versions may have more words */

struct ha;

/* The names under scanners/, and the number of the list's newest change. Borrowed. */
struct ha_scanners {
    uint64_t number;
    const char *const *nodes;
    unsigned count;
};

/* Texts are borrowed for the ha's life. */
struct ha_options {
    const char *node;      /* unique in the cluster */
    const char *root;      /* path of the cluster's znodes: "/dueq/main" */
    const char *version;   /* of this program */
    const char *abilities; /* words with a space between, see ha_ability(); or NULL */
    /* Addresses for other nodes and for people; "": off. */
    const char *gmq, *http, *admin, *peer;
    uint64_t incarnation; /* of the warden: a worker's restart is no duplicate id */
    int64_t session_ms;   /* T, as asked of the servers */
    enum ha_on_loss on_loss;
    unsigned priority; /* 0 to 100; a higher one campaigns sooner */
    bool no_failover;  /* never leads but by force */
    int64_t tenure_ms; /* a leader that has led less is not replaced by a preferred node */
    unsigned flap_max; /* alarm at more changes of the lead than this in ten minutes */
    bool shares;       /* cluster mode: this node scans, whoever leads (doc/cluster.md) */
    int64_t (*now_boot_ms)(void *arg);
    int64_t (*now_wall_ms)(void *arg); /* for the history and for --at */

    /* Callbacks come from the loop, never from inside a call of this header. */
    void (*on_role)(void *arg, const struct role *role, enum role_state before);
    /* This set-up cannot work; `why` says what is wrong and what to do. Called only before this
     * node has joined the cluster, and the node should end. Later such faults are logged and
     * shown by ha_status(). */
    void (*on_refused)(void *arg, const char *why);
    /* With `shares`: ZooKeeper's list of the scanning nodes has changed. Not called while
     * ZooKeeper is away. A node that stops may get its last list again without itself, under
     * the same number. May be NULL. */
    void (*on_scanners)(void *arg, const struct ha_scanners *scanners);
    void *arg;
};

/* Both ports are borrowed for the ha's life; ha sets their user and callbacks. */
struct ha *ha_new(const struct ha_options *options, struct coordinator *coordinator,
                  struct peers *peers, struct timers *timers);
void ha_free(struct ha *ha); /* after ha_stop's on_stopped; NULL is fine */

void ha_start(struct ha *ha);

/* Gives the lead away gracefully (DRAINING), if this node has it, leaves the cluster, and calls
 * back within about two seconds. */
void ha_stop(struct ha *ha, void (*on_stopped)(void *arg), void *arg);

/* May this node act at this moment? True for a LEADER whose lease is not over by the clock,
 * which is read in the call. Asked before every script of a scanner. */
bool ha_may_act(const struct ha *ha);

/* The same, but also true in DRAINING until the give-away is sent, because no other node leads
 * before that. For the virtual address, which a leader keeps rather than begins. */
bool ha_may_hold(const struct ha *ha);

/* When the lease ends (CLOCK_BOOTTIME, ms): the first millisecond in which this node may not
 * act. For records only. In the past, down to INT64_MIN, without a lease. */
int64_t ha_until(const struct ha *ha);

/* ---- facts from outside ---- */

/* Does this node's Redis answer? A node campaigns only while its Redis answers. A node whose
 * Redis is silent while another node's answers gives away its lead and its znode under
 * scanners/. */
void ha_store_is(struct ha *ha, bool is_up);

/* With `shares`: does this node scan, from now on? True while its store is up and it is not
 * about to stop. Creates or deletes its znode under scanners/, and again in each session.
 * ha_stop() deletes the znode first of all. */
void ha_scans(struct ha *ha, bool is_scanning);

/* Could clients reach this node at the virtual address, if it led? True until the first call,
 * because there may be no such address. A leader that cannot have the address gives the lead to
 * a node that can, but not twice in a tenure, nor while the lead moves too often: a fault that
 * all nodes share would move the lead for ever. A standby that cannot have it lets others go
 * first. */
void ha_address_is(struct ha *ha, bool is_possible);

/* All work of the leader has ended, so the lead can be given away. Ignored outside DRAINING. A
 * caller that was told LEADER again meanwhile must not call it for the DRAINING before. */
void ha_drained(struct ha *ha);

/* Redis refused a script because it has seen `seen`. This node may not act from this moment on,
 * steps down, gives the lead away, and does not campaign again with a lower epoch. If `seen` is
 * of another ensemble, no node of this cluster could do better: the node keeps the leader's
 * znode, says what to do (ha_status's `refused`), and leads again after HA_FENCED_AGAIN_MS to
 * see whether that was done. */
void ha_fenced(struct ha *ha, const struct token *seen);

/* ---- operators ---- */

enum ha_request {
    HA_SWITCHOVER, /* gracefully, by the leader; `to` may be "" */
    HA_FAILOVER,   /* by force if the leader does not answer within T/3 */
    HA_PAUSE,      /* no automatic failover */
    HA_RESUME,
    HA_FORGET, /* `to` is no member any more */
    HA_CANCEL, /* a switchover that is not carried out yet */
};

/* The caller embeds it. */
struct ha_command {
    enum ha_request request;
    const char *to;     /* a node's name, or ""; borrowed until on_done */
    int64_t at_wall_ms; /* SWITCHOVER: not before; 0: now */
    void (*on_done)(struct ha_command *command);

    /* OK: the request is written into ZooKeeper, and the nodes will carry it out. NOT_FOUND:
     * no such node. WRONG_STATE with `why`: not possible now. UNAVAILABLE (also when the facts
     * it needs could not be read within T), UNKNOWN. */
    enum status status;
    char why[200];

    /* ha's own. */
    struct coord_call call;
    struct coord_change changes[2];
    struct list link;
    struct ha *ha;
    struct buf text;
    int64_t until_boot_ms; /* how long it waits for the facts it needs */
};

/* Submits the command, which must last until on_done. on_done comes once, from the loop. */
void ha_command(struct ha *ha, struct ha_command *command);

struct ha_node {
    char name[HA_NODE_MAX + 1];
    char version[HA_VERSION_MAX + 1];
    char abilities[HA_ABILITIES_MAX + 1];
    char gmq[PEER_ADDR_MAX + 1], http[PEER_ADDR_MAX + 1];
    char admin[PEER_ADDR_MAX + 1], peer[PEER_ADDR_MAX + 1];
    unsigned priority;
    bool no_failover;
    bool is_here;   /* registered now */
    bool is_member; /* may campaign */
    bool store_up;
    bool is_address_away; /* it cannot have the virtual address */
    bool is_fenced;       /* it leads, and does not act: Redis follows another ensemble */
    bool shares;          /* it is in cluster mode */
    bool is_scanning;     /* it is under scanners/; known only with `shares` */
    int64_t owner;        /* its session */
    uint64_t incarnation;
};

/* A change of the lead. */
struct ha_transition {
    int64_t at_wall_ms;
    char node[HA_NODE_MAX + 1];
    char reason[16]; /* a word: doc/ha.md has them */
    uint64_t epoch;
    int64_t without_leader_ms; /* since the lead before it ended; -1: not seen */
};

#define HA_TRANSITIONS_MAX 100

/* This node's knowledge now. Pointers are valid until the loop turns. */
struct ha_status {
    const struct role *role;
    int64_t lease_left_ms; /* 0: none */
    bool is_failsafe;      /* the lease rests on the members' promises */
    bool is_paused;
    int64_t paused_at_wall_ms; /* 0: not said */
    const char *paused_by;     /* the node that was asked; "": not said */
    /* How long there has been no connection to ZooKeeper; facts about other nodes are as old.
     */
    int64_t stale_ms;
    char leader[HA_NODE_MAX + 1]; /* "": none, or not known */
    struct token leader_token;    /* of the newest leader seen */
    char wanted[HA_NODE_MAX + 1]; /* the next leader that an operator wants; "": none */
    int64_t wanted_at_wall_ms;
    bool is_forced; /* the wanted node leads even if the leader does not answer */
    enum coord_session session;
    const char *server, *session_why;
    int64_t granted_ms;
    int64_t tick_ms; /* the servers' tickTime; 0: they do not tell */
    /* How long no leader was seen to prove its lease; 0: there is a leader. */
    int64_t leaderless_ms;
    bool is_flapping;
    bool is_mixed;     /* some of the nodes here have `shares`, others do not */
    char refused[320]; /* a fault that only a human can mend; "": none */
    bool is_fenced;    /* this node has the lead, and Redis follows another ensemble */
    const struct ha_node *nodes; /* here or members, by name */
    unsigned node_count;
    unsigned scanner_count;                  /* names under scanners/, as last read */
    const struct ha_transition *transitions; /* oldest first */
    unsigned transition_count;

    /* Counters since start. */
    uint64_t elections_lost;
    uint64_t fenced;
    uint64_t sessions; /* begun */
    uint64_t reconnects;
    uint64_t without_leader_total_ms;
    int64_t last_failover_ms; /* time without a leader before the newest; -1: not seen */
    uint64_t peer_deaths;     /* sessions of others closed on proof of death */
};

void ha_status(const struct ha *ha, struct ha_status *status);

/* Programs of different versions work side by side, and what one of them says to clients, all
 * must understand. So each node tells what it is able to do, in words, which older ones skip.
 *
 *   ALL       every other node that is here, and every member, says this word
 *   SOME      a node that is here does not: it is of an older version
 *   UNKNOWN   neither is known: this node has just come, or a member was not seen since
 */
enum ha_ability { HA_ABILITY_ALL, HA_ABILITY_SOME, HA_ABILITY_UNKNOWN };

enum ha_ability ha_ability(const struct ha *ha, const char *word);

#endif
