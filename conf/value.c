#include "conf/value.h"

#include <stdio.h>
#include <string.h>

#include "base/network.h"

struct unit {
    const char *name;
    int64_t factor;
};

/* From small to large. */
static const struct unit size_units[] = {
    {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
static const struct unit percent_units[] = {{"%", 1}, {NULL, 0}};
static const struct unit duration_units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                             {"h", 3600000}, {"d", 86400000}, {NULL, 0}};

bool value_parse_bool(const char *text, bool *value)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return false;
    *value = *text == 't';
    return true;
}

bool value_parse_count(const char *text, int64_t *value)
{
    struct bytes rest = bytes_of_text(text);
    int64_t v;

    if (!bytes_take_digits(&rest, &v) || rest.len)
        return false;
    *value = v;
    return true;
}

static bool parse_with_unit(const char *text, const struct unit *units, int64_t *value)
{
    struct bytes rest = bytes_of_text(text);
    int64_t v;

    if (!bytes_take_digits(&rest, &v))
        return false;
    for (; units->name; units++) {
        if (!strcmp(rest.at, units->name))
            return !__builtin_mul_overflow(v, units->factor, value);
    }
    return false;
}

bool value_parse_size(const char *text, int64_t *bytes)
{
    return value_parse_count(text, bytes) || parse_with_unit(text, size_units, bytes);
}

bool value_parse_duration(const char *text, int64_t *ms)
{
    return parse_with_unit(text, duration_units, ms);
}

bool value_parse_percent(const char *text, int64_t *percent)
{
    return parse_with_unit(text, percent_units, percent);
}

bool value_parse_word(const char *text, const char *const *words, unsigned *index)
{
    for (unsigned i = 0; words[i]; i++) {
        if (!strcmp(text, words[i])) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* Finds the host in front of the last colon. Only a host in brackets may have colons. */
static bool split_host(const char *text, const char *colon, struct bytes *host)
{
    struct bytes h = bytes_of(text, (size_t)(colon - text));

    if (h.len > 2 && h.at[0] == '[' && h.at[h.len - 1] == ']')
        h = bytes_of(h.at + 1, h.len - 2);
    else if (memchr(h.at, ':', h.len))
        return false;
    if (h.len == 0 || h.len > 253)
        return false;
    for (size_t i = 0; i < h.len; i++) {
        if (h.at[i] <= ' ' || h.at[i] > '~' || strchr("[]/@,", h.at[i]))
            return false;
    }
    *host = h;
    return true;
}

bool value_parse_host_port(const char *text, struct bytes *host, unsigned *port)
{
    const char *colon = strrchr(text, ':');
    struct bytes h;
    int64_t p;

    if (!colon || !split_host(text, colon, &h) || !value_parse_count(colon + 1, &p) ||
        p > 65535)
        return false;
    *host = h;
    *port = (unsigned)p;
    return true;
}

bool value_is_name(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "0123456789_.:-")] == '\0';
}

bool value_is_networks(const char *text)
{
    struct networks networks;

    return networks_read(bytes_of_text(text), &networks);
}

bool value_is_hosts(const char *text)
{
    if (!*text || !strcmp(text, "*"))
        return true;
    for (;; text++) {
        size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_.-");

        text += len;
        if (len == 0 || (*text && *text != ','))
            return false;
        if (!*text)
            return true;
    }
}

/* `port` is added to a text without a port, as in ":1"; "": the text must have a port. */
static bool is_server(struct bytes text, const char *port)
{
    bool has_port = text.len && memchr(text.at, ':', text.len) && text.at[text.len - 1] != ']';
    char copy[300];
    struct bytes host;
    unsigned number;

    if (text.len >= sizeof(copy) - 4)
        return false;
    snprintf(copy, sizeof(copy), "%.*s%s", BYTES_ARG(text), has_port ? "" : port);
    return value_parse_host_port(copy, &host, &number) && number > 0;
}

/* The number of servers, separated by commas; 0: none, or one is wrong. */
static unsigned count_servers(const char *text, const char *port)
{
    unsigned count = 0;

    for (;; text++) {
        size_t len = strcspn(text, ",");

        if (!is_server(bytes_of(text, len), port))
            return 0;
        count++;
        text += len;
        if (!*text)
            return count;
    }
}

bool value_is_servers(const char *text)
{
    return !*text || count_servers(text, "") > 0;
}

/* The limits of node/store/redis/topology/sentinel.h and cluster_map.h;
 * node/tests/wiring_test.c compares them. */
#define SENTINELS_MAX       16
#define SEEDS_MAX           16
#define SENTINEL_MASTER_MAX 127

bool value_is_sentinels(const char *text)
{
    char name[SENTINEL_MASTER_MAX + 1];
    const char *at;
    unsigned count;

    if (strncmp(text, "sentinel://", 11) != 0)
        return false;
    text += 11;
    at = strchr(text, '@');
    if (!at || at == text || at - text > SENTINEL_MASTER_MAX || strchr(at + 1, '@') ||
        memchr(text, ':', (size_t)(at - text)))
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)(at - text), text);
    count = count_servers(at + 1, ":1");
    return value_is_name(name) && count > 0 && count <= SENTINELS_MAX;
}

bool value_is_cluster(const char *text)
{
    unsigned count;

    if (strncmp(text, "cluster://", 10) != 0 || strchr(text, '@'))
        return false;
    count = count_servers(text + 10, ":1");
    return count > 0 && count <= SEEDS_MAX;
}

bool value_is_topics(const char *text)
{
    const char *rest =
        text + strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                            "0123456789_.:/+;$()-");

    return *text && *text != '-' && strcmp(text, ".") && strcmp(text, "..") &&
           (!*rest || !strcmp(rest, "*"));
}

static void print_with_unit(struct buf *to, const struct unit *units, int64_t value)
{
    const struct unit *best = units;

    for (; units->name; units++) {
        if (value && value % units->factor == 0)
            best = units;
    }
    buf_printf(to, "%lld%s", (long long)(value / best->factor), best->name);
}

void value_print_size(struct buf *to, int64_t bytes)
{
    print_with_unit(to, size_units, bytes);
}

void value_print_duration(struct buf *to, int64_t ms)
{
    print_with_unit(to, ms ? duration_units : duration_units + 1, ms);
}

void value_print_quoted(struct buf *to, const char *text)
{
    buf_add_char(to, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(to, "\\x%02x", c);
        else if (c == '$' && text[1] == '{')
            buf_add_text(to, "$$");
        else
            buf_add_char(to, (char)c);
    }
    buf_add_char(to, '"');
}
