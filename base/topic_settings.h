/* The settings of a topic: the one definition of each.
 *
 * From a row here follow the keys of the configuration's list `topics`, the packed row in Redis
 * and where the scripts find the setting in it, the members of the API, the words of dueqctl,
 * and what is refused. What is left to write is what the setting does, and its documents:
 * doc/adding.md.
 *
 *   X(NAME, word, field, KIND, bytes, max, built_in, help)
 *
 *   word      in the configuration and in dueqctl
 *   field     of a struct; its text is the member's name in the API
 *   KIND      DURATION (in ms), COUNT, SIZE (in bytes), SWITCH (0 or 1), or BACKOFF, which has
 *             parts
 *   bytes     of its place in the packed row; a new setting is the last, so that no place moves
 *   max       the largest value; the smallest is 0
 *   built_in  what holds where nobody sets it; of BACKOFF: none
 *   help      at most 54 characters: dueqctl shows it beside the word
 */
#ifndef DUEQ_BASE_TOPIC_SETTINGS_H
#define DUEQ_BASE_TOPIC_SETTINGS_H

#include <stdint.h>

#define TOPIC_DAYS_MS(days) (INT64_C(86400000) * (days))
#define TOPIC_TIB(number)   ((int64_t)(number) << 40)

/* clang-format off */
#define TOPIC_SETTING_LIST(X)                                                          \
    X(TTR, "ttr", ttr_ms, DURATION, 4, TOPIC_DAYS_MS(7), 60000,                        \
      "a job's time to run; 0: it is gone once delivered")                             \
    X(PRIORITY, "priority", priority, COUNT, 4, UINT32_MAX, 1024,                      \
      "a job's priority; 0 is the most urgent")                                        \
    X(MAX_TRIES, "max_tries", max_tries, COUNT, 2, 65534, 0,                           \
      "deliveries before a job is dead; 0: any number")                                \
    X(BACKOFF, "backoff", backoff, BACKOFF, 10, 0, 0,                                  \
      "rest between tries, as in 'dueqctl help push'")                                 \
    X(TTL, "ttl", ttl_ms, DURATION, 6, TOPIC_DAYS_MS(3650), 0,                         \
      "dead when not done so long after it is due; 0: never")                          \
    X(DEAD_MAX, "dead_max", dead_max, COUNT, 4, UINT32_MAX, 0,                         \
      "how many dead jobs are kept, the newest; 0: all")                               \
    X(DEAD_AGE, "dead_age", dead_age_ms, DURATION, 6, TOPIC_DAYS_MS(3650), 0,          \
      "how long dead jobs are kept; 0: for ever")                                      \
    X(HISTORY, "history", history, SWITCH, 1, 1, 0,                                    \
      "what jobs go through is written down, for 'trace'")                             \
    X(MAX_JOBS, "max_jobs", max_jobs, COUNT, 4, UINT32_MAX, 0,                         \
      "jobs, dead ones too, that pushes may add up to; 0: any")                        \
    X(MAX_BYTES, "max_bytes", max_bytes, SIZE, 6, TOPIC_TIB(128), 0,                   \
      "bytes of bodies that pushes may add up to; 0: any")
/* clang-format on */

enum setting {
#define X(name, ...) SETTING_##name,
    TOPIC_SETTING_LIST(X)
#undef X
        SETTING_COUNT
};

enum setting_kind { SETTING_DURATION, SETTING_NUMBER, SETTING_SWITCH, SETTING_BACKOFFS };

#define SETTING_BIT(name) (1u << SETTING_##name)
#define SETTINGS_ALL      ((1u << SETTING_COUNT) - 1)

#endif
