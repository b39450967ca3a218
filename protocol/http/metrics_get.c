#include "node/queue/queue.h"
#include "protocol/http/metrics.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

static struct http_protocol_numbers own_numbers(const struct http_stats *stats)
{
    return (struct http_protocol_numbers){
        .name = "http",
        .connections = stats->connections,
        .accepted = stats->accepted,
        .turned_away = stats->turned_away,
        .requests = stats->requests,
        .refused = stats->refused,
    };
}

void metrics_get(struct exchange *x)
{
    const struct http_node *node = &x->http->options.node;
    const struct loop *loop = x->http->loop;
    struct metrics m = {
        .queue = queue_stats(x->http->queue),
        .loop_stalls = loop->stall_count,
        .loop_stall_max_ms = loop->stall_max_ms,
        .protocols = {own_numbers(http_stats(x->http))},
        .protocol_count = 1,
        .version = DUEQ_VERSION,
    };
    struct buf text = BUF_INIT;

    if (node->read_store)
        node->read_store(node->arg, &m.store);
    if (node->read_protocols)
        m.protocol_count += node->read_protocols(node->arg, m.protocols + 1);
    metrics_write(&text, &m);
    exchange_reply(x, 200, METRICS_CONTENT_TYPE, buf_bytes(&text));
    buf_fini(&text);
}
