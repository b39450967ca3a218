/* A topic's settings in the store: the defaults of its jobs, how many dead ones it keeps,
 * whether its history is written (base/topic_settings.h), and whether it is paused.
 *
 * They lie packed in the hash `c` of the topic's bucket, so that scripts read them in the same
 * step as the jobs. The node fills in a job's defaults (TTR, priority, tries, backoff, ttl) at
 * its push; a later change does not touch jobs that are there.
 *
 *   offset  bytes  field (big-endian)
 *        0      6  paused until, ms since 1970; 0: not paused; SETTINGS_FOREVER
 *        6      2  which of the following are set: bit n is setting n
 *        8         the settings, in the order of their definition
 *
 * A newer version may have more of them: each version reads what it knows, and leaves the rest
 * of a row as it is.
 *
 * Pure.
 */
#ifndef DUEQ_NODE_STORE_SETTINGS_H
#define DUEQ_NODE_STORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/topic_settings.h"
#include "node/store/job.h"

#define SETTINGS_LEAST   45 /* bytes of the packed row of the first version */
#define SETTINGS_FOREVER ((INT64_C(1) << 48) - 1)

/* The first and the last byte of each setting in the packed row. */
enum {
    SETTINGS_BEGIN = 8 - 1,
#define X(name, word, field, kind, bytes, ...) \
    SETTING_AT_##name, SETTING_LAST_##name = SETTING_AT_##name + (bytes)-1,
    TOPIC_SETTING_LIST(X)
#undef X
        SETTINGS_BYTES
};

#define SETTING_TYPE_DURATION int64_t
#define SETTING_TYPE_COUNT    int64_t
#define SETTING_TYPE_SIZE     int64_t
#define SETTING_TYPE_SWITCH   int64_t
#define SETTING_TYPE_BACKOFF  struct backoff

struct topic_settings {
    unsigned set;            /* SETTING_BITs: the others' values mean nothing */
    int64_t paused_until_ms; /* on Redis's clock; 0: not paused; SETTINGS_FOREVER */
#define X(name, word, field, kind, ...) SETTING_TYPE_##kind field;
    TOPIC_SETTING_LIST(X)
#undef X
};

/* One row of the configuration: settings for topics that have none in Redis. For each setting
 * the first row counts that matches the topic and has the setting. */
struct settings_rule {
    struct bytes pattern; /* a topic, or the beginning of some and `*`; `*` alone: all */
    struct topic_settings settings;
};

/* Its member in the API, "ttr_ms". */
const char *setting_word(enum setting setting);

enum setting_kind setting_kind(enum setting setting);
int64_t setting_max(enum setting setting);

/* Of every kind but BACKOFF. */
int64_t setting_number(const struct topic_settings *settings, enum setting setting);
void setting_set_number(struct topic_settings *settings, enum setting setting, int64_t number);

/* What holds where nobody sets anything: all are set. */
extern const struct topic_settings settings_built_in;

void settings_pack(const struct topic_settings *settings, char packed[SETTINGS_BYTES]);

/* False: not written by dueq; `settings` is untouched then. */
bool settings_unpack(struct bytes packed, struct topic_settings *settings);

/* Takes from `from` what `to` has not set (not the pause). */
void settings_fill(struct topic_settings *to, const struct topic_settings *from);

/* Takes over from `from` the settings of `mask`, set or not. */
void settings_copy(struct topic_settings *to, const struct topic_settings *from, unsigned mask);

bool settings_rule_matches(const struct settings_rule *rule, struct bytes topic);

#endif
