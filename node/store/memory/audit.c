/* The history: record and trace. A cursor is the number of the last line looked at. */
#include "node/store/memory/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/store/memory/topic.h"

#define TRACE_LOOK_MAX 1000

enum status memory_run_record(struct call *c)
{
    struct memory_history *history = &c->bucket->history;

    for (unsigned i = 0; i < c->op->in.record.count; i++)
        memory_history_add(history, &c->op->in.record.items[i]);
    memory_history_cut(history, c->op->in.record.bytes_max);
    return STATUS_OK;
}

/* False where the cursor is none of ours. */
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

/* Looks for damage, and mends it. Orphans are the only damage possible in memory, so the pages
 * are few. */

/* ---- places: all topics of all buckets; a cursor is bucket and name ---- */

static unsigned bucket_of_cursor(struct bytes cursor, struct bytes *name)
{
    unsigned bucket = 0;
    size_t i = 0;

    for (; i < cursor.len && cursor.at[i] != ' '; i++)
        bucket = 10 * bucket + (unsigned)(cursor.at[i] - '0');
    *name = i < cursor.len ? bytes_of(cursor.at + i + 1, cursor.len - i - 1) : BYTES("");
    return bucket;
}

static struct bytes cursor_of_audit(struct call *c, unsigned bucket, struct bytes name)
{
    char text[OP_CURSOR_MAX];
    int len = snprintf(text, sizeof(text), "%u %.*s", bucket, BYTES_ARG(name));

    return room_copy(c->room, bytes_of(text, (size_t)len));
}

enum status memory_run_places(struct call *c)
{
    struct memory_db *db = c->bucket->db;
    struct settings_row *rows = room_get(c->room, OP_ROWS_MAX * sizeof(*rows));
    struct bytes after;
    unsigned bucket = bucket_of_cursor(c->op->in.places.after, &after), count = 0;

    for (; bucket < db->bucket_count; bucket++, after = BYTES("")) {
        struct topic *topic;

        while (count < OP_ROWS_MAX &&
               (topic = memory_topic_next(&db->buckets[bucket], after, memory_topic_is_used))) {
            rows[count++] = (struct settings_row){.topic = topic->name};
            after = topic->name;
        }
        if (count == OP_ROWS_MAX)
            break;
    }
    c->op->out.places.rows = rows;
    c->op->out.places.count = count;
    if (bucket < db->bucket_count)
        c->op->out.places.next = cursor_of_audit(c, bucket, after);
    return STATUS_OK;
}

/* ---- audit and repair ---- */

static unsigned size_of(const struct topic *topic)
{
    size_t size = HASH_COUNT(topic->records) + topic->expiring.count;

    for (enum job_state state = JOB_DELAYED; state <= JOB_DEAD; state++)
        size += topic->places[state].count;
    return (unsigned)size;
}

/* Its cursor is the last suspect's id. */
enum status memory_run_audit(struct call *c)
{
    struct suspect *items = room_get(c->room, OP_LIST_MAX * sizeof(*items));
    struct bytes after = c->op->in.places.after;
    struct record *lost = NULL;
    unsigned count = 0;

    while (count < OP_LIST_MAX && (lost = lost_find_behind(c->topic, after))) {
        after = room_copy(c->room, lost->job.id);
        items[count++] = (struct suspect){after, DAMAGE_NO_JOB};
    }
    c->op->out.audit.items = items;
    c->op->out.audit.count = count;
    c->op->out.audit.looked_at = size_of(c->topic);
    if (lost)
        c->op->out.audit.next = after;
    return STATUS_OK;
}

enum status memory_run_repair(struct call *c)
{
    struct record *lost = lost_find(c->topic, c->op->id);

    if (c->op->in.repair.calls_scan && memory_topic_exists(c->topic))
        memory_topic_expect(c->topic, c->now_ms);
    if (!lost || record_find(c->topic, c->op->id))
        return STATUS_OK;
    lost_delete(c->topic, lost);
    memory_topic_expect(c->topic, c->now_ms); /* the orphan stood in the scan's way */
    c->op->out.repair.damage = DAMAGE_NO_JOB;
    return STATUS_OK;
}
