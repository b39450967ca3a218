#include "node/store/memory/ops.h"

#include <assert.h>

#include "node/store/memory/places.h"

int64_t or_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

struct job_row memory_row(struct call *c, const struct record *record)
{
    struct job job = record->job;

    job.body = bytes_of("", 0);
    return (struct job_row){.job = room_copy_job(c->room, &job),
                            .body_bytes = (int64_t)record->job.body.len,
                            .place_ms = record->place_ms};
}

void memory_die(struct call *c, struct record *record, enum death death)
{
    enter_dead(c->topic, record, death, c->now_ms);
    memory_topic_expect(c->topic, c->now_ms + MEMORY_DEATH_SCAN_MS);
}

void memory_put(struct call *c, struct record *record, int64_t due_ms)
{
    record->job.due_ms = due_ms;
    if (due_ms <= c->now_ms)
        enter_ready_last(c->topic, record);
    else
        enter_delayed(c->topic, record, due_ms);
}

bool memory_is_used_up(const struct job *job)
{
    return job->rules.max_tries && job->tries >= job->rules.max_tries;
}

void memory_count(struct record *record, unsigned *counter)
{
    if (record->job.extra.is_there && *counter < EXTRA_COUNT_MAX)
        ++*counter;
}

void memory_revive(struct record *record)
{
    record->job.tries = 0;
    record->job.death = DEATH_NONE;
    record->job.rules.expires_ms = 0;
}

static enum status (*const verbs[OP_COUNT])(struct call *) = {
    [OP_PUSH] = memory_run_push,
    [OP_POP] = memory_run_pop,
    [OP_TAKE] = memory_run_take,
    [OP_DELIVERED] = memory_run_delivered,
    [OP_KEEP] = memory_run_keep,
    [OP_RETURN] = memory_run_return,
    [OP_ACK] = memory_run_ack,
    [OP_RELEASE] = memory_run_release,
    [OP_TOUCH] = memory_run_touch,
    [OP_BURY] = memory_run_bury,
    [OP_CANCEL] = memory_run_cancel,
    [OP_MOVE] = memory_run_move,
    [OP_KICK] = memory_run_kick,
    [OP_PURGE] = memory_run_purge,
    [OP_GET] = memory_run_get,
    [OP_LIST] = memory_run_list,
    [OP_STATS] = memory_run_stats,
    [OP_OWNER] = memory_run_owner,
    [OP_SCAN] = memory_run_scan,
    [OP_NOTES] = memory_run_notes,
    [OP_BEAT] = memory_run_beat,
    [OP_TOPICS] = memory_run_topics,
    [OP_CONFIGURE] = memory_run_configure,
    [OP_SETTINGS] = memory_run_settings,
    [OP_RECORD] = memory_run_record,
    [OP_TRACE] = memory_run_trace,
    [OP_PLACES] = memory_run_places,
    [OP_AUDIT] = memory_run_audit,
    [OP_REPAIR] = memory_run_repair,
    [OP_FENCE] = memory_run_fence,
    [OP_IDENTITIES] = memory_run_identities,
    [OP_IDENTIFY] = memory_run_identify,
};

enum status memory_op_run(struct call *call)
{
    enum op_verb verb = call->op->verb;
    enum status status = STATUS_OK;

    assert(verb < OP_COUNT);
    if (op_leads(call->op) && verb != OP_FENCE)
        status = memory_fence(call);
    return status == STATUS_OK ? verbs[verb](call) : status;
}
