/* How many topics may be popped from at once, and whose share of them a pop takes.
 *
 * A pop has one place for each topic it names, because that is what it costs in memory. Pops
 * that wait for jobs have places of their own, pops that only ask have others: however many
 * wait, asking is never refused for it.
 *
 * Places are counted by the client's address. One address may use all of them while nobody
 * else wants any. Where there are too few left for a newcomer, the address that has more than
 * half of them gives some back, as long as the newcomer's has not: the pop that came first
 * goes first.
 */
#ifndef DUEQ_NODE_QUEUE_PLACES_H
#define DUEQ_NODE_QUEUE_PLACES_H

#include <stdbool.h>

#include "base/bytes.h"

struct account;
struct pop;

enum place_kind { PLACE_NONE, PLACE_WAITING, PLACE_ASKING, PLACE_KINDS };

struct places {
    struct account *accounts;         /* hash by address */
    unsigned used[PLACE_KINDS];       /* topics */
    struct account *hog[PLACE_KINDS]; /* the last that had more than half; NULL: none has */
};

/* Could the pop have its places out of `max`, if others gave way? */
bool places_can_be_had(struct places *ps, const struct pop *pop, enum place_kind kind,
                       unsigned max);

/* Whose turn it is to give way; NULL: there is room. Only if the above is true. */
struct pop *places_next_victim(struct places *ps, const struct pop *pop, enum place_kind kind,
                               unsigned max);

/* Takes the places, and gives them back; the latter is harmless without any. */
void places_take(struct places *ps, struct pop *pop, enum place_kind kind, unsigned max);
void places_leave(struct places *ps, struct pop *pop);

#endif
