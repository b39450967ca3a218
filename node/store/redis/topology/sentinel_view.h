/* Which master is believed, when Sentinels do not agree. Pure.
 *
 * A failover raises the epoch of the master's configuration, and the Sentinel that led it knows
 * first. So a higher epoch than the believed one is believed at once; but only from a Sentinel
 * that has named the believed master before: one that has always named another may watch
 * another master of the same name. The first master needs more than half, if so many answer. A
 * lower epoch comes from a Sentinel that was cut off together with the old master. It is not
 * believed, however often it is said, unless more than half of all Sentinels say the same and
 * none says what is believed: they were set up anew.
 *
 * A master that more than half name for REDIS_SENTINEL_DOUBT_MS is believed, too. A Sentinel
 * that said otherwise has to agree again before a higher epoch of its counts: Sentinels tell
 * each other of a failover within two seconds.
 *
 * With one entry in the list any word would be more than half, and the entry may be a name of
 * several Sentinels: there a lower epoch is believed when the believed master could not be used
 * for as long.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SENTINEL_VIEW_H
#define DUEQ_NODE_STORE_REDIS_SENTINEL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/redis/wire/address.h"

#define REDIS_SENTINELS_MAX     16
#define REDIS_SENTINEL_DOUBT_MS 10000

/* A Sentinel not heard for longer does not count against what is believed. All are asked each
 * second. */
#define REDIS_SENTINEL_FRESH_MS 3000

struct sentinel_word {
    struct redis_address master; /* host "": it has said nothing */
    int64_t epoch;
};

struct sentinel_said {
    struct sentinel_word word;
    int64_t heard_mono_ms;
    int64_t since_mono_ms; /* has named this master since then, without a gap */
    bool has_agreed;       /* has named the believed master since it was last outvoted */
    bool is_reported;      /* by redis_sentinel_view_tell(); until it names another master */
};

/* All zero at first, but for `count`. */
struct redis_sentinel_view {
    unsigned count;                                 /* of all Sentinels there are */
    struct sentinel_said said[REDIS_SENTINELS_MAX]; /* host "": it cannot be reached */
    struct sentinel_word believed;
    int64_t believed_mono_ms; /* since when this master is believed */
    bool is_confirmed;        /* more than half have agreed at one time */
    bool is_used;             /* the believed one is a master, and can be reached */
    int64_t unused_mono_ms;   /* since when not */
};

/* Sentinel number `who` says this. Is it to be believed? */
bool redis_sentinel_view_hear(struct redis_sentinel_view *v, unsigned who,
                              const struct sentinel_word *word, int64_t now_mono_ms);

/* The Sentinel cannot be reached any more, or has no answer. */
void redis_sentinel_view_forget(struct redis_sentinel_view *v, unsigned who);

/* Where nothing is believed yet, and a word is `waited_ms` old, the best word is believed.
 * True: one is now that was not. */
bool redis_sentinel_view_settle(struct redis_sentinel_view *v, int64_t waited_ms,
                                int64_t now_mono_ms);

/* Call each second. True: another master is believed now, which more than half have named for
 * long. */
bool redis_sentinel_view_review(struct redis_sentinel_view *v, int64_t now_mono_ms);

/* Can the master that is believed be used? */
void redis_sentinel_view_used(struct redis_sentinel_view *v, bool is_used, int64_t now_mono_ms);

/* Does the Sentinel name another master than the believed one? */
bool redis_sentinel_view_differs(const struct redis_sentinel_view *v, unsigned who);

/* The same, for longer than a failover takes, so that people are told. True once. */
bool redis_sentinel_view_tell(struct redis_sentinel_view *v, unsigned who, int64_t now_mono_ms);

#endif
