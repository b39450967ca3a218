#include "node/store/memory/jobs.h"

#include "node/store/memory/places.h"
#include "node/store/memory/records.h"

enum status memory_run_cancel(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);

    if (!record)
        return STATUS_NOT_FOUND;
    record_delete(c->topic, record);
    memory_topic_let_go(c->topic);
    return STATUS_OK;
}

static bool is_ready_and_stays_so(const struct call *c, const struct record *record,
                                  int64_t due_ms)
{
    return record->job.state == JOB_READY && due_ms <= c->now_ms;
}

/* From one place to the same or another. */
static void move(struct call *c, struct record *record, int64_t due_ms)
{
    owner_remove(c->topic, &record->job);
    record_leave(c->topic, record);
    if (record->job.state == JOB_DEAD)
        memory_revive(record);
    memory_put(c, record, due_ms);
}

enum status memory_run_move(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);
    int64_t at_ms = c->op->in.move.at_ms;
    int64_t delay_ms = at_ms ? at_ms - c->now_ms : c->op->in.move.delay_ms;
    int64_t due_ms = at_ms ? at_ms : memory_after(c, delay_ms);

    if (!record)
        return STATUS_NOT_FOUND;
    if (!(c->op->in.move.states & 1u << record->job.state))
        return STATUS_WRONG_STATE;
    if (delay_ms > JOB_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    c->op->out.change.stays = is_ready_and_stays_so(c, record, due_ms);
    if (!c->op->out.change.stays)
        move(c, record, due_ms);
    c->op->out.change.due_ms = record->job.due_ms;
    return STATUS_OK;
}

enum status memory_run_get(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);

    if (!record)
        return STATUS_NOT_FOUND;
    c->op->out.row = memory_row(c, record);
    c->op->out.row.job.body = room_copy(c->room, record->job.body);
    return STATUS_OK;
}

enum status memory_run_owner(struct call *c)
{
    struct owner *owner = owner_find(c->bucket, c->op->id);

    if (!owner)
        return STATUS_NOT_FOUND;
    c->op->out.owner.topic = room_copy(c->room, owner->topic->name);
    c->op->out.owner.stamp = owner->stamp;
    return STATUS_OK;
}
