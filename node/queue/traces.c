#include "node/queue/traces.h"

#include <assert.h>
#include <stdlib.h>

#include "node/queue/core.h"
#include "node/queue/history.h"

#define REST_MAX_MS 100

/* A line as it is kept: topic and id are those of the trace. */
struct trace_texts {
    char node[OP_NODE_MAX];
    char client[JOB_HOLDER_MAX];
};

struct trace_room {
    size_t before_len;
    char before[OP_CURSOR_MAX];
    struct trace_texts *texts; /* of each item */
    struct history_item items[];
};

static struct trace_room *room_new(unsigned limit)
{
    struct trace_room *room = calloc(1, sizeof(*room) + limit * sizeof(*room->items));

    if (!room)
        abort();
    room->texts = calloc(limit, sizeof(*room->texts));
    if (!room->texts)
        abort();
    return room;
}

static void room_free(struct trace_room *room)
{
    free(room->texts);
    free(room);
}

/* ---- its end ---- */

/* Back from the newest line; those of one millisecond stay as the store has them. */
static void put_in_order(struct history_item *items, unsigned count)
{
    for (unsigned i = 0; i < count / 2; i++) {
        struct history_item item = items[i];

        items[i] = items[count - 1 - i];
        items[count - 1 - i] = item;
    }
    for (unsigned i = 1; i < count; i++) {
        struct history_item item = items[i];
        unsigned to = i;

        for (; to > 0 && items[to - 1].time_ms > item.time_ms; to--)
            items[to] = items[to - 1];
        items[to] = item;
    }
}

static void end(struct trace *trace, enum status status)
{
    struct trace_room *room = trace->room;

    list_remove(&trace->link);
    trace->traces->running_count--;
    trace->status = status;
    if (status == STATUS_OK) {
        put_in_order(room->items, trace->count);
        trace->items = room->items;
        trace->is_on = history_is_on(trace->traces->history, trace->topic);
    } else {
        trace->count = 0;
    }
    trace->on_done(trace);
    room_free(room);
}

static void tell_refused(struct later *refused, struct list *link)
{
    struct traces *ts = CONTAINER_OF(refused, struct traces, refused);
    struct core *core = ts->core;
    struct trace *trace = CONTAINER_OF(link, struct trace, link);

    trace->on_done(trace);
    core->on_end(core);
}

/* ---- page after page ---- */

static void on_page(struct op *op);

static unsigned minimum(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void ask_for_page(struct trace *trace)
{
    struct core *core = trace->traces->core;

    trace->op = (struct op){.verb = OP_TRACE,
                            .on_done = on_page,
                            .bucket = core_bucket_of(core, trace->topic),
                            .topic = trace->topic,
                            .id = trace->id};
    trace->op.in.trace.before = bytes_of(trace->room->before, trace->room->before_len);
    trace->op.in.trace.limit = minimum(trace->limit - trace->count, OP_RECORDS_MAX);
    core_send(core, &trace->op);
}

static struct bytes keep_text(char *to, size_t room, struct bytes text)
{
    struct bytes kept = bytes_of(to, text.len < room ? text.len : room);

    if (kept.len)
        memcpy(to, text.at, kept.len);
    return kept;
}

static void keep_line(struct trace *trace, const struct history_item *line)
{
    struct trace_texts *texts = &trace->room->texts[trace->count];
    struct history_item *item = &trace->room->items[trace->count++];

    *item = *line;
    item->topic = trace->topic;
    item->id = trace->id;
    item->node = keep_text(texts->node, sizeof(texts->node), line->node);
    item->client = keep_text(texts->client, sizeof(texts->client), line->client);
}

static void keep_page(struct trace *trace)
{
    const struct op *op = &trace->op;
    struct trace_room *room = trace->room;

    for (unsigned i = 0; i < op->out.trace.count && trace->count < trace->limit; i++)
        keep_line(trace, &op->out.trace.items[i]);
    room->before_len = keep_text(room->before, sizeof(room->before), op->out.trace.next).len;
}

static enum status judge(const struct trace *trace)
{
    const struct op *op = &trace->op;

    if (trace->is_cancelled)
        return STATUS_CANCELLED;
    if (op->status == STATUS_OK && op->out.trace.next.len > OP_CURSOR_MAX)
        return STATUS_STORE_ERROR;
    return op->status;
}

static void on_rested(struct timer *timer)
{
    struct trace *trace = CONTAINER_OF(timer, struct trace, rest);
    struct core *core = trace->traces->core;

    if (!trace->is_cancelled) {
        ask_for_page(trace);
        return;
    }
    end(trace, STATUS_CANCELLED);
    core->on_end(core);
}

static void rest(struct trace *trace)
{
    struct timers *timers = trace->traces->core->timers;
    int64_t took_ms = timers_now(timers) - trace->op.sent_mono_ms;

    timer_arm(timers, &trace->rest, took_ms < REST_MAX_MS ? took_ms : REST_MAX_MS);
}

static void on_page(struct op *op)
{
    struct trace *trace = CONTAINER_OF(op, struct trace, op);
    enum status status = judge(trace);

    if (status == STATUS_OK)
        keep_page(trace);
    if (status == STATUS_OK && trace->room->before_len > 0 && trace->count < trace->limit)
        rest(trace);
    else
        end(trace, status);
}

/* ---- what the queue calls ---- */

static void take_in(struct traces *ts, struct trace *trace)
{
    trace->traces = ts;
    trace->items = NULL;
    trace->count = 0;
    trace->is_on = false;
    trace->is_cancelled = false;
    trace->op = (struct op){.on_done = NULL};
    trace->room = NULL;
    list_init(&trace->link);
    timer_init(&trace->rest, on_rested);
}

void traces_begin(struct traces *ts, struct trace *trace)
{
    if (ts->running_count >= TRACES_MAX) {
        traces_refuse(ts, trace, STATUS_TOO_MANY_TRACES);
        return;
    }
    take_in(ts, trace);
    trace->room = room_new(trace->limit);
    list_append(&ts->running, &trace->link);
    ts->running_count++;
    history_flush_bucket(ts->history, core_bucket_of(ts->core, trace->topic));
    ask_for_page(trace);
}

void traces_refuse(struct traces *ts, struct trace *trace, enum status status)
{
    take_in(ts, trace);
    trace->status = status;
    later_add(&ts->refused, &trace->link);
}

void traces_cancel(struct trace *trace)
{
    trace->is_cancelled = true;
    trace->status = STATUS_CANCELLED; /* of one that was refused */
    core_abandon(trace->traces->core, &trace->op);
}

void traces_cancel_all(struct traces *ts)
{
    LIST_EACH (link, &ts->running)
        traces_cancel(CONTAINER_OF(link, struct trace, link));
}

bool traces_are_idle(const struct traces *ts)
{
    return ts->running_count == 0 && later_is_idle(&ts->refused);
}

void traces_init(struct traces *ts, struct core *core, struct history *history)
{
    *ts = (struct traces){.core = core, .history = history};
    list_init(&ts->running);
    later_init(&ts->refused, core->timers, tell_refused);
}

void traces_fini(struct traces *ts)
{
    assert(list_is_empty(&ts->running));
    later_fini(&ts->refused);
}
