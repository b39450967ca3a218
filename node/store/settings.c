#include "node/store/settings.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "node/store/packed.h"

/* The kind BACKOFF is the only one that is no number. */
#define KIND_DURATION SETTING_DURATION
#define KIND_COUNT    SETTING_NUMBER
#define KIND_SIZE     SETTING_NUMBER
#define KIND_SWITCH   SETTING_SWITCH
#define KIND_BACKOFF  SETTING_BACKOFFS

static const struct row {
    const char *word;
    enum setting_kind kind;
    unsigned at, bytes;  /* in the packed row */
    size_t offset, size; /* in struct topic_settings */
    int64_t max;
} rows[SETTING_COUNT] = {
#define X(name, word, field, kind, bytes, max, built_in, help)    \
    [SETTING_##name] = {#field,                                   \
                        KIND_##kind,                              \
                        SETTING_AT_##name,                        \
                        bytes,                                    \
                        offsetof(struct topic_settings, field),   \
                        sizeof((struct topic_settings){0}.field), \
                        max},
    TOPIC_SETTING_LIST(X)
#undef X
};

#define BUILT_IN_DURATION(number) (number)
#define BUILT_IN_COUNT(number)    (number)
#define BUILT_IN_SIZE(number)     (number)
#define BUILT_IN_SWITCH(number)   (number)
#define BUILT_IN_BACKOFF(number) \
    {                            \
        .kind = BACKOFF_NONE     \
    }

const struct topic_settings settings_built_in = {.set = SETTINGS_ALL,
#define X(name, word, field, kind, bytes, max, built_in, help) \
    .field = BUILT_IN_##kind(built_in),
                                                 TOPIC_SETTING_LIST(X)
#undef X
};

const char *setting_word(enum setting setting)
{
    return setting < SETTING_COUNT ? rows[setting].word : "";
}

enum setting_kind setting_kind(enum setting setting)
{
    return rows[setting].kind;
}

int64_t setting_max(enum setting setting)
{
    return rows[setting].max;
}

int64_t setting_number(const struct topic_settings *settings, enum setting setting)
{
    int64_t number;

    assert(rows[setting].size == sizeof(number));
    memcpy(&number, (const char *)settings + rows[setting].offset, sizeof(number));
    return number;
}

void setting_set_number(struct topic_settings *settings, enum setting setting, int64_t number)
{
    assert(rows[setting].size == sizeof(number));
    memcpy((char *)settings + rows[setting].offset, &number, sizeof(number));
}

/* ---- packed ---- */

/* Unset fields are written as 0, so that equal settings have equal bytes. */
void settings_pack(const struct topic_settings *settings, char packed[SETTINGS_BYTES])
{
    struct topic_settings all = {0};

    settings_copy(&all, settings, SETTINGS_ALL);
    packed_put(packed, 6, settings->paused_until_ms);
    packed_put(packed + 6, 2, all.set);
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (rows[i].kind == SETTING_BACKOFFS)
            backoff_pack(&all.backoff, packed + rows[i].at);
        else
            packed_put(packed + rows[i].at, rows[i].bytes, setting_number(&all, i));
    }
}

/* A number beyond its limit counts as the limit, so that adding it to a time cannot overflow.
 */
static int64_t number_at(struct bytes packed, const struct row *row)
{
    int64_t number = packed_get(packed.at + row->at, row->bytes);

    return number < row->max ? number : row->max;
}

bool settings_unpack(struct bytes packed, struct topic_settings *settings)
{
    struct topic_settings all = {0};

    if (packed.len < SETTINGS_LEAST ||
        !backoff_unpack(packed.at + SETTING_AT_BACKOFF, &all.backoff))
        return false;
    all.paused_until_ms = packed_get(packed.at, 6);
    all.set = (unsigned)packed_get(packed.at + 6, 2) & SETTINGS_ALL;
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (rows[i].kind != SETTING_BACKOFFS && rows[i].at + rows[i].bytes <= packed.len)
            setting_set_number(&all, i, number_at(packed, &rows[i]));
    }
    if (packed.len == SETTINGS_LEAST && packed_get(packed.at + 6, 2) > 255)
        return false; /* a setting that it has no place for */
    if (packed_get(packed.at + SETTING_AT_MAX_TRIES, 2) > RULES_TRIES_MAX)
        return false;
    *settings = all;
    return true;
}

/* ---- one over the other ---- */

void settings_copy(struct topic_settings *to, const struct topic_settings *from, unsigned mask)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (mask & from->set & 1u << i)
            memcpy((char *)to + rows[i].offset, (const char *)from + rows[i].offset,
                   rows[i].size);
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
