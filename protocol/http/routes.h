/* From method and path to handler. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_ROUTES_H
#define DUEQ_PROTOCOL_HTTP_ROUTES_H

struct exchange;

/* Calls the handler of the request, or answers that there is none: 404 no such path, 405 not
 * with this method. */
void route(struct exchange *x);

/* The handlers, by file. */

/* health.c */
void health_live(struct exchange *x);
void health_ready(struct exchange *x);
void health_leader(struct exchange *x);

/* metrics.c */
void metrics_get(struct exchange *x);

#endif
