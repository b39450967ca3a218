/* Looking for damage, and mending it. The only damage there can be in memory are orphans; so
 * the pages are few. */
#include "node/store/memory/audit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "node/store/memory/orphans.h"
#include "node/store/memory/records.h"

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

static struct bytes cursor_of(struct call *c, unsigned bucket, struct bytes name)
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
        c->op->out.places.next = cursor_of(c, bucket, after);
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
    memory_topic_expect(c->topic, c->now_ms); /* it stood in the scan's way */
    c->op->out.repair.damage = DAMAGE_NO_JOB;
    return STATUS_OK;
}
