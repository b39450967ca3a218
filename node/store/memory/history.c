#include "node/store/memory/history.h"

#include <stdlib.h>
#include <string.h>

#include "node/store/memory/room.h"

#define LINE_BYTES 40 /* of a line without its names: in Redis's stream, packed */

void memory_history_init(struct memory_history *history)
{
    *history = (struct memory_history){0};
    list_init(&history->lines);
}

static int64_t names_bytes(const struct history_item *item)
{
    return (int64_t)(item->topic.len + item->id.len + item->node.len + item->client.len);
}

/* Appends a copy to what `at` points to, and goes behind it. */
static struct bytes append(char **at, struct bytes from)
{
    struct bytes copy = bytes_of(*at, from.len);

    if (from.len)
        memcpy(*at, from.at, from.len);
    *at += from.len;
    return copy;
}

void memory_history_add(struct memory_history *history, const struct history_item *item)
{
    size_t bytes = (size_t)names_bytes(item);
    struct history_line *line = memory_must(calloc(1, sizeof(*line) + bytes));
    char *at = line->bytes;

    line->number = ++history->last_number;
    line->item = *item;
    line->item.topic = append(&at, item->topic);
    line->item.id = append(&at, item->id);
    line->item.node = append(&at, item->node);
    line->item.client = append(&at, item->client);
    list_append(&history->lines, &line->link);
    history->bytes += LINE_BYTES + names_bytes(item);
}

void memory_history_cut(struct memory_history *history, int64_t bytes_max)
{
    struct list *link;

    while (history->bytes > bytes_max && (link = list_pop(&history->lines))) {
        struct history_line *line = CONTAINER_OF(link, struct history_line, link);

        history->bytes -= LINE_BYTES + names_bytes(&line->item);
        free(line);
    }
}

void memory_history_fini(struct memory_history *history)
{
    memory_history_cut(history, -1);
}
