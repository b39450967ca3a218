/* A whole engine on the memory store and virtual time, for the unit tests of this folder.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_QUEUE_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_QUEUE_FIXTURE_H

#include "node/queue/queue.h"
#include "node/store/memory/store.h"

#define JOBS_SEEN_MAX 128

struct fixture {
    struct timers timers;
    struct memory_store *ms;
    struct queue *q;
    bool is_stopping, is_stopped;
};

/* One operation and what came of it. */
struct call {
    struct op op;
    bool is_done;
    enum status status;
    char id[201];
    struct job job; /* GET; its texts are not kept, but for */
    char holder[JOB_HOLDER_MAX + 1];
    int64_t delayed, ready, reserved, dead; /* STATS */
};

/* A consumer and what it got. */
struct consumer {
    struct pop pop;
    struct bytes topics[8];
    unsigned done; /* how often it was called back */
    enum status status;
    char topic[32];
    unsigned count;
    char ids[JOBS_SEEN_MAX][32];
    int64_t stamps[JOBS_SEEN_MAX];
    unsigned tries[JOBS_SEEN_MAX];
    struct delivery *delivery; /* the test says what becomes of it */
};

struct queue_options fixture_options(void);
void fixture_start(struct fixture *f, unsigned buckets);
void fixture_start_active(struct fixture *f, unsigned buckets); /* and it moves what is due */
void fixture_join(struct fixture *f, struct fixture *other);    /* a second node */
void fixture_join_as(struct fixture *f, struct fixture *other, const struct queue_options *o);
void fixture_stop(struct fixture *f); /* begins to; is_stopped */
void fixture_end(struct fixture *f);  /* stops the queue if need be */

/* Two nodes on one store, which they have heard of; `f` is active. */
void fixture_start_two(struct fixture *f, struct fixture *other, unsigned buckets);
void fixture_end_two(struct fixture *f, struct fixture *other);

/* Runs everything that can happen without time passing; then lets time pass. */
void fixture_turn(struct fixture *f);
void fixture_advance(struct fixture *f, int64_t ms);

/* These submit and run until the answer is there, unless answers are held. */
enum status push(struct fixture *f, const char *topic, const char *id, int64_t delay_ms,
                 int64_t ttr_ms);
enum status submit(struct fixture *f, struct call *call, enum op_verb verb, const char *topic,
                   const char *id, int64_t stamp);

/* The job's state, 0 when there is none. */
enum job_state state_of(struct fixture *f, const char *topic, const char *id);

/* Starts a pop and runs what can run; `topics` are separated by commas. */
void consume(struct fixture *f, struct consumer *c, const char *topics, unsigned count,
             int64_t wait_ms);
void consume_by_id(struct fixture *f, struct consumer *c, const char *topics, uint64_t holder);

/* What became of the jobs it got. */
void delivered(struct fixture *f, struct consumer *c);
void returned(struct fixture *f, struct consumer *c);

#endif
