#include "node/store/memory/topic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/store/memory/db.h"
#include "node/store/memory/places.h"
#include "node/store/memory/room.h"

static void lost_delete_all(struct topic *topic);

#define LINE_BYTES 40 /* of a line without its names: in Redis's stream, packed */

void memory_history_init(struct memory_history *history)
{
    *history = (struct memory_history){0};
    list_init(&history->lines);
}

static int64_t names_bytes(const struct history_item *item)
{
    return (int64_t)(item->topic.len + item->id.len + item->node.len + item->client.len);
}

/* Appends a copy to what `at` points to, and goes behind it. */
static struct bytes append(char **at, struct bytes from)
{
    struct bytes copy = bytes_of(*at, from.len);

    if (from.len)
        memcpy(*at, from.at, from.len);
    *at += from.len;
    return copy;
}

void memory_history_add(struct memory_history *history, const struct history_item *item)
{
    size_t bytes = (size_t)names_bytes(item);
    struct history_line *line = must(calloc(1, sizeof(*line) + bytes));
    char *at = line->bytes;

    line->number = ++history->last_number;
    line->item = *item;
    line->item.topic = append(&at, item->topic);
    line->item.id = append(&at, item->id);
    line->item.node = append(&at, item->node);
    line->item.client = append(&at, item->client);
    list_append(&history->lines, &line->link);
    history->bytes += LINE_BYTES + names_bytes(item);
}

void memory_history_cut(struct memory_history *history, int64_t bytes_max)
{
    struct list *link;

    while (history->bytes > bytes_max && (link = list_pop(&history->lines))) {
        struct history_line *line = CONTAINER_OF(link, struct history_line, link);

        history->bytes -= LINE_BYTES + names_bytes(&line->item);
        free(line);
    }
}

void memory_history_fini(struct memory_history *history)
{
    memory_history_cut(history, -1);
}

/* ---- topic ---- */

static void never_fires(struct timer *timer)
{
    abort();
}

struct topic *memory_topic_get(struct bucket *bucket, struct bytes name)
{
    struct topic *topic;

    HASH_FIND(hh, bucket->topics, name.at, name.len, topic);
    if (topic)
        return topic;
    topic = must(calloc(1, sizeof(*topic) + name.len));
    memcpy(topic->bytes, name.at, name.len);
    topic->name = bytes_of(topic->bytes, name.len);
    topic->bucket = bucket;
    timer_init(&topic->event, never_fires);
    HASH_ADD_KEYPTR(hh, bucket->topics, topic->name.at, topic->name.len, topic);
    return topic;
}

void memory_topic_free(struct topic *topic)
{
    struct record *record, *next;

    HASH_ITER (hh, topic->records, record, next)
        record_delete(topic, record);
    lost_delete_all(topic);
    for (enum job_state state = JOB_DELAYED; state <= JOB_DEAD; state++)
        order_fini(&topic->places[state]);
    order_fini(&topic->expiring);
    HASH_DEL(topic->bucket->topics, topic);
    free(topic);
}

struct topic *memory_topic_next(struct bucket *bucket, struct bytes after,
                                bool (*is_wanted)(const struct topic *topic))
{
    struct topic *topic, *next, *first = NULL;

    HASH_ITER (hh, bucket->topics, topic, next) {
        if (is_wanted(topic) && bytes_compare(topic->name, after) > 0 &&
            (!first || bytes_compare(topic->name, first->name) < 0))
            first = topic;
    }
    return first;
}

bool memory_topic_exists(const struct topic *topic)
{
    return topic->records || timer_is_armed(&topic->event);
}

bool memory_topic_is_used(const struct topic *topic)
{
    return topic->records || topic->lost_count;
}

void memory_topic_release(struct topic *topic)
{
    if (memory_topic_is_used(topic))
        return;
    memory_topic_set_next(topic, MEMORY_NEVER);
    ready_first(topic); /* nothing but tombstones */
}

bool memory_topic_has_settings(const struct topic *topic)
{
    return topic->settings.set || topic->settings.paused_until_ms;
}

/* ---- the next event ---- */

void memory_topic_expect(struct topic *topic, int64_t at_ms)
{
    if (!timer_is_armed(&topic->event) || at_ms < topic->event.due_mono_ms)
        timer_arm(&topic->bucket->index, &topic->event, at_ms);
}

void memory_topic_set_next(struct topic *topic, int64_t at_ms)
{
    timer_disarm(&topic->bucket->index, &topic->event);
    if (at_ms != MEMORY_NEVER)
        timer_arm(&topic->bucket->index, &topic->event, at_ms);
}

/* ---- telling those who listen ---- */

static struct memory_listener *listener_of(struct list *link)
{
    return CONTAINER_OF(link, struct memory_listener, link);
}

void memory_topic_announce(struct topic *topic)
{
    if (topic->is_muted) {
        topic->is_to_announce = true;
        return;
    }
    if (topic->announced_by == topic->bucket->db->operations)
        return;
    topic->announced_by = topic->bucket->db->operations;
    LIST_EACH (link, &topic->bucket->db->listeners)
        listener_of(link)->on_ready(listener_of(link), topic->name);
}

void memory_topic_tell_settings(struct topic *topic)
{
    LIST_EACH (link, &topic->bucket->db->listeners)
        listener_of(link)->on_settings(listener_of(link), topic->name);
}

/* ---- records ---- */

struct record *record_find(struct topic *topic, struct bytes id)
{
    struct record *record;

    HASH_FIND(hh, topic->records, id.at, id.len, record);
    return record;
}

struct record *record_new(struct topic *topic, const struct job *job)
{
    size_t bytes = job->id.len + job->body.len + job->extra.attributes.len;
    struct record *record = must(calloc(1, sizeof(*record) + bytes));
    char *at = record->bytes;

    record->job = *job;
    record->job.id = append(&at, job->id);
    record->job.body = append(&at, job->body);
    record->job.extra.attributes = append(&at, job->extra.attributes);
    record_set_holder(record, job->holder);
    HASH_ADD_KEYPTR(hh, topic->records, record->job.id.at, record->job.id.len, record);
    record_begin_expiry(topic, record);
    return record;
}

void record_set_holder(struct record *record, struct bytes holder)
{
    assert(holder.len <= JOB_HOLDER_MAX);
    if (holder.len)
        memcpy(record->holder, holder.at, holder.len);
    record->job.holder = bytes_of(record->holder, holder.len);
}

void record_count_bytes(struct topic *topic, struct record *record)
{
    record->is_counted = true;
    topic->counted_bytes += (int64_t)record->job.body.len;
}

int64_t record_counted_bytes(const struct record *record)
{
    return record->is_counted ? (int64_t)record->job.body.len : 0;
}

static struct id_entry *find_entry(struct bucket *bucket, struct bytes id)
{
    struct id_entry *entry;

    HASH_FIND(hh, bucket->ids, id.at, id.len, entry);
    return entry;
}

struct topic *index_find(struct bucket *bucket, struct bytes id)
{
    struct id_entry *entry = find_entry(bucket, id);

    return entry ? entry->topic : NULL;
}

void index_add(struct topic *topic, struct bytes id)
{
    struct bucket *bucket = topic->bucket;
    struct id_entry *entry = find_entry(bucket, id);

    if (!entry) {
        entry = must(calloc(1, sizeof(*entry) + id.len));
        memcpy(entry->id, id.at, id.len);
        HASH_ADD_KEYPTR(hh, bucket->ids, entry->id, id.len, entry);
    }
    entry->topic = topic;
}

/* Another topic of the bucket may have a job of this id: that one's entry stays. */
static void remove_entry(struct topic *topic, struct bytes id)
{
    struct id_entry *entry = find_entry(topic->bucket, id);

    if (!entry || entry->topic != topic)
        return;
    HASH_DEL(topic->bucket->ids, entry);
    free(entry);
}

void record_delete(struct topic *topic, struct record *record)
{
    topic->counted_bytes -= record_counted_bytes(record);
    remove_entry(topic, record->job.id);
    record_leave(topic, record);
    record_end_expiry(topic, record);
    HASH_DEL(topic->records, record);
    free(record);
}

/* ---- orphans ---- */

void record_lose(struct topic *topic, struct record *record)
{
    assert(!record->is_lost && record->job.state != JOB_READY);
    HASH_DEL(topic->records, record);
    topic->counted_bytes -= record_counted_bytes(record);
    record->is_lost = true;
    topic->lost_count++;
}

/* The place's lost record with the smallest id behind `behind`, where that id is smaller than
 * that of `best`; else `best`. */
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

static void lost_delete_all(struct topic *topic)
{
    struct record *record;

    while ((record = lost_find_behind(topic, BYTES(""))))
        lost_delete(topic, record);
}
