/* Many jobs of a topic kicked or purged, request after request, with progress on a terminal.
 *
 * Each request asks for so many as should take a moment, so that none runs into its timeout and
 * an interrupt is obeyed soon: the one under way is finished, and what came of all is said.
 * What was there when it began is swept; what comes in meanwhile is not waited for.
 */
#ifndef DUEQ_NODE_CTL_SWEEP_H
#define DUEQ_NODE_CTL_SWEEP_H

#include <jansson.h>

#include "node/ctl/ctl.h"

struct sweep {
    const char *topic;
    const char *path;   /* for the topic: "/v1/topics/%/kick" */
    const json_t *body; /* what each request says beside its limit */
    const char *done;   /* "kicked" */
    int64_t total;      /* at most so many are to be swept */
};

/* The topic's counts, as GET /v1/topics/{topic} answers them; speaks up when it fails. */
enum ctl_exit sweep_counts(struct ctl *ctl, const char *topic, json_t **counts);

enum ctl_exit sweep_run(struct ctl *ctl, const struct sweep *sweep);

#endif
