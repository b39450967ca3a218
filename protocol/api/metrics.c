#include "protocol/api/metrics.h"

#include "node/queue/queue.h"

static void metrics_write_queue(struct metrics_text *t, const struct metrics *m);
static void metrics_write_jobs(struct metrics_text *t, const struct metrics *m);

void metrics_write(struct buf *out, const struct metrics *m)
{
    struct metrics_text t = {.out = out};

    metrics_write_jobs(&t, m);
    metrics_write_queue(&t, m);
    metrics_write_cluster(&t, m);
    metrics_write_vip(&t, m);
    metrics_write_store(&t, m);
    metrics_write_node(&t, m);
}

/* The engine's counters: what was done, what went wrong, how late it was. */

#define OF_QUEUE(field) METRICS_FIELD(struct queue_stats, field)

static const struct metrics_number numbers[] = {
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

/* Each file writes some of the families. */
static void metrics_write_queue(struct metrics_text *t, const struct metrics *m)
{
    const struct queue_stats *stats = m->queue;

    write_operations(t, stats);
    write_errors(t, stats);
    metrics_text_numbers(t, numbers, METRICS_COUNT(numbers), stats);
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
                        "1: the job figures are about all topics; 0: there are too many, and "
                        "some were left out.");
    metrics_text_whole(t, NULL, c->is_whole);
    metrics_text_family(t, "dueq_census_age_seconds", METRICS_GAUGE,
                        "How old the job figures are.");
    metrics_text_ms(t, NULL, c->age_ms);
}

static void metrics_write_jobs(struct metrics_text *t, const struct metrics *m)
{
    if (!m->census)
        return;
    write_by_topic(t, m);
    write_by_state(t, m->census->total);
    write_ages(t, m);
    write_next_due(t, m->census);
    write_census(t, m->census);
}
