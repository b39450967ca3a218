#include "protocol/api/metrics.h"

#include <string.h>

#include "node/queue/queue.h"

/* The engine's counters: what was done, what went wrong, how late it was. */

#define OF_QUEUE(field) METRICS_FIELD(struct queue_stats, field)

static const struct metrics_number queue_numbers[] = {
#define X(field, type, name, help) {name, METRICS_##type, help, OF_QUEUE(field)},
    QUEUE_METRICS(X)
#undef X
};

static void write_operations(struct metrics_text *t, const struct queue_stats *stats)
{
    const struct {
        const char *word;
        const uint64_t *by_verb;
    } results[] = {
        {"ok", stats->done}, {"refused", stats->refused}, {"unknown", stats->unknown}};

    metrics_text_family(t, "dueq_operations_total", METRICS_COUNTER,
                        "Operations by verb and result: ok, refused (surely without effect), "
                        "unknown (the store did not answer; it may have happened).");
    for (int verb = 0; verb < OP_COUNT; verb++)
        for (size_t i = 0; i < METRICS_COUNT(results); i++)
            metrics_text_whole(
                t,
                METRICS_LABELS({"verb", bytes_of_text(op_word((enum op_verb)verb))},
                               {"result", bytes_of_text(results[i].word)}),
                results[i].by_verb[verb]);
}

/* "No such owner" from a bucket is a good answer. */
static bool is_error(int verb, int status)
{
    return status != STATUS_OK && !(verb == OP_OWNER && status == STATUS_NOT_FOUND);
}

/* Only errors that have happened: the possible ones are many, and most never happen. */
static void write_errors(struct metrics_text *t, const struct queue_stats *stats)
{
    metrics_text_family(t, "dueq_operation_errors_total", METRICS_COUNTER,
                        "Operations refused or unknown, by verb and status.");
    for (int verb = 0; verb < OP_COUNT; verb++)
        for (int status = 0; status < STATUS_COUNT; status++)
            if (stats->ended[verb][status] && is_error(verb, status))
                metrics_text_whole(
                    t,
                    METRICS_LABELS({"verb", bytes_of_text(op_word((enum op_verb)verb))},
                                   {"status", bytes_of_text(status_word((enum status)status))}),
                    stats->ended[verb][status]);
}

/* All reasons from the start, so that an alert sees the rise from 0 at the first death. */
static void write_died(struct metrics_text *t, const struct queue_stats *stats)
{
    metrics_text_family(t, "dueq_jobs_died_total", METRICS_COUNTER,
                        "Jobs that went to dead, by reason, as far as this node did it.");
    for (int i = DEATH_NONE + 1; i < DEATH_COUNT; i++)
        metrics_text_whole(t,
                           METRICS_LABELS({"reason", bytes_of_text(death_word((enum death)i))}),
                           stats->died[i]);
}

static void write_repaired(struct metrics_text *t, const struct queue_stats *stats)
{
    metrics_text_family(t, "dueq_repaired_total", METRICS_COUNTER,
                        "Damages in the store that were mended, by kind.");
    for (int i = DAMAGE_NONE + 1; i < DAMAGE_COUNT; i++)
        metrics_text_whole(
            t, METRICS_LABELS({"damage", bytes_of_text(damage_word((enum damage)i))}),
            stats->repaired[i]);
}

/* For cluster mode. Late topics of other nodes were free, too. */
static void write_locks(struct metrics_text *t, const struct queue_stats *stats)
{
    const struct {
        const char *word;
        uint64_t count;
    } ways[] = {{"free", stats->locks_taken - stats->locks_stolen},
                {"view", stats->locks_taken_over},
                {"late", stats->locks_stolen}};

    metrics_text_family(t, "dueq_topic_locks_total", METRICS_COUNTER,
                        "Locks of topics that this node has taken: a free one of its own "
                        "topic, one of an older view, or that of another node's late topic.");
    for (size_t i = 0; i < METRICS_COUNT(ways); i++)
        metrics_text_whole(t, METRICS_LABELS({"how", bytes_of_text(ways[i].word)}),
                           ways[i].count);
}

static void write_queue(struct metrics_text *t, const struct metrics *m)
{
    const struct queue_stats *stats = m->queue;

    write_operations(t, stats);
    write_errors(t, stats);
    metrics_text_numbers(t, queue_numbers, METRICS_COUNT(queue_numbers), stats);
    write_died(t, stats);
    write_repaired(t, stats);
    write_locks(t, stats);
    metrics_text_histogram(t, "dueq_move_lateness_seconds",
                           "From due to ready, of every job that had a delay.",
                           &stats->move_lateness, METRICS_OF_MS);
    metrics_text_histogram(
        t, "dueq_delivery_lateness_seconds",
        "From due to the sending of the reply, of jobs that a consumer was waiting for.",
        &stats->delivery_lateness, METRICS_OF_MS);
}

/* How many jobs there are, from a census. The number of series is bounded: the topics with the
 * most jobs have their own, all others are summed up as topic "*", a name that no topic may
 * have. So sums over all topics are right.
 *
 * Counts are the census's, which may be minutes old; ages are as of now.
 */

#define OTHERS BYTES("*")

static const struct {
    struct bytes word;
    size_t offset; /* of an int64_t in struct topic_stats */
} states[] = {
    {BYTES("delayed"), offsetof(struct topic_stats, delayed)},
    {BYTES("ready"), offsetof(struct topic_stats, ready)},
    {BYTES("reserved"), offsetof(struct topic_stats, reserved)},
    {BYTES("dead"), offsetof(struct topic_stats, dead)},
};

#define STATES METRICS_COUNT(states)

static int64_t *in_state(struct topic_stats *stats, size_t state)
{
    return (int64_t *)((char *)stats + states[state].offset);
}

static uint64_t jobs_in(struct topic_stats stats, size_t state)
{
    return (uint64_t)*in_state(&stats, state);
}

static void write_topic(struct metrics_text *t, struct bytes topic, struct topic_stats stats)
{
    for (size_t i = 0; i < STATES; i++)
        metrics_text_whole(t, METRICS_LABELS({"topic", topic}, {"state", states[i].word}),
                           jobs_in(stats, i));
}

static unsigned shown_topics(const struct metrics *m)
{
    return m->topics_max < m->census->top_count ? m->topics_max : m->census->top_count;
}

/* All but the shown ones. */
static struct topic_stats others(const struct metrics *m)
{
    struct topic_stats rest = m->census->total;

    for (unsigned i = 0; i < shown_topics(m); i++) {
        struct topic_stats shown = m->census->top[i].stats;

        for (size_t state = 0; state < STATES; state++)
            *in_state(&rest, state) -= *in_state(&shown, state);
    }
    return rest;
}

static void write_by_topic(struct metrics_text *t, const struct metrics *m)
{
    metrics_text_family(t, "dueq_jobs", METRICS_GAUGE,
                        "Live jobs by topic and state; topic * is the sum of all that are not "
                        "shown (http.metrics_topics).");
    for (unsigned i = 0; i < shown_topics(m); i++)
        write_topic(t, m->census->top[i].topic, m->census->top[i].stats);
    write_topic(t, OTHERS, others(m));
}

static void write_by_state(struct metrics_text *t, struct topic_stats total)
{
    metrics_text_family(t, "dueq_jobs_by_state", METRICS_GAUGE, "Live jobs of all topics.");
    for (size_t i = 0; i < STATES; i++)
        metrics_text_whole(t, METRICS_LABELS({"state", states[i].word}), jobs_in(total, i));
}

/* The age of the first ready job grows with the census's age. 0 when none is ready; no sample
 * when cancelled jobs hide the first one. */
static void write_age(struct metrics_text *t, const struct metrics_label *labels,
                      struct topic_stats stats, int64_t census_age_ms)
{
    if (stats.oldest_ready_ms >= 0)
        metrics_text_ms(t, labels, stats.oldest_ready_ms + census_age_ms);
    else if (stats.ready == 0)
        metrics_text_ms(t, labels, 0);
}

static void write_ages(struct metrics_text *t, const struct metrics *m)
{
    const struct census *c = m->census;

    metrics_text_family(t, "dueq_first_ready_age_seconds", METRICS_GAUGE,
                        "Since the job that is first in its topic's line was due, the longest "
                        "of all topics; 0 with none ready.");
    write_age(t, NULL, c->total, c->age_ms);
    metrics_text_family(t, "dueq_topic_first_ready_age_seconds", METRICS_GAUGE,
                        "The same by topic, of those shown in dueq_jobs.");
    for (unsigned i = 0; i < shown_topics(m); i++)
        write_age(t, METRICS_LABELS({"topic", c->top[i].topic}), c->top[i].stats, c->age_ms);
}

/* -1: none is delayed, or not known: a job that became due since the census may have been
 * moved. 0: a job was late at the census already. */
static int64_t next_due_ms(const struct census *c)
{
    int64_t then_ms = c->total.next_due_ms;

    if (then_ms <= 0)
        return then_ms;
    return then_ms > c->age_ms ? then_ms - c->age_ms : -1;
}

static void write_next_due(struct metrics_text *t, const struct census *c)
{
    metrics_text_family(t, "dueq_next_due_seconds", METRICS_GAUGE,
                        "Until the first delayed job is due; no sample with none delayed, or "
                        "when it became due since it was counted.");
    if (next_due_ms(c) >= 0)
        metrics_text_ms(t, NULL, next_due_ms(c));
}

static void write_census(struct metrics_text *t, const struct census *c)
{
    metrics_text_family(t, "dueq_topics", METRICS_GAUGE,
                        "Topics that the store lists: those with a job, and for seconds those "
                        "whose last job has gone.");
    metrics_text_whole(t, NULL, c->topics);
    metrics_text_family(t, "dueq_topics_counted", METRICS_GAUGE,
                        "Topics with a job that the job figures are about.");
    metrics_text_whole(t, NULL, c->looked_at);
    metrics_text_family(t, "dueq_census_complete", METRICS_GAUGE,
                        "1: the job figures are about all topics; 0: some were left out, "
                        "there are too many, or a bucket does not answer.");
    metrics_text_whole(t, NULL, c->is_whole);
    metrics_text_family(t, "dueq_census_age_seconds", METRICS_GAUGE,
                        "How old the job figures are.");
    metrics_text_ms(t, NULL, c->age_ms);
}

static void write_jobs(struct metrics_text *t, const struct metrics *m)
{
    if (!m->census)
        return;
    write_by_topic(t, m);
    write_by_state(t, m->census->total);
    write_ages(t, m);
    write_next_due(t, m->census);
    write_census(t, m->census);
}

/* The cluster, as this node sees it. A standalone node leads and has nothing else to tell, but
 * its page has the same families. */

#define OF_CLUSTER(field) METRICS_FIELD(struct cluster_status, field)

static const struct metrics_number cluster_numbers[] = {
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
    metrics_text_family(
        t, "dueq_peers_plain", METRICS_GAUGE,
        "Peer links to other nodes without TLS: they are of an older version, or "
        "have ha.peer.tls: off.");
    metrics_text_whole(t, NULL, s->peers_plain);
    metrics_text_family(t, "dueq_peers_missing", METRICS_GAUGE,
                        "Other nodes that are here without a peer link to this one: their "
                        "death is noticed only when their session is over.");
    metrics_text_whole(t, NULL, missing);
}

static void write_cluster(struct metrics_text *t, const struct metrics *m)
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
    metrics_text_numbers(t, cluster_numbers, METRICS_COUNT(cluster_numbers), s);
    write_pause(t, s);
    write_changes(t, s);
    write_hooks(t, s);
    write_last_failover(t, s);
    write_peers(t, s);
    write_session(t, s->session);
}

/* ---- all of them ---- */

void metrics_write(struct buf *out, const struct metrics *m)
{
    struct metrics_text t = {.out = out};

    write_jobs(&t, m);
    write_queue(&t, m);
    write_cluster(&t, m);
    metrics_write_vip(&t, m);
    metrics_write_store(&t, m);
    metrics_write_node(&t, m);
}
