/* What `topics`, `stats` and `topic` share: all topics of a node, and topics as a table. */
#ifndef DUEQ_NODE_CTL_TOPICS_H
#define DUEQ_NODE_CTL_TOPICS_H

#include <jansson.h>

#include "node/ctl/ctl.h"
#include "node/ctl/table.h"

/* All pages of "/v1/topics" or the like, put together: sorted by name, each topic once. Speaks
 * up when it fails; else `*topics` is the caller's. */
enum ctl_exit topics_fetch(struct ctl *ctl, const char *path, json_t **topics);

/* All topics with their owners: {"topics", "unreached"}, the buckets whose topics are missing.
 */
enum ctl_exit topics_fetch_owners(struct ctl *ctl, json_t **all);

/* A cell: is the API's topic paused, and until when? */
void topics_add_pause(struct table *table, const json_t *topic);

/* An array of the API's topics as a table; of those that came with "owners", who scans them. */
void topics_print(const struct ctl *ctl, const json_t *topics);
void topics_print_owners(const struct ctl *ctl, const json_t *topics);

#endif
