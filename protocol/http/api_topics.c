/* GET /v1/topics/{topic}, and GET /v1/topics: page by page, one bucket after the other.
 *
 * A cursor says where to go on: the bucket and, behind a point and in hexadecimal, the topic
 * that its last answer ended with, if there are more behind. A page ends when it is full, or
 * has taken long enough.
 */
#include <stdlib.h>

#include "node/queue/names.h"
#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"
#include "protocol/http/url.h"

#define PAGE_MAX     1000
#define PAGE_DEFAULT 100
#define STEPS_MAX    256 /* operations for a page: buckets are often empty */

static void answer_stats(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_topic(&json, x->topic, &op->out.stats);
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

void api_stats(struct exchange *x)
{
    struct op op = {.verb = OP_STATS};

    api_call(x, &op, answer_stats);
}

/* ---- the list ---- */

struct listing {
    struct exchange *x;
    struct op op;
    struct buf after; /* where in the bucket */
    struct buf json;
    unsigned limit; /* topics of the page */
    unsigned count;
    unsigned steps;
};

static void listing_free(struct listing *l)
{
    buf_fini(&l->after);
    buf_fini(&l->json);
    free(l);
}

static void add_cursor(struct listing *l)
{
    buf_printf(&l->json, "\"%u.", l->op.bucket);
    for (size_t i = 0; i < l->after.len; i++)
        buf_printf(&l->json, "%02x", (unsigned char)l->after.at[i]);
    buf_add_char(&l->json, '"');
}

static void finish(struct listing *l)
{
    buf_add_text(&l->json, "],\"cursor\":");
    if (l->op.bucket < queue_buckets(l->x->http->queue))
        add_cursor(l);
    else
        buf_add_text(&l->json, "null");
    buf_add_char(&l->json, '}');
    exchange_reply_json(l->x, 200, buf_bytes(&l->json));
    listing_free(l);
}

static void ask(struct listing *l)
{
    unsigned left = l->limit - l->count;

    l->steps++;
    l->op.in.topics.after = buf_bytes(&l->after);
    l->op.in.topics.limit = left < OP_TOPICS_MAX ? left : OP_TOPICS_MAX;
    queue_submit(l->x->http->queue, &l->op);
}

static void take_rows(struct listing *l)
{
    const struct topic_count *rows = l->op.out.topics.rows;

    for (unsigned i = 0; i < l->op.out.topics.count; i++) {
        if (l->count++)
            buf_add_char(&l->json, ',');
        api_add_topic(&l->json, rows[i].topic, &rows[i].stats);
    }
    buf_clear(&l->after);
    buf_add_bytes(&l->after, l->op.out.topics.next);
    if (l->after.len == 0)
        l->op.bucket++;
}

static void on_rows(struct op *op)
{
    struct listing *l = CONTAINER_OF(op, struct listing, op);

    if (op->status) {
        exchange_reply_status_error(l->x, op->status);
        listing_free(l);
        return;
    }
    take_rows(l);
    if (l->count >= l->limit || l->steps >= STEPS_MAX ||
        op->bucket >= queue_buckets(l->x->http->queue))
        finish(l);
    else
        ask(l);
}

/* ---- the cursor that comes back ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(struct bytes hex, struct buf *out)
{
    if (hex.len % 2 != 0)
        return false;
    for (size_t i = 0; i < hex.len; i += 2) {
        int high = hex_digit(hex.at[i]), low = hex_digit(hex.at[i + 1]);

        if (high < 0 || low < 0)
            return false;
        buf_add_char(out, (char)(high << 4 | low));
    }
    return true;
}

static bool read_bucket(struct bytes digits, unsigned buckets, unsigned *bucket)
{
    unsigned found = 0;

    if (digits.len < 1 || digits.len > 5)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9')
            return false;
        found = found * 10 + (unsigned)(digits.at[i] - '0');
    }
    *bucket = found;
    return found < buckets;
}

static bool read_cursor(struct bytes cursor, struct listing *l)
{
    struct bytes bucket = url_cut(&cursor, '.');

    return read_bucket(bucket, queue_buckets(l->x->http->queue), &l->op.bucket) &&
           read_hex(cursor, &l->after) &&
           (l->after.len == 0 || topic_name_is_valid(buf_bytes(&l->after)));
}

void api_topics(struct exchange *x)
{
    struct bytes cursor = exchange_query_text(x, "cursor");
    struct listing *l;
    int64_t limit;

    if (!exchange_query_int(x, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &limit))
        return;
    l = calloc(1, sizeof(*l));
    if (!l)
        abort();
    l->x = x;
    l->limit = (unsigned)limit;
    l->op = (struct op){.verb = OP_TOPICS, .on_done = on_rows};
    if (cursor.at && !read_cursor(cursor, l)) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "cursor: not from another page");
        listing_free(l);
        return;
    }
    buf_add_text(&l->json, "{\"topics\":[");
    ask(l);
}
