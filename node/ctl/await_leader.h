/* Waiting until another node leads, as an operator wanted. */
#ifndef DUEQ_NODE_CTL_AWAIT_LEADER_H
#define DUEQ_NODE_CTL_AWAIT_LEADER_H

#include <jansson.h>
#include <stdint.h>

#include "node/ctl/ctl.h"

/* Texts are borrowed. */
struct await_leader {
    struct ctl *ctl;
    const char *what; /* the command, for people */
    const char *to;   /* who is to lead; "": any but the one before */
    char before[65];  /* who led before; "": nobody */
    int64_t epoch;    /* the highest there was before */

    /* Its own. */
    int64_t patience_ms;
    int64_t begin_mono_ms;
    int64_t new_mono_ms;  /* since a new leader was seen; -1: not so far */
    int64_t gone_mono_ms; /* since the request was gone from the page; -1: not so far */
};

/* How it was before the request, from GET /v1/cluster. */
void await_leader_init(struct await_leader *a, struct ctl *ctl, const char *what,
                       const char *to, const json_t *page);

/* Call when the node has taken the request. CTL_DONE: prints who leads, and for how long nobody
 * did. Else prints what is wrong: CTL_REFUSED where another node leads than was wanted, or the
 * request was given up; CTL_UNKNOWN where the patience is over. */
enum ctl_exit await_leader(struct await_leader *a);

#endif
