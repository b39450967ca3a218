/* Orphans: a place names a job that is gone. The memory store makes them only when told to, and
 * keeps their records for the sake of the place. */
#ifndef DUEQ_NODE_STORE_MEMORY_ORPHANS_H
#define DUEQ_NODE_STORE_MEMORY_ORPHANS_H

#include "node/store/memory/topic.h"

void record_lose(struct topic *topic, struct record *record); /* not a ready one */

struct record *lost_find(struct topic *topic, struct bytes id);        /* NULL: there is none */
struct record *lost_find_behind(struct topic *topic, struct bytes id); /* the next by id */
bool lost_is_dead(const struct topic *topic);
bool lost_is_due(const struct topic *topic, int64_t now_ms);

/* The places forget it. */
void lost_delete(struct topic *topic, struct record *record);
void lost_delete_all(struct topic *topic);

#endif
