#include "node/store/contract/keep.h"

#include <stddef.h>
#include <string.h>

static void keep(struct room *room, struct bytes *bytes)
{
    *bytes = room_copy(room, *bytes);
}

/* A copy of `count` things of `size` bytes each. */
static void *keep_array(struct room *room, const void *from, unsigned count, size_t size)
{
    void *to = room_get(room, count * size);

    if (count)
        memcpy(to, from, count * size);
    return to;
}

#define KEEP_ARRAY(room, from, count) keep_array(room, from, count, sizeof(*(from)))

static void keep_push(struct room *room, struct op *op)
{
    keep(room, &op->out.push.id);
}

static void keep_pop(struct room *room, struct op *op)
{
    struct job *jobs = KEEP_ARRAY(room, op->out.pop.jobs, op->out.pop.count);

    for (unsigned i = 0; i < op->out.pop.count; i++)
        jobs[i] = room_copy_job(room, &jobs[i]);
    op->out.pop.jobs = jobs;
}

static void keep_row(struct room *room, struct op *op)
{
    op->out.row.job = room_copy_job(room, &op->out.row.job);
}

static void keep_list(struct room *room, struct op *op)
{
    struct job_row *rows = KEEP_ARRAY(room, op->out.list.rows, op->out.list.count);

    for (unsigned i = 0; i < op->out.list.count; i++)
        rows[i].job = room_copy_job(room, &rows[i].job);
    op->out.list.rows = rows;
    keep(room, &op->out.list.next);
}

static void keep_owner(struct room *room, struct op *op)
{
    keep(room, &op->out.owner.topic);
}

static void keep_scan(struct room *room, struct op *op)
{
    op->out.scan.lateness_ms =
        KEEP_ARRAY(room, op->out.scan.lateness_ms, op->out.scan.lateness_count);
    keep(room, &op->out.scan.wrong);
    for (unsigned i = 0; i < op->in.scan.pop_count; i++)
        keep_pop(room, op->in.scan.pops[i]);
}

static void keep_topics(struct room *room, struct op *op)
{
    struct topic_count *rows = KEEP_ARRAY(room, op->out.topics.rows, op->out.topics.count);

    for (unsigned i = 0; i < op->out.topics.count; i++) {
        keep(room, &rows[i].topic);
        keep(room, &rows[i].lock.node);
    }
    op->out.topics.rows = rows;
    keep(room, &op->out.topics.next);
}

static const struct settings_row *keep_rows(struct room *room, const struct settings_row *from,
                                            unsigned count)
{
    struct settings_row *rows = KEEP_ARRAY(room, from, count);

    for (unsigned i = 0; i < count; i++)
        keep(room, &rows[i].topic);
    return rows;
}

static void keep_configure(struct room *room, struct op *op)
{
    op->out.settings.rows = keep_rows(room, op->out.settings.rows, op->out.settings.count);
}

static void keep_settings(struct room *room, struct op *op)
{
    keep_configure(room, op);
    keep(room, &op->out.settings.next);
}

static void keep_places(struct room *room, struct op *op)
{
    op->out.places.rows = keep_rows(room, op->out.places.rows, op->out.places.count);
    keep(room, &op->out.places.next);
}

static void keep_trace(struct room *room, struct op *op)
{
    struct history_item *items = KEEP_ARRAY(room, op->out.trace.items, op->out.trace.count);

    for (unsigned i = 0; i < op->out.trace.count; i++) {
        keep(room, &items[i].topic);
        keep(room, &items[i].id);
        keep(room, &items[i].node);
        keep(room, &items[i].client);
    }
    op->out.trace.items = items;
    keep(room, &op->out.trace.next);
}

static void keep_audit(struct room *room, struct op *op)
{
    struct suspect *items = KEEP_ARRAY(room, op->out.audit.items, op->out.audit.count);

    for (unsigned i = 0; i < op->out.audit.count; i++)
        keep(room, &items[i].id);
    op->out.audit.items = items;
    keep(room, &op->out.audit.next);
}

static void keep_identities(struct room *room, struct op *op)
{
    struct identity_row *rows =
        KEEP_ARRAY(room, op->out.identities.rows, op->out.identities.count);

    for (unsigned i = 0; i < op->out.identities.count; i++) {
        keep(room, &rows[i].name);
        keep(room, &rows[i].line);
    }
    op->out.identities.rows = rows;
    keep(room, &op->out.identities.id);
}

static void keep_notes(struct room *room, struct op *op)
{
    struct note *items = KEEP_ARRAY(room, op->out.notes.items, op->out.notes.count);

    for (unsigned i = 0; i < op->out.notes.count; i++) {
        keep(room, &items[i].topic);
        keep(room, &items[i].id);
    }
    op->out.notes.items = items;
}

static void keep_beats(struct room *room, struct op *op)
{
    op->out.beat.silent = KEEP_ARRAY(room, op->out.beat.silent, op->out.beat.count);
}

void contract_keep(struct room *room, struct op *op)
{
    static void (*const renewals[OP_COUNT])(struct room *, struct op *) = {
        [OP_PUSH] = keep_push,
        [OP_POP] = keep_pop,
        [OP_TAKE] = keep_pop,
        [OP_GET] = keep_row,
        [OP_LIST] = keep_list,
        [OP_OWNER] = keep_owner,
        [OP_NOTES] = keep_notes,
        [OP_BEAT] = keep_beats,
        [OP_SCAN] = keep_scan,
        [OP_TOPICS] = keep_topics,
        [OP_CONFIGURE] = keep_configure,
        [OP_SETTINGS] = keep_settings,
        [OP_PLACES] = keep_places,
        [OP_TRACE] = keep_trace,
        [OP_AUDIT] = keep_audit,
        [OP_IDENTITIES] = keep_identities,
    };

    if (op->status == STATUS_FENCED)
        keep(room, &op->out.fenced.seen);
    if (op->status == STATUS_OK && renewals[op->verb])
        renewals[op->verb](room, op);
}
