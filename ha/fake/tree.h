/* The fake ensemble's znodes: paths, data, versions, owners, and writes of which all changes
 * happen or none. The tree knows nothing of sessions or time; a test may read or change it
 * directly.
 */
#ifndef DUEQ_HA_FAKE_TREE_H
#define DUEQ_HA_FAKE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "ha/coord/coordinator.h"

struct fake_znode {
    struct list link;
    char *path;
    struct buf data;
    int32_t version;
    int64_t owner;       /* session; 0: persistent */
    int64_t list_number; /* of the newest change of the names under it */
};

struct fake_tree {
    struct list znodes;
    int64_t number; /* counts writes and ends of sessions, as ZooKeeper's zxid does */
    /* Called after each change that stays. `came_or_went`: the parent's list changed, too. */
    void (*on_change)(struct fake_tree *tree, const char *path, bool came_or_went);
};

void fake_tree_init(struct fake_tree *t);
void fake_tree_fini(struct fake_tree *t);

/* Borrowed until the next write; NULL: not there. */
const struct fake_znode *fake_tree_find(const struct fake_tree *t, const char *path);

/* Makes all of the changes or none; ephemerals belong to `owner`. Unless OK, `failed` says
 * which change was refused. */
enum coord_status fake_tree_write(struct fake_tree *t, const struct coord_change *changes,
                                  unsigned count, int64_t owner, unsigned *failed);

/* The last component of `path` if it is directly under `parent`, else NULL. */
const char *fake_tree_name_under(const char *parent, const char *path);

/* Deletes the ephemerals of a session that has ended. */
void fake_tree_remove_owned(struct fake_tree *t, int64_t owner);

#endif
