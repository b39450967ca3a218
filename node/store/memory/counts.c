#include "node/store/memory/counts.h"

#include "node/store/memory/locks.h"
#include "node/store/memory/places.h"

#define OLDEST_LOOK_MAX 100

static int64_t age_ms(const struct call *c, const struct record *record)
{
    return or_zero(c->now_ms - record->job.due_ms);
}

/* The first one of the default priority that is no tombstone. */
static int64_t oldest_of_default_ms(const struct call *c, const struct topic *topic)
{
    const struct order *ready = &topic->places[JOB_READY];
    struct span span = ready_default_span(topic);

    for (size_t i = span.from; i < span.to && i < span.from + OLDEST_LOOK_MAX; i++)
        if (order_at(ready, i)->record)
            return age_ms(c, order_at(ready, i)->record);
    return -1;
}

static int64_t oldest_of_others_ms(const struct call *c, const struct topic *topic)
{
    const struct order *ready = &topic->places[JOB_READY];
    struct span span = ready_default_span(topic);
    size_t first = span.from > 0 ? 0 : span.to;

    return first < ready->count ? age_ms(c, order_at(ready, first)->record) : -1;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How many live jobs are in no other place. */
static int64_t ready_count(const struct topic *topic)
{
    const struct order *places = topic->places;
    int64_t live = HASH_COUNT(topic->records);

    return or_zero(live - (int64_t)places[JOB_DELAYED].count -
                   (int64_t)places[JOB_RESERVED].count - (int64_t)places[JOB_DEAD].count);
}

static struct topic_stats count(const struct call *c, const struct topic *topic)
{
    const struct order *places = topic->places;
    struct topic_stats stats = {.delayed = (int64_t)places[JOB_DELAYED].count,
                                .ready = ready_count(topic),
                                .reserved = (int64_t)places[JOB_RESERVED].count,
                                .dead = (int64_t)places[JOB_DEAD].count,
                                .oldest_ready_ms = -1,
                                .next_due_ms = -1};

    if (stats.ready)
        stats.oldest_ready_ms =
            larger(oldest_of_default_ms(c, topic), oldest_of_others_ms(c, topic));
    if (stats.delayed)
        stats.next_due_ms = or_zero(order_first_ms(&places[JOB_DELAYED]) - c->now_ms);
    return stats;
}

enum status memory_run_stats(struct call *c)
{
    c->op->out.stats = count(c, c->topic);
    return STATUS_OK;
}

static struct topic_count row(const struct call *c, const struct topic *topic)
{
    struct topic_count row = {.topic = topic->name, .stats = count(c, topic)};

    if (c->op->in.topics.owners)
        row.lock = memory_lock_tell(c, topic);
    return row;
}

enum status memory_run_topics(struct call *c)
{
    struct op *op = c->op;
    struct topic_count *rows = room_get(c->room, op->in.topics.limit * sizeof(*rows));
    struct bytes after = op->in.topics.after;
    struct topic *topic, *next;
    unsigned seen = 0, told = 0;

    for (; seen < op->in.topics.limit; seen++) {
        topic = memory_topic_next(c->bucket, after, memory_topic_exists);
        if (!topic)
            break;
        after = topic->name;
        if (memory_topic_is_used(topic))
            rows[told++] = row(c, topic);
    }
    HASH_ITER (hh, c->bucket->topics, topic, next)
        op->out.topics.total += memory_topic_exists(topic);
    op->out.topics.rows = rows;
    op->out.topics.count = told;
    if (memory_topic_next(c->bucket, after, memory_topic_exists))
        op->out.topics.next = after;
    return STATUS_OK;
}
