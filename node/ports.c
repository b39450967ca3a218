#include "node/ports.h"

#include "node/wiring.h"
#include "protocol/api/api.h"
#include "protocol/gmq/gmq.h"
#include "protocol/http/http.h"

static struct port *open_gmq(const struct ports_from *from, int fd)
{
    struct gmq_options options = wiring_gmq_options(from->conf);

    return gmq_new(&options, from->loop, from->queue, fd);
}

static void reload_gmq(const struct ports_from *from, struct port *port)
{
    struct gmq_options options = wiring_gmq_options(from->conf);

    gmq_reload(port, &options);
}

static struct port *open_http(const struct ports_from *from, int fd)
{
    struct http_options options = wiring_http_options(from->conf);

    from->api->http = http_new(&api_app, from->api, &options, from->loop, from->queue, fd);
    return http_port(from->api->http);
}

static void reload_http(const struct ports_from *from, struct port *port)
{
    struct http_options options = wiring_http_options(from->conf);

    http_reload(port, &options);
    from->api->metrics_topics = from->conf->http.metrics_topics;
}

static const struct {
    struct port *(*open)(const struct ports_from *from, int fd);
    void (*reload)(const struct ports_from *from, struct port *port);
} rows[CONF_PORTS] = {
    [PORT_GMQ] = {open_gmq, reload_gmq},
    [PORT_HTTP] = {open_http, reload_http},
};

struct port *ports_open(const struct ports_from *from, enum conf_port which, int fd)
{
    return rows[which].open(from, fd);
}

void ports_reload(const struct ports_from *from, enum conf_port which, struct port *port)
{
    rows[which].reload(from, port);
}
