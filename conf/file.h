/* Reads a small file whole. */
#ifndef DUEQ_CONF_FILE_H
#define DUEQ_CONF_FILE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/status.h"

/* Appends the file's bytes to `to`. IO_ERROR when it cannot be read, is larger than
 * `bytes_max` or has one of the `forbidden` permission bits: then `why` says so to the
 * operator, and `to` is as it was. */
enum status file_read(const char *path, size_t bytes_max, mode_t forbidden, struct buf *to,
                      struct buf *why) MUST_CHECK;

#endif
