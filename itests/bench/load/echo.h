/* The least that a server must do: it finds where a request ends, and answers like a server
 * that has done it. Every pop gets a job with the id 1. Pure; the mode `echo` serves it, so
 * that the generator can be measured against something that costs next to nothing. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_ECHO_H
#define DUEQ_ITESTS_BENCH_LOAD_ECHO_H

#include "base/buf.h"

/* Answers the first request of `in`; its length, or 0 when it is not all there. */
typedef size_t echo_function(struct bytes in, struct buf *out);

/* By the protocol's name; dies when there is none. */
echo_function *echo_find(const char *protocol);

#endif
