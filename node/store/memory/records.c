#include "node/store/memory/records.h"

#include <assert.h>
#include <string.h>

#include "node/store/memory/places.h"
#include "node/store/memory/room.h"

struct record *record_find(struct topic *topic, struct bytes id)
{
    struct record *record;

    HASH_FIND(hh, topic->records, id.at, id.len, record);
    return record;
}

struct record *record_new(struct topic *topic, const struct job *job)
{
    struct bytes id = job->id, body = job->body;
    struct record *record = memory_must(calloc(1, sizeof(*record) + id.len + body.len));

    memcpy(record->bytes, id.at, id.len);
    if (body.len)
        memcpy(record->bytes + id.len, body.at, body.len);
    record->job = *job;
    record->job.id = bytes_of(record->bytes, id.len);
    record->job.body = bytes_of(record->bytes + id.len, body.len);
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

void record_delete(struct topic *topic, struct record *record)
{
    owner_remove(topic, &record->job);
    record_leave(topic, record);
    record_end_expiry(topic, record);
    HASH_DEL(topic->records, record);
    free(record);
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
