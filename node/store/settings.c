#include "node/store/settings.h"

#include <stddef.h>
#include <string.h>

#include "node/store/packed.h"

const char *setting_word(enum setting setting)
{
    static const char *const words[SETTING_COUNT] = {
#define X(name, word) [SETTING_##name] = word,
        SETTING_LIST(X)
#undef X
    };

    return setting < SETTING_COUNT ? words[setting] : "";
}

/* ---- packed ---- */

/* What is not set is written as nothing, so that equal settings have equal bytes. */
void settings_pack(const struct topic_settings *settings, char packed[SETTINGS_BYTES])
{
    struct topic_settings all = {0};

    settings_copy(&all, settings, SETTINGS_ALL);
    packed_put(packed, 6, settings->paused_until_ms);
    packed_put(packed + 6, 2, all.set);
    packed_put(packed + 8, 4, all.ttr_ms);
    packed_put(packed + 12, 4, all.priority);
    packed_put(packed + 16, 2, all.max_tries);
    backoff_pack(&all.backoff, packed + 18);
    packed_put(packed + 28, 6, all.ttl_ms);
    packed_put(packed + 34, 4, all.dead_max);
    packed_put(packed + 38, 6, all.dead_age_ms);
    packed_put(packed + 44, 1, all.history);
}

bool settings_unpack(struct bytes packed, struct topic_settings *settings)
{
    const char *at = packed.at;
    struct topic_settings all;

    if (packed.len != SETTINGS_BYTES || !backoff_unpack(at + 18, &all.backoff))
        return false;
    all.set = (unsigned)packed_get(at + 6, 2);
    all.max_tries = (unsigned)packed_get(at + 16, 2);
    if (all.set & ~SETTINGS_ALL || all.max_tries > RULES_TRIES_MAX)
        return false;
    all.paused_until_ms = packed_get(at, 6);
    all.ttr_ms = packed_get(at + 8, 4);
    all.priority = (uint32_t)packed_get(at + 12, 4);
    all.ttl_ms = packed_get(at + 28, 6);
    all.dead_max = packed_get(at + 34, 4);
    all.dead_age_ms = packed_get(at + 38, 6);
    all.history = packed_get(at + 44, 1) != 0;
    *settings = all;
    return true;
}

/* ---- one over the other ---- */

#define FIELD(field)                                             \
    {                                                            \
        offsetof(struct topic_settings, field),                  \
            sizeof(((const struct topic_settings *)NULL)->field) \
    }

static const struct field {
    size_t offset, size;
} fields[SETTING_COUNT] = {
    [SETTING_TTR] = FIELD(ttr_ms),           [SETTING_PRIORITY] = FIELD(priority),
    [SETTING_MAX_TRIES] = FIELD(max_tries),  [SETTING_BACKOFF] = FIELD(backoff),
    [SETTING_TTL] = FIELD(ttl_ms),           [SETTING_DEAD_MAX] = FIELD(dead_max),
    [SETTING_DEAD_AGE] = FIELD(dead_age_ms), [SETTING_HISTORY] = FIELD(history),
};

void settings_copy(struct topic_settings *to, const struct topic_settings *from, unsigned mask)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (mask & from->set & 1u << i)
            memcpy((char *)to + fields[i].offset, (const char *)from + fields[i].offset,
                   fields[i].size);
    }
    to->set = (to->set & ~mask) | (from->set & mask);
}

void settings_fill(struct topic_settings *to, const struct topic_settings *from)
{
    settings_copy(to, from, from->set & ~to->set);
}

bool settings_rule_matches(const struct settings_rule *rule, struct bytes topic)
{
    size_t len = rule->pattern.len;

    if (len == 0 || rule->pattern.at[len - 1] != '*')
        return bytes_equal(rule->pattern, topic);
    return topic.len >= len - 1 && (len == 1 || !memcmp(rule->pattern.at, topic.at, len - 1));
}
