#include "node/queue/history.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "node/queue/core.h"
#include "node/queue/queue.h"
#include "node/queue/settings.h"
#include "node/store/op.h"

static bool tell_push(const struct op *op, struct history_item *item)
{
    item->event = EVENT_PUSHED;
    item->id = op->out.push.id;
    item->at_ms = op->out.push.due_ms;
    return !op->out.push.existed || op->in.push.mode == PUSH_REPLACE;
}

static bool tell_ack(const struct op *op, struct history_item *item)
{
    item->event = EVENT_ACKED;
    return true;
}

static bool tell_release(const struct op *op, struct history_item *item)
{
    item->death = op->out.change.death;
    item->event = item->death == DEATH_NONE ? EVENT_RELEASED : EVENT_DIED;
    item->at_ms = op->out.change.due_ms;
    item->tries = op->out.change.tries;
    return true;
}

static bool tell_touch(const struct op *op, struct history_item *item)
{
    item->event = EVENT_TOUCHED;
    item->at_ms = op->out.change.deadline_ms;
    return true;
}

static bool tell_bury(const struct op *op, struct history_item *item)
{
    item->event = EVENT_DIED;
    item->death = DEATH_BURIED;
    item->tries = op->out.change.tries;
    return true;
}

static bool tell_cancel(const struct op *op, struct history_item *item)
{
    item->event = EVENT_CANCELLED;
    return true;
}

static bool tell_move(const struct op *op, struct history_item *item)
{
    item->event = EVENT_MOVED;
    item->at_ms = op->out.change.due_ms;
    return !op->out.change.stays;
}

static bool tell_repair(const struct op *op, struct history_item *item)
{
    item->event = EVENT_REPAIRED;
    return op->out.repair.damage != DAMAGE_NONE && op->id.len > 0;
}

static bool (*const tell[OP_COUNT])(const struct op *op, struct history_item *item) = {
    [OP_PUSH] = tell_push,   [OP_ACK] = tell_ack,       [OP_RELEASE] = tell_release,
    [OP_TOUCH] = tell_touch, [OP_BURY] = tell_bury,     [OP_CANCEL] = tell_cancel,
    [OP_MOVE] = tell_move,   [OP_REPAIR] = tell_repair,
};

/* False: nothing that is written down. */
static bool history_event_of(const struct op *op, struct history_item *line)
{
    return tell[op->verb] && tell[op->verb](op, line);
}

/* The same for the job that was there before it, if there was one. */
static bool history_event_of_replaced(const struct op *op, struct history_item *line)
{
    if (op->verb != OP_PUSH || !op->out.push.existed)
        return false;
    line->event = EVENT_REPLACED;
    line->id = op->out.push.id;
    return true;
}

/* ---- history ---- */

#define FLUSH_MS   10
#define TEXT_BYTES 8192 /* of a batch: some lines are long, most are not */
#define CLOCK_MS   10000

struct history_batch {
    struct op op;
    struct history *history;
    struct history_item items[OP_RECORDS_MAX];
    unsigned count;
    size_t text_len;
    char text[TEXT_BYTES];
};

/* ---- is it on? ---- */

static bool rules_turn_it_on(const struct queue_options *options)
{
    for (unsigned i = 0; i < options->rule_count; i++) {
        const struct topic_settings *settings = &options->rules[i].settings;

        if (settings->set & SETTING_BIT(HISTORY) && settings->history)
            return true;
    }
    return false;
}

static bool may_be_on(const struct history *h)
{
    const struct queue_options *options = &h->core->options;

    return options->history_bytes > 0 &&
           (h->settings->with_history > 0 || rules_turn_it_on(options));
}

static bool history_is_on(const struct history *h, struct bytes topic)
{
    struct topic_settings settings;

    if (!may_be_on(h))
        return false;
    settings_cache_get(h->settings, topic, &settings);
    return settings.history;
}

/* ---- batches ---- */

static void on_recorded(struct op *op)
{
    struct history_batch *b = CONTAINER_OF(op, struct history_batch, op);

    if (op->status != STATUS_OK)
        b->history->core->stats.history_lost += b->count;
    b->history->batch_count--;
    free(b);
}

static struct history_batch *open_batch(struct history *h, unsigned bucket)
{
    struct history_batch *b;

    if (h->batch_count >= HISTORY_BATCHES_MAX)
        return NULL;
    b = must(malloc(sizeof(*b)));
    b->op = (struct op){.verb = OP_RECORD, .on_done = on_recorded, .bucket = bucket};
    b->history = h;
    b->count = 0;
    b->text_len = 0;
    h->open[bucket] = b;
    h->open_count++;
    h->batch_count++;
    if (!timer_is_armed(&h->timer))
        timer_arm(h->core->timers, &h->timer, FLUSH_MS);
    return b;
}

/* Sends the open batch now: before somebody reads, or the engine stops. */
static void history_flush_bucket(struct history *h, unsigned bucket)
{
    struct history_batch *b = h->open[bucket];

    if (!b)
        return;
    h->open[bucket] = NULL;
    h->open_count--;
    b->op.in.record.items = b->items;
    b->op.in.record.count = b->count;
    b->op.in.record.bytes_max = h->core->options.history_bytes;
    core_send(h->core, &b->op);
}

void history_flush(struct history *h)
{
    for (unsigned i = 0; i < h->core->store->buckets && h->open_count > 0; i++)
        history_flush_bucket(h, i);
    timer_disarm(h->core->timers, &h->timer);
}

static void on_timer(struct timer *timer)
{
    history_flush(CONTAINER_OF(timer, struct history, timer));
}

/* ---- lines ---- */

static struct bytes cut(struct bytes text, size_t max)
{
    return bytes_of(text.at, text.len < max ? text.len : max);
}

static size_t text_bytes(const struct history_item *item)
{
    return item->topic.len + item->id.len + item->node.len + item->client.len;
}

static void add_line(struct history_batch *b, const struct history_item *line)
{
    struct history_item *item = &b->items[b->count++];
    char *to = b->text + b->text_len;

    *item = *line;
    item->topic = text_put(&to, line->topic);
    item->id = text_put(&to, line->id);
    item->node = text_put(&to, line->node);
    item->client = text_put(&to, line->client);
    b->text_len = (size_t)(to - b->text);
}

static struct history_batch *batch_with_room(struct history *h, unsigned bucket, size_t bytes)
{
    struct history_batch *b = h->open[bucket];

    if (b && b->text_len + bytes <= TEXT_BYTES)
        return b;
    history_flush_bucket(h, bucket);
    return open_batch(h, bucket);
}

/* For a topic whose history is on. */
static void write_line(struct history *h, unsigned bucket, struct history_item line)
{
    struct history_batch *b = NULL;

    line.node = cut(h->core->options.node, OP_NODE_MAX);
    line.client = cut(line.client, JOB_HOLDER_MAX);
    /* A job put into Redis by hand may have names of any length. */
    if (line.topic.len <= NAME_MAX_BYTES && line.id.len <= NAME_MAX_BYTES)
        b = batch_with_room(h, bucket, text_bytes(&line));
    if (!b) {
        h->core->stats.history_lost++;
        return;
    }
    add_line(b, &line);
    if (b->count == OP_RECORDS_MAX)
        history_flush_bucket(h, bucket);
}

void history_add(struct history *h, unsigned bucket, const struct history_item *item)
{
    if (history_is_on(h, item->topic))
        write_line(h, bucket, *item);
}

/* ---- when: some answers bring no time ---- */

/* Answers take a while: the quickest one within some seconds knows the clock best.
 */
static void read_clock(struct history *h, const struct op *op)
{
    int64_t mono_ms = timers_now(h->core->timers), ahead_ms = op->now_ms - mono_ms;

    if (op->now_ms == 0 ||
        (ahead_ms <= h->store_ahead_ms && mono_ms - h->ahead_since_mono_ms < CLOCK_MS))
        return;
    h->store_ahead_ms = ahead_ms;
    h->ahead_since_mono_ms = mono_ms;
}

/* ---- what an operation did ---- */

void history_after(struct history *h, const struct op *op)
{
    struct history_item line = {.topic = op->topic, .id = op->id, .client = op->client};
    struct history_item replaced;

    if (!may_be_on(h))
        return;
    read_clock(h, op);
    line.time_ms = op->now_ms ? op->now_ms : timers_now(h->core->timers) + h->store_ahead_ms;
    replaced = line;
    if (op->status != STATUS_OK || !history_event_of(op, &line) || !history_is_on(h, op->topic))
        return;
    if (history_event_of_replaced(op, &replaced))
        write_line(h, op->bucket, replaced);
    write_line(h, op->bucket, line);
}

/* ---- life ---- */

void history_init(struct history *h, struct core *core, const struct settings_cache *settings)
{
    *h = (struct history){.core = core, .settings = settings};
    h->open = must(calloc(core->store->buckets, sizeof(struct history_batch *)));
    timer_init(&h->timer, on_timer);
}

void history_fini(struct history *h)
{
    timer_disarm(h->core->timers, &h->timer);
    for (unsigned i = 0; i < h->core->store->buckets; i++)
        free(h->open[i]);
    free(h->open);
}

/* ---- traces ---- */

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
    struct trace_room *room = must(calloc(1, sizeof(*room) + limit * sizeof(*room->items)));

    room->texts = must(calloc(limit, sizeof(*room->texts)));
    return room;
}

static void room_free(struct trace_room *room)
{
    free(room->texts);
    free(room);
}

/* ---- its end ---- */

/* Sorts by time, oldest first; lines of one millisecond stay in the store's order. */
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
    core_note_end(core);
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
    core_note_end(core);
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

void queue_trace_cancel(struct trace *trace)
{
    trace->is_cancelled = true;
    trace->status = STATUS_CANCELLED; /* of one that was refused */
    core_abandon(trace->traces->core, &trace->op);
}

void traces_cancel_all(struct traces *ts)
{
    LIST_EACH (link, &ts->running)
        queue_trace_cancel(CONTAINER_OF(link, struct trace, link));
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
