/* The gmq_web port: gmq's web monitor as JSON, and version 2 of gmq's HTTP. The contract is
 * doc/gmq-web.md.
 *
 *   app.c      the table of paths; push, pop and ack of version 2
 *   monitor.c  what the monitor shows: topics by state, and the jobs of one
 *   codec.c    a job as clients send it, and the replies; pure
 */
#ifndef DUEQ_PROTOCOL_GMQ_WEB_GMQ_WEB_H
#define DUEQ_PROTOCOL_GMQ_WEB_GMQ_WEB_H

#include "protocol/http/http.h"

/* For http_new(), without an argument. */
extern const struct http_app gmq_web_app;

/* Handlers of the monitor; the first one's route has an enum gmq_web_kind as its `what`.
 * Private to gmq_web/. */
void gmq_web_stats(struct exchange *x);
void gmq_web_jobs(struct exchange *x);

#endif
