/* Something done to jobs by their ids, each with a request and a result of its own: cancel,
 * kick, run, reschedule. The ids are words of the command line, or with '-' lines of stdin. A
 * missing id does not stop the others; a node that does not answer does. */
#ifndef DUEQ_NODE_CTL_EACH_H
#define DUEQ_NODE_CTL_EACH_H

#include <jansson.h>

#include "node/ctl/ctl.h"
#include "node/ctl/options.h"

struct each {
    const char *method;
    const char *path;    /* for the topic and an id: "/v1/topics/%/jobs/%" */
    const json_t *body;  /* NULL: none */
    const char *expects; /* as in struct request */
    const char *done;    /* what has been done: "cancelled" */
    bool shows_due;      /* people are told the answer's due_ms */
};

/* The first word is the topic, the others are ids. */
enum ctl_exit each_run(struct ctl *ctl, const struct each *each,
                       const struct arguments *arguments);

#endif
