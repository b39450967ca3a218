/* The jobs of one state, page after page.
 *
 * A cursor is where the last one told stands, in words: its score, its key and its id. So it
 * holds whatever comes and goes in between.
 */
#include "node/store/memory/list.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct bytes cursor_of(struct call *c, const struct spot *spot)
{
    char text[OP_CURSOR_MAX];
    int len = snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %.*s", spot->score,
                       spot->key, BYTES_ARG(spot->record->job.id));

    assert(len > 0 && (size_t)len < sizeof(text));
    return room_copy(c->room, bytes_of(text, (size_t)len));
}

static bool is_there(const struct spot *spot, int64_t score, int64_t key, struct bytes id)
{
    return spot->score == score && spot->key == key &&
           (!spot->record || bytes_equal(spot->record->job.id, id));
}

/* Sets the index of the first spot behind the cursor; false where it is none of ours. */
static bool find_behind(const struct order *place, struct bytes cursor, size_t *index)
{
    char text[OP_CURSOR_MAX + 1] = "";
    int64_t score, key;
    int id_at = 0;
    struct bytes id;

    *index = 0;
    if (!cursor.len)
        return true;
    memcpy(text, cursor.at, cursor.len < OP_CURSOR_MAX ? cursor.len : OP_CURSOR_MAX);
    if (sscanf(text, "%" SCNd64 " %" SCNd64 " %n", &score, &key, &id_at) < 2 || !id_at)
        return false;
    id = bytes_of_text(text + id_at);
    *index = order_find(place, score, key, id);
    if (*index < place->count && is_there(order_at(place, *index), score, key, id))
        ++*index;
    return true;
}

enum status memory_run_list(struct call *c)
{
    const struct order *place = &c->topic->places[c->op->in.list.state];
    unsigned limit = c->op->in.list.limit, count = 0;
    struct job_row *rows = room_get(c->room, limit * sizeof(*rows));
    const struct spot *last = NULL;
    size_t i;

    assert(limit >= 1 && limit <= OP_LIST_MAX);
    if (!find_behind(place, c->op->in.list.after, &i))
        return STATUS_OUT_OF_RANGE;
    for (; i < place->count && count < limit; i++) {
        const struct spot *spot = order_at(place, i);

        if (!spot->record)
            continue;
        if (spot->record->is_lost)
            return STATUS_STORE_ERROR;
        rows[count++] = memory_row(c, spot->record);
        last = spot;
    }
    c->op->out.list.rows = rows;
    c->op->out.list.count = count;
    if (last && i < place->count)
        c->op->out.list.next = cursor_of(c, last);
    return STATUS_OK;
}
