/* The outputs of an operation are borrowed while its on_done runs: copies that live longer. */
#ifndef DUEQ_NODE_STORE_CONTRACT_KEEP_H
#define DUEQ_NODE_STORE_CONTRACT_KEEP_H

#include "node/store/memory/room.h"
#include "node/store/op.h"

/* Replaces all that a successful op borrows by copies, which live as long as `room`. */
void contract_keep(struct room *room, struct op *op);

#endif
