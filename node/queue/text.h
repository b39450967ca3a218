/* Texts one behind the other in the room that was made for them. */
#ifndef DUEQ_NODE_QUEUE_TEXT_H
#define DUEQ_NODE_QUEUE_TEXT_H

#include "base/bytes.h"

/* Copies `from` to *room, which moves on behind it; returns the copy. */
static inline struct bytes text_put(char **room, struct bytes from)
{
    struct bytes copied = bytes_of(*room, from.len);

    if (from.len)
        memcpy(*room, from.at, from.len);
    *room += from.len;
    return copied;
}

#endif
