/* The kinds of value: reading a text into the field, printing and freeing it. */
#include "conf/table.h"

#include <stdlib.h>
#include <string.h>

#include "conf/value.h"

#define SOCKET_PATH_BYTES_MAX 107 /* sun_path and its NUL: 108 */

static bool is_in_range(const struct conf_key *key, int64_t value)
{
    return value >= key->min && value <= key->max;
}

/* ---- texts ---- */

static bool set_text(const struct conf_key *key, const char *text, void *field)
{
    char **to = field;

    if ((key->kind->accepts && !key->kind->accepts(text)) ||
        !is_in_range(key, (int64_t)strlen(text)))
        return false;
    free(*to);
    *to = bytes_copy(bytes_of_text(text));
    return true;
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
    buf_printf(to, "of %lld to %lld %s", (long long)key->min, (long long)key->max,
               key->kind->unit);
}

static void print_module_names(const struct conf_key *key, struct buf *to)
{
    for (const char *const *name = log_modules; *name; name++)
        buf_printf(to, "%s%s", name == log_modules ? "" : ", ", *name);
}

#define TEXT                                                                          \
    .bytes = sizeof(char *), .set = set_text, .print = print_text, .fini = fini_text, \
    .is_quoted = true

const struct conf_kind kind_text = {
    TEXT,
    .what = "a text",
    .unit = "bytes",
    .print_range = print_text_range,
};
const struct conf_kind kind_name = {
    TEXT,
    .what = "a name",
    .unit = "characters of [A-Za-z0-9_.:-]",
    .accepts = value_is_name,
    .print_range = print_text_range,
};
const struct conf_kind kind_modules = {
    TEXT,
    .what = "levels by module, such as \"scanner=debug,gmq=warn\", out of",
    .accepts = log_modules_are_valid,
    .print_range = print_module_names,
};
const struct conf_kind kind_hosts = {
    TEXT,
    .what = "names of hosts without ports, such as \"dueq,dueq.example.com\",",
    .unit = "bytes",
    .accepts = value_is_hosts,
    .print_range = print_text_range,
};
const struct conf_kind kind_servers = {
    TEXT,
    .what = "servers, such as \"10.0.0.1:2181,10.0.0.2:2181\",",
    .unit = "bytes",
    .accepts = value_is_servers,
    .print_range = print_text_range,
    .password_goes_to = "ha.auth_file",
    .is_addresses = true,
};
const struct conf_kind kind_networks = {
    TEXT,
    .what = "up to 64 addresses and networks, such as \"10.0.0.7,fd00::/8\",",
    .unit = "bytes",
    .accepts = value_is_networks,
    .print_range = print_text_range,
};
const struct conf_kind kind_topics = {
    TEXT,
    .what = "a topic, or the beginning of some and \"*\",",
    .unit = "characters of [A-Za-z0-9_.:/+;$()-], no - in front",
    .accepts = value_is_topics,
    .print_range = print_text_range,
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
    to->text = bytes_copy(bytes_of_text(text));
}

static bool set_listen(const struct conf_key *key, const char *text, void *field)
{
    struct conf_address a = {.kind = ADDRESS_OFF};
    struct bytes host;

    if (*text) {
        if (!value_parse_host_port(text, &host, &a.port))
            return false;
        a.kind = ADDRESS_TCP;
        a.host = bytes_copy(host);
    }
    put_address(field, text, a);
    return true;
}

static bool read_socket(const char *path, struct conf_address *a)
{
    if (strlen(path) > SOCKET_PATH_BYTES_MAX)
        return false;
    a->kind = ADDRESS_UNIX;
    a->path = bytes_copy(bytes_of_text(path));
    return true;
}

static bool set_port(const struct conf_key *key, const char *text, void *field)
{
    struct conf_address a = {.kind = ADDRESS_OFF};

    if (strncmp(text, "unix:/", 6) != 0)
        return set_listen(key, text, field);
    if (!read_socket(text + 5, &a))
        return false;
    put_address(field, text, a);
    return true;
}

/* What stands in front of the address of a Redis, and what may follow. The last one fits all.
 */
static const struct scheme {
    const char *text;
    bool is_tls, is_of_one, is_of_many;
} schemes[] = {
    {"redis://", false, true, false},
    {"rediss://", true, true, false},
    {"rediss+", true, false, true},
    {"", false, true, true},
};

static const struct scheme *scheme_of(const char *text)
{
    const struct scheme *scheme = schemes;

    while (strncmp(text, scheme->text, strlen(scheme->text)) != 0)
        scheme++;
    return scheme;
}

static bool read_many(const char *text, struct conf_address *a)
{
    if (!value_is_sentinels(text) && !value_is_cluster(text))
        return false;
    a->kind = value_is_sentinels(text) ? ADDRESS_SENTINELS : ADDRESS_CLUSTER;
    return true;
}

static bool read_one(const char *text, struct conf_address *a)
{
    struct bytes host;

    if (!value_parse_host_port(text, &host, &a->port) || a->port == 0)
        return false;
    a->kind = ADDRESS_TCP;
    a->host = bytes_copy(host);
    return true;
}

static bool read_redis(const char *text, struct conf_address *a)
{
    const struct scheme *scheme = scheme_of(text);
    const char *bare = text + strlen(scheme->text);

    if (!strcmp(text, "embedded"))
        return true;
    if (!strncmp(text, "unix:/", 6))
        return read_socket(text + 5, a);
    a->is_tls = scheme->is_tls;
    a->bare_at = (unsigned)(bare - text);
    return (scheme->is_of_many && read_many(bare, a)) ||
           (scheme->is_of_one && read_one(bare, a));
}

static bool set_redis(const struct conf_key *key, const char *text, void *field)
{
    struct conf_address a = {.kind = ADDRESS_EMBEDDED};

    if (!read_redis(text, &a))
        return false;
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
const struct conf_kind kind_port = {
    .what =
        "host:port, such as 127.0.0.1:9503, unix:/path of at most 107 bytes, or \"\" for off",
    .bytes = sizeof(struct conf_address),
    .set = set_port,
    .print = print_address,
    .fini = fini_address,
    .is_quoted = true,
};
const struct conf_kind kind_redis = {
    .what = "embedded, host:port, unix:/path of at most 107 bytes, "
            "sentinel://MASTER@host:port,host:port, or cluster://host:port,host:port; over "
            "TLS rediss://host:port, rediss+sentinel://..., rediss+cluster://...",
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

/* The field is as wide as an unsigned or as an int64_t. */
static bool set_number(const struct conf_key *key, const char *text, void *field)
{
    int64_t value;

    if (!key->kind->parse(text, &value) || !is_in_range(key, value))
        return false;
    if (key->kind->bytes == sizeof(unsigned))
        *(unsigned *)field = (unsigned)value;
    else
        *(int64_t *)field = value;
    return true;
}

static void print_number(const struct conf_key *key, const void *field, struct buf *to)
{
    key->kind->write(to, key->kind->bytes == sizeof(unsigned) ? *(const unsigned *)field
                                                              : *(const int64_t *)field);
}

static void print_number_range(const struct conf_key *key, struct buf *to)
{
    buf_add_text(to, "from ");
    key->kind->write(to, key->min);
    buf_add_text(to, " to ");
    key->kind->write(to, key->max);
}

static void write_percent(struct buf *to, int64_t percent)
{
    buf_printf(to, "%lld%%", (long long)percent);
}

#define NUMBER .set = set_number, .print = print_number, .print_range = print_number_range

const struct conf_kind kind_count = {
    NUMBER,
    .what = "a number",
    .bytes = sizeof(unsigned),
    .parse = value_parse_count,
    .write = buf_add_number,
};
const struct conf_kind kind_size = {
    NUMBER,
    .what = "a size",
    .bytes = sizeof(size_t),
    .parse = value_parse_size,
    .write = value_print_size,
};
const struct conf_kind kind_duration = {
    NUMBER,
    .what = "a duration with its unit",
    .bytes = sizeof(int64_t),
    .parse = value_parse_duration,
    .write = value_print_duration,
};
const struct conf_kind kind_percent = {
    NUMBER,
    .what = "a share with its sign",
    .bytes = sizeof(unsigned),
    .parse = value_parse_percent,
    .write = write_percent,
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
