/* The cluster, as this node sees it. A standalone node leads and has nothing else to tell, but
 * its page has the same families. */
#include <string.h>

#include "protocol/api/metrics.h"

#define OF_CLUSTER(field) METRICS_FIELD(struct cluster_status, field)

static const struct metrics_number numbers[] = {
    {"dueq_lease_left_seconds", METRICS_GAUGE,
     "For how long this node may still act as leader.", OF_CLUSTER(lease_left_ms)},
    {"dueq_without_leader_seconds", METRICS_GAUGE,
     "Since this node saw a leader that proves its lease; 0: there is one.",
     OF_CLUSTER(leaderless_ms)},
    {"dueq_without_zookeeper_seconds", METRICS_GAUGE,
     "Since this node had a connection to ZooKeeper; its facts about other nodes are as old.",
     OF_CLUSTER(stale_ms)},
    {"dueq_without_leader_seconds_total", METRICS_COUNTER,
     "How long no leader was seen, all in all.", OF_CLUSTER(without_leader_total_ms)},
    {"dueq_elections_lost_total", METRICS_COUNTER, "Elections that another node has won.",
     OF_CLUSTER(elections_lost)},
    {"dueq_fenced_total", METRICS_COUNTER, "Answers of Redis that it has seen a higher token.",
     OF_CLUSTER(fenced)},
    {"dueq_peer_deaths_total", METRICS_COUNTER,
     "Sessions of other nodes closed because their process was proven dead.",
     OF_CLUSTER(peer_deaths)},
    {"dueq_zookeeper_sessions_total", METRICS_COUNTER, "Sessions begun with ZooKeeper.",
     OF_CLUSTER(sessions)},
    {"dueq_zookeeper_reconnects_total", METRICS_COUNTER,
     "Times that a session went on with a new connection.", OF_CLUSTER(reconnects)},
    {"dueq_zookeeper_session_timeout_seconds", METRICS_GAUGE,
     "The session timeout that ZooKeeper has granted.", OF_CLUSTER(granted_ms)},
    {"dueq_scanners", METRICS_GAUGE,
     "Nodes that move due jobs by this node's view, each of its own topics; 0 outside cluster "
     "mode.",
     OF_CLUSTER(scanners)},
    {"dueq_view", METRICS_GAUGE,
     "The number of this node's view, the same on all nodes with that view.", OF_CLUSTER(view)},
    {"dueq_shares", METRICS_GAUGE,
     "Shares into which the topics are divided; 0 outside cluster mode.", OF_CLUSTER(shares)},
    {"dueq_shares_own", METRICS_GAUGE, "Shares of this node.", OF_CLUSTER(own_shares)},
};

/* One sample for each word: 1 for the current one, else 0. */
static void write_states(struct metrics_text *t, const char *label, const char *const *words,
                         unsigned count, const char *is)
{
    for (unsigned i = 0; i < count; i++)
        metrics_text_whole(t, METRICS_LABELS({label, bytes_of_text(words[i])}),
                           !strcmp(words[i], is));
}

static void write_role(struct metrics_text *t, const char *role)
{
    static const char *const words[] = {"offline", "standby", "leader", "draining"};

    metrics_text_family(t, "dueq_role", METRICS_GAUGE, "1 for the role of this node.");
    write_states(t, "role", words, METRICS_COUNT(words), role);
}

static void write_session(struct metrics_text *t, const char *session)
{
    static const char *const words[] = {"closed", "connecting", "connected", "expired",
                                        "denied"};

    metrics_text_family(
        t, "dueq_zookeeper_session", METRICS_GAUGE,
        "1 for the state of the session with ZooKeeper; a node that is alone has "
        "none: closed.");
    write_states(t, "state", words, METRICS_COUNT(words), session);
}

static void write_changes(struct metrics_text *t, const struct cluster_status *s)
{
    metrics_text_family(t, "dueq_role_changes_total", METRICS_COUNTER,
                        "How often this node came into a role, by the reason.");
    for (unsigned i = 0; i < s->count_count; i++)
        metrics_text_whole(t,
                           METRICS_LABELS({"role", bytes_of_text(s->counts[i].role)},
                                          {"reason", bytes_of_text(s->counts[i].reason)}),
                           s->counts[i].count);
}

static void write_hooks(struct metrics_text *t, const struct cluster_status *s)
{
    metrics_text_family(t, "dueq_hook_runs_total", METRICS_COUNTER,
                        "Runs of ha.hook, by what was told and how it ended.");
    for (unsigned i = 0; i < s->hook_count_count; i++)
        metrics_text_whole(t,
                           METRICS_LABELS({"what", bytes_of_text(s->hook_counts[i].what)},
                                          {"result", bytes_of_text(s->hook_counts[i].result)}),
                           s->hook_counts[i].count);
}

/* While nobody leads: the newest epoch in the history. */
static uint64_t epoch_seen(const struct cluster_status *s)
{
    if (s->leader_epoch || !s->change_count)
        return s->leader_epoch;
    return s->changes[s->change_count - 1].epoch;
}

static void write_epoch(struct metrics_text *t, const struct cluster_status *s)
{
    metrics_text_family(t, "dueq_leader_epoch", METRICS_GAUGE,
                        "The epoch of the leader that was seen last.");
    metrics_text_whole(t, NULL, epoch_seen(s));
}

static void write_pause(struct metrics_text *t, const struct cluster_status *s)
{
    metrics_text_family(t, "dueq_failover_paused", METRICS_GAUGE,
                        "1 while automatic failover is paused: nobody takes over from a leader "
                        "that dies.");
    metrics_text_whole(t, NULL, s->is_paused);
}

static void write_last_failover(struct metrics_text *t, const struct cluster_status *s)
{
    metrics_text_family(
        t, "dueq_last_failover_seconds", METRICS_GAUGE,
        "How long there was no leader before the newest; no sample when that was "
        "not seen.");
    if (s->last_failover_ms >= 0)
        metrics_text_ms(t, NULL, s->last_failover_ms);
}

/* For nodes that are here: the death of a node without a connection is noticed late. */
static void write_peers(struct metrics_text *t, const struct cluster_status *s)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < s->node_count; i++)
        missing += s->nodes[i].is_here && strcmp(s->nodes[i].name, s->node) != 0;
    missing -= s->peers_up < missing ? s->peers_up : missing;
    metrics_text_family(t, "dueq_peers_connected", METRICS_GAUGE,
                        "Other nodes that this one has a peer link to.");
    metrics_text_whole(t, NULL, s->peers_up);
    metrics_text_family(t, "dueq_peers_missing", METRICS_GAUGE,
                        "Other nodes that are here without a peer link to this one: their "
                        "death is noticed only when their session is over.");
    metrics_text_whole(t, NULL, missing);
}

void metrics_write_cluster(struct metrics_text *t, const struct metrics *m)
{
    static const struct cluster_count started = {"leader", "started", 1};
    static const struct cluster_hook never = {"promote", "done", 0};
    const struct cluster_status alone = {
        .role = m->is_fenced_alone ? "offline" : "leader",
        .session = "closed",
        .counts = &started,
        .count_count = 1,
        .hook_counts = &never,
        .hook_count_count = 1,
        .fenced = m->fenced_alone,
        .last_failover_ms = -1,
    };
    const struct cluster_status *s = m->cluster ? m->cluster : &alone;

    write_role(t, s->role);
    write_epoch(t, s);
    metrics_text_numbers(t, numbers, METRICS_COUNT(numbers), s);
    write_pause(t, s);
    write_changes(t, s);
    write_hooks(t, s);
    write_last_failover(t, s);
    write_peers(t, s);
    write_session(t, s->session);
}
