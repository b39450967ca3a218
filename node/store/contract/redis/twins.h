/* The twins: one random life on two stores (twins.c), and what they do in it
 * (steps.h). */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_TWINS_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_TWINS_H

#include "node/store/contract/contract.h"

/* Runs it on both; the answers are the same. */
struct op twins_run(struct op op);

/* The same, for two that say one thing with different cursors. The first one's answer. */
struct op twins_run_each(struct op redis, struct op memory);

/* The memory's cursor behind its last LIST. */
struct bytes twins_next(void);

/* 0 to n - 1, at random. */
unsigned twins_below(unsigned n);

int64_t twins_now(void);

/* How often a topic has been announced in memory. */
unsigned twins_announced(struct bytes topic);

/* Some lives begin in a pause that nobody has planned the end of, with a tombstone in the line.
 */
void twins_begin(void);

/* One random operation. */
void twins_step(void);

/* No job and no setting is left of TOPIC and OTHER, and nothing is remembered. */
void twins_empty(void);

#endif
