#include "node/store/memory_db.h"

#include <assert.h>

#include "node/store/memory_ops.h"
#include "node/store/memory_places.h"

/* Did it become the bucket's first event? */
static int64_t wait_for(int64_t before_ms, int64_t first_ms, int64_t now_ms)
{
    if (first_ms >= before_ms)
        return -1;
    return first_ms > now_ms ? first_ms - now_ms : 0;
}

void memory_db_run(struct memory_db *db, struct op *op, int64_t now_ms, struct room *room)
{
    struct bucket *bucket = &db->buckets[op->bucket];
    struct call call = {.bucket = bucket, .op = op, .now_ms = now_ms, .room = room};
    int64_t before_ms;

    assert(op->bucket < db->bucket_count);
    before_ms = heap_first_ms(&bucket->index);
    if (op->verb != OP_TOPICS && op->verb != OP_OWNER && op->verb != OP_SCAN)
        call.topic = memory_topic_get(bucket, op->topic);
    memset(&op->out, 0, sizeof(op->out));
    op->status = memory_op_run(&call);
    op->now_ms = op->verb == OP_OWNER || op->verb == OP_ACK ? 0 : now_ms;
    op->wait_ms = wait_for(before_ms, heap_first_ms(&bucket->index), now_ms);
}

struct memory_db *memory_db_new(unsigned buckets)
{
    struct memory_db *db =
        memory_must(calloc(1, sizeof(*db) + buckets * sizeof(struct bucket)));

    list_init(&db->listeners);
    db->bucket_count = buckets;
    for (unsigned i = 0; i < buckets; i++) {
        db->buckets[i].db = db;
        timers_init(&db->buckets[i].index, 0);
    }
    return db;
}

static void free_lost(struct timers *heap)
{
    while (heap->count) {
        struct record *record = heap_first(heap);

        timer_disarm(heap, &record->when);
        free(record);
    }
}

static void memory_topic_free(struct topic *topic)
{
    struct record *record, *next;

    HASH_ITER (hh, topic->records, record, next)
        record_delete(topic, record);
    free_lost(&topic->delayed);
    free_lost(&topic->reserved);
    while (ready_take(topic))
        ;
    timers_fini(&topic->delayed);
    timers_fini(&topic->reserved);
    HASH_DEL(topic->bucket->topics, topic);
    free(topic);
}

static void db_free(struct memory_db *db)
{
    struct topic *topic, *next;

    for (unsigned i = 0; i < db->bucket_count; i++) {
        HASH_ITER (hh, db->buckets[i].topics, topic, next)
            memory_topic_free(topic);
        timers_fini(&db->buckets[i].index);
    }
    free(db);
}

void memory_db_lose(struct memory_db *db, unsigned bucket, struct bytes name, struct bytes id)
{
    struct topic *topic = memory_topic_get(&db->buckets[bucket], name);

    record_lose(topic, memory_must(record_find(topic, id)));
}

void memory_db_repair(struct memory_db *db, unsigned bucket, struct bytes name, struct bytes id)
{
    struct topic *topic = memory_topic_get(&db->buckets[bucket], name);

    lost_delete(topic, memory_must(lost_find(topic, id)));
}

unsigned memory_db_buckets(const struct memory_db *db)
{
    return db->bucket_count;
}

void memory_db_join(struct memory_db *db, struct memory_listener *listener)
{
    list_append(&db->listeners, &listener->link);
}

void memory_db_leave(struct memory_db *db, struct memory_listener *listener)
{
    list_remove(&listener->link);
    if (list_is_empty(&db->listeners))
        db_free(db);
}
