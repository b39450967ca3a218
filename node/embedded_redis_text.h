/* The two texts that pass between us and our own redis-server: the configuration we write
 * for it, and the log lines that it writes for us. Pure.
 */
#ifndef DUEQ_NODE_EMBEDDED_REDIS_TEXT_H
#define DUEQ_NODE_EMBEDDED_REDIS_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/log.h"

#define EMBEDDED_REDIS_SOCKET "redis.sock"
#define EMBEDDED_REDIS_CONF   "redis.conf"

/* `appendfsync` is Redis's word: "always" or "everysec". All paths in it are relative: the
 * server runs in the data directory. */
void redis_text_conf(struct buf *to, const char *appendfsync);

/* One line of its log without the newline, "pid:role date time mark message": gives the
 * message, which borrows from the line, and what the mark says about its weight. A line of any
 * other form (the dynamic linker's, say) is a warning as a whole. */
enum log_level redis_text_log_line(struct bytes line, struct bytes *message);

#endif
