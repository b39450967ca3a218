/* The kinds of value; see kind.h. */
#include "conf/kind.h"

#include <stdlib.h>
#include <string.h>

#include "conf/table.h"
#include "conf/value.h"

#define SOCKET_PATH_BYTES_MAX 107 /* sun_path and its NUL: 108 */

static char *copy(struct bytes text)
{
    char *copied = strndup(text.len ? text.at : "", text.len);

    if (!copied)
        abort();
    return copied;
}

static bool is_in_range(const struct conf_key *key, int64_t value)
{
    return value >= key->min && value <= key->max;
}

static bool set_text(const struct conf_key *key, const char *text, void *field)
{
    char **to = field;

    if (!is_in_range(key, (int64_t)strlen(text)))
        return false;
    free(*to);
    *to = copy(bytes_of_text(text));
    return true;
}

static bool set_name(const struct conf_key *key, const char *text, void *field)
{
    return value_is_name(text) && set_text(key, text, field);
}

static bool set_modules(const struct conf_key *key, const char *text, void *field)
{
    return log_modules_are_valid(text) && set_text(key, text, field);
}

static bool set_hosts(const struct conf_key *key, const char *text, void *field)
{
    return value_is_hosts(text) && set_text(key, text, field);
}

static bool set_servers(const struct conf_key *key, const char *text, void *field)
{
    return value_is_servers(text) && set_text(key, text, field);
}

static bool set_topics(const struct conf_key *key, const char *text, void *field)
{
    return value_is_topics(text) && set_text(key, text, field);
}

static void print_text(const struct conf_key *key, const void *field, struct buf *to)
{
    buf_add_text(to, *(char *const *)field);
}

static void fini_text(void *field)
{
    free(*(char **)field);
}

static void print_text_range(const struct conf_key *key, struct buf *to)
{
    buf_printf(to, "of %lld to %lld bytes", (long long)key->min, (long long)key->max);
}

static void print_name_range(const struct conf_key *key, struct buf *to)
{
    buf_printf(to, "of %lld to %lld characters of [A-Za-z0-9_.:-]", (long long)key->min,
               (long long)key->max);
}

static void print_topics_range(const struct conf_key *key, struct buf *to)
{
    buf_printf(to, "of %lld to %lld characters of [A-Za-z0-9_.:/+;$()-], no - in front",
               (long long)key->min, (long long)key->max);
}

static void print_module_names(const struct conf_key *key, struct buf *to)
{
    for (const char *const *name = log_modules; *name; name++)
        buf_printf(to, "%s%s", name == log_modules ? "" : ", ", *name);
}

const struct conf_kind kind_text = {
    .what = "a text",
    .bytes = sizeof(char *),
    .set = set_text,
    .print = print_text,
    .fini = fini_text,
    .print_range = print_text_range,
    .is_quoted = true,
};
const struct conf_kind kind_name = {
    .what = "a name",
    .bytes = sizeof(char *),
    .set = set_name,
    .print = print_text,
    .fini = fini_text,
    .print_range = print_name_range,
    .is_quoted = true,
};
const struct conf_kind kind_modules = {
    .what = "levels by module, such as \"scanner=debug,gmq=warn\", out of",
    .bytes = sizeof(char *),
    .set = set_modules,
    .print = print_text,
    .fini = fini_text,
    .print_range = print_module_names,
    .is_quoted = true,
};

const struct conf_kind kind_hosts = {
    .what = "names of hosts, such as \"dueq,dueq.example.com\", without ports",
    .bytes = sizeof(char *),
    .set = set_hosts,
    .print = print_text,
    .fini = fini_text,
    .print_range = print_text_range,
    .is_quoted = true,
};

const struct conf_kind kind_servers = {
    .what = "servers, such as \"10.0.0.1:2181,10.0.0.2:2181\",",
    .bytes = sizeof(char *),
    .set = set_servers,
    .print = print_text,
    .fini = fini_text,
    .print_range = print_text_range,
    .password_goes_to = "ha.auth_file",
    .is_addresses = true,
    .is_quoted = true,
};

const struct conf_kind kind_topics = {
    .what = "a topic, or the beginning of some and \"*\",",
    .bytes = sizeof(char *),
    .set = set_topics,
    .print = print_text,
    .fini = fini_text,
    .print_range = print_topics_range,
    .is_quoted = true,
};

/* ---- addresses ---- */

static void fini_address(void *field)
{
    struct conf_address *a = field;

    free(a->text);
    free(a->host);
    free(a->path);
}

static void put_address(struct conf_address *to, const char *text, struct conf_address from)
{
    fini_address(to);
    *to = from;
    to->text = copy(bytes_of_text(text));
}

static bool set_listen(const struct conf_key *key, const char *text, void *field)
{
    struct conf_address a = {.kind = ADDRESS_OFF};
    struct bytes host;

    if (*text) {
        if (!value_parse_host_port(text, &host, &a.port))
            return false;
        a.kind = ADDRESS_TCP;
        a.host = copy(host);
    }
    put_address(field, text, a);
    return true;
}

static bool set_redis(const struct conf_key *key, const char *text, void *field)
{
    struct conf_address a = {.kind = ADDRESS_EMBEDDED};
    struct bytes host;

    if (!strncmp(text, "unix:/", 6)) {
        if (strlen(text + 5) > SOCKET_PATH_BYTES_MAX)
            return false;
        a.kind = ADDRESS_UNIX;
        a.path = copy(bytes_of_text(text + 5));
    } else if (value_is_sentinels(text)) {
        a.kind = ADDRESS_SENTINELS;
    } else if (value_is_cluster(text)) {
        a.kind = ADDRESS_CLUSTER;
    } else if (strcmp(text, "embedded") != 0) {
        if (!value_parse_host_port(text, &host, &a.port) || a.port == 0)
            return false;
        a.kind = ADDRESS_TCP;
        a.host = copy(host);
    }
    put_address(field, text, a);
    return true;
}

static void print_address(const struct conf_key *key, const void *field, struct buf *to)
{
    buf_add_text(to, ((const struct conf_address *)field)->text);
}

const struct conf_kind kind_listen = {
    .what = "host:port, such as 127.0.0.1:9503, or \"\" for off",
    .bytes = sizeof(struct conf_address),
    .set = set_listen,
    .print = print_address,
    .fini = fini_address,
    .is_quoted = true,
};
const struct conf_kind kind_redis = {
    .what = "embedded, host:port, unix:/path of at most 107 bytes, "
            "sentinel://MASTER@host:port,host:port, or cluster://host:port,host:port",
    .bytes = sizeof(struct conf_address),
    .set = set_redis,
    .print = print_address,
    .fini = fini_address,
    .password_goes_to =
        "store.password_file, that of Sentinels to store.sentinel_password_file",
    .is_addresses = true,
    .is_quoted = true,
};

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
