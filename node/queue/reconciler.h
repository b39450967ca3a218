/* Proves, slowly and for ever, that every job is in its one place, and mends what is not.
 *
 * The reconciler walks through all topics of the store (struct walk), and through the pages of
 * each (AUDIT). A job that looks wrong is looked at again some seconds later (struct suspects).
 * A job that looks wrong twice is judged, and mended, by a script that looks at this job alone,
 * exactly (REPAIR). So a healthy job is never touched.
 *
 *                 it may work                  its time has come
 *   OFF <---------------------------> RESTING ------------------> NAMING         topics' names
 *    ^           it may not            ^   ^                      LOOKING        at a page
 *    |                                 |   |                      LOOKING_AGAIN  at a suspect's
 *    |                                 |   |                      MENDING
 *    | answer                          |   +------ answer ------- LIMITING
 *    +---------- LEAVING --------------+                               | it may not any more
 *                   ^        answer, and it may again                  |
 *                   +--------------------------------------------------+
 *
 * - It may work on the active node, while the store is up and options.audit_rate is not 0.
 * - From NAMING to LEAVING one operation is on its way; the store gives each its deadline.
 * - A bucket that is out of reach is left for the next walk.
 * - OFF holds no memory but where the walk was.
 * - It rests after each answer as long as audit_rate says for what was looked at, and some
 *   times as long as the answer took: a busy store has little work with it.
 * - After the rest it decides what is next: mend, else look again, else walk on.
 *
 * Walks begin WALK_MS apart at least.
 *
 * LIMITING: the scan applies the configuration's limits of the dead, but comes to a topic only
 * with the topic's next event. A quiet topic has no event, however many dead earlier rules have
 * left. So when the rules may have changed (a reload, or the node has become active), an event
 * is planned for each topic that has such limits: in the rest of this walk, and in a whole one.
 */
#ifndef DUEQ_NODE_QUEUE_RECONCILER_H
#define DUEQ_NODE_QUEUE_RECONCILER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/timer.h"
#include "node/queue/audit.h"
#include "node/store/op.h"

#define RECONCILER_START_MS 5000 /* from OFF to the first look */
#define RECONCILER_WALK_MS  10000

struct core;

enum reconciler_state {
    RECONCILER_OFF,
    RECONCILER_RESTING,
    RECONCILER_NAMING,
    RECONCILER_LOOKING,
    RECONCILER_LOOKING_AGAIN,
    RECONCILER_MENDING,
    RECONCILER_LIMITING,
    RECONCILER_LEAVING,
    RECONCILER_STATE_COUNT,
};

struct reconciler {
    struct core *core;
    enum reconciler_state state;
    bool is_active;
    bool is_store_up;
    bool is_closing;
    bool is_to_begin_anew; /* with the answer that is on its way */
    struct timer rest;
    struct op op;

    struct walk walk;
    struct bytes topic; /* in the walk's names; "": one is to be named */
    size_t page_len;    /* the cursor in the topic: looked at up to there */
    char page[OP_CURSOR_MAX];
    int64_t walk_at_mono_ms; /* not before then */
    int64_t next_walk_mono_ms;

    struct suspects suspects;
    struct suspected *suspect; /* LOOKING_AGAIN, MENDING */

    unsigned limiting_walks; /* walks, with this one, that call the scan for the dead */
    bool is_limited;         /* the scan was called to this topic */

    struct repair_log log;
};

void reconciler_init(struct reconciler *r, struct core *core);
void reconciler_fini(struct reconciler *r);
void reconciler_set_active(struct reconciler *r, bool is_active);
void reconciler_set_store(struct reconciler *r, bool is_up);

/* The store was rolled back: the walk begins anew, at once. */
void reconciler_begin_anew(struct reconciler *r);

/* The options may have changed. */
void reconciler_reload(struct reconciler *r);

/* The engine stops: nothing more is sent. */
void reconciler_close(struct reconciler *r);

#endif
