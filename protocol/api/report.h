/* What the node tells of itself, for the API to show: numbers and texts. The node fills them
 * in, so that nothing here knows ZooKeeper, the election or Redis.
 */
#ifndef DUEQ_PROTOCOL_API_REPORT_H
#define DUEQ_PROTOCOL_API_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/status.h"
#include "node/store/counters.h"

/* The virtual address. */
struct vip_status {
    const char *addresses; /* as configured */
    const char *state;     /* "away", "held" or "leaving" */
    bool is_here;          /* all of them are on this host, as far as the node knows */
    bool is_possible;      /* this node could have it, as far as it knows */
    const char *interface; /* "": none, or the hook's matter */
    const char *why; /* why they are not here although the node leads, or could not be taken */
    const char *conflict; /* hardware address of another host that has it; "" */
    uint64_t taken, restored, announcements, conflicts, failures; /* since the worker's start */
};

/* ---- the cluster, and what an operator wants of it ---- */

struct cluster_node {
    const char *name;
    const char *version, *gmq, *http, *admin, *peer; /* "": not known, or off */
    unsigned priority;
    bool no_failover;
    bool is_here;   /* registered now */
    bool is_member; /* may stand */
    bool is_store_up;
    bool is_address_away; /* it could not have the virtual address */
    bool is_fenced;       /* it leads, and Redis refuses it */
    const char *mode;     /* its ha.mode: "standby", "cluster"; "": it does not say */
    bool is_scanning;     /* it is in the view: see below */
};

/* A change of the lead. */
struct cluster_change {
    int64_t at_wall_ms;
    const char *node;
    const char *reason;
    uint64_t epoch;
    int64_t without_leader_ms; /* -1: not seen */
};

/* How often this node came into a role for a reason, since its start. */
struct cluster_count {
    const char *role, *reason;
    uint64_t count;
};

/* How often the operator's program was told of a change of role, and how that ended. */
struct cluster_hook {
    const char *what, *result;
    uint64_t count;
};

/* Counters since the worker's start. Texts are UTF-8; "" for none. */
struct cluster_status {
    const char *node;
    const char *role; /* "offline", "standby", "leader" or "draining" */
    const char *reason;
    int64_t role_age_ms; /* since it changed */
    bool may_act;        /* it leads, and its lease holds */
    const char *token;   /* of a leader: its own */
    int64_t lease_left_ms;
    bool is_failsafe; /* the lease rests on the other nodes' promises */

    int64_t stale_ms;      /* so long without ZooKeeper, and all below as old; 0: connected */
    const char *leader;    /* "": none, or it is not known */
    uint64_t leader_epoch; /* without ZooKeeper as last seen; 0: none leads */
    int64_t leaderless_ms; /* since a leader was last seen to prove its lease; 0: one does */
    bool is_paused;        /* no automatic failover */
    int64_t paused_at_wall_ms;
    const char *paused_by; /* the node that was asked */
    int64_t now_wall_ms;
    const char *wanted; /* the next leader that an operator wants; "*": any other */
    int64_t wanted_at_wall_ms;
    bool is_forced; /* a forced failover, which cannot be taken back */
    bool is_flapping;
    const char *refused; /* what only a human can mend, as this node sees it */

    const char *session; /* "closed", "connecting", "connected", "expired" or "denied" */
    const char *server;
    const char *session_why;
    int64_t asked_ms, granted_ms; /* session timeout; granted 0: none yet */
    int64_t tick_ms;              /* the servers' tickTime; 0: they do not tell */

    const struct cluster_node *nodes; /* registered now, or members; sorted by name */
    unsigned node_count;
    unsigned peers_up;                    /* other nodes that this one is connected with */
    unsigned peers_plain;                 /* of these, without TLS */
    const struct cluster_change *changes; /* oldest first */
    unsigned change_count;
    const struct cluster_count *counts;
    unsigned count_count;
    const struct cluster_hook *hook_counts;
    unsigned hook_count_count;
    const struct vip_status *vip; /* NULL: there is no virtual address */

    bool is_sharing; /* ha.mode: cluster. Each node moves what is due in its own topics */
    /* The view, that is which nodes scan; all 0 without is_sharing. */
    uint64_t view;               /* its number; 0: none was seen yet */
    uint64_t scanners;           /* nodes in it */
    uint64_t shares, own_shares; /* of the topics: all, and this node's by it */

    uint64_t elections_lost;
    uint64_t fenced;
    uint64_t sessions;
    uint64_t reconnects;
    uint64_t peer_deaths;
    int64_t without_leader_total_ms;
    int64_t last_failover_ms; /* -1: not seen */
};

enum cluster_request {
    CLUSTER_SWITCHOVER,
    CLUSTER_FAILOVER, /* by force */
    CLUSTER_PAUSE,
    CLUSTER_RESUME,
    CLUSTER_FORGET, /* `to` is no member any more */
    CLUSTER_CANCEL, /* a switchover that is not carried out yet */
    CLUSTER_ADOPT,  /* take Redis over from another ensemble */
};

/* The caller embeds it. */
struct cluster_command {
    enum cluster_request request;
    const char *to;     /* a node, or ""; borrowed until on_done */
    int64_t at_wall_ms; /* SWITCHOVER: not before; 0: now */
    void (*on_done)(struct cluster_command *command);

    enum status status;
    const char *why; /* unless OK: for people, borrowed while on_done runs; "": none */
};

/* Called in the loop. What status points to is borrowed until the loop turns. */
struct cluster_port {
    /* False: the node is standalone, and only `may_act`, `refused` and `fenced` are set. */
    bool (*read)(void *arg, struct cluster_status *status);
    /* on_done comes once, never from inside. */
    void (*submit)(void *arg, struct cluster_command *command);
    void *arg;
};

/* ---- the store's link ---- */

#define STORE_WEAKNESSES_MAX 10
#define STORE_BUCKETS_MAX    128
#define STORE_MASTERS_MAX    136 /* with buckets of ours, or that had some just now */

/* A reason why the store may lose jobs or keep them waiting. All reasons are listed; `is_so`
 * says which hold now. Static texts. */
struct store_weakness {
    const char *word;
    const char *what, *advice; /* for people: what is wrong, and what to do */
    bool is_so;
};

/* One of the servers that have the buckets; a store that is no cluster has one. */
struct store_master {
    const char *address; /* "" or NULL: not known */
    const char *state;   /* "up", "connecting", "refused"; "leaving": it has no buckets now */
    const char *why;     /* it is not up: for people; "" or NULL */
    const char *breaker; /* as below */
    uint64_t is_up;      /* gauge: 0 or 1 */
    uint64_t buckets;    /* gauge: buckets at this master, reached or not */
    uint64_t in_flight;  /* gauge: operations sent there and not answered */
};

/* A bucket that operations do not reach. */
struct store_unreached {
    unsigned bucket;
    const char *address; /* of its master; "" or NULL: nobody has it */
    const char *why;     /* for people; never empty */
};

/* Counters count since the worker's start. */
struct store_numbers {
#define X(field, ...) uint64_t field;
    STORE_METRICS(X)
#undef X
    const char *address;    /* of the server in use; "" or NULL: not known */
    uint64_t is_up;         /* gauge: 0 or 1 */
    uint64_t round_trips;   /* operations answered */
    uint64_t errors;        /* of them: with an error, or not in the form of an answer */
    uint64_t lost;          /* operations in flight when the connection broke */
    uint64_t aof_cut_bytes; /* gauge: missing at the end of Redis's file when it was loaded */
    const struct histogram *round_trip_us; /* in microseconds; NULL: not measured */

    const char *breaker;           /* "closed", "open" or "half_open"; NULL: there is none */
    int64_t breaker_since_mono_ms; /* in that state; 0: from the start */

    struct store_weakness weak[STORE_WEAKNESSES_MAX];
    unsigned weak_count;

    const struct store_master *masters;
    unsigned master_count;                   /* at most STORE_MASTERS_MAX */
    const struct store_unreached *unreached; /* by bucket; each once */
    unsigned unreached_count;                /* at most STORE_BUCKETS_MAX */

    /* Where buckets move: answers that sent an operation elsewhere, or bade it wait. */
    uint64_t moved;     /* the bucket is at another master */
    uint64_t asked;     /* this once: it is moving there */
    uint64_t try_again; /* some of its keys are here and some there */
    uint64_t down;      /* nobody has it */
};

#endif
