/* What cmd_topics.c does for other commands: topics from a node, and their pause in a table. */
#ifndef DUEQ_NODE_CTL_CMD_TOPICS_H
#define DUEQ_NODE_CTL_CMD_TOPICS_H

#include <jansson.h>
#include <stdbool.h>

#include "node/ctl/ctl.h"
#include "node/ctl/table.h"

#define TOPICS_COUNTS   "/v1/topics"
#define TOPICS_SETTINGS "/v1/settings"

/* All pages put together: {"topics", "unreached"}. The topics are sorted by name, each once,
 * with their owners or without; of the unreached buckets the topics are missing. Speaks up when
 * it fails; else `*all` is the caller's. */
enum ctl_exit topics_fetch(struct ctl *ctl, const char *path, bool has_owners, json_t **all);

/* One topic with its counts, as GET /v1/topics/{topic} answers; speaks up when it fails. */
enum ctl_exit topics_fetch_one(struct ctl *ctl, const char *name, json_t **topic);

/* A cell: is the API's topic paused, and until when? */
void topics_add_pause(struct table *table, const json_t *topic);

#endif
