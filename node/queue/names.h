/* What a topic and an id may look like. Pure.
 *
 * Neither may be "." or "..": clients and proxies resolve these in a path, escaped or not, and
 * /v1/topics/t/jobs/../kick, which is to kick one job, kicks all.
 */
#ifndef DUEQ_NODE_QUEUE_NAMES_H
#define DUEQ_NODE_QUEUE_NAMES_H

#include <stdbool.h>

#include "base/bytes.h"

#define NAME_MAX_BYTES 200

/* 1 to 200 of [A-Za-z0-9_.:/+;$()-], not starting with '-': beanstalkd's tube names. */
bool topic_name_is_valid(struct bytes topic);

/* 1 to 200 printable ASCII characters without white space. */
bool job_id_is_valid(struct bytes id);

#endif
