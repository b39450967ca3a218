/* The store's links: are they there, what waits for them, which buckets are not reached, and
 * may it lose jobs? */
#include "protocol/http/metrics.h"

#include <string.h>

#define OF_STORE(field) METRICS_FIELD(struct http_store_numbers, field)

static const struct metrics_number store_numbers[] = {
    {"dueq_store_up", METRICS_GAUGE, "Whether the store can be reached.", OF_STORE(is_up)},
    {"dueq_store_connects_total", METRICS_COUNTER,
     "Connections to the store that became usable.", OF_STORE(connects)},
    {"dueq_store_round_trips_total", METRICS_COUNTER, "Operations the store has answered.",
     OF_STORE(round_trips)},
    {"dueq_store_aof_cut_bytes", METRICS_GAUGE,
     "Bytes that were missing at the end of the embedded Redis's file when it was loaded, or "
     "cut "
     "off it then, since the node's start.",
     OF_STORE(aof_cut_bytes)},
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
    {"dueq_store_clock_jumps_total", METRICS_COUNTER,
     "How often the store's clock has jumped by more than a second against this host's.",
     OF_STORE(clock_jumps)},
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
    {"dueq_store_bytes_held", METRICS_GAUGE,
     "Topics, ids and bodies of the operations in flight and held.", OF_STORE(held_bytes)},
    {"dueq_store_maps_read_total", METRICS_COUNTER,
     "How often a Redis Cluster has said which master has which buckets.", OF_STORE(maps_read)},
};

static const char *const breaker_words[] = {"closed", "open", "half_open"};

static bool is_breaker(const char *state, unsigned word)
{
    return !strcmp(breaker_words[word], state ? state : breaker_words[0]);
}

static void write_breaker(struct metrics_text *t, const char *state)
{
    metrics_text_family(t, "dueq_store_breaker_state", METRICS_GAUGE,
                        "1 for the state of the circuit breaker before the store.");
    for (unsigned i = 0; i < METRICS_COUNT(breaker_words); i++)
        metrics_text_whole(t, METRICS_LABELS({"state", bytes_of_text(breaker_words[i])}),
                           is_breaker(state, i));
}

/* ---- its masters ---- */

#define OF_MASTER(field) METRICS_FIELD(struct http_store_master, field)

static const struct metrics_number master_numbers[] = {
    {"dueq_store_master_up", METRICS_GAUGE, "Whether this master can be reached.",
     OF_MASTER(is_up)},
    {"dueq_store_master_buckets", METRICS_GAUGE, "Buckets that are at this master.",
     OF_MASTER(buckets)},
    {"dueq_store_master_operations_in_flight", METRICS_GAUGE,
     "Operations sent to this master and not answered.", OF_MASTER(in_flight)},
};

static bool is_leaving(const struct http_store_master *master)
{
    return !strcmp(master->state, "leaving");
}

/* No sample may come twice: an address that is left, and had again, is shown as it is now. One
 * that Sentinels have not named yet has none. */
static bool is_shown(const struct http_store_numbers *n, unsigned i)
{
    const struct http_store_master *master = &n->masters[i];

    for (unsigned other = 0; other < n->master_count && master->address; other++) {
        const struct http_store_master *o = &n->masters[other];
        bool is_rather = is_leaving(o) == is_leaving(master) ? other < i : is_leaving(master);

        if (is_rather && o->address && !strcmp(o->address, master->address))
            return false;
    }
    return master->address && *master->address;
}

static void write_master_number(struct metrics_text *t, const struct metrics_number *number,
                                const struct http_store_numbers *n)
{
    metrics_text_family(t, number->name, number->type, number->help);
    for (unsigned i = 0; i < n->master_count; i++)
        if (is_shown(n, i))
            metrics_text_number(
                t, number, METRICS_LABELS({"master", bytes_of_text(n->masters[i].address)}),
                &n->masters[i]);
}

static void write_master_breakers(struct metrics_text *t, const struct http_store_numbers *n)
{
    metrics_text_family(t, "dueq_store_master_breaker_state", METRICS_GAUGE,
                        "1 for the state of the circuit breaker before this master.");
    for (unsigned i = 0; i < n->master_count; i++)
        for (unsigned w = 0; w < METRICS_COUNT(breaker_words) && is_shown(n, i); w++)
            metrics_text_whole(t,
                               METRICS_LABELS({"master", bytes_of_text(n->masters[i].address)},
                                              {"state", bytes_of_text(breaker_words[w])}),
                               is_breaker(n->masters[i].breaker, w));
}

static void write_masters(struct metrics_text *t, const struct http_store_numbers *n)
{
    for (unsigned i = 0; i < METRICS_COUNT(master_numbers); i++)
        write_master_number(t, &master_numbers[i], n);
    write_master_breakers(t, n);
    metrics_text_family(t, "dueq_store_buckets_unreached", METRICS_GAUGE,
                        "Buckets that operations do not reach now.");
    metrics_text_whole(t, NULL, n->unreached_count);
}

static void write_redirects(struct metrics_text *t, const struct http_store_numbers *n)
{
    const struct {
        const char *word;
        uint64_t count;
    } kinds[] = {
        {"moved", n->moved}, {"ask", n->asked}, {"try_again", n->try_again}, {"down", n->down}};

    metrics_text_family(t, "dueq_store_redirects_total", METRICS_COUNTER,
                        "Operations that a Redis Cluster sent elsewhere, or bade wait.");
    for (size_t i = 0; i < METRICS_COUNT(kinds); i++)
        metrics_text_whole(t, METRICS_LABELS({"kind", bytes_of_text(kinds[i].word)}),
                           kinds[i].count);
}

/* ---- its promise ---- */

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
    write_breaker(t, m->store.breaker);
    write_masters(t, &m->store);
    write_redirects(t, &m->store);
    write_weak(t, &m->store);
    if (m->store.round_trip_us)
        metrics_text_histogram(t, "dueq_store_round_trip_seconds",
                               "From a command's sending to its answer.",
                               m->store.round_trip_us, METRICS_OF_US);
}
