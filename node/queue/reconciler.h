/* Proves, slowly and for ever, that every job is in its one place, and mends what is not.
 * audit_steps.h has what it asks of the store, this file when.
 *
 * It walks through all topics of the store (reconciler.h), and through the pages of each
 * (AUDIT). What looks wrong there is looked at a second time some seconds later (reconciler.h);
 * what is wrong again is judged, and mended, by a script that looks at this job alone, exactly
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

/* Of the topic itself: `id` is "". */
void repair_log_say(struct repair_log *log, struct bytes topic, struct bytes id,
                    enum damage damage, int64_t now_mono_ms);

/* Says how many more there were, if it is time. */
void repair_log_tick(struct repair_log *log, int64_t now_mono_ms);

/* A walk through the topics of the whole store, as PLACES names them: page after page.
 *
 * A topic is named once for each of its keys, on whatever pages they are. So that it comes but
 * once, the walk notes which it has met, in a table of bits: one bit may stand for several
 * topics, and then only the first comes. Each walk draws the bits anew, so it is others the
 * next time.
 */

struct walk {
    size_t after_len; /* the page that is being walked through, or the first one */
    char after[OP_CURSOR_MAX];
    size_t next_len; /* the one behind it; 0: none */
    char next[OP_CURSOR_MAX];

    char *names; /* of the page: each behind its length in one byte; NULL: not named yet */
    size_t names_len, names_at;
    uint8_t *met; /* NULL: nothing yet */
    uint64_t seed;
};

void walk_init(struct walk *w);

/* Gives back its memory; it can go on with the page at which it was. */
void walk_pause(struct walk *w);

/* The answer to a PLACES for what is behind walk_after(). */
struct bytes walk_after(const struct walk *w);
void walk_take_page(struct walk *w, const struct op *places);

/* The next topic of the page, valid until the page is turned. False: that was all of it. */
bool walk_next_topic(struct walk *w, struct bytes *topic);

/* False: the walk is over, and begins anew. */
bool walk_turn_page(struct walk *w);
void walk_begin_anew(struct walk *w);

/* What looked wrong, until it has been looked at again.
 *
 *   seen --> FRESH --seen again, REST_MS or more behind the first time--> SURE --> forgotten
 *              |                                                            ^
 *              +--looked for, and not seen--> FAINT --seen again------------+
 *
 * What is healthy and moves may look wrong once; what is wrong stays so. A faint one was
 * healthy, most likely; but some places are looked at by chance, and then only a later walk
 * sees it again. So it is kept until a fresh one needs its room. There is room for
 * SUSPECTS_MAX; what finds none is not remembered, and will be seen by a later walk.
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

/* True: for the first time, and it is remembered. */
bool suspects_see(struct suspects *ss, struct bytes topic, struct bytes id, struct bytes page,
                  int64_t now_mono_ms);

/* One that it is time to look at again, or NULL; and how long until there is one, -1: never. */
struct suspected *suspects_find_rested(struct suspects *ss, int64_t now_mono_ms);
int64_t suspects_wait_ms(const struct suspects *ss, int64_t now_mono_ms);

/* One that was seen twice, or NULL. A topic is put in order after its jobs: else what stands in
 * a place too early would get its event before its right time. */
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
