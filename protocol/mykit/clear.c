/* GET /clearAll: topic after topic is purged, each as the API purges it. Topics that begin
 * meanwhile may be left. Where it stops, nothing further is done, and the answer tells how many
 * jobs are gone.
 */
#include "base/clock.h"
#include "node/queue/queue.h"
#include "protocol/http/exchange.h"
#include "protocol/mykit/codec.h"
#include "protocol/mykit/mykit.h"

#define ALL (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD)

struct clearing {
    struct exchange *x;
    int64_t begun_mono_ms;
    uint64_t count;    /* jobs that are gone */
    unsigned bucket;   /* whose topics are listed */
    struct op list;    /* a page of them */
    struct buf after;  /* the page's end; empty: the bucket's first page, or behind its last */
    struct buf topics; /* of the page, each with a 0 behind */
    size_t taken;      /* bytes of them that are done with */
    struct sweep sweep;
    bool is_sweeping;
    bool is_left; /* the client waits no longer */
};

/* ---- its end ---- */

static void forget(struct clearing *c)
{
    buf_fini(&c->after);
    buf_fini(&c->topics);
}

static void print_done(const struct clearing *c, struct buf *to)
{
    buf_printf(to, "花费了%lld ms，删除 %llu 行数据",
               (long long)(clock_mono_ms() - c->begun_mono_ms), (unsigned long long)c->count);
}

static void finish(struct clearing *c)
{
    struct buf text = BUF_INIT, json = BUF_INIT;

    print_done(c, &text);
    mykit_add_text(&json, buf_bytes(&text));
    buf_fini(&text);
    c->x->count = (int64_t)c->count;
    forget(c);
    exchange_reply_buf(c->x, 200, &json);
}

static void stop(struct clearing *c, enum status status)
{
    enum http_error error = http_error_of(status);
    const struct http_error_row *row = http_error_row(error);
    struct exchange *x = c->x;
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s: ", row->word);
    print_done(c, &text);
    if (status_is_unknown(status))
        buf_printf(&text, ", and perhaps up to %d more", SWEEP_CHUNK);
    buf_printf(&text, "; then it stopped: %s", row->text);
    forget(c);
    exchange_reply_error_count(x, error, buf_text(&text), c->count);
    buf_fini(&text);
}

/* ---- topic after topic ---- */

static void go_on(struct clearing *c);

static void on_swept(struct sweep *sweep)
{
    struct clearing *c = CONTAINER_OF(sweep, struct clearing, sweep);

    c->is_sweeping = false;
    c->count += sweep->count;
    if (sweep->status == STATUS_OK)
        go_on(c);
    else
        stop(c, sweep->status == STATUS_CANCELLED ? STATUS_SHUTTING_DOWN : sweep->status);
}

static void sweep_topic(struct clearing *c, struct bytes topic)
{
    c->sweep = (struct sweep){.topic = topic,
                              .verb = OP_PURGE,
                              .states = ALL,
                              .client = exchange_client(c->x),
                              .on_done = on_swept};
    c->is_sweeping = true;
    queue_sweep(exchange_queue(c->x), &c->sweep);
}

/* False: the page is done with. */
static bool next_topic(struct clearing *c, struct bytes *topic)
{
    struct bytes left = bytes_of(c->topics.at + c->taken, c->topics.len - c->taken);

    if (left.len == 0)
        return false;
    *topic = bytes_cut(&left, '\0');
    c->taken = c->topics.len - left.len;
    return true;
}

static void on_listed(struct op *op)
{
    struct clearing *c = CONTAINER_OF(op, struct clearing, list);

    if (op->status) {
        stop(c, op->status);
        return;
    }
    buf_clear(&c->topics);
    c->taken = 0;
    for (unsigned i = 0; i < op->out.topics.count; i++) {
        buf_add_bytes(&c->topics, op->out.topics.rows[i].topic);
        buf_add_char(&c->topics, '\0');
    }
    buf_clear(&c->after);
    buf_add_bytes(&c->after, op->out.topics.next);
    if (c->after.len == 0)
        c->bucket++;
    go_on(c);
}

static void list_topics(struct clearing *c)
{
    c->list = (struct op){.verb = OP_TOPICS,
                          .on_done = on_listed,
                          .bucket = c->bucket,
                          .in.topics = {.after = buf_bytes(&c->after), .limit = OP_TOPICS_MAX}};
    queue_submit(exchange_queue(c->x), &c->list);
}

static void go_on(struct clearing *c)
{
    struct bytes topic;

    if (c->is_left || !exchange_may_go_on(c->x)) {
        stop(c, c->is_left ? STATUS_SHUTTING_DOWN : STATUS_FORBIDDEN);
        return;
    }
    while (next_topic(c, &topic)) {
        if (exchange_has_topic(c->x, topic)) {
            sweep_topic(c, topic);
            return;
        }
    }
    if (c->bucket < queue_buckets(exchange_queue(c->x)))
        list_topics(c);
    else
        finish(c);
}

static void on_cancel_wait(struct exchange *x)
{
    struct clearing *c = x->handler;

    c->is_left = true;
    if (c->is_sweeping)
        queue_sweep_cancel(&c->sweep);
    else if (!exchange_is_stopping(x))
        queue_abandon(exchange_queue(x), &c->list);
}

void mykit_clear(struct exchange *x)
{
    const struct mykit_options *options = x->arg;
    struct clearing *c;

    if (!options->clear_all) {
        exchange_reply_error_text(x, HTTP_ERROR_FORBIDDEN,
                                  "clearAll is off: it takes mykit.clear_all: true in the "
                                  "node's configuration; nothing was done");
        return;
    }
    c = exchange_keep(x, sizeof(*c));
    *c = (struct clearing){.x = x, .begun_mono_ms = clock_mono_ms()};
    x->on_cancel_wait = on_cancel_wait;
    go_on(c);
}
