/* The data of a memory_db: buckets, their topics, and the topics' jobs.
 *
 * Each topic holds its jobs by id, and an order of them for each place (delayed, ready,
 * reserved, dead), and one of those that expire. The bucket holds its topics by the time of
 * their next event, which is a lower bound: only a scan raises it. That index is a heap of
 * base/timer, on a clock that stands still at 0: "armed with a delay of due" is "sorted by
 * due", and equal times keep the order of arrival.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_TOPIC_H
#define DUEQ_NODE_STORE_MEMORY_TOPIC_H

#include <stdint.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/job.h"
#include "node/store/memory/order.h"
#include "node/store/op.h"
#include "node/store/settings.h"
#include "node/store/store.h"

/* ---- a bucket's history: what happened to its jobs, the newest last, bounded in bytes ---- */

struct history_line {
    struct list link;
    int64_t number;           /* one more than the line before */
    struct history_item item; /* points to `bytes` */
    char bytes[];
};

struct memory_history {
    struct list lines; /* oldest first */
    int64_t last_number;
    int64_t bytes; /* what they would need in Redis, about */
};

void memory_history_init(struct memory_history *history);
void memory_history_fini(struct memory_history *history);

/* Copies the item. */
void memory_history_add(struct memory_history *history, const struct history_item *item);

/* Drops the oldest until the others need no more than so many bytes. */
void memory_history_cut(struct memory_history *history, int64_t bytes_max);

struct record {
    UT_hash_handle hh;
    struct job job;    /* id, body, holder and attributes point into the record */
    int64_t own_key;   /* in each ready stay, of a job that is served by its id; else 0 */
    int64_t place_ms;  /* its time in its place: due, deadline or death; ready: its due */
    bool is_placed;    /* false only on its way from one place to another */
    bool is_confirmed; /* reserved, and its consumer has it; false in every other place */
    bool is_counted;   /* its body counts for its topic's max_bytes */
    bool is_lost;      /* an orphan: among no topic's records, but still in its place */
    char holder[JOB_HOLDER_MAX];
    char bytes[];
};

/* A topic's lock in cluster mode. */
struct lock {
    int64_t until_ms; /* when it ends; 0: nobody has had it */
    int64_t token;
    uint64_t view;
    char owner[SHARE_OWNER_LEN];
    size_t node_len;
    char node[OP_NODE_MAX];
};

struct topic {
    UT_hash_handle hh;
    struct timer event; /* its place in the bucket's index */
    struct bucket *bucket;
    struct record *records;
    struct order places[JOB_DEAD + 1]; /* by state */
    size_t shared_count;            /* of the ready ones by id, those of the default priority */
    struct order expiring;          /* those with a ttl that are not dead */
    struct topic_settings settings; /* nothing set and not paused: it has none */
    struct lock lock;
    unsigned lost_count;
    int64_t counted_bytes; /* of the bodies that count for max_bytes */
    uint64_t announced_by; /* number of the last operation that announced it */
    bool is_muted;         /* a scan announces it later, if a pop leaves some */
    bool is_to_announce;
    uint64_t left_by;  /* number of the last operation that took a ready job of another than the
                        * default priority: when it began, there was one */
    struct bytes name; /* points to `bytes` */
    char bytes[];
};

/* An entry of the index of ids. */
struct id_entry {
    UT_hash_handle hh;
    struct topic *topic;
    char id[];
};

/* A reservation of an owner, noted under its process. */
struct note_key {
    uint64_t worker;
    int64_t stamp;
};

struct note_entry {
    UT_hash_handle hh;
    struct note_key key;
    int64_t made_ms;
    struct topic *topic;
    struct bytes id; /* points to `bytes` */
    char bytes[];
};

/* A process that owns reservations. */
struct beat_entry {
    UT_hash_handle hh;
    uint64_t worker;
    int64_t last_ms;
};

/* What is kept of identities: see op.h. */
struct memory_identities {
    struct list all; /* of struct memory_identity; tombstones, too */
    int64_t version, horizon;
    size_t id_len; /* 0: nothing has changed yet */
    char id[OP_IDENTITY_ID_CHARS];
};

void memory_identities_init(struct memory_identities *identities);
void memory_identities_fini(struct memory_identities *identities);

struct bucket {
    struct memory_db *db;
    struct topic *topics;
    struct timers index;
    struct id_entry *ids; /* the index of ids */
    struct note_entry *notes;
    struct beat_entry *beats; /* of bucket 0 */
    struct memory_history history;
    struct memory_identities identities; /* of bucket 0 */
    size_t token_len;                    /* of the highest token seen */
    char token[OP_TOKEN_MAX];
    int64_t n; /* the last id or stamp given */
};

struct memory_db {
    struct list listeners;
    struct store_lease_key lease_key;
    uint64_t workers;    /* numbers given out */
    uint64_t operations; /* how many were run: the number of the current one */
    unsigned bucket_count;
    struct bucket buckets[];
};

struct topic *memory_topic_get(struct bucket *bucket,
                               struct bytes name); /* made when missing */

/* Frees its jobs too. */
void memory_topic_free(struct topic *topic);

/* The first topic by name behind `after` that `is_wanted`; NULL when there is none. */
struct topic *memory_topic_next(struct bucket *bucket, struct bytes after,
                                bool (*is_wanted)(const struct topic *topic));

/* Has the topic a job, or an event that the next scan takes away? */
bool memory_topic_exists(const struct topic *topic);

/* Has the topic a job, or a place that names one? */
bool memory_topic_is_used(const struct topic *topic);

/* Where the topic is not used, its event and its tombstones go. */
void memory_topic_release(struct topic *topic);
bool memory_topic_has_settings(const struct topic *topic);

/* ---- the next event ---- */

/* The topic's next event is at `at_ms`, or an earlier one that it has. */
void memory_topic_expect(struct topic *topic, int64_t at_ms);

/* The topic's next event is at `at_ms`, and no earlier one; MEMORY_NEVER: it has none. */
void memory_topic_set_next(struct topic *topic, int64_t at_ms);

/* ---- telling those who listen ---- */

/* The topic has a ready job. Each operation tells that once. */
void memory_topic_announce(struct topic *topic);
void memory_topic_tell_settings(struct topic *topic);

/* ---- jobs by id, and the index of ids ---- */

struct record *record_find(struct topic *topic, struct bytes id);

/* A copy of the job, expiring as its rules say, and in no place yet. */
struct record *record_new(struct topic *topic, const struct job *job);
void record_delete(struct topic *topic,
                   struct record *record); /* its entry of the index, too */
void record_set_holder(struct record *record, struct bytes holder);

/* From now on its body counts for its topic's max_bytes. */
void record_count_bytes(struct topic *topic, struct record *record);
int64_t record_counted_bytes(const struct record *record); /* 0: it does not count */

/* NULL: no topic's. */
struct topic *index_find(struct bucket *bucket, struct bytes id);
void index_add(struct topic *topic, struct bytes id);

/* ---- orphans: a place names a job that is gone ----
 *
 * The memory store makes them only when told to, and keeps their records for the sake of the
 * place. */

void record_lose(struct topic *topic, struct record *record);          /* not a ready one */
struct record *lost_find(struct topic *topic, struct bytes id);        /* NULL: there is none */
struct record *lost_find_behind(struct topic *topic, struct bytes id); /* the next by id */
bool lost_is_dead(const struct topic *topic);
bool lost_is_due(const struct topic *topic, int64_t now_ms);

/* The places forget the lost record. */
void lost_delete(struct topic *topic, struct record *record);

#endif
