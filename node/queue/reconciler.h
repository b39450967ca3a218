/* Proves, slowly and for ever, that every job is in its one place, and mends what is not.
 * reconciler.c decides when to ask the store, audit_steps.c has the operations.
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
#include "base/list.h"
#include "base/timer.h"
#include "node/queue/hash.h"
#include "node/store/op.h"

/* The lines of the log about what was mended: at most REPAIR_LOG_LINES in REPAIR_LOG_MS, and
 * then how many more there were. A damaged store has a million repairs to tell.
 */

struct repair_log {
    unsigned said, unsaid; /* since then */
    int64_t since_mono_ms;
};

/* `id` is "" for the topic itself. */
void repair_log_say(struct repair_log *log, struct bytes topic, struct bytes id,
                    enum damage damage, int64_t now_mono_ms);

/* Says how many more there were, if it is time. */
void repair_log_tick(struct repair_log *log, int64_t now_mono_ms);

/* A walk through the topics of the whole store, as PLACES names them: page after page.
 *
 * A topic is named once for each of its keys, on whatever pages they are. The walk notes the
 * topics it has met in a table of bits, so that each comes once: where one bit stands for
 * several topics, only the first comes. Each walk draws the bits anew, so the next one misses
 * others.
 */

struct walk {
    size_t after_len; /* the cursor of the current page; 0: the first one */
    char after[OP_CURSOR_MAX];
    size_t next_len; /* of the page behind it; 0: none */
    char next[OP_CURSOR_MAX];

    char *names; /* of the page: each behind its length in one byte; NULL: not named yet */
    size_t names_len, names_at;
    uint8_t *met; /* NULL: nothing yet */
    uint64_t seed;
};

void walk_init(struct walk *w);

/* Frees the walk's memory; the walk can go on with its current page. */
void walk_pause(struct walk *w);

/* walk_after() is the cursor for a PLACES, walk_take_page() takes its answer. */
struct bytes walk_after(const struct walk *w);
void walk_take_page(struct walk *w, const struct op *places);

/* The next topic of the page, valid until the page is turned. False: that was all of it. */
bool walk_next_topic(struct walk *w, struct bytes *topic);

/* False: the walk is over, and begins anew. */
bool walk_turn_page(struct walk *w);
void walk_begin_anew(struct walk *w);

/* Jobs and topics that looked wrong, until they have been looked at again.
 *
 *   seen --> FRESH --seen again, REST_MS or more behind the first time--> SURE --> forgotten
 *              |                                                            ^
 *              +--looked for, and not seen--> FAINT --seen again------------+
 *
 * A healthy job that moves may look wrong once; a wrong one stays wrong. A faint suspect was
 * most likely healthy; but some places are looked at at random, and then only a later walk sees
 * the damage again. So a faint one is kept until a fresh one needs its room. There is room for
 * SUSPECTS_MAX; one that finds none is left to a later walk.
 */

#define SUSPECTS_MAX     4096
#define SUSPECTS_REST_MS 3000
#define SUSPECT_ID_MAX   1024 /* bytes: one that dueq never gave may be longer than ours */

struct suspected {
    UT_hash_handle hh;
    struct list link;
    bool is_sure;
    int64_t seen_mono_ms;         /* for the first time */
    struct bytes topic, id, page; /* in text; `page`: the audit's cursor that showed it */
    char text[];                  /* the hash's key (topic, line end, id), then the page */
};

struct suspects {
    struct suspected *by_name; /* hash: all of them */
    struct list fresh;         /* the one seen first comes first */
    struct list faint;         /* the one that is faint for longest comes first */
    struct list sure;          /* topics behind the jobs */
};

void suspects_init(struct suspects *ss);

/* Forgets all. */
void suspects_clear(struct suspects *ss);

/* True: seen for the first time, and remembered. */
bool suspects_see(struct suspects *ss, struct bytes topic, struct bytes id, struct bytes page,
                  int64_t now_mono_ms);

/* A suspect to be looked at again now, or NULL; and how long until there is one, -1: never. */
struct suspected *suspects_find_rested(struct suspects *ss, int64_t now_mono_ms);
int64_t suspects_wait_ms(const struct suspects *ss, int64_t now_mono_ms);

/* A suspect that was seen twice, or NULL. A topic is mended after its jobs: else a job too
 * early in its place would bring the topic an event before the right time. */
struct suspected *suspects_find_sure(struct suspects *ss);

/* A fresh one was not seen again. */
void suspects_doubt(struct suspects *ss, struct suspected *s);
void suspects_forget(struct suspects *ss, struct suspected *s);

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
