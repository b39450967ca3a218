/* One run of an operator's program: hooks.h and vip/hook.h.
 *
 * The program runs without a shell, and nothing blocks on it. Its output goes to the log line
 * by line. A run that takes too long is killed with all that it has started: each run has a
 * process group of its own. A run is over when its process has ended, which the pidfd tells;
 * output of a grandchild that lives on is no longer read. A node that ends leaves a running
 * program alone, unheard.
 */
#ifndef DUEQ_NODE_PROGRAM_H
#define DUEQ_NODE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/loop.h"

#define PROGRAM_LABEL_MAX 40
#define PROGRAM_HOW_MAX   60

struct event;

enum program_result { PROGRAM_DONE, PROGRAM_FAILED, PROGRAM_TIMEOUT };

struct program {
    struct loop *loop;
    /* The run is over, and another one may begin. `how`: "ended with 1", "killed by signal 9",
     * "not done after 10000 ms, killed", or "done"; the program's until the next run. */
    void (*on_end)(struct program *p, enum program_result result, const char *how);

    pid_t pid; /* of the process and its group; 0: none runs */
    const char *module;
    char label[PROGRAM_LABEL_MAX];
    enum log_level level; /* of what it prints, and of its good end */
    enum log_level level_of_failure;
    int64_t timeout_ms;
    int process_fd, output_fd;
    struct event *on_exit, *on_output;
    struct timer timeout;
    bool is_late;
    struct buf line;
    unsigned lines;
    char how[PROGRAM_HOW_MAX];
};

/* `on_end` comes from the loop, never from inside program_start(). */
void program_init(struct program *p, struct loop *loop,
                  void (*on_end)(struct program *p, enum program_result result,
                                 const char *how));
void program_fini(struct program *p); /* one that runs goes on, unheard */

struct program_run {
    const char *module;      /* of the log; static */
    const char *label;       /* what lines of the log begin with: "hook promote" */
    const char *const *argv; /* NULL-terminated; the first is the program's absolute path */
    int64_t timeout_ms;
    bool is_quiet; /* everything about the run is logged at debug */
    /* Called with the process group from inside program_start(); the program begins when it has
     * returned, and never if this process dies before. May be NULL. */
    void (*on_group)(struct program *p, pid_t group);
};

/* Only while none runs. False, with errno: the program could not be run; that is logged, and
 * on_end() will not come. */
bool program_start(struct program *p, const struct program_run *run);

#endif
