/* A measurement of errors is worth nothing: whatever is unexpected ends the run. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_DIE_H
#define DUEQ_ITESTS_BENCH_LOAD_DIE_H

/* Says why on standard error and ends the program with 1. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Zeroed memory for `count` of `size` bytes, or the end. */
void *must_calloc(long long count, long long size);

#endif
