/* Something done to jobs by their ids, each with a request and a result of its own: cancel,
 * kick, run, reschedule. The ids are words of the command line, or with '-' lines of stdin. A
 * missing id does not stop the others; a node that does not answer does. */
#ifndef DUEQ_NODE_CTL_EACH_H
#define DUEQ_NODE_CTL_EACH_H

#include <jansson.h>

#include "node/ctl/ctl.h"
#include "node/ctl/options.h"

/* The first word is the topic, the others are ids. DELETEs the jobs, or POSTs to the path that
 * has the command's name. `body` is taken over; with a body people are told the answer's
 * due_ms. */
enum ctl_exit each_run(struct ctl *ctl, const struct arguments *arguments, const char *method,
                       json_t *body);

#endif
