/* Watches at one server: on the data of a znode, or on the names under it.
 *
 * As at real servers, a watch is used up when it fires, and ends with the connection on which
 * it was set. An owner is only a pointer here; the server knows which connection it is.
 */
#ifndef DUEQ_HA_FAKE_WATCHES_H
#define DUEQ_HA_FAKE_WATCHES_H

#include <stdbool.h>

#include "base/list.h"

struct fake_watches {
    struct list all; /* in the order in which they were set */

    /* The watch is used up by then; the path is valid during the call. */
    void (*on_fired)(void *owner, const char *path);
};

void fake_watches_init(struct fake_watches *ws,
                       void (*on_fired)(void *owner, const char *path));

/* Copies the path. `is_list`: watches the names under it, not its data. */
void fake_watches_add(struct fake_watches *ws, void *owner, const char *path, bool is_list);
void fake_watches_drop(struct fake_watches *ws, const void *owner); /* all of it */

/* To be called from fake_tree's on_change. */
void fake_watches_changed(struct fake_watches *ws, const char *path, bool came_or_went);
void fake_watches_fire_all(struct fake_watches *ws);

#endif
