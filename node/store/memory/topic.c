#include "node/store/memory/topic.h"

#include <string.h>

#include "node/store/memory/db.h"
#include "node/store/memory/orphans.h"
#include "node/store/memory/places.h"
#include "node/store/memory/records.h"
#include "node/store/memory/room.h"

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
    topic = memory_must(calloc(1, sizeof(*topic) + name.len));
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

void memory_topic_let_go(struct topic *topic)
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
