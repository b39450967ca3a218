/* GET /metrics. The node's numbers are at hand; jobs are counted in the store, by a census that
 * concurrent scrapes share. When a new census does not come in time the last one serves; when
 * that is too old, the page comes without the counts. The page always comes, and soon: metrics
 * are needed most from a node in trouble.
 *
 * A census that takes longer than a page waits is shown by the next page, as long as pages are
 * no further apart than CENSUS_AGE_MAX_MS: Prometheus forgets samples older than five minutes,
 * so it scrapes more often.
 */
#include <stdlib.h>

#include "base/build.h"
#include "base/list.h"
#include "node/queue/queue.h"
#include "protocol/api/metrics.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"

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
        .http_errors = http_errors(api->http),
    };
    if (node->read_store)
        node->read_store(node->arg, &m->store);
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
    m.cluster = api_cluster_read(api_of(x), &status);
    m.is_fenced_alone = !m.cluster && !status.may_act;
    m.fenced_alone = status.fenced;
    m.census = census_for(call);
    metrics_write(&text, &m);
    free(scrape);
    exchange_reply(x, 200, METRICS_CONTENT_TYPE, buf_bytes(&text));
    buf_fini(&text);
}

static void on_cancel_wait(struct exchange *x)
{
    struct scrape *scrape = x->handler;

    queue_census_cancel(api_of(x)->queue, &scrape->call);
}

void metrics_get(struct exchange *x)
{
    struct scrape *scrape = calloc(1, sizeof(*scrape));

    if (!scrape)
        abort();
    scrape->exchange = x;
    scrape->call = (struct census_call){.wait_ms = CENSUS_WAIT_MS, .on_done = on_counted};
    x->handler = scrape;
    x->on_cancel_wait = on_cancel_wait;
    queue_census(api_of(x)->queue, &scrape->call);
}
