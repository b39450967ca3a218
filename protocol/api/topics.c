/* Topics over HTTP: one and all of them, their jobs by state, their settings, and sweeps. */
#include <inttypes.h>
#include <stdio.h>

#include "node/queue/queue.h"
#include "protocol/api/call.h"
#include "protocol/api/decode.h"
#include "protocol/api/encode.h"
#include "protocol/api/page.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"
#include "protocol/json/write.h"

/* GET /v1/topics/{topic}; and GET /v1/topics: page by page, one bucket after the other. */

/* ---- one topic ---- */

static void on_counted(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;
    int64_t until_ms;

    if (!x)
        return;
    until_ms = queue_paused_until(api_of(x)->queue, x->topic, op->now_ms);
    api_add_topic_page(&json, x->topic, &op->out.stats, until_ms);
    exchange_reply_buf(x, 200, &json);
}

/* The engine has just read the settings, and knows the pause. */
static void count_jobs(struct op *settings)
{
    struct exchange *x = api_done(settings);
    struct op count = {.verb = OP_STATS};

    if (x)
        api_call(x, &count, on_counted);
}

void api_stats(struct exchange *x)
{
    struct op op = {.verb = OP_SETTINGS};

    api_call(x, &op, count_jobs);
}

/* ---- all topics ---- */

/* Is it for the client? */
static bool shows(struct page *page, struct bytes topic)
{
    page->is_hidden = !exchange_has_topic(page->x, topic);
    return !page->is_hidden;
}

static void prepare_counts(struct page *page)
{
    page->op.bucket = page->part;
    page->op.in.topics.after = buf_bytes(&page->after);
    page->op.in.topics.limit = page_room(page, OP_TOPICS_MAX);
}

static struct bytes take_counts(struct page *page)
{
    const struct topic_count *rows = page->op.out.topics.rows;

    for (unsigned i = 0; i < page->op.out.topics.count; i++)
        if (shows(page, rows[i].topic))
            api_add_topic(page_next_row(page), rows[i].topic, &rows[i].stats);
    return page->op.out.topics.next;
}

static void prepare_owners(struct page *page)
{
    prepare_counts(page);
    page->op.in.topics.owners = true;
}

static struct bytes take_owners(struct page *page)
{
    const struct topic_count *rows = page->op.out.topics.rows;

    for (unsigned i = 0; i < page->op.out.topics.count; i++)
        if (shows(page, rows[i].topic))
            api_add_owned_topic(page_next_row(page), page->op.bucket, &rows[i],
                                queue_topic_preferred(api_of(page->x)->queue, rows[i].topic));
    return page->op.out.topics.next;
}

#define TOPICS_PAGE                                              \
    .member = "topics", .limit_default = 100, .limit_max = 1000, \
    .steps_max = 256 /* buckets are often empty */

void api_topics(struct exchange *x)
{
    static const char *const answers[] = {"false", "true"};
    static const struct page_kind kinds[] = {
        {TOPICS_PAGE, .prepare = prepare_counts, .take = take_counts},
        {TOPICS_PAGE, .leaves_out = true, .prepare = prepare_owners, .take = take_owners},
    };
    unsigned has_owners = 0;

    if (exchange_query_text(x, "owners").at &&
        !api_query_word(x, "owners", answers, 2, &has_owners))
        return;
    page_reply(x, &kinds[has_owners], OP_TOPICS, 0, queue_buckets(api_of(x)->queue));
}

/* GET /v1/topics/{topic}/jobs: page by page, one state after the other. */

static void prepare_jobs(struct page *page)
{
    page->op.in.list.state = (enum job_state)page->part;
    page->op.in.list.after = buf_bytes(&page->after);
    page->op.in.list.limit = page_room(page, OP_LIST_MAX);
}

static struct bytes take_jobs(struct page *page)
{
    const struct job_row *rows = page->op.out.list.rows;

    for (unsigned i = 0; i < page->op.out.list.count; i++)
        api_add_listed_job(page_next_row(page), page->x->topic, &rows[i]);
    return page->op.out.list.next;
}

void api_list(struct exchange *x)
{
    static const struct page_kind kind = {
        .member = "jobs",
        .limit_default = OP_LIST_MAX,
        .limit_max = OP_LIST_MAX,
        .steps_max = 16, /* tombstones may fill one */
        .prepare = prepare_jobs,
        .take = take_jobs,
    };
    struct bytes word = exchange_query_text(x, "state");
    unsigned state = 0;

    if (!word.at)
        page_reply(x, &kind, OP_LIST, JOB_DELAYED, JOB_DEAD + 1);
    else if (api_query_word(x, "state", api_states, JOB_DEAD + 1, &state))
        page_reply(x, &kind, OP_LIST, state, state + 1);
}

/* A topic's settings and pause; and GET /v1/settings: all topics that have any, bucket after
 * bucket.
 */

/* The store may still hold a pause that is over. */
static int64_t paused_until(const struct settings_row *row, int64_t now_ms)
{
    return row->settings.paused_until_ms > now_ms ? row->settings.paused_until_ms : 0;
}

/* ---- settings ---- */

static void on_settings(struct op *op)
{
    struct exchange *x = api_done(op);
    struct topic_settings configured, effective;
    const struct settings_row *row;
    struct buf json = BUF_INIT;

    if (!x)
        return;
    row = &op->out.settings.rows[0];
    queue_configured_settings(api_of(x)->queue, x->topic, &configured);
    queue_settings(api_of(x)->queue, x->topic, &effective);
    api_add_settings(&json, row, &configured, &effective, paused_until(row, op->now_ms));
    exchange_reply_buf(x, 200, &json);
}

void api_get_settings(struct exchange *x)
{
    struct op op = {.verb = OP_SETTINGS};

    api_call(x, &op, on_settings);
}

void api_set_settings(struct exchange *x)
{
    struct op op = {.verb = OP_CONFIGURE};

    if (api_read_op(x, &op, api_decode_settings))
        api_call(x, &op, on_settings);
}

/* ---- the pause ---- */

static void add_pause(struct buf *out, const struct op *op)
{
    api_add_pause(out, paused_until(&op->out.settings.rows[0], op->now_ms));
}

void api_pause(struct exchange *x)
{
    struct op op = {.verb = OP_CONFIGURE};

    if (api_read_op(x, &op, api_decode_pause))
        api_ask(x, &op, add_pause);
}

void api_resume(struct exchange *x)
{
    struct op op = {.verb = OP_CONFIGURE, .in.configure.has_pause = true};

    if (api_expect_nothing(x))
        api_ask(x, &op, add_pause);
}

/* ---- all topics that have any ---- */

static void prepare(struct page *page)
{
    page->op.bucket = page->part;
    page->op.in.settings.after = buf_bytes(&page->after);
}

/* A page may become longer than its limit: the store's answer cannot be cut, because its cursor
 * is for its end. */
static struct bytes take(struct page *page)
{
    const struct op *op = &page->op;

    for (unsigned i = 0; i < op->out.settings.count; i++) {
        const struct settings_row *row = &op->out.settings.rows[i];
        int64_t until_ms = paused_until(row, op->now_ms);

        if ((row->settings.set || until_ms) && exchange_has_topic(page->x, row->topic))
            api_add_own_settings(page_next_row(page), row, until_ms);
    }
    return op->out.settings.next;
}

void api_list_settings(struct exchange *x)
{
    static const struct page_kind kind = {
        .member = "topics",
        .limit_default = 100,
        .limit_max = 1000,
        .steps_max = 256,
        .prepare = prepare,
        .take = take,
    };

    page_reply(x, &kind, OP_SETTINGS, 0, queue_buckets(api_of(x)->queue));
}

/* POST /v1/topics/{topic}/kick and /purge: whole states at once.
 *
 * A sweep may take long, and ends early when the client no longer waits. After a failure the
 * count swept so far is a normal answer with has_more: the next request finds out what is
 * wrong. Only where the count is unknown is the answer an error.
 */

struct sweeping {
    struct exchange *x;
    struct sweep sweep;
};

static void answer(struct exchange *x, uint64_t count, bool has_more)
{
    struct buf json = BUF_INIT;

    json_put_number(&json, "{\"count\":", (int64_t)count);
    buf_add_text(&json, has_more ? ",\"has_more\":true}" : ",\"has_more\":false}");
    x->count = (int64_t)count;
    exchange_reply_buf(x, 200, &json);
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

static void on_swept(struct sweep *sweep)
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
}

static void on_cancel_wait(struct exchange *x)
{
    struct sweeping *s = x->handler;

    queue_sweep_cancel(&s->sweep);
}

void api_sweep(struct exchange *x)
{
    struct sweep asked = {
        .topic = x->topic, .verb = (enum op_verb)x->route->what, .on_done = on_swept};
    struct sweeping *s;
    struct bytes object;
    struct api_why why;

    if (!api_read_body(x, &object) ||
        !api_passes(x, api_decode_sweep(object, &asked, &why), &why))
        return;
    s = exchange_keep(x, sizeof(*s));
    *s = (struct sweeping){.x = x, .sweep = asked};
    s->sweep.client = exchange_client(x);
    x->on_cancel_wait = on_cancel_wait;
    queue_sweep(api_of(x)->queue, &s->sweep);
}
