/* What a server of the fake ensembles answers alone, from its own tree. */
#ifndef DUEQ_HA_SIM_FAKE_ANSWER_H
#define DUEQ_HA_SIM_FAKE_ANSWER_H

#include "ha/sim/fake_tree.h"
#include "ha/sim/fake_watches.h"
#include "ha/sim/fake_wire.h"

/* The answer to a ping, a read or a list, for the caller to send. A watch that is asked for is
 * set for `owner`. To a write: an empty one, for the caller to fill in. */
struct fake_message *fake_answer(const struct fake_tree *tree, struct fake_watches *watches,
                                 void *owner, const struct fake_message *request);

#endif
