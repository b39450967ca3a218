/* The files of the embedded Redis's append-only file, looked at before Redis reads them.
 *
 * The mark is a file with their lengths when Redis ended well, kept beside them. With it the
 * next start sees a file that was shortened meanwhile, even by whole commands.
 *
 * The mark makes no false alarm: a file of a name only grows until it is gone (a rewrite begins
 * files with new names, and Redis's own cut of an incomplete command is reported separately),
 * and the file's bytes are on disk before the mark is. So an old mark says less, never anything
 * wrong. A single missing file is not reported; when all files or their directory are gone, all
 * their bytes count as missing (an unmounted disk looks like that). After a crash there is no
 * mark, because it is removed when Redis works. Before Redis 7 there is none either: the one
 * file keeps its name and shrinks when it is rewritten.
 */
#ifndef DUEQ_NODE_WARDEN_AOF_FILES_H
#define DUEQ_NODE_WARDEN_AOF_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "node/warden/datadir.h"

#define AOF_MARK_FILE "appendonly.sizes"
#define AOF_ASIDE     ".unlisted" /* behind the name of what is put aside */
#define AOF_NAME_MAX  (NAME_MAX + sizeof(DATADIR_AOF)) /* of a file in its directory */

/* Call when Redis has ended and nothing writes there. A file that cannot be synced is left out;
 * on failure there is no mark. Blocks until the mark is on disk, no longer than Redis's own end
 * did, which has synced the same files. */
void aof_mark_write(const struct datadir *d);

/* By how many bytes the files are shorter than the mark says; where all are gone, how many
 * bytes there were. 0: none, or there is no mark. */
uint64_t aof_mark_missing(const struct datadir *d);

/* Redis begins without `missing` bytes: the mark says so from now on, until a start has
 * succeeded and the mark is removed. The files may have other names by then. */
void aof_mark_keep_loss(const struct datadir *d, uint64_t missing);

void aof_mark_remove(const struct datadir *d);

/* Data that the list of the files, the manifest, lacks: Redis would not read it, and overwrite
 * some.
 *
 * A crash at any moment of a rewrite is no such loss: a file that grows is listed while it is
 * still empty, a new base may be unlisted only as long as the old one is listed with all that
 * grows, and files from before the listed base have nothing that it has not. */
struct aof_unlisted {
    uint64_t bytes; /* 0: nothing is lacking, or Redis refuses the list and does not start */
    uint64_t aside_bytes;    /* of Redis's files that aof_put_aside() would put aside */
    char name[NAME_MAX + 1]; /* of the largest such file; "": the list itself is missing */
    bool is_tail; /* a base is listed, and the unlisted came later: Redis reads a whole store */
};

struct aof_unlisted aof_unlisted(const struct datadir *d);

/* Finds one of the files, or their directory, that Redis may not read and write: Redis runs as
 * this user, without capabilities. `name` is relative to the data directory. False: there is
 * none. */
bool aof_is_denied(const struct datadir *d, char name[AOF_NAME_MAX + 1]);

/* Appends AOF_ASIDE to the names of those files where they are the tail, else to the name of
 * their directory (or of the link to it), so that Redis leaves them alone. IO_ERROR: it could
 * not, or the new name is taken; errno says why. */
enum status aof_put_aside(const struct datadir *d,
                          const struct aof_unlisted *unlisted) MUST_CHECK;

#endif
