/* The ouqiang port: ouqiang/delay-queue's HTTP for its clients, in PHP, Go and others. The
 * contract is doc/ouqiang.md.
 *
 *   app.c    the paths, their handlers, and what an error looks like
 *   codec.c  what a body says, and replies; pure
 */
#ifndef DUEQ_PROTOCOL_OUQIANG_OUQIANG_H
#define DUEQ_PROTOCOL_OUQIANG_OUQIANG_H

#include "protocol/http/http.h"

/* For http_new(), without an argument. */
extern const struct http_app ouqiang_app;

#endif
