/* The places of a memory_db's jobs, and the steps from one to another.
 *
 * Invariants: a record is in the one place that its state says, and among the expiring exactly
 * when it has a ttl and is not dead; a spot of the ready ones without a record is a tombstone.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_PLACES_H
#define DUEQ_NODE_STORE_MEMORY_PLACES_H

#include "node/store/memory/topic.h"

/* Takes the record out of its place; the state stays until it enters another. A ready one of
 * the default priority leaves a tombstone, unless it is served by its id. */
void record_leave(struct topic *topic, struct record *record);

/* Of the ready ones: does the spot, which may be a tombstone, stand for an entry of a list? In
 * Redis the other ones are in a set. */
bool spot_is_of_list(const struct spot *spot);

void enter_delayed(struct topic *topic, struct record *record, int64_t due_ms);
void enter_ready_last(struct topic *topic, struct record *record);  /* of its priority */
void enter_ready_first(struct topic *topic, struct record *record); /* the same */
void enter_reserved(struct topic *topic, struct record *record, int64_t deadline_ms);

/* A dead record does not expire any more. */
void enter_dead(struct topic *topic, struct record *record, enum death death, int64_t now_ms);

/* Gives the same reservation another deadline. */
void move_deadline(struct topic *topic, struct record *record, int64_t deadline_ms);

/* Puts the record among the expiring where its rules say so; takes it out. */
void record_begin_expiry(struct topic *topic, struct record *record);
void record_end_expiry(struct topic *topic, struct record *record);

/* The indexes of the default priority among the ready spots, tombstones included, and those
 * that are served by their id. */
struct span {
    size_t from, to;
};
struct span ready_default_span(const struct topic *topic);

/* The first ready record, the tombstones before it dropped; NULL when there is none. */
struct record *ready_first(struct topic *topic);

/* The same, taken out of its place. */
struct record *ready_take(struct topic *topic);

#endif
