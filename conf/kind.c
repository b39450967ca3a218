#include "conf/kind.h"

#include <string.h>

#include "conf/table.h"
#include "conf/value.h"

static bool is_in_range(const struct conf_key *key, int64_t value)
{
    return value >= key->min && value <= key->max;
}

/* ---- true or false ---- */

static bool set_bool(const struct conf_key *key, const char *text, void *field)
{
    return value_parse_bool(text, field);
}

static void print_bool(const struct conf_key *key, const void *field, struct buf *to)
{
    buf_add_text(to, *(const bool *)field ? "true" : "false");
}

const struct conf_kind kind_bool = {
    .what = "true or false",
    .bytes = sizeof(bool),
    .set = set_bool,
    .print = print_bool,
};

/* ---- numbers ---- */

static bool set_count(const struct conf_key *key, const char *text, void *field)
{
    int64_t value;

    if (!value_parse_count(text, &value) || !is_in_range(key, value))
        return false;
    *(unsigned *)field = (unsigned)value;
    return true;
}

static void print_count(const struct conf_key *key, const void *field, struct buf *to)
{
    buf_printf(to, "%u", *(const unsigned *)field);
}

static void print_count_range(const struct conf_key *key, struct buf *to)
{
    buf_printf(to, "from %lld to %lld", (long long)key->min, (long long)key->max);
}

const struct conf_kind kind_count = {
    .what = "a number",
    .bytes = sizeof(unsigned),
    .set = set_count,
    .print = print_count,
    .print_range = print_count_range,
};

static bool set_size(const struct conf_key *key, const char *text, void *field)
{
    int64_t value;

    if (!value_parse_size(text, &value) || !is_in_range(key, value))
        return false;
    *(size_t *)field = (size_t)value;
    return true;
}

static void print_size(const struct conf_key *key, const void *field, struct buf *to)
{
    value_print_size(to, (int64_t) * (const size_t *)field);
}

static void print_size_range(const struct conf_key *key, struct buf *to)
{
    buf_add_text(to, "from ");
    value_print_size(to, key->min);
    buf_add_text(to, " to ");
    value_print_size(to, key->max);
}

const struct conf_kind kind_size = {
    .what = "a size",
    .bytes = sizeof(size_t),
    .set = set_size,
    .print = print_size,
    .print_range = print_size_range,
};

static bool set_duration(const struct conf_key *key, const char *text, void *field)
{
    int64_t value;

    if (!value_parse_duration(text, &value) || !is_in_range(key, value))
        return false;
    *(int64_t *)field = value;
    return true;
}

static void print_duration(const struct conf_key *key, const void *field, struct buf *to)
{
    value_print_duration(to, *(const int64_t *)field);
}

static void print_duration_range(const struct conf_key *key, struct buf *to)
{
    buf_add_text(to, "from ");
    value_print_duration(to, key->min);
    buf_add_text(to, " to ");
    value_print_duration(to, key->max);
}

const struct conf_kind kind_duration = {
    .what = "a duration with its unit",
    .bytes = sizeof(int64_t),
    .set = set_duration,
    .print = print_duration,
    .print_range = print_duration_range,
};

static bool set_percent(const struct conf_key *key, const char *text, void *field)
{
    int64_t value;

    if (!value_parse_percent(text, &value) || !is_in_range(key, value))
        return false;
    *(unsigned *)field = (unsigned)value;
    return true;
}

static void print_percent(const struct conf_key *key, const void *field, struct buf *to)
{
    buf_printf(to, "%u%%", *(const unsigned *)field);
}

static void print_percent_range(const struct conf_key *key, struct buf *to)
{
    buf_printf(to, "from %lld%% to %lld%%", (long long)key->min, (long long)key->max);
}

const struct conf_kind kind_percent = {
    .what = "a share with its sign",
    .bytes = sizeof(unsigned),
    .set = set_percent,
    .print = print_percent,
    .print_range = print_percent_range,
};

/* ---- one of some words ---- */

static bool set_word(const struct conf_key *key, const char *text, void *field)
{
    return value_parse_word(text, key->words, field);
}

static void print_word(const struct conf_key *key, const void *field, struct buf *to)
{
    buf_add_text(to, key->words[*(const unsigned *)field]);
}

static void print_words(const struct conf_key *key, struct buf *to)
{
    for (const char *const *word = key->words; *word; word++)
        buf_printf(to, "%s%s", word == key->words ? "" : ", ", *word);
}

const struct conf_kind kind_word = {
    .what = "one of",
    .bytes = sizeof(unsigned),
    .set = set_word,
    .print = print_word,
    .print_range = print_words,
};

_Static_assert(sizeof(enum log_level) == sizeof(unsigned), "a word's field is an unsigned");
