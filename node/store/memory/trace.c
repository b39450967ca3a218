/* What the history is told, and tells. A cursor is the number of the last line looked at. */
#include "node/store/memory/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TRACE_LOOK_MAX 1000

enum status memory_run_record(struct call *c)
{
    struct memory_history *history = &c->bucket->history;

    for (unsigned i = 0; i < c->op->in.record.count; i++)
        memory_history_add(history, &c->op->in.record.items[i]);
    memory_history_cut(history, c->op->in.record.bytes_max);
    return STATUS_OK;
}

/* False where it is none of ours. */
static bool read_cursor(struct bytes cursor, int64_t *number)
{
    char text[24] = "";
    int used = 0;

    *number = INT64_MAX;
    if (!cursor.len)
        return true;
    if (cursor.len >= sizeof(text))
        return false;
    memcpy(text, cursor.at, cursor.len);
    return sscanf(text, "%" SCNd64 "%n", number, &used) == 1 && (size_t)used == cursor.len &&
           *number > 0;
}

static struct bytes cursor_of(struct call *c, int64_t number)
{
    char text[24];

    return room_copy(c->room,
                     bytes_of(text, (size_t)snprintf(text, sizeof(text), "%" PRId64, number)));
}

static struct history_item copy_item(struct call *c, const struct history_item *from)
{
    struct history_item item = *from;

    item.topic = room_copy(c->room, from->topic);
    item.id = room_copy(c->room, from->id);
    item.node = room_copy(c->room, from->node);
    item.client = room_copy(c->room, from->client);
    return item;
}

static bool is_of_job(const struct history_item *item, const struct op *op)
{
    return bytes_equal(item->topic, op->topic) && bytes_equal(item->id, op->id);
}

enum status memory_run_trace(struct call *c)
{
    struct op *op = c->op;
    const struct list *lines = &c->bucket->history.lines, *link = lines->prev;
    struct history_item *items = room_get(c->room, op->in.trace.limit * sizeof(*items));
    unsigned count = 0, looked_at = 0;
    int64_t number;

    if (!read_cursor(op->in.trace.before, &number))
        return STATUS_OUT_OF_RANGE;
    for (; link != lines && count < op->in.trace.limit && looked_at < TRACE_LOOK_MAX;
         link = link->prev) {
        const struct history_line *line = CONTAINER_OF(link, struct history_line, link);

        if (line->number >= number)
            continue;
        number = line->number;
        looked_at++;
        if (is_of_job(&line->item, op))
            items[count++] = copy_item(c, &line->item);
    }
    op->out.trace.items = items;
    op->out.trace.count = count;
    if (link != lines)
        op->out.trace.next = cursor_of(c, number);
    return STATUS_OK;
}
