/* GET /v1/topics/{topic}/jobs/{id}/history: what a job went through. */
#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/encode.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

#define LINES_DEFAULT 100

struct tracing {
    struct exchange *x;
    struct trace trace;
};

static void on_done(struct trace *trace)
{
    struct tracing *t = CONTAINER_OF(trace, struct tracing, trace);
    struct buf json = BUF_INIT;

    if (trace->status == STATUS_OK) {
        api_add_history(&json, trace);
        exchange_reply_json(t->x, 200, buf_bytes(&json));
        buf_fini(&json);
    } else {
        exchange_reply_status_error(t->x, trace->status);
    }
    free(t);
}

static void on_gone(struct exchange *x)
{
    struct tracing *t = x->handler;

    queue_trace_cancel(x->http->queue, &t->trace);
}

/* A client that has only ended its side wants all of it. */
void api_history(struct exchange *x)
{
    struct tracing *t;
    int64_t limit;

    if (!exchange_query_int(x, "limit", 1, QUEUE_TRACE_MAX, LINES_DEFAULT, &limit))
        return;
    t = calloc(1, sizeof(*t));
    if (!t)
        abort();
    t->x = x;
    t->trace = (struct trace){
        .topic = x->topic, .id = x->id, .limit = (unsigned)limit, .on_done = on_done};
    x->handler = t;
    x->on_gone = on_gone;
    queue_trace(x->http->queue, &t->trace);
}
