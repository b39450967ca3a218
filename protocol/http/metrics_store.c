/* The store's link: is it there, what waits for it, and may it lose jobs? */
#include "protocol/http/metrics.h"

#include <string.h>

#define OF_STORE(field) METRICS_FIELD(struct http_store_numbers, field)

static const struct metrics_number store_numbers[] = {
    {"dueq_store_up", METRICS_GAUGE, "Whether the store can be reached.", OF_STORE(is_up)},
    {"dueq_store_connects_total", METRICS_COUNTER,
     "Connections to the store that became usable.", OF_STORE(connects)},
    {"dueq_store_round_trips_total", METRICS_COUNTER, "Operations the store has answered.",
     OF_STORE(round_trips)},
    {"dueq_store_errors_total", METRICS_COUNTER, "Operations the store answered with an error.",
     OF_STORE(errors)},
    {"dueq_store_lost_total", METRICS_COUNTER,
     "Operations that were in flight when the connection broke: they may have happened.",
     OF_STORE(lost)},
    {"dueq_store_repeated_total", METRICS_COUNTER,
     "Operations sent again: their answer was lost, or they were not carried out.",
     OF_STORE(repeated)},
    {"dueq_store_expired_total", METRICS_COUNTER, "Operations held for too long and given up.",
     OF_STORE(expired)},
    {"dueq_store_dropped_total", METRICS_COUNTER,
     "Operations that were held, and whose client went away meanwhile.", OF_STORE(dropped)},
    {"dueq_store_overflowed_total", METRICS_COUNTER, "Operations refused: too many were held.",
     OF_STORE(overflowed)},
    {"dueq_store_broken_total", METRICS_COUNTER,
     "Operations refused because the circuit breaker was open.", OF_STORE(broken)},
    {"dueq_store_breaker_trips_total", METRICS_COUNTER,
     "How often the circuit breaker has opened.", OF_STORE(breaker_trips)},
    {"dueq_store_older_total", METRICS_COUNTER,
     "How often the store came back older than it was: writes were lost.", OF_STORE(older)},
    {"dueq_store_lost_pushes_total", METRICS_COUNTER,
     "Acknowledged pushes of this node that are gone for certain with that.",
     OF_STORE(lost_pushes)},
    {"dueq_store_replica_waits_total", METRICS_COUNTER,
     "Answers that waited until replicas had them.", OF_STORE(replica_waits)},
    {"dueq_store_replica_timeouts_total", METRICS_COUNTER,
     "Answers that waited for replicas in vain, and ended as unknown.",
     OF_STORE(replica_timeouts)},
    {"dueq_store_operations_waiting_for_replicas", METRICS_GAUGE,
     "Operations that are done, and whose answer waits for replicas.",
     OF_STORE(waiting_for_replicas)},
    {"dueq_store_operations_in_flight", METRICS_GAUGE, "Operations sent and not answered.",
     OF_STORE(in_flight)},
    {"dueq_store_operations_held", METRICS_GAUGE,
     "Operations that wait for the store to be back.", OF_STORE(held)},
    {"dueq_store_bytes_held", METRICS_GAUGE, "Memory of the operations in flight and held.",
     OF_STORE(held_bytes)},
};

static void write_breaker(struct metrics_text *t, const char *state)
{
    static const char *const words[] = {"closed", "open", "half_open"};

    metrics_text_family(t, "dueq_store_breaker_state", METRICS_GAUGE,
                        "1 for the state of the circuit breaker before the store.");
    for (unsigned i = 0; i < METRICS_COUNT(words); i++)
        metrics_text_whole(t, METRICS_LABELS({"state", bytes_of_text(words[i])}),
                           !strcmp(words[i], state));
}

static void write_weak(struct metrics_text *t, const struct http_store_numbers *n)
{
    metrics_text_family(t, "dueq_store_weak", METRICS_GAUGE,
                        "1 where the store may lose jobs, or keep them waiting, for this "
                        "reason.");
    for (unsigned i = 0; i < n->weak_count; i++)
        metrics_text_whole(t, METRICS_LABELS({"why", bytes_of_text(n->weak[i].word)}),
                           n->weak[i].is_so);
}

void metrics_write_store(struct metrics_text *t, const struct metrics *m)
{
    metrics_text_numbers(t, store_numbers, METRICS_COUNT(store_numbers), &m->store);
    write_breaker(t, m->store.breaker ? m->store.breaker : "closed");
    write_weak(t, &m->store);
    if (m->store.round_trip_us)
        metrics_text_histogram(t, "dueq_store_round_trip_seconds",
                               "From a command's sending to its answer.",
                               m->store.round_trip_us, METRICS_OF_US);
}
