#include "base/loop.h"
#include "node/queue/queue.h"
#include "protocol/http/exchange.h"
#include "protocol/http/metrics.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

void metrics_get(struct exchange *x)
{
    const struct http_node *node = http_node(x->http);
    const struct loop *loop = http_loop(x->http);
    struct metrics m = {
        .queue = queue_stats(http_queue(x->http)),
        .loop_stalls = loop->stall_count,
        .loop_stall_max_ms = loop->stall_max_ms,
        .version = DUEQ_VERSION,
    };
    struct buf text = BUF_INIT;

    if (node->read_store)
        node->read_store(node->arg, &m.store);
    if (node->read_protocols)
        m.protocol_count = node->read_protocols(node->arg, m.protocols);
    metrics_write(&text, &m);
    exchange_reply(x, 200, METRICS_CONTENT_TYPE, buf_bytes(&text));
    buf_fini(&text);
}
