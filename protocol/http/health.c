/* Health, as load balancers and container runtimes ask for it:
 *   live    the loop turns: do not restart me
 *   ready   the store can be reached: send me clients
 *   leader  the same, and this node moves due jobs (alone, it always leads)
 */
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

void health_live(struct exchange *x)
{
    exchange_reply_status(x, 200, "live");
}

static void reply_when_ready(struct exchange *x, const char *word)
{
    const struct http_node *node = &x->http->options.node;
    const char *reason = node->why_not_ready ? node->why_not_ready(node->arg) : NULL;

    if (reason)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_READY, "%s", reason);
    else
        exchange_reply_status(x, 200, word);
}

void health_ready(struct exchange *x)
{
    reply_when_ready(x, "ready");
}

void health_leader(struct exchange *x)
{
    reply_when_ready(x, "leader");
}
