#include "node/store/history.h"

#include <assert.h>
#include <string.h>

#include "node/store/packed.h"

#define NUMBERS_BYTES 16

static char *put_text(char *to, struct bytes text, size_t max)
{
    assert(text.len <= max);
    *to++ = (char)(uint8_t)text.len;
    if (text.len)
        memcpy(to, text.at, text.len);
    return to + text.len;
}

size_t history_pack(const struct history_item *item, char packed[HISTORY_BYTES_MAX])
{
    char *end = packed + NUMBERS_BYTES;

    packed_put(packed, 1, item->event);
    packed_put(packed + 1, 1, item->death);
    packed_put(packed + 2, 6, item->time_ms);
    packed_put(packed + 8, 6, item->at_ms);
    packed_put(packed + 14, 2, item->tries < JOB_TRIES_MAX ? item->tries : JOB_TRIES_MAX);
    end = put_text(end, item->topic, HISTORY_NAME_MAX);
    end = put_text(end, item->id, HISTORY_NAME_MAX);
    end = put_text(end, item->node, OP_NODE_MAX);
    end = put_text(end, item->client, JOB_HOLDER_MAX);
    return (size_t)(end - packed);
}

static bool take_text(struct bytes *left, size_t max, struct bytes *text)
{
    size_t len = left->len ? (uint8_t)left->at[0] : 0;

    if (left->len < 1 + len || len > max)
        return false;
    *text = bytes_of(left->at + 1, len);
    *left = bytes_of(left->at + 1 + len, left->len - 1 - len);
    return true;
}

static bool take_texts(struct bytes left, struct history_item *item)
{
    return take_text(&left, HISTORY_NAME_MAX, &item->topic) &&
           take_text(&left, HISTORY_NAME_MAX, &item->id) &&
           take_text(&left, OP_NODE_MAX, &item->node) &&
           take_text(&left, JOB_HOLDER_MAX, &item->client) && left.len == 0;
}

bool history_unpack(struct bytes packed, struct history_item *item)
{
    const char *at = packed.at;
    struct history_item found;

    if (packed.len < NUMBERS_BYTES || (uint8_t)at[0] >= EVENT_COUNT ||
        (uint8_t)at[1] >= DEATH_COUNT)
        return false;
    found.event = (enum job_event)at[0];
    found.death = (enum death)at[1];
    found.time_ms = packed_get(at + 2, 6);
    found.at_ms = packed_get(at + 8, 6);
    found.tries = (unsigned)packed_get(at + 14, 2);
    if (!take_texts(bytes_of(at + NUMBERS_BYTES, packed.len - NUMBERS_BYTES), &found))
        return false;
    *item = found;
    return true;
}
