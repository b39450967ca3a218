/* Tells the node that scans a topic of its next event, by way of the store.
 *
 * What is so far away that a safety scan comes before it, that scan finds. And who has been
 * told of an event that is still to come scans then, and sees what came in meanwhile: one that
 * is not earlier needs no word. So there is one hint on its way for each share of a bucket, or,
 * where one node scans all, for each bucket: by share it would tell 60 times as often, of
 * 10,000 pushes a second that are due in 500 ms. (So what is pushed through a node that stands
 * by may be a second late while a cluster is changed to one in which all scan.)
 */
#ifndef DUEQ_NODE_QUEUE_HINTS_H
#define DUEQ_NODE_QUEUE_HINTS_H

#include <stdbool.h>
#include <stdint.h>

struct core;

struct hints {
    struct core *core;
    bool are_shared;       /* each share of a bucket has its own scanner */
    int64_t *said_mono_ms; /* when the event is that was told last */
};

void hints_init(struct hints *h, struct core *core);
void hints_fini(struct hints *h);

/* From now on; or who scans what has changed: what was said may have been said to others. */
void hints_share(struct hints *h);

/* A topic of that share has its first event in `wait_ms`. */
void hints_tell(struct hints *h, unsigned bucket, unsigned share, int64_t wait_ms);

#endif
