/* The embedded Redis, for an installation without one: a redis-server as a child of the warden,
 * on a unix socket in the data directory, with the append-only file on.
 *
 * It inherits the directory's lock and gets SIGTERM when the warden dies, so a second one
 * never opens the same files. It is in a process group of its own: Ctrl-C in a terminal
 * reaches the warden, which stops the worker first. A probe over the socket tells when it
 * answers.
 *
 * Its log lines come through a pipe into ours, as the module "redis-server". Its messages at
 * start and end are logged at a lower level, because Redis marks even greetings as warnings;
 * when it ends before it works, its last warnings are repeated as errors.
 */
#ifndef DUEQ_NODE_WARDEN_REDIS_H
#define DUEQ_NODE_WARDEN_REDIS_H

#include "base/buf.h"
#include "node/warden/child.h"
#include "node/warden/datadir.h"

struct embedded_redis_options {
    const char *program;     /* a name looked up in PATH, or a path */
    const char *appendfsync; /* "always" or "everysec" */
    bool is_strict;          /* it does not start where it would have to cut its file */
    uint64_t memory_bytes;   /* that it may use; 0: half of what there is */
    int64_t backoff_max_ms;
};

/* For the worker: in memory that both processes share. */
struct embedded_redis_facts {
    _Atomic uint64_t cut_bytes; /* missing in its file at loading, of all processes so far */
    _Atomic bool cannot_write;  /* its file; until it can, or the next process works */
};

struct embedded_redis {
    struct child child;
    const struct datadir *datadir;
    char *program;     /* absolute where it is a path: the child changes its directory */
    char *socket_path; /* as the worker connects to it */
    bool has_answered; /* this process has, even if only that it is loading */

    int log_fd; /* -1: no process writes to it */
    char line[1024];
    size_t line_len;
    struct buf words;   /* the last warnings of this process until it worked */
    uint64_t aof_bytes; /* of its file, when this process was started */
    struct embedded_redis_facts *facts;

    int probe_fd; /* -1: no probe is on its way */
    int64_t probe_mono_ms;
    int64_t report_mono_ms; /* next word about how long it takes */
};

/* Checks the program and writes redis.conf. `datadir` is borrowed for the redis's life.
 * IO_ERROR: the log says why. */
enum status embedded_redis_init(struct embedded_redis *r,
                                const struct embedded_redis_options *options,
                                const struct datadir *datadir) MUST_CHECK;

/* Closes what is ours; a running process is not touched. */
void embedded_redis_fini(struct embedded_redis *r);

/* To be called when log_fd, probe_fd can be read. */
void embedded_redis_read_log(struct embedded_redis *r);
void embedded_redis_read_probe(struct embedded_redis *r, int64_t now_mono_ms);

/* child_exited(), after the process's last log lines. */
void embedded_redis_exited(struct embedded_redis *r, const char *how, int64_t now_mono_ms);

/* child_tick() and the probes. Returns the ms until the next call, -1: none. */
int64_t embedded_redis_tick(struct embedded_redis *r, int64_t now_mono_ms);

#endif
