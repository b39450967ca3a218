/* Who is the master, when Sentinels do not agree? Pure.
 *
 * A failover raises the epoch of the master's configuration, and the Sentinel that led it knows
 * first. So a higher epoch than the one that is believed is believed at once; but only from a
 * Sentinel that has said before what was believed then: one that has always named somebody else
 * may watch another master of the same name. The first word wants more than half, if so many
 * answer. A lower epoch is of a Sentinel that was cut off together with the old master; it is
 * not believed, however often it is said, but where more than half of all Sentinels say the
 * same and none says what is believed: they were set up anew.
 *
 * What more than half say against what is believed for REDIS_SENTINEL_DOUBT_MS is believed,
 * too, and who said otherwise has to agree again before he leads: Sentinels tell each other of
 * a failover within two seconds.
 *
 * With one entry in the list any word would be more than half, and the entry may be a name of
 * several Sentinels: there a lower epoch is believed when the master that is believed could not
 * be used for as long.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SENTINEL_VIEW_H
#define DUEQ_NODE_STORE_REDIS_SENTINEL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/redis/topology/sentinel.h"

#define REDIS_SENTINEL_DOUBT_MS 10000

/* Who has not been heard for longer does not count against what is believed. All are asked each
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
    bool has_agreed;       /* has named whom we believed, since it was last outvoted */
    bool is_told;          /* by view_tell(); until it names another master */
};

/* All zero at first, but for `count`. */
struct redis_sentinel_view {
    unsigned count;                                 /* of all Sentinels there are */
    struct sentinel_said said[REDIS_SENTINELS_MAX]; /* host "": it cannot be reached */
    struct sentinel_word believed;
    int64_t believed_mono_ms; /* this master, since then */
    bool is_confirmed;        /* more than half have agreed at one time */
    bool is_used;             /* the believed one is a master, and can be reached */
    int64_t unused_mono_ms;   /* since when not */
};

/* Sentinel number `who` says this. Is it to be believed? */
bool redis_sentinel_view_hear(struct redis_sentinel_view *v, unsigned who,
                              const struct sentinel_word *word, int64_t now_mono_ms);

/* It cannot be reached any more, or has no answer. */
void redis_sentinel_view_forget(struct redis_sentinel_view *v, unsigned who);

/* Nothing is believed yet, and there is a word that is so old: the best there is will be. Is
 * one believed now that was not? */
bool redis_sentinel_view_settle(struct redis_sentinel_view *v, int64_t waited_ms,
                                int64_t now_mono_ms);

/* Each second. Is another master believed now, which more than half have named for long? */
bool redis_sentinel_view_review(struct redis_sentinel_view *v, int64_t now_mono_ms);

/* Can the master that is believed be used? */
void redis_sentinel_view_used(struct redis_sentinel_view *v, bool is_used, int64_t now_mono_ms);

/* Does it name another master than the one that is believed? */
bool redis_sentinel_view_differs(const struct redis_sentinel_view *v, unsigned who);

/* The same, worth a word to people: not only for the moments of a failover. True once. */
bool redis_sentinel_view_tell(struct redis_sentinel_view *v, unsigned who, int64_t now_mono_ms);

#endif
