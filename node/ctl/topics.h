/* What commands about topics share: topics from a node, and topics as a table. */
#ifndef DUEQ_NODE_CTL_TOPICS_H
#define DUEQ_NODE_CTL_TOPICS_H

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

/* An array of the API's topics as a table; of those that came with "owners", who scans them. */
void topics_print(const struct ctl *ctl, const json_t *topics);
void topics_print_owners(const struct ctl *ctl, const json_t *topics);

#endif
