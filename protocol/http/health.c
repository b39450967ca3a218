/* Health, as load balancers and container runtimes ask for it:
 *   live     the loop turns: do not restart me
 *   ready    the store can be reached: send me clients; and why it may lose jobs
 *   leader   the same, and this node moves due jobs (alone, it always leads)
 *   standby  the same, and it would take over from another node that does: not while it is
 *            no member, set to ha.no_failover, refused, or failover is paused
 */
#include <string.h>

#include "protocol/http/routes.h"
#include "protocol/http/server.h"
#include "protocol/http/cluster_encode.h"

void health_live(struct exchange *x)
{
    exchange_reply_status(x, 200, "live");
}

/* Is it ready? False: it is not, and that was answered. */
static bool expect_ready(struct exchange *x)
{
    const struct http_node *node = &x->http->options.node;
    const char *reason = node->why_not_ready ? node->why_not_ready(node->arg) : NULL;

    if (reason)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "%s", reason);
    return !reason;
}

/* A store that may lose jobs works: whether that is good enough is for others to say. */
void health_ready(struct exchange *x)
{
    const struct http_node *node = &x->http->options.node;
    struct http_store_numbers n = {.is_up = 0};
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

static void reply_by_role(struct exchange *x, const char *role, bool is_so)
{
    if (is_so)
        exchange_reply_status(x, 200, role);
    else
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "this node is no %s now", role);
}

void health_leader(struct exchange *x)
{
    struct http_cluster_status status;

    http_cluster_read(x->http, &status);
    if (expect_ready(x))
        reply_by_role(x, "leader", status.may_act);
}

static const struct http_cluster_node *own_row(const struct http_cluster_status *s)
{
    for (unsigned i = 0; i < s->node_count; i++)
        if (!strcmp(s->nodes[i].name, s->node))
            return &s->nodes[i];
    return NULL;
}

/* NULL: it would. */
static const char *why_no_successor(const struct http_cluster_status *s)
{
    const struct http_cluster_node *own = own_row(s);

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
    struct http_cluster_status room;
    const struct http_cluster_status *status = http_cluster_read(x->http, &room);
    bool is_standby = status && !strcmp(status->role, "standby");
    const char *why = is_standby ? why_no_successor(status) : NULL;

    if (!expect_ready(x))
        return;
    if (why)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "this node would not take over: %s",
                                  why);
    else
        reply_by_role(x, "standby", is_standby);
}
