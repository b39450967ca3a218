/* The twins: one random life on two stores (twins.c), and what they do in it
 * (steps.h). */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_TWINS_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_TWINS_H

#include "node/store/contract/contract.h"

/* Runs `op` on both stores; asserts that the answers are the same. */
struct op twins_run(struct op op);

/* The same for two operations that differ in their cursors only. Returns the first one's
 * answer. */
struct op twins_run_each(struct op redis, struct op memory);

/* Runs some of one topic on Redis in one turn, where they share calls as far as they can, and
 * one after the other in memory: all answers are the same, and the first event that they tell.
 * Releases that find both lines empty wake once, not for each line. */
#define TOGETHER_MAX 6
void twins_run_together(struct op *ops, unsigned count);

/* The memory's cursor behind its last LIST. */
struct bytes twins_next(void);

/* 0 to n - 1, at random. */
unsigned twins_below(unsigned n);

int64_t twins_now(void);

/* How often a topic has been announced in memory. */
unsigned twins_announced(struct bytes topic);

/* Begins a life; some begin in a pause without an event at its end, and with a tombstone in the
 * line.
 */
void twins_begin(void);

/* One random operation. */
void twins_step(void);

/* No job and no setting is left of TOPIC and OTHER, and nothing is remembered. */
void twins_empty(void);

#endif
