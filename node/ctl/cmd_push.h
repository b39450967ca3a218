/* push: one job from the command line, or many from lines of input. */
#ifndef DUEQ_NODE_CTL_CMD_PUSH_H
#define DUEQ_NODE_CTL_CMD_PUSH_H

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

#endif
