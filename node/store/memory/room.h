/* Where the outputs of one operation live until its caller has seen them. */
#ifndef DUEQ_NODE_STORE_MEMORY_ROOM_H
#define DUEQ_NODE_STORE_MEMORY_ROOM_H

#include "node/store/job.h"

struct room {
    struct room_block *blocks;
};

/* All live until room_fini. */
void *room_get(struct room *room, size_t size);
struct bytes room_copy(struct room *room, struct bytes from);
struct job room_copy_job(struct room *room, const struct job *from);

void room_fini(struct room *room);

#endif
