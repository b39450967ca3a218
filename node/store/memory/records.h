/* The jobs of a memory_db by id, and the owners of the ids. */
#ifndef DUEQ_NODE_STORE_MEMORY_RECORDS_H
#define DUEQ_NODE_STORE_MEMORY_RECORDS_H

#include "node/store/memory/topic.h"

struct record *record_find(struct topic *topic, struct bytes id);

/* A copy of the job, expiring as its rules say, and in no place yet. */
struct record *record_new(struct topic *topic, const struct job *job);
void record_delete(struct topic *topic, struct record *record); /* its owner too */
void record_set_holder(struct record *record, struct bytes holder);

struct owner *owner_find(struct bucket *bucket, struct bytes id);
void owner_set(struct topic *topic, const struct job *job);
void owner_remove(struct topic *topic, const struct job *job);

#endif
