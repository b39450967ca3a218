#include "node/store/memory_places.h"

#include <assert.h>
#include <string.h>

/* ---- the heaps ---- */

static void never_fires(struct timer *timer)
{
    abort();
}

int64_t heap_first_ms(const struct timers *heap)
{
    return heap->count ? heap->heap[1]->due_mono_ms : MEMORY_NEVER;
}

struct record *heap_first(const struct timers *heap)
{
    return CONTAINER_OF(heap->heap[1], struct record, when);
}

/* ---- finding, making, deleting ---- */

struct topic *memory_topic_get(struct bucket *bucket, struct bytes name)
{
    struct topic *topic;

    HASH_FIND(hh, bucket->topics, name.at, name.len, topic);
    if (topic)
        return topic;
    topic = memory_must(calloc(1, sizeof(*topic) + name.len));
    memcpy(topic->bytes, name.at, name.len);
    topic->name = bytes_of(topic->bytes, name.len);
    topic->bucket = bucket;
    timer_init(&topic->event, never_fires);
    timers_init(&topic->delayed, 0);
    timers_init(&topic->reserved, 0);
    list_init(&topic->ready);
    HASH_ADD_KEYPTR(hh, bucket->topics, topic->name.at, topic->name.len, topic);
    return topic;
}

struct record *record_find(struct topic *topic, struct bytes id)
{
    struct record *record;

    HASH_FIND(hh, topic->records, id.at, id.len, record);
    return record;
}

struct record *record_new(struct topic *topic, struct bytes id, struct bytes body)
{
    struct record *record = memory_must(calloc(1, sizeof(*record) + id.len + body.len));

    memcpy(record->bytes, id.at, id.len);
    if (body.len)
        memcpy(record->bytes + id.len, body.at, body.len);
    record->job.id = bytes_of(record->bytes, id.len);
    record->job.body = bytes_of(record->bytes + id.len, body.len);
    timer_init(&record->when, never_fires);
    HASH_ADD_KEYPTR(hh, topic->records, record->job.id.at, record->job.id.len, record);
    return record;
}

struct owner *owner_find(struct bucket *bucket, struct bytes id)
{
    struct owner *owner;

    HASH_FIND(hh, bucket->owners, id.at, id.len, owner);
    return owner;
}

void owner_set(struct topic *topic, const struct job *job)
{
    struct bucket *bucket = topic->bucket;
    struct owner *owner = owner_find(bucket, job->id);

    if (!owner) {
        owner = memory_must(calloc(1, sizeof(*owner) + job->id.len));
        memcpy(owner->id, job->id.at, job->id.len);
        HASH_ADD_KEYPTR(hh, bucket->owners, owner->id, job->id.len, owner);
    }
    owner->topic = topic;
    owner->stamp = job->stamp;
}

void owner_remove(struct topic *topic, const struct job *job)
{
    struct owner *owner = owner_find(topic->bucket, job->id);

    /* Another topic of the bucket may have a job of this id: that one's owner stays. */
    if (!owner || owner->topic != topic)
        return;
    HASH_DEL(topic->bucket->owners, owner);
    free(owner);
}

void record_delete(struct topic *topic, struct record *record)
{
    owner_remove(topic, &record->job);
    record_leave(topic, record);
    HASH_DEL(topic->records, record);
    free(record);
}

/* ---- orphans ---- */

static struct timers *heap_of(struct topic *topic, const struct record *record)
{
    return record->job.state == JOB_DELAYED ? &topic->delayed : &topic->reserved;
}

void record_lose(struct topic *topic, struct record *record)
{
    assert(!record->is_lost && timer_is_armed(&record->when));
    HASH_DEL(topic->records, record);
    record->is_lost = true;
    topic->lost_count++;
}

static struct record *lost_find_in(const struct timers *heap, struct bytes id)
{
    for (size_t i = 1; i <= heap->count; i++) {
        struct record *record = CONTAINER_OF(heap->heap[i], struct record, when);

        if (record->is_lost && bytes_equal(record->job.id, id))
            return record;
    }
    return NULL;
}

struct record *lost_find(struct topic *topic, struct bytes id)
{
    struct record *record = lost_find_in(&topic->delayed, id);

    return record ? record : lost_find_in(&topic->reserved, id);
}

static bool has_lost_due(const struct timers *heap, int64_t now_ms)
{
    for (size_t i = 1; i <= heap->count; i++) {
        const struct timer *when = heap->heap[i];

        if (when->due_mono_ms <= now_ms && CONTAINER_OF(when, struct record, when)->is_lost)
            return true;
    }
    return false;
}

bool lost_is_due(const struct topic *topic, int64_t now_ms)
{
    return topic->lost_count > 0 &&
           (has_lost_due(&topic->delayed, now_ms) || has_lost_due(&topic->reserved, now_ms));
}

void lost_delete(struct topic *topic, struct record *record)
{
    assert(record->is_lost);
    timer_disarm(heap_of(topic, record), &record->when);
    topic->lost_count--;
    free(record);
}

/* ---- moving ---- */

void memory_topic_expect(struct topic *topic, int64_t at_ms)
{
    struct timer *event = &topic->event;

    if (!timer_is_armed(event) || at_ms < event->due_mono_ms)
        timer_arm(&topic->bucket->index, event, at_ms);
}

static void publish(struct topic *topic)
{
    LIST_EACH (link, &topic->bucket->db->listeners) {
        struct memory_listener *listener = CONTAINER_OF(link, struct memory_listener, link);

        listener->on_ready(listener, topic->name);
    }
}

void record_leave(struct topic *topic, struct record *record)
{
    timer_disarm(heap_of(topic, record), &record->when);
    record->is_confirmed = false;
    if (record->entry)
        record->entry->record = NULL;
    record->entry = NULL;
}

void enter_delayed(struct topic *topic, struct record *record, int64_t due_ms)
{
    record->job.state = JOB_DELAYED;
    record->job.stamp = 0;
    record->job.due_ms = due_ms;
    timer_arm(&topic->delayed, &record->when, due_ms);
    memory_topic_expect(topic, due_ms);
}

void enter_ready(struct topic *topic, struct record *record, struct list *before)
{
    struct entry *entry = memory_must(calloc(1, sizeof(*entry)));
    bool was_empty = list_is_empty(&topic->ready);

    assert(!record->entry && !timer_is_armed(&record->when));
    record->job.state = JOB_READY;
    record->job.stamp = ++topic->bucket->n;
    record->entry = entry;
    entry->record = record;
    list_append(before, &entry->link);
    if (was_empty)
        publish(topic);
}

void enter_reserved(struct topic *topic, struct record *record, int64_t deadline_ms)
{
    assert(!record->entry && !timer_is_armed(&record->when));
    record->job.state = JOB_RESERVED;
    record->job.stamp = ++topic->bucket->n;
    move_deadline(topic, record, deadline_ms);
}

void move_deadline(struct topic *topic, struct record *record, int64_t deadline_ms)
{
    timer_arm(&topic->reserved, &record->when, deadline_ms);
    memory_topic_expect(topic, deadline_ms);
}

struct record *ready_first(struct topic *topic)
{
    struct list *link;

    while ((link = list_first(&topic->ready))) {
        struct entry *entry = CONTAINER_OF(link, struct entry, link);

        if (entry->record)
            return entry->record;
        list_remove(link);
        free(entry);
    }
    return NULL;
}

struct record *ready_take(struct topic *topic)
{
    struct record *record = ready_first(topic);

    if (record) {
        list_remove(&record->entry->link);
        free(record->entry);
        record->entry = NULL;
    }
    return record;
}

void memory_topic_reindex(struct topic *topic)
{
    int64_t delayed_ms = heap_first_ms(&topic->delayed);
    int64_t reserved_ms = heap_first_ms(&topic->reserved);

    timer_disarm(&topic->bucket->index, &topic->event);
    if (delayed_ms != MEMORY_NEVER || reserved_ms != MEMORY_NEVER)
        memory_topic_expect(topic, delayed_ms < reserved_ms ? delayed_ms : reserved_ms);
}

bool memory_topic_exists(const struct topic *topic)
{
    return topic->records || timer_is_armed(&topic->event);
}

void memory_topic_let_go(struct topic *topic)
{
    if (topic->records || topic->delayed.count || topic->reserved.count)
        return;
    timer_disarm(&topic->bucket->index, &topic->event);
    ready_first(topic); /* nothing but tombstones */
}

void memory_topic_put_off(struct topic *topic, int64_t until_ms)
{
    timer_arm(&topic->bucket->index, &topic->event, until_ms);
}
