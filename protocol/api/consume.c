/* POST /v1/topics/{topics}/pop: a long poll. Its jobs count as delivered when the reply has
 * reached the client; the exchange sees to that.
 */
#include "node/queue/queue.h"
#include "protocol/api/call.h"
#include "protocol/api/encode.h"
#include "protocol/http/jobs.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"

static void on_popped(struct exchange *x, struct pop *pop)
{
    struct buf json = BUF_INIT;
    uint64_t checks[OP_ITEMS_MAX];
    bool has_checks;

    if (pop->status == STATUS_OK) {
        has_checks = queue_lease_checks(api_of(x)->queue, pop, checks);
        api_add_popped(&json, pop->topic, pop->jobs, pop->job_count,
                       has_checks ? checks : NULL);
    } else if (pop->status == STATUS_NOT_FOUND || pop->status == STATUS_CANCELLED) {
        api_add_popped(&json, BYTES(""), NULL, 0, NULL);
    } else {
        exchange_reply_status_error(x, pop->status);
        return;
    }
    exchange_reply_buf(x, 200, &json);
}

/* The parameters are in the query: a body with parameters is refused. */
static bool has_no_body(struct exchange *x)
{
    struct api_why why;
    enum status status = api_decode_nothing(x->body, &why);

    if (status)
        exchange_reply_error_text(x, http_error_of(status),
                                  "%s (a pop has its parameters in "
                                  "the query: ?count=&wait_ms=&ttr_ms=)",
                                  why.text);
    return status == STATUS_OK;
}

void api_pop(struct exchange *x)
{
    int64_t count, wait_ms, ttr_ms;
    struct pop pop;

    if (!has_no_body(x))
        return;
    if (!exchange_query_int(x, "count", 1, OP_ITEMS_MAX, 1, &count) ||
        !exchange_query_int(x, "wait_ms", 0, API_WAIT_MAX_MS, 0, &wait_ms) ||
        !exchange_query_int(x, "ttr_ms", 0, QUEUE_TTR_MAX_MS, -1, &ttr_ms))
        return;
    pop = (struct pop){.count = (unsigned)count,
                       .wait_ms = wait_ms,
                       .has_ttr = ttr_ms >= 0,
                       .ttr_ms = ttr_ms >= 0 ? ttr_ms : 0};
    if (http_pop(x, x->topic, &pop, on_popped))
        exchange_reply_error_text(x, HTTP_ERROR_OUT_OF_RANGE, "topics: more than %d",
                                  QUEUE_TOPICS_PER_POP_MAX);
}

/* GET /v1/deliveries: a long poll for what this node hands out. */

#define AFTER_MAX ((INT64_C(1) << 53) - 1) /* what a JSON number surely holds */

struct following {
    struct exchange *x;
    struct follow follow;
};

static bool is_deliveries_for(const struct follow *follow, struct bytes topic)
{
    const struct exchange *x = CONTAINER_OF(follow, struct following, follow)->x;

    return exchange_may_go_on(x) && exchange_has_topic(x, topic);
}

static void on_deliveries_done(struct follow *follow)
{
    struct following *f = CONTAINER_OF(follow, struct following, follow);
    struct buf json = BUF_INIT;

    if (follow->status == STATUS_OK || follow->status == STATUS_CANCELLED) {
        api_add_deliveries(&json, follow);
        exchange_reply_buf(f->x, 200, &json);
    } else {
        exchange_reply_status_error(f->x, follow->status);
    }
}

static void on_deliveries_cancel(struct exchange *x)
{
    struct following *f = x->handler;

    queue_follow_cancel(&f->follow);
}

void api_deliveries(struct exchange *x)
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
    f = exchange_keep(x, sizeof(*f));
    *f = (struct following){
        .x = x,
        .follow = {.has_after = after >= 0,
                   .after = after,
                   .topic = topic,
                   .max = QUEUE_FOLLOW_MAX,
                   .wait_ms = wait_ms,
                   .is_for = is_deliveries_for,
                   .on_done = on_deliveries_done},
    };
    x->on_cancel_wait = on_deliveries_cancel;
    queue_follow(api_of(x)->queue, &f->follow);
}
