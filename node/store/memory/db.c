#include "node/store/memory/db.h"

#include <assert.h>

#include "node/store/memory/ops.h"
#include "node/store/memory/topic.h"

static int64_t first_event_ms(const struct topic *topic)
{
    return topic && timer_is_armed(&topic->event) ? topic->event.due_mono_ms : MEMORY_NEVER;
}

/* Did the operation make the topic's first event? Then in how many ms; else -1. */
static int64_t wait_for(int64_t before_ms, int64_t first_ms, int64_t now_ms)
{
    return first_ms < before_ms ? or_zero(first_ms - now_ms) : -1;
}

/* An operation without a script, or whose script reads no clock, is told no time. */
static bool has_clock(enum op_verb verb)
{
    return verb != OP_OWNER && verb != OP_PLACES && verb != OP_ACK;
}

void memory_db_run(struct memory_db *db, struct op *op, uint64_t worker, int64_t now_us,
                   struct room *room)
{
    int64_t now_ms = now_us / 1000;
    struct bucket *bucket = &db->buckets[op->bucket];
    struct call call = {.bucket = bucket,
                        .op = op,
                        .now_ms = now_ms,
                        .start_ms = (now_us + 999) / 1000,
                        .room = room,
                        .worker = worker};
    int64_t before_ms;

    assert(op->bucket < db->bucket_count);
    db->operations++;
    if (op->topic.len)
        call.topic = memory_topic_get(bucket, op->topic);
    before_ms = first_event_ms(call.topic);
    memset(&op->out, 0, sizeof(op->out));
    op->status = memory_op_run(&call);
    op->now_ms = has_clock(op->verb) ? now_ms : 0;
    op->wait_ms = wait_for(before_ms, first_event_ms(call.topic), now_ms);
}

struct memory_db *memory_db_new(unsigned buckets)
{
    struct memory_db *db = must(calloc(1, sizeof(*db) + buckets * sizeof(struct bucket)));

    list_init(&db->listeners);
    db->lease_key.is_known = true;
    arc4random_buf(db->lease_key.bytes, sizeof(db->lease_key.bytes));
    db->bucket_count = buckets;
    for (unsigned i = 0; i < buckets; i++) {
        db->buckets[i].db = db;
        timers_init(&db->buckets[i].index, 0);
        memory_history_init(&db->buckets[i].history);
        memory_identities_init(&db->buckets[i].identities);
    }
    return db;
}

uint64_t memory_db_new_worker(struct memory_db *db)
{
    return ++db->workers;
}

const struct store_lease_key *memory_db_lease_key(const struct memory_db *db)
{
    return &db->lease_key;
}

static void bucket_fini(struct bucket *bucket)
{
    struct topic *topic, *next_topic;
    struct id_entry *entry, *next_entry;

    HASH_ITER (hh, bucket->topics, topic, next_topic)
        memory_topic_free(topic);
    HASH_ITER (hh, bucket->ids, entry, next_entry) {
        HASH_DEL(bucket->ids, entry);
        free(entry);
    }
    memory_notes_fini(bucket);
    timers_fini(&bucket->index);
    memory_history_fini(&bucket->history);
    memory_identities_fini(&bucket->identities);
}

static void db_free(struct memory_db *db)
{
    for (unsigned i = 0; i < db->bucket_count; i++)
        bucket_fini(&db->buckets[i]);
    free(db);
}

void memory_db_lose_identities(struct memory_db *db)
{
    memory_identities_fini(&db->buckets[0].identities);
    memory_identities_init(&db->buckets[0].identities);
}

void memory_db_lose(struct memory_db *db, unsigned bucket, struct bytes name, struct bytes id)
{
    struct topic *topic = memory_topic_get(&db->buckets[bucket], name);

    record_lose(topic, must(record_find(topic, id)));
}

void memory_db_repair(struct memory_db *db, unsigned bucket, struct bytes name, struct bytes id)
{
    struct topic *topic = memory_topic_get(&db->buckets[bucket], name);

    lost_delete(topic, must(lost_find(topic, id)));
}

void memory_db_hint(struct memory_db *db, unsigned bucket, unsigned share, int64_t wait_ms)
{
    LIST_EACH (link, &db->listeners) {
        struct memory_listener *listener = CONTAINER_OF(link, struct memory_listener, link);

        listener->on_hint(listener, bucket, share, wait_ms);
    }
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
