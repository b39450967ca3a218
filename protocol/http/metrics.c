/* To add a number: a line in one of the tables below.
 *
 * Histograms are cumulative, in seconds. Our own buckets are finer than the exported bounds
 * and do not always end on one: a value within 3 % below a bound may be counted in the next,
 * so a lateness reads too large rather than too small.
 */
#include "protocol/http/metrics.h"

#include <inttypes.h>

#include "node/queue/queue.h"

#define COUNTER "counter"
#define GAUGE   "gauge"

struct number {
    const char *name;
    const char *type;
    const char *help;
    size_t offset; /* of a uint64_t */
};

#define OF_QUEUE(field) offsetof(struct queue_stats, field)
#define OF_STORE(field) offsetof(struct http_store_numbers, field)
#define OF_PORT(field)  offsetof(struct http_protocol_numbers, field)

static const struct number queue_numbers[] = {
    {"dueq_jobs_popped_total", COUNTER, "Jobs handed to a consumer's connection.",
     OF_QUEUE(popped_jobs)},
    {"dueq_jobs_returned_total", COUNTER, "Jobs taken back from a consumer that had left.",
     OF_QUEUE(returned_jobs)},
    {"dueq_confirmations_late_total", COUNTER,
     "Jobs whose reservation had run out before their delivery was confirmed.",
     OF_QUEUE(late_confirmations)},
    {"dueq_confirmations_lost_total", COUNTER,
     "Jobs whose delivery or return the store did not take: handed out again in seconds.",
     OF_QUEUE(lost_confirmations)},
    {"dueq_jobs_expired_total", COUNTER, "Reservations that ran out.", OF_QUEUE(expired_jobs)},
    {"dueq_consumers_waiting", GAUGE, "Consumers that wait for a job.", OF_QUEUE(waiting)},
    {"dueq_deliveries_unconfirmed", GAUGE,
     "Deliveries not yet known to have reached their consumer.", OF_QUEUE(unconfirmed)},
};

static const struct number store_numbers[] = {
    {"dueq_store_up", GAUGE, "Whether the store can be reached.", OF_STORE(is_up)},
    {"dueq_store_connects_total", COUNTER, "Connections to the store that became usable.",
     OF_STORE(connects)},
    {"dueq_store_round_trips_total", COUNTER, "Operations the store has answered.",
     OF_STORE(round_trips)},
    {"dueq_store_errors_total", COUNTER, "Operations the store answered with an error.",
     OF_STORE(errors)},
    {"dueq_store_lost_total", COUNTER,
     "Operations that were in flight when the connection broke: they may have happened.",
     OF_STORE(lost)},
    {"dueq_store_expired_total", COUNTER, "Operations held for too long and given up.",
     OF_STORE(expired)},
    {"dueq_store_overflowed_total", COUNTER, "Operations refused: too many were held.",
     OF_STORE(overflowed)},
    {"dueq_store_operations_in_flight", GAUGE, "Operations sent and not answered.",
     OF_STORE(in_flight)},
    {"dueq_store_operations_held", GAUGE, "Operations that wait for the store to be back.",
     OF_STORE(held)},
    {"dueq_store_bytes_held", GAUGE, "Memory of the operations in flight and held.",
     OF_STORE(held_bytes)},
};

static const struct number protocol_numbers[] = {
    {"dueq_connections", GAUGE, "Clients that are connected.", OF_PORT(connections)},
    {"dueq_connections_accepted_total", COUNTER, "Clients that were accepted.",
     OF_PORT(accepted)},
    {"dueq_connections_turned_away_total", COUNTER,
     "Clients that were turned away, over limits.connections.", OF_PORT(turned_away)},
    {"dueq_requests_total", COUNTER, "Requests, well-formed or not.", OF_PORT(requests)},
    {"dueq_requests_refused_total", COUNTER,
     "Requests that were not understood, too large, or came while the node stopped.",
     OF_PORT(refused)},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static void write_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static uint64_t value_of(const struct number *number, const void *values)
{
    return *(const uint64_t *)((const char *)values + number->offset);
}

static void write_numbers(struct buf *out, const struct number *numbers, size_t count,
                          const void *values)
{
    for (size_t i = 0; i < count; i++) {
        const struct number *n = &numbers[i];

        write_head(out, n->name, n->type, n->help);
        buf_printf(out, "%s %" PRIu64 "\n", n->name, value_of(n, values));
    }
}

static void write_protocols(struct buf *out, const struct metrics *m)
{
    for (size_t i = 0; i < COUNT_OF(protocol_numbers); i++) {
        const struct number *n = &protocol_numbers[i];

        write_head(out, n->name, n->type, n->help);
        for (unsigned p = 0; p < m->protocol_count; p++)
            buf_printf(out, "%s{protocol=\"%s\"} %" PRIu64 "\n", n->name, m->protocols[p].name,
                       value_of(n, &m->protocols[p]));
    }
}

static void write_operations(struct buf *out, const struct queue_stats *stats)
{
    const char *name = "dueq_operations_total";

    write_head(out, name, COUNTER,
               "Operations by verb and result: ok, refused (surely without effect), unknown "
               "(the store did not answer; it may have happened).");
    for (int verb = 0; verb < OP_COUNT; verb++) {
        const char *word = op_word((enum op_verb)verb);

        buf_printf(out, "%s{verb=\"%s\",result=\"ok\"} %" PRIu64 "\n", name, word,
                   stats->done[verb]);
        buf_printf(out, "%s{verb=\"%s\",result=\"refused\"} %" PRIu64 "\n", name, word,
                   stats->refused[verb]);
        buf_printf(out, "%s{verb=\"%s\",result=\"unknown\"} %" PRIu64 "\n", name, word,
                   stats->unknown[verb]);
    }
}

/* `per_second`: how many of the histogram's units make a second. */
static void write_histogram(struct buf *out, const char *name, const char *help,
                            const struct histogram *h, double per_second)
{
    static const int64_t steps[] = {1, 2, 5};

    write_head(out, name, "histogram", help);
    for (int64_t decade = 1; decade <= 10000; decade *= 10) {
        for (size_t i = 0; i < COUNT_OF(steps); i++) {
            /* Bounds from 1 ms, or from 100 us where microseconds are counted. */
            int64_t bound = steps[i] * decade * (per_second > 1000 ? 100 : 1);

            buf_printf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                       (double)bound / per_second, histogram_count_up_to(h, bound));
        }
    }
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, h->total);
    buf_printf(out, "%s_sum %.6f\n", name, (double)h->sum_ms / per_second);
    buf_printf(out, "%s_count %" PRIu64 "\n", name, h->total);
}

static void write_node(struct buf *out, const struct metrics *m)
{
    write_head(out, "dueq_loop_stalls_total", COUNTER,
               "Turns of the event loop in which a timer waited more than 10 ms.");
    buf_printf(out, "dueq_loop_stalls_total %" PRIu64 "\n", m->loop_stalls);
    write_head(out, "dueq_loop_stall_max_seconds", GAUGE,
               "The longest that a timer has waited since the start.");
    buf_printf(out, "dueq_loop_stall_max_seconds %.3f\n", (double)m->loop_stall_max_ms / 1000);
    write_head(out, "dueq_build_info", GAUGE, "Always 1; the version is in the label.");
    buf_printf(out, "dueq_build_info{version=\"%s\"} 1\n", m->version);
}

void metrics_write(struct buf *out, const struct metrics *m)
{
    write_operations(out, m->queue);
    write_numbers(out, queue_numbers, COUNT_OF(queue_numbers), m->queue);
    write_histogram(out, "dueq_move_lateness_seconds",
                    "From due to ready, of every job that had a delay.",
                    &m->queue->move_lateness, 1e3);
    write_histogram(out, "dueq_delivery_lateness_seconds",
                    "From due to handed over, of jobs that a consumer was waiting for.",
                    &m->queue->delivery_lateness, 1e3);
    write_protocols(out, m);
    write_numbers(out, store_numbers, COUNT_OF(store_numbers), &m->store);
    if (m->store.round_trip_us)
        write_histogram(out, "dueq_store_round_trip_seconds",
                        "From a command's sending to its answer.", m->store.round_trip_us, 1e6);
    write_node(out, m);
}
