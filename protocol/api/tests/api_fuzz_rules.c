#include "protocol/api/tests/api_fuzz_rules.h"

#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/api/object.h"

struct bytes fuzz_text_of(const json_t *string)
{
    return bytes_of(json_string_value(string), json_string_length(string));
}

static bool is_base64(const json_t *string)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct bytes text = fuzz_text_of(string);
    size_t span = strspn(text.at, digits), padding = text.len - span;
    size_t last;

    if (text.len % 4 != 0 || padding > 2 || strspn(text.at + span, "=") != padding)
        return false;
    if (padding == 0)
        return true;
    last = (size_t)(strchr(digits, text.at[span - 1]) - digits);
    return last % (padding == 1 ? 4 : 16) == 0;
}

static bool is_number(const json_t *value, int64_t max)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= max;
}

int64_t fuzz_number_of(const json_t *object, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(object, name);

    return value ? json_integer_value(value) : fallback;
}

static bool is_one_of(const json_t *value, const char *a, const char *b, const char *c)
{
    struct bytes text = json_is_string(value) ? fuzz_text_of(value) : BYTES("");

    return bytes_equal(text, bytes_of_text(a)) || bytes_equal(text, bytes_of_text(b)) ||
           bytes_equal(text, bytes_of_text(c));
}

/* What grows may have one, from its base on. */
static bool is_good_cap(const json_t *cap, const json_t *kind, const json_t *base)
{
    return is_number(cap, RULES_BACKOFF_MAX_MS) &&
           (json_integer_value(cap) == 0 ||
            (!is_one_of(kind, "fixed", "fixed", "fixed") &&
             json_integer_value(cap) >= json_integer_value(base)));
}

bool fuzz_is_good_backoff(const json_t *backoff)
{
    const json_t *kind = json_object_get(backoff, "kind");
    const json_t *base = json_object_get(backoff, "base_ms");
    const json_t *cap = json_object_get(backoff, "cap_ms");
    const json_t *jitter = json_object_get(backoff, "jitter_percent");
    size_t known = 1 + (base != NULL) + (cap != NULL) + (jitter != NULL);

    if (!json_is_object(backoff) || json_object_size(backoff) != known ||
        !is_one_of(kind, "none", "fixed", "exponential"))
        return false;
    if (is_one_of(kind, "none", "none", "none"))
        return known == 1;
    return base && is_number(base, RULES_BACKOFF_MAX_MS) && json_integer_value(base) > 0 &&
           (!cap || is_good_cap(cap, kind, base)) && (!jitter || is_number(jitter, 100));
}

static const struct {
    const char *name;
    int64_t max; /* of a number */
} rules[] = {
    {"ttr_ms", QUEUE_TTR_MAX_MS},
    {"ttl_ms", QUEUE_DELAY_MAX_MS},
    {"priority", RULES_PRIORITY_MAX},
    {"max_tries", RULES_TRIES_MAX},
    {"backoff", -1},
};

static bool is_good_rule(const char *name, const json_t *value)
{
    if (strcmp(name, "backoff") == 0)
        return fuzz_is_good_backoff(value);
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (strcmp(name, rules[i].name) == 0)
            return is_number(value, rules[i].max);
    return false;
}

static bool is_moment(const json_t *value)
{
    return is_number(value, QUEUE_AT_MAX_MS) && json_integer_value(value) >= OBJECT_MOMENT_MIN;
}

static bool is_good_member(const char *name, const json_t *value)
{
    if (strcmp(name, "body") == 0)
        return json_is_string(value);
    if (strcmp(name, "body_base64") == 0)
        return json_is_string(value) && is_base64(value);
    if (strcmp(name, "id") == 0)
        return json_is_string(value) && json_string_length(value) > 0;
    if (strcmp(name, "delay_ms") == 0)
        return is_number(value, QUEUE_DELAY_MAX_MS);
    if (strcmp(name, "at_ms") == 0)
        return is_moment(value);
    if (strcmp(name, "mode") == 0)
        return is_one_of(value, "reject", "replace", "ignore");
    return is_good_rule(name, value);
}

bool fuzz_is_good_push(json_t *job)
{
    const char *name;
    json_t *value;

    json_object_foreach(job, name, value) if (!is_good_member(name, value)) return false;
    return json_is_object(job) &&
           !json_object_get(job, "body") != !json_object_get(job, "body_base64") &&
           !(json_object_get(job, "delay_ms") && json_object_get(job, "at_ms")) &&
           (fuzz_number_of(job, "ttl_ms", 0) == 0 ||
            fuzz_number_of(job, "ttl_ms", 0) > fuzz_number_of(job, "delay_ms", 0));
}

static bool is_good_setting(const char *name, const json_t *value)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (strcmp(name, setting_word(i)) != 0)
            continue;
        if (json_is_null(value))
            return true;
        if (setting_kind(i) == SETTING_SWITCH)
            return json_is_boolean(value);
        return setting_kind(i) == SETTING_BACKOFFS ? fuzz_is_good_backoff(value)
                                                   : is_number(value, setting_max(i));
    }
    return false;
}

bool fuzz_are_good_settings(json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value) if (!is_good_setting(name, value)) return false;
    return json_object_size(object) > 0;
}

bool fuzz_is_good_time(json_t *object, const char *of_now, const char *fixed, int64_t min,
                       int64_t fixed_min, int64_t fixed_max, size_t members)
{
    const json_t *delay = json_object_get(object, of_now), *at = json_object_get(object, fixed);

    return json_is_object(object) && !(delay && at) &&
           json_object_size(object) == (size_t)(delay || at) &&
           json_object_size(object) >= members &&
           (!delay ||
            (is_number(delay, QUEUE_DELAY_MAX_MS) && json_integer_value(delay) >= min)) &&
           (!at || (is_number(at, fixed_max) && json_integer_value(at) >= fixed_min));
}

/* 0: they are wrong. */
unsigned fuzz_states_of(const json_t *list)
{
    static const char *const words[] = {"", "delayed", "ready", "reserved", "dead"};
    unsigned states = 0, state;
    const json_t *word;
    size_t i;

    json_array_foreach(list, i, word)
    {
        for (state = 4;
             state > 0 && !(json_is_string(word) &&
                            bytes_equal(fuzz_text_of(word), bytes_of_text(words[state])));)
            state--;
        if (state == 0 || states & 1u << state)
            return 0;
        states |= 1u << state;
    }
    return states;
}

bool fuzz_is_good_sweep(json_t *object, enum op_verb verb)
{
    const json_t *limit = json_object_get(object, "limit"), *since, *before, *list;
    bool has_times;

    since = json_object_get(object, "since_ms");
    before = json_object_get(object, "before_ms");
    list = json_object_get(object, "states");
    has_times = since || before;
    if (verb == OP_PURGE && (!json_is_array(list) || !fuzz_states_of(list)))
        return false;
    if (verb == OP_PURGE && has_times && fuzz_states_of(list) != 1u << JOB_DEAD)
        return false;
    return json_is_object(object) &&
           json_object_size(object) == (size_t)(limit != NULL) + (since != NULL) +
                                           (before != NULL) + (verb == OP_PURGE) &&
           (!limit || (is_number(limit, 1000000000) && json_integer_value(limit) > 0)) &&
           (!since || is_moment(since) || is_number(since, 0)) &&
           (!before || is_moment(before));
}

/* A number, no longer than JOB_STAMP_MAX is, and perhaps a check behind it. */
static bool is_lease(const char *text, size_t len)
{
    size_t digits = strspn(text, "0123456789");
    const char *check = text + digits;

    return digits > 0 && digits <= 15 && strtoll(text, NULL, 10) <= JOB_STAMP_MAX &&
           (len == digits || (*check == '-' && len == digits + 17 &&
                              strspn(check + 1, "0123456789abcdef") == 16));
}

bool fuzz_is_good_lease(json_t *object, const char *number, int64_t max)
{
    const json_t *lease = json_object_get(object, "lease");
    const char *text = json_is_string(lease) ? json_string_value(lease) : "";
    const json_t *beside = number ? json_object_get(object, number) : NULL;

    return is_lease(text, *text ? json_string_length(lease) : 0) &&
           (!beside || is_number(beside, max)) && json_object_size(object) == (beside ? 2 : 1);
}
