/* What holds for a topic: its settings and its pause; and GET /v1/settings, all topics that
 * have any, bucket after bucket.
 */
#include "node/queue/queue.h"
#include "protocol/http/api_call.h"
#include "protocol/http/api_decode_topic.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/page.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

/* A pause that is over may still lie there. */
static int64_t paused_until(const struct settings_row *row, int64_t now_ms)
{
    return row->settings.paused_until_ms > now_ms ? row->settings.paused_until_ms : 0;
}

/* ---- settings ---- */

static void answer_settings(struct exchange *x, const struct op *op)
{
    const struct settings_row *row = &op->out.settings.rows[0];
    struct topic_settings configured, effective;
    struct buf json = BUF_INIT;

    queue_configured_settings(x->http->queue, x->topic, &configured);
    queue_settings(x->http->queue, x->topic, &effective);
    api_add_settings(&json, row, &configured, &effective, paused_until(row, op->now_ms));
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

void api_get_settings(struct exchange *x)
{
    struct op op = {.verb = OP_SETTINGS};

    api_call(x, &op, answer_settings);
}

void api_set_settings(struct exchange *x)
{
    struct op op = {.verb = OP_CONFIGURE};
    struct bytes object;
    struct api_settings asked;
    struct api_why why;
    enum status status;

    if (!api_read_body(x, &object))
        return;
    status = api_decode_settings(object, &asked, &why);
    if (status) {
        api_refuse(x, status, &why);
        return;
    }
    op.in.configure.settings = asked.settings;
    op.in.configure.mask = asked.mask;
    api_call(x, &op, answer_settings);
}

/* ---- the pause ---- */

static void answer_pause(struct exchange *x, const struct op *op)
{
    struct buf json = BUF_INIT;

    api_add_pause(&json, paused_until(&op->out.settings.rows[0], op->now_ms));
    exchange_reply_json(x, 200, buf_bytes(&json));
    buf_fini(&json);
}

static void set_pause(struct exchange *x, const struct api_pause *pause)
{
    struct op op = {.verb = OP_CONFIGURE,
                    .in.configure = {.settings = {.paused_until_ms = pause->until_ms},
                                     .has_pause = true,
                                     .pause_ms = pause->for_ms}};

    api_call(x, &op, answer_pause);
}

void api_pause(struct exchange *x)
{
    struct bytes object;
    struct api_pause pause;
    struct api_why why;
    enum status status;

    if (!api_read_body(x, &object))
        return;
    status = api_decode_pause(object, &pause, &why);
    if (status)
        api_refuse(x, status, &why);
    else
        set_pause(x, &pause);
}

void api_resume(struct exchange *x)
{
    static const struct api_pause none = {0};

    if (api_expect_nothing(x))
        set_pause(x, &none);
}

/* ---- all topics that have any ---- */

static void prepare(struct page *page)
{
    page->op.bucket = page->place;
    page->op.in.settings.after = buf_bytes(&page->after);
}

/* A page may become longer than its limit: the store's answer cannot be cut, because its cursor
 * does not stand within it. */
static struct bytes take(struct page *page)
{
    const struct op *op = &page->op;

    for (unsigned i = 0; i < op->out.settings.count; i++) {
        const struct settings_row *row = &op->out.settings.rows[i];
        int64_t until_ms = paused_until(row, op->now_ms);

        if (row->settings.set || until_ms)
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

    page_reply(x, &kind, OP_SETTINGS, 0, queue_buckets(x->http->queue));
}
