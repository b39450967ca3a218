/* Watches at one server: who wants to hear when a znode changes, or when the names under it do.
 *
 * As with the real ones: a watch is used up when it fires, and ends with the connection on
 * which it was set. Whose that is only the server knows: to this file an owner is a pointer.
 */
#ifndef DUEQ_HA_SIM_FAKE_WATCHES_H
#define DUEQ_HA_SIM_FAKE_WATCHES_H

#include <stdbool.h>

#include "base/list.h"

struct fake_watches {
    struct list all; /* in the order in which they were set */

    /* The watch is used up by then; the path is valid during the call. */
    void (*on_fired)(void *owner, const char *path);
};

void fake_watches_init(struct fake_watches *ws,
                       void (*on_fired)(void *owner, const char *path));

/* Copies the path. `is_list`: of the names under it, not of its data. */
void fake_watches_add(struct fake_watches *ws, void *owner, const char *path, bool is_list);
void fake_watches_drop(struct fake_watches *ws, const void *owner); /* all of it */

/* What fake_tree's on_change says. */
void fake_watches_changed(struct fake_watches *ws, const char *path, bool came_or_went);
void fake_watches_fire_all(struct fake_watches *ws);

#endif
