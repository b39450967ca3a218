/* The data directory, and the proof that it has one owner.
 *
 * The lock is an flock() on the file `lock` in it. Worker and embedded Redis inherit the open
 * file, and with it the lock: it is free only when the last process that could touch the
 * directory is gone, however it went. So the process that gets the lock may open the files, and
 * the ports of the predecessor are free as well. The text in the file (pid and host of the
 * warden) only makes the error message helpful; nothing is decided by it but how long to wait.
 *
 * A user who can write to the directory could lead a node of root's astray: by a link there the
 * node would write to any file of the system. So root takes a directory only when it and
 * everything in it are root's, nobody else may write to it, and nobody else can change any part
 * of the way there; the same holds for the directory of Redis's files, wherever root's link
 * leads. For every user the node's own files are opened beneath the directory's descriptor, and
 * only when they are plain files with one name.
 */
#ifndef DUEQ_NODE_WARDEN_DATADIR_H
#define DUEQ_NODE_WARDEN_DATADIR_H

#include <stdint.h>

#include "base/status.h"

#define DATADIR_AOF "appendonlydir" /* Redis's own name for the directory of its files */

struct datadir {
    char *path;  /* as configured */
    int dir_fd;  /* close-on-exec */
    int lock_fd; /* close-on-exec; clear that in a child that shall hold the lock */
};

/* Makes the directory where it is missing (mode 0700), and locks it. When its owner's warden is
 * gone, waits up to `wait_ms` for the processes left behind. IO_ERROR: the log says why. */
enum status datadir_open(struct datadir *d, const char *path, int64_t wait_ms) MUST_CHECK;

/* A file of the node's own, made where it is missing (mode 0600), open for reading and writing,
 * close-on-exec. -1: the log says why. */
int datadir_open_file(const struct datadir *d, const char *name) MUST_CHECK;

/* The directory of Redis's files, for reading, close-on-exec. A link there is followed, as
 * Redis does: for a node of root's, datadir_open() has seen that it is root's own, and all that
 * is where it leads. -1: there is none, or it cannot be read; errno says why. */
int datadir_open_aof(const struct datadir *d) MUST_CHECK;

/* The directory and the files stay. */
void datadir_close(struct datadir *d);

#endif
