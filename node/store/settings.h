/* A topic's settings: the defaults of its jobs, how many dead ones it keeps, whether its
 * history is written, and whether it is paused.
 *
 * They lie packed in the hash `c` of the topic's bucket, so that scripts read them in the same
 * step as the jobs. What a job gets (TTR, priority, tries, backoff, ttl) the node fills in when
 * it is pushed; a later change does not touch jobs that are there.
 *
 *   offset  bytes  field (big-endian)
 *        0      6  paused until, ms since 1970; 0: not paused; SETTINGS_FOREVER
 *        6      2  which of the following are set: bit n is SETTING n
 *        8      4  ttr, ms
 *       12      4  priority
 *       16      2  max_tries
 *       18     10  backoff: kind 1, jitter 1, base 4, cap 4
 *       28      6  ttl, ms
 *       34      4  dead_max
 *       38      6  dead_age, ms
 *       44      1  history
 *
 * Pure.
 */
#ifndef DUEQ_NODE_STORE_SETTINGS_H
#define DUEQ_NODE_STORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/store/job.h"

#define SETTINGS_BYTES   45
#define SETTINGS_FOREVER ((INT64_C(1) << 48) - 1)

/* clang-format off */
/*    name       word */
#define SETTING_LIST(X)                                                                        \
    X(TTR,       "ttr_ms")      /* of a push that gives none (gmq's always gives one)       */ \
    X(PRIORITY,  "priority")    /* the same                                                 */ \
    X(MAX_TRIES, "max_tries")   /* the same                                                 */ \
    X(BACKOFF,   "backoff")     /* the same                                                 */ \
    X(TTL,       "ttl_ms")      /* the same, but from when it is due; 0: none               */ \
    X(DEAD_MAX,  "dead_max")    /* the oldest dead jobs above it are deleted; 0: any number */ \
    X(DEAD_AGE,  "dead_age_ms") /* dead jobs older than it are deleted; 0: any age          */ \
    X(HISTORY,   "history")     /* its jobs' transitions are written down                   */
/* clang-format on */

enum setting {
#define X(name, word) SETTING_##name,
    SETTING_LIST(X)
#undef X
        SETTING_COUNT
};

#define SETTING_BIT(name) (1u << SETTING_##name)
#define SETTINGS_ALL      ((1u << SETTING_COUNT) - 1)

struct topic_settings {
    unsigned set;            /* SETTING_BITs: the others' values mean nothing */
    int64_t paused_until_ms; /* on Redis's clock; 0: not paused; SETTINGS_FOREVER */
    int64_t ttr_ms;
    uint32_t priority;
    unsigned max_tries;
    struct backoff backoff;
    int64_t ttl_ms;
    int64_t dead_max;
    int64_t dead_age_ms;
    bool history;
};

/* One row of the configuration: settings for topics that Redis has none for. Of each setting
 * the first row that matches and sets it counts. */
struct settings_rule {
    struct bytes pattern; /* a topic, or the beginning of some and `*`; `*` alone: all */
    struct topic_settings settings;
};

const char *setting_word(enum setting setting);

void settings_pack(const struct topic_settings *settings, char packed[SETTINGS_BYTES]);

/* False: not written by dueq; `settings` is untouched then. */
bool settings_unpack(struct bytes packed, struct topic_settings *settings);

/* Takes from `from` what `to` has not set (not the pause). */
void settings_fill(struct topic_settings *to, const struct topic_settings *from);

/* Takes over from `from` the settings of `mask`, set or not. */
void settings_copy(struct topic_settings *to, const struct topic_settings *from, unsigned mask);

bool settings_rule_matches(const struct settings_rule *rule, struct bytes topic);

#endif
