/* To add a path: a line in the table, and its handler in a file of its own kind. HEAD goes
 * where GET goes; the reply leaves the body away.
 */
#include "protocol/http/routes.h"

static const struct route {
    struct bytes method;
    struct bytes path;
    void (*handle)(struct exchange *x);
} routes[] = {
    {BYTES("GET"), BYTES("/health/live"), health_live},
    {BYTES("GET"), BYTES("/health/ready"), health_ready},
    {BYTES("GET"), BYTES("/health/leader"), health_leader},
    {BYTES("GET"), BYTES("/metrics"), metrics_get},
};

static bool has_method(const struct route *route, struct bytes method)
{
    if (bytes_equal(method, BYTES("HEAD")))
        method = BYTES("GET");
    return bytes_equal(route->method, method);
}

enum http_fault route_find(const struct head *head, const struct route **route)
{
    enum http_fault fault = HTTP_FAULT_NO_PATH;

    for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
        if (!bytes_equal(routes[i].path, head->path))
            continue;
        if (has_method(&routes[i], head->method)) {
            *route = &routes[i];
            return HTTP_FAULT_NONE;
        }
        fault = HTTP_FAULT_METHOD;
    }
    return fault;
}

void route_take(const struct route *route, struct exchange *x)
{
    route->handle(x);
}
