/* What the node tells of itself: health, /v1/status, /metrics, and the API's description.
 *
 * Health is as load balancers and container runtimes ask for it:
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
#include "base/list.h"
#include "base/loop.h"
#include "node/queue/queue.h"
#include "protocol/access/access.h"
#include "protocol/access/registry.h"
#include "protocol/access/role.h"
#include "protocol/api/encode.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"
#include "protocol/api/metrics.h"
#include "protocol/json/write.h"

void health_live(struct exchange *x)
{
    exchange_reply_status(x, 200, "live");
}

static const char *why_not_ready(const struct api *api)
{
    return api->node.why_not_ready ? api->node.why_not_ready(api->node.arg) : NULL;
}

/* Is it ready? False: it is not, and that was answered. */
static bool expect_ready(struct exchange *x)
{
    const char *reason = why_not_ready(api_of(x));

    if (reason)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "%s", reason);
    return !reason;
}

/* A store that may lose jobs counts as ready; the operator decides whether that is good enough.
 */
void health_ready(struct exchange *x)
{
    struct store_numbers n = api_read_store(api_of(x));
    struct buf json = BUF_INIT;

    if (!expect_ready(x))
        return;
    buf_add_text(&json, "{\"status\":\"ready\",\"store\":{\"weak\":");
    store_add_weak(&json, &n);
    buf_add_text(&json, "}}");
    exchange_reply_buf(x, 200, &json);
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

static void add_node(struct buf *out, const struct api *api, const char *role)
{
    const char *name = api->node.name, *why_not = why_not_ready(api);

    json_put_text(out, "{\"name\":", bytes_of_text(name ? name : ""));
    json_put_text(out, ",\"version\":", bytes_of_text(build_info()->full));
    json_put_text(out, ",\"role\":", bytes_of_text(role));
    json_put_number(out, ",\"pid\":", getpid());
    json_put_number(out,
                    ",\"uptime_ms\":", timers_now(&api->loop->timers) - api->start_mono_ms);
    json_put_number(out, ",\"now_ms\":", clock_wall_ms());
    json_put_bool(out, ",\"ready\":", !why_not);
    json_put_text_or_null(out, ",\"why_not_ready\":", why_not);
}

static void add_store(struct buf *out, const struct api *api)
{
    struct store_numbers n = api_read_store(api);
    int64_t since_mono_ms =
        n.breaker_since_mono_ms ? n.breaker_since_mono_ms : api->start_mono_ms;

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
    for (unsigned i = 0; i < count; i++) {
        json_next(out);
        buf_printf(out, "\"%s\":%" PRIu64, ports[i]->name, ports[i]->connections);
    }
    buf_add_char(out, '}');
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
    exchange_reply_buf(x, 200, &json);
}

/* GET /metrics. The node's numbers are at hand; jobs are counted in the store, by a census that
 * concurrent scrapes share. When a new census does not come in time the last one serves; when
 * that is too old, the page comes without the counts. The page always comes, and soon: metrics
 * are needed most from a node in trouble.
 *
 * A census that takes longer than a page waits is shown by the next page, as long as pages are
 * no further apart than CENSUS_AGE_MAX_MS: Prometheus forgets samples older than five minutes,
 * so it scrapes more often.
 */

#define CENSUS_WAIT_MS    1000
#define CENSUS_AGE_MAX_MS 300000

struct scrape {
    struct exchange *exchange;
    struct census_call call;
};

static void collect(const struct api *api, struct metrics *m)
{
    const struct api_node *node = &api->node;

    *m = (struct metrics){
        .queue = queue_stats(api->queue),
        .topics_max = api->metrics_topics,
        .loop = api->loop,
        .build = build_info(),
        .http_errors = api->errors,
        .store = api_read_store(api),
        .identities = access_count(api->registry->access),
        .identities_age_ms = registry_age_ms(api->registry),
    };
    if (node->read_ports)
        m->port_count = node->read_ports(node->arg, m->ports);
    metrics_process_read(&m->process);
}

static const struct census *census_for(const struct census_call *call)
{
    const struct census *last = call->last;

    return last && last->age_ms <= CENSUS_AGE_MAX_MS ? last : NULL;
}

static void on_counted(struct census_call *call)
{
    struct scrape *scrape = CONTAINER_OF(call, struct scrape, call);
    struct exchange *x = scrape->exchange;
    struct cluster_status status;
    struct buf text = BUF_INIT;
    struct metrics m;

    collect(api_of(x), &m);
    if (x->who && x->who->topic_count)
        m.topics_max = 0; /* names of topics are not for it */
    m.cluster = api_cluster_read(api_of(x), &status);
    m.is_fenced_alone = !m.cluster && !status.may_act;
    m.fenced_alone = status.fenced;
    m.census = census_for(call);
    metrics_write(&text, &m);
    exchange_reply(x, 200, METRICS_CONTENT_TYPE, buf_bytes(&text));
    buf_fini(&text);
}

static void on_cancel_wait(struct exchange *x)
{
    struct scrape *scrape = x->handler;

    queue_census_cancel(&scrape->call);
}

void metrics_get(struct exchange *x)
{
    struct scrape *scrape = exchange_keep(x, sizeof(*scrape));

    *scrape = (struct scrape){.exchange = x,
                              .call = {.wait_ms = CENSUS_WAIT_MS, .on_done = on_counted}};
    x->on_cancel_wait = on_cancel_wait;
    queue_census(api_of(x)->queue, &scrape->call);
}

/* /v1/openapi.yaml: what the API looks like, as this very node has it; / and /v1 lead there. */

void openapi_get(struct exchange *x)
{
    exchange_reply(x, 200, "application/yaml", bytes_of_text(openapi_text));
}

void openapi_redirect(struct exchange *x)
{
    exchange_add_header(x, "Location", "/v1/openapi.yaml");
    exchange_reply_body(x, 302, BYTES("{\"openapi\":\"/v1/openapi.yaml\"}"));
}

/* ---- for several ---- */

struct store_numbers api_read_store(const struct api *api)
{
    struct store_numbers numbers = {.is_up = 0};

    if (api->node.read_store)
        api->node.read_store(api->node.arg, &numbers);
    return numbers;
}

const struct cluster_status *api_cluster_read(const struct api *api,
                                              struct cluster_status *room)
{
    const struct cluster_port *cluster = api->node.cluster;

    *room = (struct cluster_status){.may_act = true, .refused = ""};
    return cluster && cluster->read(cluster->arg, room) ? room : NULL;
}
