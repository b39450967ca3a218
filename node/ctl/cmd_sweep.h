/* Many jobs of a topic kicked or purged, request after request, with progress on a terminal.
 *
 * Each request asks for so many as should take a moment, so that none runs into its timeout and
 * an interrupt is obeyed soon: the one under way is finished, and what came of all is said.
 * What was there when it began is swept; what comes in meanwhile is not waited for. That is why
 * each state is a part with a count of its own: under one count for all, jobs that come into
 * the first state meanwhile would be swept in the place of those of the others. But jobs move
 * on, from state to state: what a part does not find any more is looked for in the next ones,
 * beside what is counted there.
 */
#ifndef DUEQ_NODE_CTL_CMD_SWEEP_H
#define DUEQ_NODE_CTL_CMD_SWEEP_H

#include <jansson.h>

#include "node/ctl/ctl.h"

#define SWEEP_PARTS_MAX 4

struct sweep_part {
    json_t *body;  /* what each request says beside its limit */
    int64_t total; /* at most so many are to be swept, and those that earlier parts miss */
    int64_t there; /* so many there were when it began; may be more than `total` */
};

struct sweep {
    const char *topic;
    const char *path;                         /* for the topic: "/v1/topics/%/kick" */
    const char *done;                         /* "kicked" */
    struct sweep_part parts[SWEEP_PARTS_MAX]; /* one after the other */
    int part_count;
    bool is_cut; /* people want fewer than there are: whether some are left is to be said */
};

#endif
