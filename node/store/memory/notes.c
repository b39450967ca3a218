/* Reservations of owners: the notes of them, by process; which processes are there. */
#include "node/store/memory/ops.h"

#include <assert.h>

/* ---- notes ---- */

void memory_note(struct call *c, const struct record *record)
{
    struct note_entry *note;

    if (!c->op->in.pop.is_owned)
        return;
    note = must(calloc(1, sizeof(*note) + record->job.id.len));
    memcpy(note->bytes, record->job.id.at, record->job.id.len);
    note->id = bytes_of(note->bytes, record->job.id.len);
    note->key = (struct note_key){.worker = c->worker, .stamp = record->job.stamp};
    note->topic = c->topic;
    note->made_ms = c->now_ms;
    HASH_ADD(hh, c->bucket->notes, key, sizeof(note->key), note);
}

/* Whose notes the operation is about; 0: nobody's. */
static uint64_t worker_of(const struct call *c)
{
    const struct op *op = c->op;

    if (op_has(op->verb, TRAIT_OF_LEASES))
        return op->in.leases.is_owned ? c->worker : 0;
    if (!op->in.lease.is_owned)
        return 0;
    return op->in.lease.worker ? op->in.lease.worker : c->worker;
}

void memory_drop_note(struct call *c, int64_t stamp)
{
    struct note_key key = {.worker = worker_of(c), .stamp = stamp};
    struct note_entry *note;

    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all of it is set */
    HASH_FIND(hh, c->bucket->notes, &key, sizeof(key), note);
    if (!note)
        return;
    HASH_DEL(c->bucket->notes, note);
    free(note);
}

enum status memory_run_notes(struct call *c)
{
    uint64_t worker = c->op->in.notes.worker ? c->op->in.notes.worker : c->worker;
    unsigned limit = c->op->in.notes.limit, count = 0;
    struct note *items = room_get(c->room, limit * sizeof(*items));
    struct note_entry *note, *next;

    assert(limit >= 1 && limit <= OP_NOTES_MAX);
    HASH_ITER (hh, c->bucket->notes, note, next) {
        if (count == limit)
            break;
        if (note->key.worker != worker)
            continue;
        items[count++] = (struct note){.stamp = note->key.stamp,
                                       .made_ms = note->made_ms,
                                       .topic = room_copy(c->room, note->topic->name),
                                       .id = room_copy(c->room, note->id)};
    }
    c->op->out.notes.items = items;
    c->op->out.notes.count = count;
    return STATUS_OK;
}

/* ---- beats ---- */

static void forget(struct call *c, struct beat_entry *beat)
{
    HASH_DEL(c->bucket->beats, beat);
    free(beat);
}

static struct beat_entry *find_beat(struct call *c, uint64_t worker)
{
    struct beat_entry *beat;

    HASH_FIND(hh, c->bucket->beats, &worker, sizeof(worker), beat);
    return beat;
}

static void note_beat(struct call *c)
{
    struct beat_entry *beat = find_beat(c, c->worker);

    if (!beat && c->op->in.beat.is_there) {
        beat = must(calloc(1, sizeof(*beat)));
        beat->worker = c->worker;
        HASH_ADD(hh, c->bucket->beats, worker, sizeof(beat->worker), beat);
    }
    if (c->op->in.beat.is_there)
        beat->last_ms = c->now_ms;
    else if (beat && c->op->in.beat.leaves)
        forget(c, beat);
}

static bool is_silent(const struct call *c, const struct beat_entry *beat)
{
    return beat->last_ms > c->now_ms || c->now_ms - beat->last_ms > c->op->in.beat.age_ms;
}

enum status memory_run_beat(struct call *c)
{
    const struct worker_beat *gone = &c->op->in.beat.forget;
    struct worker_beat *silent = room_get(c->room, OP_BEATS_MAX * sizeof(*silent));
    struct beat_entry *beat, *next;
    unsigned count = 0;

    HASH_ITER (hh, c->bucket->beats, beat, next) {
        if (c->op->in.beat.age_ms && is_silent(c, beat) && count < OP_BEATS_MAX)
            silent[count++] =
                (struct worker_beat){.worker = beat->worker, .last_ms = beat->last_ms};
    }
    note_beat(c);
    beat = gone->worker ? find_beat(c, gone->worker) : NULL;
    if (beat && beat->last_ms == gone->last_ms)
        forget(c, beat);
    c->op->out.beat.silent = silent;
    c->op->out.beat.count = count;
    return STATUS_OK;
}

void memory_notes_fini(struct bucket *bucket)
{
    struct note_entry *note, *next_note;
    struct beat_entry *beat, *next_beat;

    HASH_ITER (hh, bucket->notes, note, next_note) {
        HASH_DEL(bucket->notes, note);
        free(note);
    }
    HASH_ITER (hh, bucket->beats, beat, next_beat) {
        HASH_DEL(bucket->beats, beat);
        free(beat);
    }
}
