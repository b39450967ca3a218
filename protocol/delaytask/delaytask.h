/* The delaytask port: /delay/task/add and /delay/task/pull of a delay-queue service that is
 * known from an article. The contract is doc/delaytask.md.
 *
 *   app.c    the paths, their handlers, and what an error looks like
 *   codec.c  what a body says, and replies; pure
 */
#ifndef DUEQ_PROTOCOL_DELAYTASK_DELAYTASK_H
#define DUEQ_PROTOCOL_DELAYTASK_DELAYTASK_H

#include "protocol/http/http.h"

/* For http_new(), without an argument. */
extern const struct http_app delaytask_app;

#endif
