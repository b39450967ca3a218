/* What the reconciler remembers: where its walk is, what looked wrong so far, and how much of
 * its repairs was logged. It asks nobody, and knows no clock. */
#ifndef DUEQ_NODE_QUEUE_AUDIT_H
#define DUEQ_NODE_QUEUE_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"
#include "node/queue/hash.h"
#include "node/store/op.h"

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

/* The lines of the log about what was mended: at most REPAIR_LOG_LINES in REPAIR_LOG_MS, and
 * then how many more there were. A damaged store has a million repairs to tell.
 */

struct repair_log {
    unsigned said, unsaid; /* since then */
    int64_t since_mono_ms;
};

void repair_log_init(struct repair_log *log);

/* `id` is "" for the topic itself. */
void repair_log_say(struct repair_log *log, struct bytes topic, struct bytes id,
                    enum damage damage, int64_t now_mono_ms);

/* Says how many more there were, if it is time. */
void repair_log_tick(struct repair_log *log, int64_t now_mono_ms);

#endif
