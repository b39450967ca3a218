/* What `topics` and `stats` share: all topics of a node, and topics as a table. */
#ifndef DUEQ_NODE_CTL_TOPICS_H
#define DUEQ_NODE_CTL_TOPICS_H

#include <jansson.h>

#include "node/ctl/ctl.h"

/* All pages, put together: sorted by name, each topic once. Speaks up when it fails; else
 * `*topics` is the caller's. */
enum ctl_exit topics_fetch(struct ctl *ctl, json_t **topics);

/* An array of the API's topics as a table. */
void topics_print(const struct ctl *ctl, const json_t *topics);

#endif
