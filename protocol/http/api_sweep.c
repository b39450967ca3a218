/* POST /v1/topics/{topic}/kick and /purge: whole states at once.
 *
 * They may take long, and end early when the client does not wait any more. What was swept
 * before something went wrong is told as what it is, with has_more: whoever goes on finds out
 * what is wrong. Only where nobody knows how far it came is it an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/api_decode_topic.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

struct sweeping {
    struct exchange *x;
    struct sweep sweep;
};

static void answer(struct exchange *x, uint64_t count, bool has_more)
{
    struct buf json = BUF_INIT;

    api_add_number(&json, "{\"count\":", (int64_t)count);
    buf_add_text(&json, has_more ? ",\"has_more\":true}" : ",\"has_more\":false}");
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void answer_unknown(struct exchange *x, uint64_t count)
{
    char text[128];

    snprintf(text, sizeof(text),
             "%" PRIu64
             " were done, and perhaps up to %d more: the store or its replicas did not answer",
             count, SWEEP_CHUNK);
    exchange_reply_error_count(x, HTTP_ERROR_UNKNOWN, text, count);
}

static void on_done(struct sweep *sweep)
{
    struct sweeping *s = CONTAINER_OF(sweep, struct sweeping, sweep);

    if (sweep->status == STATUS_OK)
        answer(s->x, sweep->count, sweep->has_more);
    else if (status_is_unknown(sweep->status))
        answer_unknown(s->x, sweep->count);
    else if (sweep->count > 0 || sweep->status == STATUS_CANCELLED)
        answer(s->x, sweep->count, true);
    else
        exchange_reply_status_error(s->x, sweep->status);
    free(s);
}

static void on_hurry(struct exchange *x)
{
    struct sweeping *s = x->handler;

    queue_sweep_cancel(x->http->queue, &s->sweep);
}

static void begin(struct exchange *x, enum op_verb verb, const struct api_sweep *asked)
{
    struct sweeping *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->x = x;
    s->sweep = (struct sweep){
        .topic = x->topic,
        .verb = verb,
        .states = asked->states,
        .limit = asked->limit,
        .since_ms = asked->since_ms,
        .before_ms = asked->before_ms,
        .client = exchange_client(x),
        .on_done = on_done,
    };
    x->handler = s;
    x->on_hurry = on_hurry;
    queue_sweep(x->http->queue, &s->sweep);
}

static void sweep(struct exchange *x, enum op_verb verb)
{
    struct bytes object;
    struct api_sweep asked;
    struct api_why why;
    enum status status;

    if (!api_read_body(x, &object))
        return;
    status = api_decode_sweep(object, verb, &asked, &why);
    if (status)
        api_refuse(x, status, &why);
    else
        begin(x, verb, &asked);
}

void api_kick(struct exchange *x)
{
    sweep(x, OP_KICK);
}

void api_purge(struct exchange *x)
{
    sweep(x, OP_PURGE);
}
