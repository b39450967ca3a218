/* How long the files of the append-only file were when the embedded Redis ended well, kept
 * beside them, so that the next start sees one that was shortened meanwhile, also by whole
 * commands.
 *
 * It makes no false alarm: a file of a name only grows until it is gone (a rewrite begins files
 * with new names, and Redis's own cut of an incomplete command is told for itself), and its
 * bytes are on disk before the mark is. So a mark that is old says less, and never anything
 * wrong. A single file that is missing is not told; when all are gone, or their directory is,
 * all their bytes are (a disk that is not mounted looks like that). After a crash there is no
 * mark, because it is removed when Redis works. Redis 7 alone has such names; before it the one
 * file shrinks when it is rewritten, and there is no mark.
 */
#ifndef DUEQ_NODE_WARDEN_AOF_SIZES_H
#define DUEQ_NODE_WARDEN_AOF_SIZES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "node/warden/datadir.h"

#define AOF_MARK_FILE "appendonly.sizes"
#define AOF_ASIDE     DATADIR_AOF ".unlisted"
#define AOF_NAME_MAX  (NAME_MAX + sizeof(DATADIR_AOF)) /* of a file in its directory */

/* Redis has ended and nothing writes there. What cannot be written is left out, or all of it.
 * Blocks until it is on disk. That takes no longer than Redis's own end did on that disk: it
 * has synced the same files. */
void aof_sizes_write(const struct datadir *d);

/* By how many bytes files are shorter than the mark says, or how many there were where all are
 * gone; 0: by none, or there is no mark. */
uint64_t aof_sizes_missing(const struct datadir *d);

/* So many are missing, and Redis begins without them: the mark says that from now on, until a
 * start has succeeded and it is removed. By then there may be other files of other names. */
void aof_sizes_keep_loss(const struct datadir *d, uint64_t missing);

void aof_sizes_remove(const struct datadir *d);

/* Bytes of files that their list, the manifest, lacks: Redis would not read them, and overwrite
 * some. `name` is the largest of them; "": the list itself is missing. 0: nothing is lacking,
 * or Redis refuses the list, says so, and does not start.
 *
 * A crash at any moment of a rewrite is no such loss: a file that grows is listed while it is
 * still empty, and a new base may be unlisted only as long as the old one is listed. */
uint64_t aof_unlisted(const struct datadir *d, char name[NAME_MAX + 1]);

/* One of the files, or their directory, that Redis may not read and write: it runs as this
 * user, without capabilities. `name` is in the data directory. False: there is none. */
bool aof_is_denied(const struct datadir *d, char name[AOF_NAME_MAX + 1]);

/* Their directory gets the name AOF_ASIDE, so that Redis leaves them alone; of a link it is the
 * link. IO_ERROR: it could not, or there is one of that name already; errno says why. */
enum status aof_put_aside(const struct datadir *d) MUST_CHECK;

#endif
