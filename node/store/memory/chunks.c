#include "node/store/memory/chunks.h"

#include <assert.h>

#include "node/store/memory/places.h"
#include "node/store/memory/records.h"

#define LIST_LOOK_MAX 1000

/* The records that a KICK or a PURGE is to take, in the order of their place. */
struct catch
{
    struct record *records[OP_CHUNK_MAX];
    unsigned count;
    unsigned of_list; /* records and tombstones of the default priority: a list */
    bool has_more;
};

static bool is_dead_of_other_times(const struct op *op, enum job_state state, int64_t died_ms)
{
    int64_t since_ms = op->in.chunk.since_ms, before_ms = op->in.chunk.before_ms;

    if (state != JOB_DEAD)
        return false;
    return (since_ms && died_ms < since_ms) || (before_ms && died_ms >= before_ms);
}

/* Of the list so many entries are looked at, and no more. Tombstones are passed as long as they
 * are: only a job behind is more. */
static bool is_full(const struct call *c, const struct catch *catch, const struct spot *spot,
                    bool is_of_list)
{
    return (spot->record && catch->count == c->op->in.chunk.limit) ||
           (is_of_list && catch->of_list == LIST_LOOK_MAX);
}

/* STORE_ERROR when there is an orphan among them. */
static enum status look(struct call *c, enum job_state state, struct catch *catch)
{
    const struct order *place = &c->topic->places[state];

    assert(c->op->in.chunk.limit >= 1 && c->op->in.chunk.limit <= OP_CHUNK_MAX);
    for (size_t i = 0; i < place->count; i++) {
        const struct spot *spot = order_at(place, i);
        bool is_of_list = state == JOB_READY && spot->score == RULES_PRIORITY_DEFAULT;

        if (is_dead_of_other_times(c->op, state, spot->score))
            continue;
        catch->has_more = is_full(c, catch, spot, is_of_list);
        if (catch->has_more)
            break;
        catch->of_list += is_of_list;
        if (!spot->record)
            continue;
        if (spot->record->is_lost)
            return STATUS_STORE_ERROR;
        catch->records[catch->count++] = spot->record;
    }
    return STATUS_OK;
}

static enum status answer(struct call *c, const struct catch *catch)
{
    c->op->out.chunk.count = catch->count;
    c->op->out.chunk.has_more = catch->has_more;
    return STATUS_OK;
}

enum status memory_run_kick(struct call *c)
{
    struct catch catch = {.count = 0};
    enum status status = look(c, JOB_DEAD, &catch);

    if (status != STATUS_OK)
        return status;
    for (unsigned i = 0; i < catch.count; i++) {
        record_leave(c->topic, catch.records[i]);
        memory_revive(catch.records[i]);
        memory_put(c, catch.records[i], c->now_ms);
    }
    return answer(c, &catch);
}

/* Those that go of the list become tombstones first, and go with the others. */
enum status memory_run_purge(struct call *c)
{
    struct catch catch = {.count = 0};
    enum status status = look(c, c->op->in.chunk.state, &catch);

    if (status != STATUS_OK)
        return status;
    for (unsigned i = 0; i < catch.count; i++)
        record_delete(c->topic, catch.records[i]);
    for (unsigned i = 0; i < catch.of_list; i++)
        order_remove(&c->topic->places[JOB_READY], 0);
    if (catch.count > 0)
        memory_topic_let_go(c->topic);
    if (catch.count > 0 && !memory_topic_is_used(c->topic))
        catch.has_more = false;
    return answer(c, &catch);
}
