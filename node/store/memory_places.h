/* Where the jobs of a memory_db are, and the steps from one place to another.
 *
 * Each topic holds its jobs by id, and three orders of them: two heaps by time (delayed,
 * reserved) and the ready list. The bucket holds its topics by the time of their next event,
 * which is a lower bound: only a scan raises it.
 *
 * The heaps are base/timer's, on a clock that stands still at 0: "armed with a delay of due"
 * is "sorted by due", and equal times keep the order of arrival.
 *
 * Invariants: a record is in the heap or the list that its state says; a ready record and its
 * entry point to each other; an entry without a record is a tombstone.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_PLACES_H
#define DUEQ_NODE_STORE_MEMORY_PLACES_H

#include <stdint.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/job.h"
#include "node/store/memory_db.h"
#include "node/store/memory_room.h"

#define MEMORY_NEVER INT64_MAX

struct entry {
    struct list link;
    struct record *record; /* NULL: a tombstone */
};

struct record {
    UT_hash_handle hh;
    struct job job;      /* id and body point to `bytes` */
    struct timer when;   /* its place among the delayed or the reserved */
    struct entry *entry; /* while it is ready */
    bool is_confirmed;   /* reserved, and its consumer has it; false in every other place */
    bool is_lost;        /* an orphan: among no topic's records, but still in a heap */
    char bytes[];
};

struct topic {
    UT_hash_handle hh;
    struct timer event; /* its place in the bucket's index */
    struct bucket *bucket;
    struct record *records;
    struct timers delayed, reserved;
    unsigned lost_count;
    struct list ready;
    struct bytes name; /* points to `bytes` */
    char bytes[];
};

struct owner {
    UT_hash_handle hh;
    struct topic *topic;
    int64_t stamp;
    char id[];
};

struct bucket {
    struct memory_db *db;
    struct topic *topics;
    struct timers index;
    struct owner *owners;
    int64_t n; /* the last id or stamp given */
};

struct memory_db {
    struct list listeners;
    unsigned bucket_count;
    struct bucket buckets[];
};

/* ---- the heaps ---- */

/* MEMORY_NEVER when there is none. */
int64_t heap_first_ms(const struct timers *heap);

/* The first record of a heap that is not empty. */
struct record *heap_first(const struct timers *heap);

/* ---- finding, making, deleting ---- */

struct topic *memory_topic_get(struct bucket *bucket,
                               struct bytes name); /* made when missing */
struct record *record_find(struct topic *topic, struct bytes id);
struct record *record_new(struct topic *topic, struct bytes id, struct bytes body);
void record_delete(struct topic *topic, struct record *record); /* its owner too */

struct owner *owner_find(struct bucket *bucket, struct bytes id);
void owner_set(struct topic *topic, const struct job *job);
void owner_remove(struct topic *topic, const struct job *job);

/* ---- orphans: a place names a job that is gone ---- */

void record_lose(struct topic *topic, struct record *record);   /* delayed or reserved */
struct record *lost_find(struct topic *topic, struct bytes id); /* NULL when there is none */
bool lost_is_due(const struct topic *topic, int64_t now_ms);
void lost_delete(struct topic *topic, struct record *record);

/* ---- moving ---- */

/* Takes the record out of its place; the state stays until it enters another. */
void record_leave(struct topic *topic, struct record *record);

void enter_delayed(struct topic *topic, struct record *record, int64_t due_ms);

/* Before this entry of the topic's ready list; before the list itself, at its end. */
void enter_ready(struct topic *topic, struct record *record, struct list *before);
void enter_reserved(struct topic *topic, struct record *record, int64_t deadline_ms);

/* The same reservation with another deadline. */
void move_deadline(struct topic *topic, struct record *record, int64_t deadline_ms);

/* The first ready record, the tombstones before it dropped; NULL when there is none. */
struct record *ready_first(struct topic *topic);

/* The same, out of the list. */
struct record *ready_take(struct topic *topic);

/* After a scan: the index says what is really next. */
void memory_topic_reindex(struct topic *topic);

/* Has it a job, or an event that the next scan takes away? */
bool memory_topic_exists(const struct topic *topic);

/* Where it has neither a job nor a place for one: its event and its tombstones go. */
void memory_topic_let_go(struct topic *topic);

/* It has an event then, or an earlier one. */
void memory_topic_expect(struct topic *topic, int64_t at_ms);

/* The index says that nothing happens before then. */
void memory_topic_put_off(struct topic *topic, int64_t until_ms);

#endif
