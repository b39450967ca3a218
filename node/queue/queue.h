/* The queue engine: everything a protocol can do with jobs.
 *
 * It checks what comes in, picks the bucket, hands operations to the store, keeps blocked
 * consumers and wakes them, confirms deliveries, and (while active) moves what is due. It
 * knows nothing of sockets, of ZooKeeper or of Redis.
 *
 * - queue.c: the front door; what the parts must know of each other
 * - core.c: the way of an operation to the store and back
 * - waiters.c: consumers that wait: their time, their seats at topics, their callbacks
 * - topic.c: the pop in flight for each topic that somebody waits for
 * - deliveries.c: what was popped and is not confirmed to have reached its consumer
 * - batches.c: their leases on the way to the store
 * - scanner.c: one timer a bucket, to find and move what is due
 * - owners.c: who holds what, for acknowledgements that bring only an id
 * - names.c: what a topic and an id may look like
 */
#ifndef DUEQ_NODE_QUEUE_QUEUE_H
#define DUEQ_NODE_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/list.h"
#include "base/timer.h"
#include "node/store/store.h"

#define QUEUE_TOPICS_PER_POP_MAX 64
#define QUEUE_DELAY_MAX_MS       JOB_DELAY_MAX_MS
#define QUEUE_AT_MAX_MS          ((INT64_C(1) << 48) - 1) /* what a job's header can hold */
#define QUEUE_TTR_MAX_MS         (INT64_C(7) * 86400000)

struct queue_options {
    size_t body_max_bytes;
    unsigned waiting_max;     /* consumers that wait at the same time */
    unsigned scan_batch;      /* jobs one scan moves at most */
    int64_t scan_interval_ms; /* the safety scan of each bucket */
};

/* Counters since start; gauges where it says so. */
struct queue_stats {
    uint64_t done[OP_COUNT];            /* operations that ended OK */
    uint64_t refused[OP_COUNT];         /* ended otherwise, surely without effect */
    uint64_t unknown[OP_COUNT];         /* may have happened */
    uint64_t popped_jobs;               /* handed to a consumer's connection */
    uint64_t returned_jobs;             /* popped for a consumer that had left */
    uint64_t late_confirmations;        /* deliveries whose jobs had expired meanwhile */
    uint64_t lost_confirmations;        /* deliveries the store did not take in time */
    uint64_t expired_jobs;              /* reservations that ran out */
    uint64_t waiting;                   /* gauge: consumers */
    uint64_t unconfirmed;               /* gauge: deliveries not confirmed yet */
    struct histogram move_lateness;     /* ready - due, every job that had a delay */
    struct histogram delivery_lateness; /* flushed - due, where a consumer was waiting */
};

struct queue;

/* Both are borrowed for the queue's life. The queue takes the store's events. */
struct queue *queue_new(const struct queue_options *options, struct store *store,
                        struct timers *timers);
void queue_free(struct queue *q); /* after queue_stop's on_stopped; NULL is fine */

/* New limits, from the next request on. */
void queue_reload(struct queue *q, const struct queue_options *options);

/* Starts, and stops, moving due jobs. */
void queue_activate(struct queue *q);
void queue_deactivate(struct queue *q);

/* Answers all waiting consumers with CANCELLED, refuses new work with SHUTTING_DOWN, sends
 * the outstanding confirmations, and calls back when nothing is in flight any more. */
void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg);

/* PUSH, ACK, RELEASE, TOUCH, CANCEL, GET and STATS: checks the inputs, sets the bucket, and
 * submits. See op.h for the rules. */
void queue_submit(struct queue *q, struct op *op);

/* ---- consuming ---- */

struct topic;
struct delivery;
struct pop;

/* A consumer's wish for jobs. The caller embeds it. */
struct pop {
    /* inputs: topics in order of priority, borrowed until on_done */
    const struct bytes *topics;
    unsigned topic_count; /* 1 to QUEUE_TOPICS_PER_POP_MAX */
    unsigned count;       /* 1 to OP_ITEMS_MAX jobs at most; answers as soon as it has one */
    int64_t wait_ms;      /* 0: do not wait */
    bool id_only;         /* the consumer will acknowledge by id alone: see queue_ack_by_id */
    uint64_t holder;      /* with id_only: the consumer's number, unique in this process */
    void (*on_done)(struct pop *pop);

    /* Outputs, valid while on_done runs. OK with one job or more; NOT_FOUND: nothing came in
     * time; CANCELLED after queue_pop_cancel or queue_stop; or why it was refused. */
    enum status status;
    struct bytes topic; /* of all the jobs */
    const struct job *jobs;
    unsigned job_count;
    struct delivery *delivery; /* taken over with the jobs, see below */

    /* The queue's own, see waiters.c. */
    struct waiters *waiters;
    struct seat *seats; /* one a topic; NULL: on its way out */
    unsigned seat_count;
    struct timer timer;
    struct list link;      /* seated, or to be called back */
    int64_t since_mono_ms; /* when it came */
    bool is_claimed;       /* an operation in flight may bring a job for it */
    bool is_patient;       /* its time is not over */
    enum status trouble;   /* why its last try failed; OK: it did not */
};

void queue_pop(struct queue *q, struct pop *pop);

/* The consumer has left: on_done comes with CANCELLED, soon, and no job is lost to it. Not
 * for a pop that is done. */
void queue_pop_cancel(struct queue *q, struct pop *pop);

/* Whoever took a pop's jobs says what became of them, with exactly one of the two calls;
 * both free the delivery. Until then the jobs are reserved for some seconds only. */
void queue_delivered(struct queue *q, struct delivery *d); /* flushed to the consumer */
void queue_returned(struct queue *q, struct delivery *d);  /* it never got them */

/* ---- acknowledging without a lease ---- */

/* For protocols whose acknowledgement is a bare id. The lease is the one of this holder,
 * else the newest that this node handed out, else the current one in any bucket. */
struct id_ack {
    struct bytes id; /* borrowed until on_done */
    uint64_t holder; /* as in struct pop */
    void (*on_done)(struct id_ack *ack);

    /* OK; NOT_FOUND: no live job has this id and an owner; NOT_OWNER: the time to run is over
     * and the job is, or will be, handed out again; NOT_RESERVED; or why it was refused. */
    enum status status;

    /* The queue's own, see owners.c. */
    struct owners *owners;
    struct op op;
    struct id_search *search;
};

void queue_ack_by_id(struct queue *q, struct id_ack *ack);

const struct queue_stats *queue_stats(struct queue *q);

#endif
