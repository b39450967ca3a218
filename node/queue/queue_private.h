/* What the files of the engine share, and nobody else sees. */
#ifndef DUEQ_NODE_QUEUE_QUEUE_PRIVATE_H
#define DUEQ_NODE_QUEUE_QUEUE_PRIVATE_H

#include <stdlib.h>

/* Out of memory for our own small objects aborts, in uthash too. */
#define uthash_fatal(message) abort()
#include <uthash.h>

#include "node/queue/deliveries.h"
#include "node/queue/owners.h"
#include "node/queue/queue.h"
#include "node/queue/scanner.h"
#include "node/queue/waiters.h"

struct queue {
    struct queue_options options;
    struct store *store;
    struct timers *timers;
    struct queue_stats stats;
    struct scanner scanner;
    struct waiters waiters;
    struct deliveries deliveries;
    struct owners owners;
    struct list refused; /* operations to be answered in the next turn */
    struct timer refused_timer;

    unsigned in_flight; /* operations the store has not answered */
    bool is_stopping;
    struct timer stop_timer; /* calls on_stopped in a turn of its own */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

/* The way of every operation to the store: topic and bucket are set, inputs are checked. */
void queue_send(struct queue *q, struct op *op);

/* Answers it with `status` in a later turn. */
void queue_refuse(struct queue *q, struct op *op, enum status status);

unsigned queue_bucket_of(const struct queue *q, struct bytes topic);

/* Something ended that queue_stop may be waiting for. */
void queue_check_stopped(struct queue *q);

#endif
