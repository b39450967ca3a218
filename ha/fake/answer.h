/* Answers that a fake server gives alone, from its own tree. */
#ifndef DUEQ_HA_FAKE_ANSWER_H
#define DUEQ_HA_FAKE_ANSWER_H

#include "ha/fake/tree.h"
#include "ha/fake/watches.h"
#include "ha/fake/wire.h"

/* The answer to a ping, a read or a list, for the caller to send; for a write an empty answer,
 * which the caller fills in. Sets a requested watch for `owner`. */
struct fake_message *fake_answer(const struct fake_tree *tree, struct fake_watches *watches,
                                 void *owner, const struct fake_message *request);

#endif
