/* From method and path to handler. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_ROUTES_H
#define DUEQ_PROTOCOL_HTTP_ROUTES_H

#include "protocol/http/head.h"

struct exchange;
struct route;

/* NO_PATH, or METHOD: not this method on this path. `route` is static. */
enum http_fault route_find(const struct head *head, const struct route **route);

/* Gives the exchange to the route's handler. */
void route_take(const struct route *route, struct exchange *x);

/* The handlers, by file. */

/* health.c */
void health_live(struct exchange *x);
void health_ready(struct exchange *x);
void health_leader(struct exchange *x);

/* metrics_get.c */
void metrics_get(struct exchange *x);

#endif
