/* What the two files of `push` share: cmd_push.c for a job, push_lines.c for many. */
#ifndef DUEQ_NODE_CTL_PUSH_H
#define DUEQ_NODE_CTL_PUSH_H

#include <jansson.h>

#include "base/bytes.h"
#include "node/ctl/options.h"

/* The rows of push_command's options. */
enum {
    PUSH_ID,
    PUSH_DELAY,
    PUSH_AT,
    PUSH_TTR,
    PUSH_FILE,
    PUSH_LINES,
    PUSH_PRIORITY,
    PUSH_MAX_TRIES,
    PUSH_BACKOFF,
    PUSH_TTL,
    PUSH_MODE
};

/* The caller's. */
json_t *push_job(const struct arguments *arguments, struct bytes body);

/* Jobs of all lines of `fd`, in arrays. */
enum ctl_exit push_lines(struct ctl *ctl, const struct arguments *arguments, int fd);

#endif
