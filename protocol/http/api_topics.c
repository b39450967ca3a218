/* GET /v1/topics/{topic}; and GET /v1/topics: page by page, one bucket after the other. */
#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/page.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

/* ---- one topic ---- */

static void answer_stats(struct exchange *x, const struct op *op)
{
    int64_t until_ms = queue_paused_until(x->http->queue, x->topic, op->now_ms);
    struct buf json = BUF_INIT;

    api_add_topic_page(&json, x->topic, &op->out.stats, until_ms);
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

/* The engine has just read them, and knows. */
static void count_jobs(struct exchange *x, const struct op *op)
{
    struct op count = {.verb = OP_STATS};

    (void)op;
    api_call(x, &count, answer_stats);
}

void api_stats(struct exchange *x)
{
    struct op op = {.verb = OP_SETTINGS};

    api_call(x, &op, count_jobs);
}

/* ---- all topics ---- */

static void prepare_counts(struct page *page)
{
    page->op.bucket = page->place;
    page->op.in.topics.after = buf_bytes(&page->after);
    page->op.in.topics.limit = page_room(page, OP_TOPICS_MAX);
}

static struct bytes take_counts(struct page *page)
{
    const struct topic_count *rows = page->op.out.topics.rows;

    for (unsigned i = 0; i < page->op.out.topics.count; i++)
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
        api_add_owned_topic(page_next_row(page), page->op.bucket, &rows[i],
                            queue_topic_preferred(page->x->http->queue, rows[i].topic));
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
        !exchange_query_word(x, "owners", answers, 2, &has_owners))
        return;
    page_reply(x, &kinds[has_owners], OP_TOPICS, 0, queue_buckets(x->http->queue));
}
