/* GET /v1/handovers: a long poll for what this node hands out. */
#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/encode.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

#define AFTER_MAX ((INT64_C(1) << 53) - 1) /* what a JSON number surely holds */

struct following {
    struct exchange *x;
    struct follow follow;
};

static void on_done(struct follow *follow)
{
    struct following *f = CONTAINER_OF(follow, struct following, follow);
    struct buf json = BUF_INIT;

    if (follow->status == STATUS_OK || follow->status == STATUS_CANCELLED) {
        api_add_handovers(&json, follow);
        exchange_reply_json(f->x, 200, buf_bytes(&json));
        buf_fini(&json);
    } else {
        exchange_reply_status_error(f->x, follow->status);
    }
    free(f);
}

static void on_hurry(struct exchange *x)
{
    struct following *f = x->handler;

    queue_follow_cancel(x->http->queue, &f->follow);
}

void api_handovers(struct exchange *x)
{
    struct bytes topic = exchange_query_text(x, "topic");
    int64_t after, wait_ms;
    struct following *f;

    if (topic.at && topic.len == 0) {
        exchange_reply_status_error(x, STATUS_BAD_TOPIC);
        return;
    }
    if (!exchange_query_int(x, "after", 0, AFTER_MAX, -1, &after) ||
        !exchange_query_int(x, "wait_ms", 0, API_WAIT_MAX_MS, 0, &wait_ms))
        return;
    f = malloc(sizeof(*f));
    if (!f)
        abort();
    *f = (struct following){
        .x = x,
        .follow = {.has_after = after >= 0,
                   .after = after,
                   .topic = topic,
                   .max = QUEUE_FOLLOW_MAX,
                   .wait_ms = wait_ms,
                   .on_done = on_done},
    };
    x->handler = f;
    x->on_hurry = on_hurry;
    queue_follow(x->http->queue, &f->follow);
}
