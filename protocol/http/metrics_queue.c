/* The engine's counters: what was done, what went wrong, how late it was. */
#include "node/queue/queue.h"
#include "protocol/http/metrics.h"

#define OF_QUEUE(field) METRICS_FIELD(struct queue_stats, field)

static const struct metrics_number numbers[] = {
    {"dueq_jobs_popped_total", METRICS_COUNTER, "Jobs delivered to a consumer.",
     OF_QUEUE(popped_jobs)},
    {"dueq_jobs_returned_total", METRICS_COUNTER,
     "Jobs put back, because their consumer left before it had them; they do not count as "
     "popped.",
     OF_QUEUE(returned_jobs)},
    {"dueq_jobs_expired_total", METRICS_COUNTER, "Reservations that ran out.",
     OF_QUEUE(expired_jobs)},
    {"dueq_jobs_pruned_total", METRICS_COUNTER,
     "Dead jobs deleted by the limits of their topics.", OF_QUEUE(pruned_jobs)},
    {"dueq_confirmations_late_total", METRICS_COUNTER,
     "Jobs whose reservation had run out before their delivery was confirmed.",
     OF_QUEUE(late_confirmations)},
    {"dueq_confirmations_lost_total", METRICS_COUNTER,
     "Jobs whose delivery or return the store did not take: handed out again in seconds.",
     OF_QUEUE(lost_confirmations)},
    {"dueq_consumers_waiting", METRICS_GAUGE, "Consumers that wait for a job.",
     OF_QUEUE(waiting)},
    {"dueq_followers", METRICS_GAUGE,
     "Clients that follow the hand-overs and wait for the next.", OF_QUEUE(following)},
    {"dueq_deliveries_unconfirmed", METRICS_GAUGE,
     "Deliveries not yet known to have reached their consumer.", OF_QUEUE(unconfirmed)},
    {"dueq_census_walks_total", METRICS_COUNTER,
     "How often all topics have been counted, for these metrics.", OF_QUEUE(census_walks)},
    {"dueq_history_lost_total", METRICS_COUNTER, "Lines of history that were not written down.",
     OF_QUEUE(history_lost)},
    {"dueq_audited_total", METRICS_COUNTER,
     "Jobs, and entries of places, that the reconciler has looked at.", OF_QUEUE(audited)},
    {"dueq_audit_walks_total", METRICS_COUNTER,
     "How often the reconciler has been through the whole store.", OF_QUEUE(audit_walks)},
    {"dueq_audit_suspects_total", METRICS_COUNTER,
     "What looked wrong to the reconciler at first sight.", OF_QUEUE(suspects)},
    {"dueq_topic_locks_barred_total", METRICS_COUNTER,
     "Scans that left a due topic of this node alone, because another node had its lock.",
     OF_QUEUE(locks_barred)},
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

/* A bucket that does not know an owner has answered well. */
static bool is_error(int verb, int status)
{
    return status != STATUS_OK && !(verb == OP_OWNER && status == STATUS_NOT_FOUND);
}

/* Those that have happened: all there could be are many and most never will. */
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

/* All reasons, from the start: whoever waits for the first job that dies sees it rise. */
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
                        "What was wrong in the store, and is mended, by damage.");
    for (int i = DAMAGE_NONE + 1; i < DAMAGE_COUNT; i++)
        metrics_text_whole(
            t, METRICS_LABELS({"damage", bytes_of_text(damage_word((enum damage)i))}),
            stats->repaired[i]);
}

/* In cluster mode. Others' topics that were late were free, too. */
static void write_locks(struct metrics_text *t, const struct queue_stats *stats)
{
    const struct {
        const char *word;
        uint64_t count;
    } ways[] = {{"free", stats->locks_taken - stats->locks_taken_late},
                {"view", stats->locks_taken_over},
                {"late", stats->locks_taken_late}};

    metrics_text_family(t, "dueq_topic_locks_total", METRICS_COUNTER,
                        "Locks of topics that this node has taken: its own topic's that was "
                        "free, one of an older view, another node's topic's for its lateness.");
    for (size_t i = 0; i < METRICS_COUNT(ways); i++)
        metrics_text_whole(t, METRICS_LABELS({"how", bytes_of_text(ways[i].word)}),
                           ways[i].count);
}

void metrics_write_queue(struct metrics_text *t, const struct metrics *m)
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
