#include "protocol/api/page.h"

#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/api/call.h"
#include "protocol/api/api.h"
#include "protocol/api/handlers.h"
#include "protocol/http/message.h"

/* Call before the answer, with which the page goes. */
static void forget(struct page *page)
{
    buf_fini(&page->after);
    buf_fini(&page->left_out);
}

/* ---- cursors ---- */

static void add_next(struct page *page)
{
    if (page->part >= page->end) {
        buf_add_text(&page->json, "null");
        return;
    }
    buf_printf(&page->json, "\"%u.", page->part);
    hex_add(&page->json, page->after.at, page->after.len);
    buf_add_char(&page->json, '"');
}

static bool read_hex(struct bytes hex, struct buf *out)
{
    size_t len = hex.len / 2;

    if (len > OP_CURSOR_MAX || !hex_read(hex, buf_reserve(out, len), len))
        return false;
    out->len += len;
    return true;
}

static bool read_cursor(struct page *page, struct bytes cursor, unsigned first)
{
    bool has_point = cursor.len && memchr(cursor.at, '.', cursor.len);
    struct bytes digits = bytes_cut(&cursor, '.');
    int64_t part;

    if (!has_point || !digits_read(digits, &part) || part < first || part >= page->end)
        return false;
    page->part = (unsigned)part;
    return read_hex(cursor, &page->after);
}

static void refuse_cursor(struct page *page)
{
    forget(page);
    buf_fini(&page->json);
    exchange_reply_error_text(page->x, HTTP_ERROR_BAD_REQUEST,
                              "query parameter cursor: not from another page");
}

/* ---- what cannot be had ---- */

static void look_what_is_away(struct page *page)
{
    struct store_numbers n = {.is_up = 0};

    if (page->kind->leaves_out)
        n = api_read_store(api_of(page->x));
    for (unsigned i = 0; i < n.unreached_count && n.is_up; i++)
        page->is_away[n.unreached[i].bucket] = true;
}

static void leave_out(struct page *page)
{
    for (; page->part < page->end && page->is_away[page->part]; page->part++) {
        buf_printf(&page->left_out, "%s%u", page->left_out.len ? "," : "", page->part);
        buf_clear(&page->after);
    }
}

/* ---- from answer to answer ---- */

static void finish(struct page *page)
{
    buf_add_text(&page->json, "],\"next\":");
    add_next(page);
    if (page->kind->leaves_out)
        buf_printf(&page->json, ",\"unreached\":[%s]", buf_text(&page->left_out));
    buf_add_char(&page->json, '}');
    forget(page);
    exchange_reply_buf(page->x, 200, &page->json);
}

/* A client that has only ended its side gets the page, as long as no operation has to wait. A
 * stopping node finishes the operations that it has taken. */
static void on_cancel_wait(struct exchange *x)
{
    struct page *page = x->handler;

    if (exchange_is_stopping(x))
        return;
    page->is_left = true;
    queue_abandon(api_of(x)->queue, &page->op);
}

static void on_gone(struct exchange *x)
{
    struct page *page = x->handler;

    page->steps = page->kind->steps_max; /* this one is the last */
    page->is_hidden = false;
    page->is_left = true;
    queue_abandon(api_of(x)->queue, &page->op);
}

static void refuse(struct page *page, enum status status);

/* Or finishes the page, when it is full, has taken long enough, or nothing is left. */
static void go_on(struct page *page)
{
    leave_out(page);
    if (page->count >= page->limit ||
        (page->steps >= page->kind->steps_max && !page->is_hidden) || page->part >= page->end) {
        if (page->op.status == STATUS_STORE_ERROR && !page->has_answer)
            refuse(page, page->op.status); /* Redis refuses in all buckets */
        else
            finish(page);
        return;
    }
    page->steps++;
    page->kind->prepare(page);
    queue_submit(api_of(page->x)->queue, &page->op);
    if (page->is_left)
        queue_abandon(api_of(page->x)->queue, &page->op);
}

static void take(struct page *page)
{
    struct bytes next = page->kind->take(page);

    page->has_answer = true;
    buf_clear(&page->after);
    buf_add_bytes(&page->after, next);
    if (page->after.len == 0)
        page->part++;
}

/* A name or number that the store refuses can only be the cursor's: the path was good enough
 * for the page before. */
static void refuse(struct page *page, enum status status)
{
    bool is_cursor =
        page->after.len && (status == STATUS_OUT_OF_RANGE ||
                            (status == STATUS_BAD_TOPIC && page->op.topic.len == 0));

    if (is_cursor) {
        refuse_cursor(page);
        return;
    }
    forget(page);
    buf_fini(&page->json);
    api_reply_failure(page->x, &page->op);
}

static void on_rows(struct op *op)
{
    struct page *page = CONTAINER_OF(op, struct page, op);

    if (op->status == STATUS_STORE_ERROR && page->kind->leaves_out) {
        page->is_away[page->part] = true;
    } else if (op->status) {
        refuse(page, op->status);
        return;
    } else {
        take(page);
    }
    go_on(page);
}

/* ---- what the kinds use ---- */

struct buf *page_next_row(struct page *page)
{
    if (page->count++)
        buf_add_char(&page->json, ',');
    return &page->json;
}

unsigned page_room(const struct page *page, unsigned most)
{
    unsigned left = page->limit - page->count;

    return left < most ? left : most;
}

void page_reply(struct exchange *x, const struct page_kind *kind, enum op_verb verb,
                unsigned first, unsigned end)
{
    struct bytes cursor = exchange_query_text(x, "cursor");
    struct page *page;
    int64_t limit;

    if (!exchange_query_int(x, "limit", 1, kind->limit_max, kind->limit_default, &limit))
        return;
    page = exchange_keep(x, sizeof(*page));
    *page = (struct page){.x = x,
                          .kind = kind,
                          .part = first,
                          .end = end,
                          .limit = (unsigned)limit,
                          .has_answer = cursor.at != NULL,
                          .op = {.verb = verb, .topic = x->topic, .on_done = on_rows}};
    if (cursor.at && !read_cursor(page, cursor, first)) {
        refuse_cursor(page);
        return;
    }
    x->on_cancel_wait = on_cancel_wait;
    x->on_gone = on_gone;
    buf_printf(&page->json, "{\"%s\":[", kind->member);
    look_what_is_away(page);
    go_on(page);
}
