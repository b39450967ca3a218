#include "node/store/memory/orphans.h"

#include <assert.h>

#include "node/store/memory/places.h"

void record_lose(struct topic *topic, struct record *record)
{
    assert(!record->is_lost && record->job.state != JOB_READY);
    HASH_DEL(topic->records, record);
    record->is_lost = true;
    topic->lost_count++;
}

/* The lost one of the place with the smallest id behind this one, where it is smaller than that
 * of `best`; else `best`. */
static struct record *better(const struct order *place, struct bytes behind,
                             struct record *best)
{
    for (size_t i = 0; i < place->count; i++) {
        struct record *record = order_at(place, i)->record;

        if (!record || !record->is_lost || bytes_compare(record->job.id, behind) <= 0)
            continue;
        if (!best || bytes_compare(record->job.id, best->job.id) < 0)
            best = record;
    }
    return best;
}

struct record *lost_find_behind(struct topic *topic, struct bytes id)
{
    struct record *best = NULL;

    if (!topic->lost_count)
        return NULL;
    for (enum job_state state = JOB_DELAYED; state <= JOB_DEAD; state++)
        best = better(&topic->places[state], id, best);
    return best;
}

struct record *lost_find(struct topic *topic, struct bytes id)
{
    struct record *record = lost_find_behind(topic, BYTES(""));

    while (record && !bytes_equal(record->job.id, id))
        record = lost_find_behind(topic, record->job.id);
    return record;
}

static bool has_lost_due(const struct order *order, int64_t now_ms)
{
    for (size_t i = 0; i < order->count && order_at(order, i)->score <= now_ms; i++)
        if (order_at(order, i)->record->is_lost)
            return true;
    return false;
}

bool lost_is_due(const struct topic *topic, int64_t now_ms)
{
    return topic->lost_count > 0 && (has_lost_due(&topic->places[JOB_DELAYED], now_ms) ||
                                     has_lost_due(&topic->places[JOB_RESERVED], now_ms) ||
                                     has_lost_due(&topic->expiring, now_ms));
}

bool lost_is_dead(const struct topic *topic)
{
    return topic->lost_count > 0 && has_lost_due(&topic->places[JOB_DEAD], INT64_MAX);
}

void lost_delete(struct topic *topic, struct record *record)
{
    assert(record->is_lost);
    record_leave(topic, record);
    record_end_expiry(topic, record);
    topic->lost_count--;
    free(record);
}

void lost_delete_all(struct topic *topic)
{
    struct record *record;

    while ((record = lost_find_behind(topic, BYTES(""))))
        lost_delete(topic, record);
}
