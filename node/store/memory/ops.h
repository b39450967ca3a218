/* The operations on a memory_db: for each verb a function, its row of doc/store.md in C.
 *
 *   ops.c        their table, and their common functions
 *   jobs.c       of one job: push, pop, those of a lease's holder, those of anybody
 *   topic_ops.c  of many jobs, or a topic: kick, purge, list, stats, topics, settings
 *   scan.c       scan, alone and of many nodes by their locks; the fence
 *   audit.c      record and trace; places, audit, repair
 *   identities.c identities and identify
 *   notes.c      reservations of owners: their notes, notes and beat
 *
 * To add an operation: a memory_run_<verb> function, and its line in `verbs`.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_OPS_H
#define DUEQ_NODE_STORE_MEMORY_OPS_H

#include "node/store/memory/room.h"
#include "node/store/memory/topic.h"
#include "node/store/op.h"

/* One operation on its way through. */
struct call {
    struct bucket *bucket;
    struct topic *topic; /* NULL: the operation is of no topic */
    struct op *op;
    int64_t now_ms;
    int64_t start_ms; /* durations begin here: now, rounded up */
    struct room *room;
    uint64_t worker; /* whose operation it is */
};

/* Fills in op->out, which borrows from the room. */
enum status memory_op_run(struct call *call);

/* ---- words that several of them use ---- */

/* When a duration of `ms` is over; now, where it is 0. */
static inline int64_t memory_after(const struct call *c, int64_t ms)
{
    return ms > 0 ? c->start_ms + ms : c->now_ms;
}

#define MEMORY_DEATH_SCAN_MS 1000 /* from a death to the scan that looks at the dead */

int64_t or_zero(int64_t value); /* 0 where it is less */

/* As in out.row, without the body. */
struct job_row memory_row(struct call *c, const struct record *record);

/* The record, in no place now, goes to dead: the scan will look how many there are. */
void memory_die(struct call *c, struct record *record, enum death death);

/* The record, in no place now, is delayed until `due_ms`, or ready, last of its priority, where
 * that is past. */
void memory_put(struct call *c, struct record *record, int64_t due_ms);

/* Has the job had as many deliveries as its rules allow? */
bool memory_is_used_up(const struct job *job);

/* One more of what is counted of the job, where that is so of this job. */
void memory_count(struct record *record, unsigned *counter);

/* A dead record begins anew, without a ttl. */
void memory_revive(struct record *record);

/* ---- jobs.c ---- */

enum status memory_run_push(struct call *c);
enum status memory_run_pop(struct call *c);
void memory_pop_in_scan(struct call *c, size_t *left); /* left: bytes of big bodies */
enum status memory_run_take(struct call *c);
enum status memory_run_delivered(struct call *c);
enum status memory_run_keep(struct call *c);
enum status memory_run_return(struct call *c);
enum status memory_run_ack(struct call *c);
enum status memory_run_release(struct call *c);
enum status memory_run_touch(struct call *c);
enum status memory_run_bury(struct call *c);
enum status memory_run_cancel(struct call *c);
enum status memory_run_move(struct call *c);
enum status memory_run_get(struct call *c);
enum status memory_run_owner(struct call *c);

/* ---- topic_ops.c ---- */

enum status memory_run_kick(struct call *c);
enum status memory_run_purge(struct call *c);
enum status memory_run_list(struct call *c);
enum status memory_run_stats(struct call *c);
enum status memory_run_topics(struct call *c);
enum status memory_run_configure(struct call *c);
enum status memory_run_settings(struct call *c);

/* ---- audit.c ---- */

enum status memory_run_record(struct call *c);
enum status memory_run_trace(struct call *c);
enum status memory_run_places(struct call *c);
enum status memory_run_audit(struct call *c);
enum status memory_run_repair(struct call *c);

/* ---- notes.c ---- */

enum status memory_run_notes(struct call *c);
enum status memory_run_beat(struct call *c);

/* Of a reservation that the operation makes, where it is owned; or ends, or finds over. */
void memory_note(struct call *c, const struct record *record);
void memory_drop_note(struct call *c, int64_t stamp);
void memory_notes_fini(struct bucket *bucket);

/* ---- identities.c ---- */

enum status memory_run_identities(struct call *c);
enum status memory_run_identify(struct call *c);

/* ---- scan.c ---- */

enum status memory_run_fence(struct call *c);
enum status memory_run_scan(struct call *c);

/* FENCED where the operation's token is lower than the highest that the bucket has seen, or of
 * another ensemble; out.fenced is set then. Else OK: the bucket keeps the token. */
enum status memory_fence(struct call *c);

/* For people; the node's name is in the room. */
struct topic_lock memory_lock_tell(const struct call *c, const struct topic *topic);

#endif
