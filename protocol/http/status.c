/* /v1/status: this node in one page, for people and for dueqctl. Answered from what the node
 * knows already, so that it works without a store, too. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "node/queue/queue.h"
#include "protocol/http/cluster_encode.h"
#include "protocol/http/openapi_text.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"
#include "protocol/json/text.h"

static void add_text_or_null(struct buf *out, const char *text)
{
    if (text)
        json_add_text(out, bytes_of_text(text));
    else
        buf_add_text(out, "null");
}

static void add_node(struct buf *out, const struct http *h, const char *role)
{
    const struct http_node *node = &h->options.node;
    const char *why_not = node->why_not_ready ? node->why_not_ready(node->arg) : NULL;

    buf_add_text(out, "{\"name\":");
    json_add_text(out, bytes_of_text(node->name ? node->name : ""));
    buf_printf(out, ",\"version\":\"%s\",\"role\":\"%s\",\"pid\":%ld", build_info()->full, role,
               (long)getpid());
    buf_printf(out, ",\"uptime_ms\":%" PRId64 ",\"now_ms\":%" PRId64 ",\"ready\":%s",
               timers_now(&h->loop->timers) - h->start_mono_ms, clock_wall_ms(),
               why_not ? "false" : "true");
    buf_add_text(out, ",\"why_not_ready\":");
    add_text_or_null(out, why_not);
}

static void add_store(struct buf *out, const struct http *h)
{
    const struct http_node *node = &h->options.node;
    struct http_store_numbers n = {.is_up = 0};
    int64_t since_mono_ms;

    if (node->read_store)
        node->read_store(node->arg, &n);
    since_mono_ms = n.breaker_since_mono_ms ? n.breaker_since_mono_ms : h->start_mono_ms;
    buf_add_text(out, ",\"store\":");
    store_add_status(out, &n, clock_wall_ms() - (timers_now(&h->loop->timers) - since_mono_ms));
}

/* 0 where the port is off. */
static uint64_t connections_of(const struct http_node *node, const char *protocol)
{
    struct http_protocol_numbers numbers[HTTP_PROTOCOLS_MAX];
    unsigned count = node->read_protocols ? node->read_protocols(node->arg, numbers) : 0;

    for (unsigned i = 0; i < count; i++)
        if (strcmp(numbers[i].name, protocol) == 0)
            return numbers[i].connections;
    return 0;
}

static void add_work(struct buf *out, const struct http *h)
{
    buf_printf(out, ",\"buckets\":%u,\"consumers_waiting\":%" PRIu64, queue_buckets(h->queue),
               queue_stats(h->queue)->waiting);
    buf_printf(out, ",\"connections\":{\"gmq\":%" PRIu64 ",\"http\":%" PRIu64 "}",
               connections_of(&h->options.node, "gmq"), h->stats.connections);
    buf_printf(out, ",\"loop\":{\"stalls\":%" PRIu64 ",\"stall_max_ms\":%" PRId64 "}}",
               h->loop->stall_count, h->loop->stall_max_ms);
}

void status_get(struct exchange *x)
{
    struct http_cluster_status room;
    const struct http_cluster_status *cluster = http_cluster_read(x->http, &room);
    struct buf json = BUF_INIT;

    add_node(&json, x->http, cluster ? cluster->role : room.may_act ? "leader" : "offline");
    if (cluster) {
        buf_add_text(&json, ",\"cluster\":");
        cluster_add_summary(&json, cluster);
    }
    add_store(&json, x->http);
    add_work(&json, x->http);
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

/* /v1/openapi.yaml: what the API looks like, as this very node has it; / and /v1 lead there. */

void openapi_get(struct exchange *x)
{
    exchange_reply(x, 200, "application/yaml", bytes_of_text(openapi_text));
}

void openapi_lead(struct exchange *x)
{
    exchange_add_header(x, "Location", "/v1/openapi.yaml");
    exchange_reply_json(x, 302, BYTES("{\"openapi\":\"/v1/openapi.yaml\"}"));
}
