/* Health, as load balancers and container runtimes ask for it:
 *   live     the loop turns: do not restart me
 *   ready    the store can be reached: send me clients; and why it may lose jobs
 *   leader   ready, and this node moves due jobs (a standalone node always does)
 *   standby  ready, and this node would take over from the leader: not while it is no member,
 *            set to ha.no_failover, refused, or failover is paused
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/loop.h"
#include "node/queue/queue.h"
#include "protocol/api/cluster_encode.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"
#include "protocol/api/openapi_text.h"
#include "protocol/json/text.h"

void health_live(struct exchange *x)
{
    exchange_reply_status(x, 200, "live");
}

/* Is it ready? False: it is not, and that was answered. */
static bool expect_ready(struct exchange *x)
{
    const struct api_node *node = &api_of(x)->node;
    const char *reason = node->why_not_ready ? node->why_not_ready(node->arg) : NULL;

    if (reason)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "%s", reason);
    return !reason;
}

/* A store that may lose jobs counts as ready; the operator decides whether that is good enough.
 */
void health_ready(struct exchange *x)
{
    const struct api_node *node = &api_of(x)->node;
    struct store_numbers n = {.is_up = 0};
    struct buf json = BUF_INIT;

    if (!expect_ready(x))
        return;
    if (node->read_store)
        node->read_store(node->arg, &n);
    buf_add_text(&json, "{\"status\":\"ready\",\"store\":{\"weak\":");
    store_add_weak(&json, &n);
    buf_add_text(&json, "}}");
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void reply_by_role(struct exchange *x, const char *role, bool is_so, const char *why)
{
    if (is_so)
        exchange_reply_status(x, 200, role);
    else
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "this node is no %s now%s%s", role,
                                  *why ? ": " : "", why);
}

void health_leader(struct exchange *x)
{
    struct cluster_status status;

    api_cluster_read(api_of(x), &status);
    if (expect_ready(x))
        reply_by_role(x, "leader", status.may_act, status.refused);
}

static const struct cluster_node *own_row(const struct cluster_status *s)
{
    for (unsigned i = 0; i < s->node_count; i++)
        if (!strcmp(s->nodes[i].name, s->node))
            return &s->nodes[i];
    return NULL;
}

/* NULL: the node would take over. */
static const char *why_no_successor(const struct cluster_status *s)
{
    const struct cluster_node *own = own_row(s);

    if (s->refused[0])
        return s->refused;
    if (s->is_paused)
        return "failover is paused";
    if (!own || !own->is_member)
        return "it is no member yet";
    if (own->is_address_away)
        return "it could not have the virtual address";
    return own->no_failover ? "it is set to ha.no_failover" : NULL;
}

void health_standby(struct exchange *x)
{
    struct cluster_status room;
    const struct cluster_status *status = api_cluster_read(api_of(x), &room);
    bool is_standby = status && !strcmp(status->role, "standby");
    const char *why = is_standby ? why_no_successor(status) : NULL;

    if (!expect_ready(x))
        return;
    if (why)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "this node would not take over: %s",
                                  why);
    else
        reply_by_role(x, "standby", is_standby, "");
}

/* /v1/status: this node in one page, for people and for dueqctl. Answered from what the node
 * knows already, so that it works without a store, too. */

static void add_text_or_null(struct buf *out, const char *text)
{
    if (text)
        json_add_text(out, bytes_of_text(text));
    else
        buf_add_text(out, "null");
}

static void add_node(struct buf *out, const struct api *api, const char *role)
{
    const struct api_node *node = &api->node;
    const char *why_not = node->why_not_ready ? node->why_not_ready(node->arg) : NULL;

    buf_add_text(out, "{\"name\":");
    json_add_text(out, bytes_of_text(node->name ? node->name : ""));
    buf_printf(out, ",\"version\":\"%s\",\"role\":\"%s\",\"pid\":%ld", build_info()->full, role,
               (long)getpid());
    buf_printf(out, ",\"uptime_ms\":%" PRId64 ",\"now_ms\":%" PRId64 ",\"ready\":%s",
               timers_now(&api->loop->timers) - api->start_mono_ms, clock_wall_ms(),
               why_not ? "false" : "true");
    buf_add_text(out, ",\"why_not_ready\":");
    add_text_or_null(out, why_not);
}

static void add_store(struct buf *out, const struct api *api)
{
    const struct api_node *node = &api->node;
    struct store_numbers n = {.is_up = 0};
    int64_t since_mono_ms;

    if (node->read_store)
        node->read_store(node->arg, &n);
    since_mono_ms = n.breaker_since_mono_ms ? n.breaker_since_mono_ms : api->start_mono_ms;
    buf_add_text(out, ",\"store\":");
    store_add_status(out, &n,
                     clock_wall_ms() - (timers_now(&api->loop->timers) - since_mono_ms));
}

/* By protocol, for the open ports. */
static void add_connections(struct buf *out, const struct api_node *node)
{
    const struct port_stats *ports[API_PORTS_MAX];
    unsigned count = node->read_ports ? node->read_ports(node->arg, ports) : 0;

    buf_add_text(out, ",\"connections\":{");
    for (unsigned i = 0; i < count; i++)
        buf_printf(out, "%s\"%s\":%" PRIu64, i ? "," : "", ports[i]->name,
                   ports[i]->connections);
    buf_add_text(out, "}");
}

static void add_work(struct buf *out, const struct api *api)
{
    buf_printf(out, ",\"buckets\":%u,\"consumers_waiting\":%" PRIu64, queue_buckets(api->queue),
               queue_stats(api->queue)->waiting);
    add_connections(out, &api->node);
    buf_printf(out, ",\"loop\":{\"stalls\":%" PRIu64 ",\"stall_max_ms\":%" PRId64 "}}",
               api->loop->stall_count, api->loop->stall_max_ms);
}

void status_get(struct exchange *x)
{
    struct cluster_status room;
    const struct cluster_status *cluster = api_cluster_read(api_of(x), &room);
    struct buf json = BUF_INIT;

    add_node(&json, api_of(x), cluster ? cluster->role : room.may_act ? "leader" : "offline");
    if (cluster) {
        buf_add_text(&json, ",\"cluster\":");
        cluster_add_summary(&json, cluster);
    }
    add_store(&json, api_of(x));
    add_work(&json, api_of(x));
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

/* /v1/openapi.yaml: what the API looks like, as this very node has it; / and /v1 lead there. */

void openapi_get(struct exchange *x)
{
    exchange_reply(x, 200, "application/yaml", bytes_of_text(openapi_text));
}

void openapi_redirect(struct exchange *x)
{
    exchange_add_header(x, "Location", "/v1/openapi.yaml");
    exchange_reply_json(x, 302, BYTES("{\"openapi\":\"/v1/openapi.yaml\"}"));
}

/* ---- for several ---- */

const struct cluster_status *api_cluster_read(const struct api *api,
                                              struct cluster_status *room)
{
    const struct cluster_port *cluster = api->node.cluster;

    *room = (struct cluster_status){.may_act = true, .refused = ""};
    return cluster && cluster->read(cluster->arg, room) ? room : NULL;
}
