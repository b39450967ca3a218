#include "node/store/memory/places.h"

#include <assert.h>

/* ---- spots ---- */

static int64_t score_of(const struct record *record)
{
    return record->job.state == JOB_READY ? record->job.rules.priority : record->place_ms;
}

static int64_t key_of(const struct record *record)
{
    return record->job.state == JOB_READY ? record->job.stamp : 0;
}

static bool is_of_default_priority(const struct job *job)
{
    return job->rules.priority == RULES_PRIORITY_DEFAULT;
}

/* Is the job, when it is ready, in what is a list in Redis? */
static bool is_of_list(const struct record *record)
{
    return is_of_default_priority(&record->job) && !record->own_key;
}

bool spot_is_of_list(const struct spot *spot)
{
    return spot->score == RULES_PRIORITY_DEFAULT && (!spot->record || is_of_list(spot->record));
}

/* A ready one that is about to be placed, or that has left its place. */
static void count_shared(struct topic *topic, const struct record *record, int change)
{
    if (is_of_default_priority(&record->job) && record->own_key)
        topic->shared_count += (size_t)change;
}

/* An orphan may stand in front of it, with the same time and name. */
static size_t index_of(const struct order *place, const struct record *record)
{
    size_t index = order_find(place, score_of(record), key_of(record), record->job.id);

    while (index < place->count && order_at(place, index)->record != record)
        index++;
    assert(index < place->count);
    return index;
}

void record_leave(struct topic *topic, struct record *record)
{
    struct order *place = &topic->places[record->job.state];

    record->is_confirmed = false;
    if (!record->is_placed)
        return;
    record->is_placed = false;
    if (record->job.state == JOB_READY && is_of_list(record)) {
        order_at(place, index_of(place, record))->record = NULL;
        return;
    }
    order_remove(place, index_of(place, record));
    if (record->job.state == JOB_READY) {
        topic->left_by = topic->bucket->db->operations;
        count_shared(topic, record, -1);
    }
}

static void enter(struct topic *topic, struct record *record, enum job_state state,
                  int64_t stamp, int64_t place_ms)
{
    assert(!record->is_placed);
    record->is_placed = true;
    record->job.state = state;
    record->job.stamp = stamp;
    record->place_ms = place_ms;
    order_add(&topic->places[state], score_of(record), key_of(record), record);
}

/* ---- moving ---- */

void enter_delayed(struct topic *topic, struct record *record, int64_t due_ms)
{
    record->job.due_ms = due_ms;
    enter(topic, record, JOB_DELAYED, 0, due_ms);
    memory_topic_expect(topic, due_ms);
}

struct span ready_default_span(const struct topic *topic)
{
    const struct order *ready = &topic->places[JOB_READY];

    return (struct span){order_find_score(ready, RULES_PRIORITY_DEFAULT),
                         order_find_score(ready, RULES_PRIORITY_DEFAULT + 1)};
}

/* Was there none of its kind when the operation began? In Redis the default priority has a list
 * of its own, the others share a set. */
static bool is_first_of_kind(const struct topic *topic, const struct record *record)
{
    struct span span = ready_default_span(topic);
    size_t of_list = span.to - span.from - topic->shared_count;

    if (is_of_list(record))
        return of_list == 0;
    return topic->places[JOB_READY].count == of_list &&
           topic->left_by != topic->bucket->db->operations;
}

static void enter_ready(struct topic *topic, struct record *record, int64_t key)
{
    if (is_first_of_kind(topic, record))
        memory_topic_announce(topic);
    count_shared(topic, record, 1);
    enter(topic, record, JOB_READY, record->own_key ? record->own_key : key,
          record->job.due_ms);
}

void enter_ready_last(struct topic *topic, struct record *record)
{
    enter_ready(topic, record, JOB_KEY_MIDDLE + ++topic->bucket->n);
}

void enter_ready_first(struct topic *topic, struct record *record)
{
    enter_ready(topic, record, JOB_KEY_MIDDLE - ++topic->bucket->n);
}

void enter_reserved(struct topic *topic, struct record *record, int64_t deadline_ms)
{
    enter(topic, record, JOB_RESERVED, ++topic->bucket->n, deadline_ms);
    memory_topic_expect(topic, deadline_ms);
}

void move_deadline(struct topic *topic, struct record *record, int64_t deadline_ms)
{
    struct order *place = &topic->places[JOB_RESERVED];

    order_remove(place, index_of(place, record));
    record->place_ms = deadline_ms;
    order_add(place, deadline_ms, 0, record);
    memory_topic_expect(topic, deadline_ms);
}

void enter_dead(struct topic *topic, struct record *record, enum death death, int64_t now_ms)
{
    assert(death != DEATH_NONE);
    record_end_expiry(topic, record);
    record->job.death = death;
    enter(topic, record, JOB_DEAD, 0, now_ms);
}

/* ---- expiry ---- */

void record_begin_expiry(struct topic *topic, struct record *record)
{
    int64_t expires_ms = record->job.rules.expires_ms;

    if (!expires_ms)
        return;
    order_add(&topic->expiring, expires_ms, 0, record);
    memory_topic_expect(topic, expires_ms);
}

void record_end_expiry(struct topic *topic, struct record *record)
{
    struct order *expiring = &topic->expiring;
    size_t index = order_find(expiring, record->job.rules.expires_ms, 0, record->job.id);

    while (index < expiring->count && order_at(expiring, index)->record != record)
        index++;
    if (index < expiring->count)
        order_remove(expiring, index);
}

/* ---- the ready ones ---- */

struct record *ready_first(struct topic *topic)
{
    struct order *ready = &topic->places[JOB_READY];

    while (ready->count && !order_at(ready, 0)->record)
        order_remove(ready, 0);
    return ready->count ? order_at(ready, 0)->record : NULL;
}

struct record *ready_take(struct topic *topic)
{
    struct record *record = ready_first(topic);

    if (record) {
        order_remove(&topic->places[JOB_READY], 0);
        record->is_placed = false;
        count_shared(topic, record, -1);
    }
    return record;
}
