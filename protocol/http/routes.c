/* To add a path: a line in the table, and its handler in a file of its own kind. HEAD goes
 * where GET goes; the reply leaves the body away.
 */
#include "protocol/http/routes.h"

#include <string.h>

#include <event2/http.h>

#include "protocol/http/exchange.h"

#define GET EVHTTP_REQ_GET

static const struct route {
    enum evhttp_cmd_type method;
    const char *path;
    void (*handle)(struct exchange *x);
} routes[] = {
    {GET, "/health/live", health_live},
    {GET, "/health/ready", health_ready},
    {GET, "/health/leader", health_leader},
    {GET, "/metrics", metrics_get},
};

#define ROUTES (sizeof(routes) / sizeof(*routes))

static const char *path_of(const struct exchange *x)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(x->request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

    return path ? path : "";
}

void route(struct exchange *x)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(x->request);
    const char *path = path_of(x);
    bool is_path = false;

    if (method == EVHTTP_REQ_HEAD)
        method = GET;
    for (size_t i = 0; i < ROUTES; i++) {
        if (strcmp(routes[i].path, path) != 0)
            continue;
        if (routes[i].method == method) {
            routes[i].handle(x);
            return;
        }
        is_path = true;
    }
    if (is_path) {
        exchange_add_header(x, "Allow", "GET, HEAD");
        exchange_reply_error(x, 405, "method_not_allowed",
                             "this path does not answer to this method");
    } else {
        exchange_reply_error(x, 404, "no_such_path", "there is nothing under this path");
    }
}
