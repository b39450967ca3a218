/* What a server of the fake ensembles reads for a client. Watches are the caller's. */
#ifndef DUEQ_HA_FAKE_ANSWER_H
#define DUEQ_HA_FAKE_ANSWER_H

#include <stdbool.h>

#include "ha/fake_tree.h"
#include "ha/fake_wire.h"

void fake_answer_read(const struct fake_tree *tree, const char *path,
                      struct fake_message *reply);

/* False: it is not there, and nothing watches its list, as with the real one. */
bool fake_answer_list(const struct fake_tree *tree, const char *path,
                      struct fake_message *reply);

#endif
