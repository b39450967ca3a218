#include "node/queue/history.h"

#include <stdlib.h>

#include "node/queue/core.h"
#include "node/queue/history_events.h"
#include "node/queue/names.h"
#include "node/queue/topic_settings.h"

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

bool history_is_on(const struct history *h, struct bytes topic)
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
    b = malloc(sizeof(*b));
    if (!b)
        abort();
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

void history_flush_bucket(struct history *h, unsigned bucket)
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

static struct bytes copy(struct history_batch *b, struct bytes from)
{
    struct bytes copied = bytes_of(b->text + b->text_len, from.len);

    if (from.len)
        memcpy(b->text + b->text_len, from.at, from.len);
    b->text_len += from.len;
    return copied;
}

static void add_line(struct history_batch *b, const struct history_item *line)
{
    struct history_item *item = &b->items[b->count++];

    *item = *line;
    item->topic = copy(b, line->topic);
    item->id = copy(b, line->id);
    item->node = copy(b, line->node);
    item->client = copy(b, line->client);
}

static struct history_batch *batch_with_room(struct history *h, unsigned bucket, size_t bytes)
{
    struct history_batch *b = h->open[bucket];

    if (b && b->text_len + bytes <= TEXT_BYTES)
        return b;
    history_flush_bucket(h, bucket);
    return open_batch(h, bucket);
}

/* What a hand put into Redis may have names of any length. */
static bool has_room_for_names(const struct history_item *line)
{
    return line->topic.len <= NAME_MAX_BYTES && line->id.len <= NAME_MAX_BYTES;
}

/* Of a topic whose history is on. */
static void write_line(struct history *h, unsigned bucket, struct history_item line)
{
    struct history_batch *b = NULL;

    line.node = cut(h->core->options.node, OP_NODE_MAX);
    line.client = cut(line.client, JOB_HOLDER_MAX);
    if (has_room_for_names(&line))
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

/* An answer is on its way for a while: the one that was quickest, of some seconds, knows best.
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

static int64_t time_of(const struct history *h, const struct op *op)
{
    return op->now_ms ? op->now_ms : timers_now(h->core->timers) + h->store_ahead_ms;
}

/* ---- what an operation did ---- */

void history_after(struct history *h, const struct op *op)
{
    struct history_item line = {.topic = op->topic, .id = op->id, .client = op->client};
    struct history_item replaced;

    if (!may_be_on(h))
        return;
    read_clock(h, op);
    line.time_ms = time_of(h, op);
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
    h->open = calloc(core->store->buckets, sizeof(struct history_batch *));
    if (!h->open)
        abort();
    timer_init(&h->timer, on_timer);
}

void history_fini(struct history *h)
{
    timer_disarm(h->core->timers, &h->timer);
    for (unsigned i = 0; i < h->core->store->buckets; i++)
        free(h->open[i]);
    free(h->open);
}
