/* Proves, slowly and for ever, that every job is in its one place, and mends what is not.
 * audit_steps.h has what it asks of the store, this file when.
 *
 * It walks through all topics of the store (walk.h), and through the pages of each (AUDIT).
 * What looks wrong there is looked at a second time some seconds later (suspects.h); what is
 * wrong again is judged, and mended, by a script that looks at this job alone, exactly
 * (REPAIR). So a healthy job is never touched.
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
 * - What is in a bucket that is out of reach is left for the next walk.
 * - OFF holds no memory but where the walk was.
 * - It rests after each answer for as long as that has cost: what was looked at by audit_rate,
 *   and some times what the answer took, so that a busy store has little of it.
 * - What it may do next is decided when it has rested: mend, else look again, else walk on.
 *
 * Walks begin WALK_MS apart at least.
 *
 * LIMITING: the configuration's limits of the dead are applied by the scan. It comes to a topic
 * with the topic's next event, and where nothing happens any more there is none, however many
 * dead were left when other rules held. So when the rules may have changed (a reload, or the
 * node has become active), an event is planned for each topic that has such limits: in what is
 * left of the walk, and in a whole one.
 */
#ifndef DUEQ_NODE_QUEUE_RECONCILER_H
#define DUEQ_NODE_QUEUE_RECONCILER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "node/queue/repair_log.h"
#include "node/queue/suspects.h"
#include "node/queue/walk.h"
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
    size_t page_len;    /* of the topic: looked at up to there */
    char page[OP_CURSOR_MAX];
    int64_t walk_at_mono_ms; /* not before then */
    int64_t next_walk_mono_ms;

    struct suspects suspects;
    struct suspected *suspect; /* LOOKING_AGAIN, MENDING */

    unsigned limiting_walks; /* with this one: in them the scan is called for the dead */
    bool is_limited;         /* the topic: it was */

    struct repair_log log;
};

void reconciler_init(struct reconciler *r, struct core *core);
void reconciler_fini(struct reconciler *r);

void reconciler_set_active(struct reconciler *r, bool is_active);
void reconciler_set_store(struct reconciler *r, bool is_up);

/* The store has fallen back: the walk begins anew, at once. */
void reconciler_begin_anew(struct reconciler *r);

/* The options may have changed. */
void reconciler_reload(struct reconciler *r);

/* The engine stops: nothing more is sent. */
void reconciler_close(struct reconciler *r);

#endif
