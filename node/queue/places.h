/* The room for pops, counted in topics, and how clients share it.
 *
 * A pop has one place for each topic it names, because its memory grows with them. Pops that
 * wait and pops that only ask have separate places: waiting pops never take the room of those
 * that only ask.
 *
 * Places are counted by the client's address. One address may use all of them while nobody
 * else wants any. Where too few are left for a newcomer, the address with more than half of
 * them gives some back, oldest pop first, as long as the newcomer's address stays within half.
 */
#ifndef DUEQ_NODE_QUEUE_PLACES_H
#define DUEQ_NODE_QUEUE_PLACES_H

#include <stdbool.h>

#include "node/queue/queue.h"

struct places {
    struct account *accounts;             /* hash by address */
    unsigned used[PLACE_KINDS];           /* topics */
    struct account *largest[PLACE_KINDS]; /* the last that had more than half; NULL: none has */
};

/* Could the pop have its places out of `max`, if others gave way? */
bool places_can_be_had(struct places *ps, const struct pop *pop, enum place_kind kind,
                       unsigned max);

/* The next pop to give way; NULL: there is room. Only if places_can_be_had(). */
struct pop *places_next_victim(struct places *ps, const struct pop *pop, enum place_kind kind,
                               unsigned max);
void places_take(struct places *ps, struct pop *pop, enum place_kind kind, unsigned max);

/* Harmless for a pop without places. */
void places_leave(struct places *ps, struct pop *pop);

#endif
