#include "node/store/memory/room.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

struct room_block {
    struct room_block *next;
    alignas(max_align_t) char bytes[];
};

void *room_get(struct room *room, size_t size)
{
    struct room_block *block = must(malloc(sizeof(*block) + size));

    block->next = room->blocks;
    room->blocks = block;
    return block->bytes;
}

struct bytes room_copy(struct room *room, struct bytes from)
{
    char *copy = room_get(room, from.len);

    if (from.len)
        memcpy(copy, from.at, from.len);
    return bytes_of(copy, from.len);
}

struct job room_copy_job(struct room *room, const struct job *from)
{
    struct job copy = *from;

    copy.id = room_copy(room, from->id);
    copy.body = room_copy(room, from->body);
    copy.holder = room_copy(room, from->holder);
    copy.extra.attributes = room_copy(room, from->extra.attributes);
    return copy;
}

void room_fini(struct room *room)
{
    while (room->blocks) {
        struct room_block *block = room->blocks;

        room->blocks = block->next;
        free(block);
    }
}
