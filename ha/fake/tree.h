/* A fake server's znodes, the watches on them, and answers that it gives from both.
 *
 * The tree has paths, data, versions, owners, and writes of which all changes happen or none.
 * It knows nothing of sessions or time; a test may read or change it directly.
 *
 * A watch is on the data of a znode, or on the names under it. As at real servers, a watch is
 * used up when it fires, and ends with the connection on which it was set. An owner is only a
 * pointer here; the server knows which connection it is.
 */
#ifndef DUEQ_HA_FAKE_TREE_H
#define DUEQ_HA_FAKE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "ha/coord/coordinator.h"

struct fake_message;

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
    int64_t number;      /* counts writes and ends of sessions, as ZooKeeper's zxid does */
    struct list watches; /* in the order in which they were set */
    /* A watch has fired, and is used up. The path is valid during the call. */
    void (*on_watch)(void *owner, const char *path);
};

void fake_tree_init(struct fake_tree *t, void (*on_watch)(void *owner, const char *path));
void fake_tree_fini(struct fake_tree *t); /* no watch fires */

/* All znodes are gone, and all watches fire. */
void fake_tree_wipe(struct fake_tree *t);

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

void fake_tree_unwatch(struct fake_tree *t, const void *owner); /* all of its watches */

/* The answer to a ping, a read or a list, for the caller to send; for a write an empty answer,
 * which the caller fills in. Sets a requested watch for `owner`. */
struct fake_message *fake_tree_answer(struct fake_tree *t, void *owner,
                                      const struct fake_message *request);

#endif
