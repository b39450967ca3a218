/* The two texts that pass between us and our own redis-server: the configuration we write
 * for it, and the log lines that it writes for us. Pure.
 */
#ifndef DUEQ_NODE_WARDEN_REDIS_TEXT_H
#define DUEQ_NODE_WARDEN_REDIS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/log.h"

#define EMBEDDED_REDIS_SOCKET "redis.sock"
#define EMBEDDED_REDIS_CONF   "redis.conf"

struct redis_text_options {
    const char *appendfsync; /* Redis's word: "always" or "everysec" */
    bool is_strict;          /* it does not start where it would have to cut its file */
    uint64_t memory_bytes;   /* maxmemory; 0: no limit */
};

/* All paths in it are relative: the server runs in the data directory. */
void redis_text_conf(struct buf *to, const struct redis_text_options *options);

/* One line of its log without the newline, "pid:role date time mark message": gives the
 * message, which borrows from the line, and what the mark says about its weight. A line of any
 * other form (the dynamic linker's, say) is a warning as a whole. */
enum log_level redis_text_log_line(struct bytes line, struct bytes *message);

/* Does the message say that Redis cuts its append-only file? `file`, borrowed from the message,
 * is which ("": the only one), `offset` after how many bytes. */
bool redis_text_cuts(struct bytes message, struct bytes *file, uint64_t *offset);

/* Does the message say that Redis cannot write its append-only file? Mostly a full disk, which
 * Redis does not say. */
bool redis_text_cannot_write(struct bytes message);

/* Does the message say that Redis can write again? With `appendfsync everysec` it does not end
 * meanwhile. */
bool redis_text_writes_again(struct bytes message);

/* Does the message say that the system denies Redis to read or write something? It rarely says
 * what. */
bool redis_text_is_denied(struct bytes message);

/* Does the message say that Redis would have to cut its file, and must not? */
bool redis_text_must_not_cut(struct bytes message);

/* Where the limit of memory of a process's control group is, from its /proc/self/cgroup. */
void redis_text_limit_path(struct buf *to, struct bytes groups);

/* Changes the path to that of the group above; false: there is none. */
bool redis_text_limit_above(struct buf *path);

/* How much memory a process may have: the machine's, from /proc/meminfo, or what the text of a
 * limit of its control group says, where that is less ("max" and "" are none). 0: not known. */
uint64_t redis_text_memory(struct bytes meminfo, struct bytes limit);

#endif
