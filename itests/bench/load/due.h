/* When each job of a lateness run is due, by the machine's real-time clock in microseconds:
 * said by the push, read from the job's header in Redis, or told by whoever knows. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_DUE_H
#define DUEQ_ITESTS_BENCH_LOAD_DUE_H

#include <stdint.h>

#include "itests/bench/load/clients.h"
#include "itests/bench/load/options.h"

void due_init(const struct options *o, int64_t jobs);
void due_fini(void);

/* Opens the link to Redis for due_ask(), in the clients' loop. */
void due_open_store(struct clients *cs);

void due_set(int64_t n, int64_t at_us);

/* Finds out, from the store, when job n is due: call it while the job is there. The question
 * leaves with the next due_send_questions(), which is cheap when there are none. */
void due_ask(int64_t n);
void due_send_questions(void);

/* 0: not known, or no such job */
int64_t due_us(int64_t n);

int64_t due_real_now_us(void);

#endif
