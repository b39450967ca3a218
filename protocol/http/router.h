/* From method and path to handler, by the app's table. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_ROUTER_H
#define DUEQ_PROTOCOL_HTTP_ROUTER_H

#include "protocol/http/exchange.h"

/* NO_PATH, or METHOD: not this method on this path. The parameters in the path are put into
 * `x`, still escaped. */
enum http_error route_find(struct exchange *x);

/* Of a path that is not there, and not empty: would it be without the '/' at its end? */
bool route_is_there_without_slash(const struct http_app *app, struct bytes path);

/* Adds the methods of a path, as they stand in an Allow header. */
void route_print_allowed(const struct http_app *app, struct bytes path, struct buf *to);

/* Unescapes what is escaped, reads the query, and gives the exchange to its handler; or
 * answers what is wrong, and counts it as refused. */
void route_take(struct exchange *x);

#endif
