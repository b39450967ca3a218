/* The last hundred changes of the lead: the text of the znode `history`. Pure.
 *
 * Each change is a line "change WALL_MS NODE REASON EPOCH WITHOUT_MS", oldest first; WITHOUT_MS
 * is "-" if it was not seen. A last line "left EPOCH REASON" says why a leader gives the lead
 * away; its successor takes REASON for its own change. A lead taken up again is "resumed".
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

/* Malformed lines are skipped; of too many changes the newest are kept. */
void transitions_parse(struct transitions *t, struct bytes text);
void transitions_print(const struct transitions *t, struct buf *text);

/* Adds a change in the order of epochs, because a change that could not be written at once
 * comes late. A full history drops the oldest; the newest change clears "left". */
void transitions_add(struct transitions *t, const struct ha_transition *change);
/* The epoch of the change before that one; 0: there is none. */
uint64_t transitions_before(const struct transitions *t, uint64_t epoch);

bool transitions_has(const struct transitions *t, const struct ha_transition *change);

/* How many changes to another leader there were in that time, both ends included. */
unsigned transitions_between(const struct transitions *t, int64_t from_wall_ms,
                             int64_t to_wall_ms);

#endif
