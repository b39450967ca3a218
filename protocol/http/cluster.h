/* What the HTTP port has to know of the cluster: numbers and texts, and a way to tell what an
 * operator wants. The node fills it in, so that nothing here knows ZooKeeper or the election.
 */
#ifndef DUEQ_PROTOCOL_HTTP_CLUSTER_H
#define DUEQ_PROTOCOL_HTTP_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "protocol/http/vip.h"

struct http_cluster_node {
    const char *name;
    const char *version, *gmq, *http, *peer; /* "": not known, or off */
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
struct http_cluster_change {
    int64_t at_wall_ms;
    const char *node;
    const char *reason;
    uint64_t epoch;
    int64_t without_leader_ms; /* -1: not seen */
};

/* How often this node came into a role for a reason, since its start. */
struct http_cluster_count {
    const char *role, *reason;
    uint64_t count;
};

/* How often the operator's program was told of a change of role, and how that ended. */
struct http_cluster_hook {
    const char *what, *result;
    uint64_t count;
};

/* Counters since the worker's start. Texts are UTF-8; "" for none. */
struct http_cluster_status {
    const char *node;
    const char *role; /* "offline", "standby", "leader" or "draining" */
    const char *reason;
    int64_t role_age_ms; /* since it changed */
    bool may_act;        /* it leads, and its lease holds */
    const char *token;   /* of a leader: its own */
    int64_t lease_left_ms;
    bool is_failsafe; /* the lease rests on the other nodes' promises */

    int64_t stale_ms; /* without ZooKeeper for so long: what follows is as old; 0: it is not */
    const char *leader;    /* "": none, or it is not known */
    uint64_t leader_epoch; /* without ZooKeeper as last seen; 0: none leads */
    int64_t alone_ms;      /* since one was last seen to prove its lease; 0: there is one */
    bool is_paused;        /* no automatic failover */
    int64_t paused_at_wall_ms;
    const char *paused_by; /* the node that was asked */
    int64_t now_wall_ms;
    const char *wanted; /* the next leader that an operator wants; "*": any other */
    int64_t wanted_at_wall_ms;
    bool is_forced; /* by force, which cannot be taken back */
    bool is_flapping;
    const char *refused; /* what only a human can mend, as this node sees it */

    const char *session; /* "closed", "connecting", "connected", "expired" or "denied" */
    const char *server;
    const char *session_why;
    int64_t asked_ms, granted_ms; /* session timeout; granted 0: none yet */
    int64_t tick_ms;              /* the servers' tickTime; 0: they do not tell */

    const struct http_cluster_node *nodes; /* here, or members; by name */
    unsigned node_count;
    unsigned peers_up;                         /* other nodes that this one is connected with */
    const struct http_cluster_change *changes; /* oldest first */
    unsigned change_count;
    const struct http_cluster_count *counts;
    unsigned count_count;
    const struct http_cluster_hook *hook_counts;
    unsigned hook_count_count;
    const struct http_vip_status *vip; /* NULL: there is no virtual address */

    bool is_sharing; /* ha.mode: cluster. Each node moves what is due in its own topics */
    /* Who scans, the view; all 0 without is_sharing. */
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

enum http_cluster_wish {
    HTTP_CLUSTER_SWITCHOVER,
    HTTP_CLUSTER_FAILOVER, /* by force */
    HTTP_CLUSTER_PAUSE,
    HTTP_CLUSTER_RESUME,
    HTTP_CLUSTER_FORGET, /* `to` is no member any more */
    HTTP_CLUSTER_CANCEL, /* a switchover that is not carried out yet */
    HTTP_CLUSTER_ADOPT,  /* take Redis over from another ensemble */
};

/* The caller embeds it. */
struct http_cluster_command {
    enum http_cluster_wish wish;
    const char *to;     /* a node, or ""; borrowed until on_done */
    int64_t at_wall_ms; /* SWITCHOVER: not before; 0: now */
    void (*on_done)(struct http_cluster_command *command);

    enum status status;
    const char *why; /* unless OK: for people, borrowed while on_done runs; "": none */
};

/* Called in the loop. What status points to is borrowed until the loop turns. */
struct http_cluster {
    /* False: the node is alone, and only `may_act`, `refused` and `fenced` are told. */
    bool (*read)(void *arg, struct http_cluster_status *status);
    /* on_done comes once, never from inside. */
    void (*submit)(void *arg, struct http_cluster_command *command);
    void *arg;
};

#endif
