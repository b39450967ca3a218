#include "node/store/memory_counts.h"

#define OLDEST_LOOK_MAX 100

/* The first one of the list that is no tombstone. */
static int64_t oldest_ready_ms(const struct call *c, struct topic *topic)
{
    unsigned looked_at = 0;

    LIST_EACH (link, &topic->ready) {
        const struct record *record = CONTAINER_OF(link, struct entry, link)->record;

        if (record)
            return or_zero(c->now_ms - record->job.due_ms);
        if (++looked_at == OLDEST_LOOK_MAX)
            break;
    }
    return -1;
}

static struct topic_stats count(const struct call *c, struct topic *topic)
{
    int64_t live = HASH_COUNT(topic->records);
    struct topic_stats stats = {.delayed = (int64_t)topic->delayed.count,
                                .reserved = (int64_t)topic->reserved.count,
                                .oldest_ready_ms = -1,
                                .next_due_ms = -1};

    stats.ready = or_zero(live - stats.delayed - stats.reserved);
    if (stats.ready)
        stats.oldest_ready_ms = oldest_ready_ms(c, topic);
    if (stats.delayed)
        stats.next_due_ms = or_zero(heap_first_ms(&topic->delayed) - c->now_ms);
    return stats;
}

enum status memory_run_stats(struct call *c)
{
    c->op->out.stats = count(c, c->topic);
    return STATUS_OK;
}

/* The first by name behind `after`; NULL when there is none. */
static struct topic *next_topic(struct bucket *bucket, struct bytes after)
{
    struct topic *topic, *next, *first = NULL;

    HASH_ITER (hh, bucket->topics, topic, next) {
        if (memory_topic_exists(topic) && bytes_compare(topic->name, after) > 0 &&
            (!first || bytes_compare(topic->name, first->name) < 0))
            first = topic;
    }
    return first;
}

enum status memory_run_topics(struct call *c)
{
    struct op *op = c->op;
    struct topic_count *rows = room_get(c->room, op->in.topics.limit * sizeof(*rows));
    struct bytes after = op->in.topics.after;
    struct topic *topic, *next;
    unsigned seen = 0, told = 0;

    for (; seen < op->in.topics.limit && (topic = next_topic(c->bucket, after)); seen++) {
        after = topic->name;
        if (topic->records || topic->delayed.count || topic->reserved.count)
            rows[told++] = (struct topic_count){topic->name, count(c, topic)};
    }
    HASH_ITER (hh, c->bucket->topics, topic, next)
        op->out.topics.total += memory_topic_exists(topic);
    op->out.topics.rows = rows;
    op->out.topics.count = told;
    op->out.topics.next = next_topic(c->bucket, after) ? after : bytes_of("", 0);
    return STATUS_OK;
}
