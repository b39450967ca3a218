/* The last hundred changes of the lead, as the znode `history` says them: oldest first, each a
 * line "change WALL_MS NODE REASON EPOCH WITHOUT_MS" ("-" where it was not seen). Behind them
 * "left EPOCH REASON", where a leader that gives the lead away says why: its successor makes it
 * the reason of its own change. A lead that was taken up again is told as "resumed". Pure.
 */
#ifndef DUEQ_HA_RULE_TRANSITIONS_H
#define DUEQ_HA_RULE_TRANSITIONS_H

#include "base/buf.h"
#include "ha/ha.h"

struct transitions {
    struct ha_transition changes[HA_TRANSITIONS_MAX];
    unsigned count;
    uint64_t left_epoch; /* 0: nobody has said why */
    char left_reason[16];
};

#define TRANSITION_RESUMED "resumed"

/* Lines that are malformed are skipped; of too many the newest are kept. */
void transitions_parse(struct transitions *t, struct bytes text);
void transitions_print(const struct transitions *t, struct buf *text);

/* By its epoch: one that could not be written at once comes late. The oldest goes when it is
 * full, and "left" with the newest. */
void transitions_add(struct transitions *t, const struct ha_transition *change);
/* The epoch of the change before that one; 0: there is none. */
uint64_t transitions_before(const struct transitions *t, uint64_t epoch);

bool transitions_has(const struct transitions *t, const struct ha_transition *change);

/* How many to another leader from then until then, both included. */
unsigned transitions_between(const struct transitions *t, int64_t from_wall_ms,
                             int64_t to_wall_ms);

#endif
