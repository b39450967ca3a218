#include "node/store/memory/pop.h"

#include <assert.h>

#include "node/store/memory/places.h"
#include "node/store/memory/records.h"

/* Does the body fit into what is left of an answer that has `count` jobs? Then it is in. */
static bool takes_room(const struct job *job, unsigned count, size_t *left)
{
    size_t bytes = job->body.len > OP_BODY_SMALL_MAX ? job->body.len : 0;

    if (count > 0 && bytes > *left)
        return false;
    *left -= bytes < *left ? bytes : *left;
    return true;
}

/* The first ready one that has not expired; what has, is dead now. */
static struct record *first_alive(struct call *c)
{
    struct record *record;

    while ((record = ready_first(c->topic))) {
        int64_t expires_ms = record->job.rules.expires_ms;

        if (!expires_ms || expires_ms > c->now_ms)
            break;
        memory_die(c, ready_take(c->topic), DEATH_EXPIRED);
    }
    return record;
}

static struct job reserve(struct call *c)
{
    struct record *record = ready_take(c->topic);

    enter_reserved(c->topic, record, c->now_ms + OP_UNCONFIRMED_MS);
    if (c->op->in.pop.id_only)
        owner_set(c->topic, &record->job);
    return room_copy_job(c->room, &record->job);
}

/* Whoever waits for its jobs is told at the end. Tombstones count: with one in the line the
 * next push announces nothing either. */
static bool is_paused(struct call *c)
{
    int64_t until_ms = c->topic->settings.paused_until_ms;

    if (until_ms <= c->now_ms)
        return false;
    if (until_ms != SETTINGS_FOREVER && c->topic->places[JOB_READY].count > 0)
        memory_topic_expect(c->topic, until_ms);
    return true;
}

enum status memory_run_pop(struct call *c)
{
    unsigned wanted = c->op->in.pop.count, count = 0;
    struct job *jobs = room_get(c->room, wanted * sizeof(*jobs));
    bool is_held_back = is_paused(c);
    size_t left = OP_POP_BYTES_MAX;
    struct record *record;

    assert(wanted >= 1 && wanted <= OP_ITEMS_MAX);
    while (!is_held_back && count < wanted && (record = first_alive(c))) {
        if (!takes_room(&record->job, count, &left)) {
            c->op->out.pop.has_more = true;
            break;
        }
        jobs[count++] = reserve(c);
    }
    c->op->out.pop.jobs = jobs;
    c->op->out.pop.count = count;
    return STATUS_OK;
}
