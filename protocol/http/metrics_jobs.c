/* How many jobs there are, from a census. The number of series is bounded: the topics with the
 * most jobs have their own, all others are summed up under the topic "*", which is no name that
 * a topic may have. So the sums over all topics are right, however many there are.
 *
 * Numbers are those of the census, which may be minutes old. Times are told as of now.
 */
#include "node/queue/queue.h"
#include "protocol/http/metrics.h"

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

/* The first in line grows older with the census. None is ready: no age. It is hidden behind
 * cancelled ones: not known, no sample. */
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

/* -1: there is none, or it is not known. What was due when it was counted is late; what became
 * due since has been moved, or has not. */
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

void metrics_write_jobs(struct metrics_text *t, const struct metrics *m)
{
    if (!m->census)
        return;
    write_by_topic(t, m);
    write_by_state(t, m->census->total);
    write_ages(t, m);
    write_next_due(t, m->census);
    write_census(t, m->census);
}
