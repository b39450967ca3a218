#include "protocol/access/identity.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/encoding.h"
#include "protocol/access/role.h"

#define UNTIL_FORM  "%Y-%m-%dT%H:%M:%SZ"
#define UNTIL_BYTES 20

#define LIMIT_MAX 1000000
#define BYTES_MAX (INT64_C(64) << 30)

/* ---- a line in parts ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next word; empty at the end. */
static struct bytes next_word(struct bytes *rest)
{
    size_t begin = 0, end;
    struct bytes word;

    while (begin < rest->len && is_blank(rest->at[begin]))
        begin++;
    for (end = begin; end < rest->len && !is_blank(rest->at[end]);)
        end++;
    word = bytes_of(rest->at + begin, end - begin);
    *rest = bytes_of(rest->at + end, rest->len - end);
    return word;
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool identity_is_name(struct bytes text)
{
    if (text.len == 0 || text.len > IDENTITY_NAME_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_letter_or_digit(text.at[i]) && !memchr("_.-", text.at[i], 3))
            return false;
    return true;
}

/* A '*' is only at the end. Of which bytes a topic consists is not asked here. */
static bool is_pattern(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~' || (text.at[i] == '*' && i + 1 < text.len))
            return false;
    return text.len > 0;
}

/* ---- the members; each returns NULL, or what is wrong ---- */

static bool has_comma_at_end(struct bytes list)
{
    return list.len && list.at[list.len - 1] == ',';
}

static const char *take_topics(struct identity *identity, struct bytes value)
{
    bool is_cut = has_comma_at_end(value);

    do {
        struct bytes pattern = bytes_cut(&value, ',');

        if (is_cut || !is_pattern(pattern))
            return "topics: each is a topic, or its first letters and a '*'";
        if (identity->topic_count == IDENTITY_TOPICS_MAX)
            return "topics: more than 64";
        identity->topics[identity->topic_count++] = pattern;
    } while (value.len);
    return NULL;
}

static size_t print_until(char *to, int64_t until_ms)
{
    time_t until = (time_t)(until_ms / 1000);
    struct tm parts;

    return strftime(to, UNTIL_BYTES + 1, UNTIL_FORM, gmtime_r(&until, &parts));
}

/* A time that is written in another way than it is printed is none: there is no 30 February. */
static const char *take_until(struct identity *identity, struct bytes value)
{
    char text[UNTIL_BYTES + 1] = "", again[UNTIL_BYTES + 1] = "-";
    struct tm parts = {0};

    if (value.len == UNTIL_BYTES)
        memcpy(text, value.at, UNTIL_BYTES);
    if (strptime(text, UNTIL_FORM, &parts)) {
        identity->until_ms = (int64_t)timegm(&parts) * 1000;
        print_until(again, identity->until_ms);
    }
    return strcmp(text, again) ? "until: a time is written 2027-01-31T00:00:00Z" : NULL;
}

static const char *take_token(struct identity *identity, struct bytes value)
{
    bool is_cut = has_comma_at_end(value);

    do {
        if (identity->token_count == IDENTITY_TOKENS_MAX)
            return "token: more than two";
        if (is_cut || !hex_read(bytes_cut(&value, ','),
                                identity->tokens[identity->token_count++], TOKEN_HASH_BYTES))
            return "token: the SHA-256 of a token is 64 digits of 0-9a-f";
    } while (value.len);
    return NULL;
}

static bool begins_with(struct bytes text, const char *front)
{
    return text.len >= strlen(front) && memcmp(text.at, front, strlen(front)) == 0;
}

static bool is_in_dns(char c)
{
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

bool identity_cert_normalize(struct bytes name)
{
    bool is_dns = begins_with(name, "DNS:");
    char *at = (char *)name.at;

    if ((!is_dns && !begins_with(name, "URI:")) || name.len == 4 ||
        name.len > IDENTITY_CERT_MAX)
        return false;
    for (size_t i = 4; i < name.len; i++) {
        if (is_dns ? !is_in_dns(at[i]) : (at[i] <= ' ' || at[i] > '~'))
            return false;
        if (is_dns && at[i] >= 'A' && at[i] <= 'Z')
            at[i] = (char)(at[i] - 'A' + 'a');
    }
    return true;
}

static const char *take_cert(struct identity *identity, struct bytes value)
{
    identity->cert = value;
    return identity_cert_normalize(value)
               ? NULL
               : "cert: a name of a certificate is DNS:shop.example.com or URI:scheme:...";
}

/* A whole number from 1 to `max`, and nothing behind it. */
static bool read_number(struct bytes value, int64_t max, int64_t *number)
{
    return value.len && value.at[0] != '0' && bytes_take_digits(&value, number) &&
           value.len == 0 && *number <= max;
}

static const char *take_rate(struct identity *identity, struct bytes value)
{
    int64_t rate = 0;
    bool is_fine = read_number(value, LIMIT_MAX, &rate);

    identity->rate = (unsigned)rate;
    return is_fine ? NULL : "rate: requests a second, from 1 to 1000000";
}

static const char *take_connections(struct identity *identity, struct bytes value)
{
    int64_t connections = 0;
    bool is_fine = read_number(value, LIMIT_MAX, &connections);

    identity->connections_max = (unsigned)connections;
    return is_fine ? NULL : "connections: from 1 to 1000000";
}

static const struct {
    const char *word;
    unsigned shift;
} sizes[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};

#define SIZES (sizeof(sizes) / sizeof(*sizes))

static const char *take_bytes(struct identity *identity, struct bytes value)
{
    unsigned shift = 0;
    int64_t number = 0;

    for (size_t i = 0; i < SIZES; i++)
        if (value.len > 3 && memcmp(value.at + value.len - 3, sizes[i].word, 3) == 0) {
            shift = sizes[i].shift;
            value.len -= 3;
            break;
        }
    if (!read_number(value, BYTES_MAX >> shift, &number))
        return "bytes: such as 500000 or 16MiB, up to 64GiB";
    identity->bytes_max = (size_t)number << shift;
    return NULL;
}

static void print_bytes(struct buf *to, size_t bytes)
{
    for (size_t i = 0; i < SIZES; i++)
        if (bytes % ((size_t)1 << sizes[i].shift) == 0) {
            buf_printf(to, " bytes=%zu%s", bytes >> sizes[i].shift, sizes[i].word);
            return;
        }
    buf_printf(to, " bytes=%zu", bytes);
}

static const struct {
    const char *name;
    const char *(*take)(struct identity *identity, struct bytes value);
} members[] = {{"topics", take_topics}, {"until", take_until},
               {"token", take_token},   {"cert", take_cert},
               {"rate", take_rate},     {"connections", take_connections},
               {"bytes", take_bytes}};

#define MEMBERS (sizeof(members) / sizeof(*members))

static const char *take_member(struct identity *identity, struct bytes word, unsigned *given)
{
    struct bytes name = bytes_cut(&word, '=');

    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!bytes_equal(name, bytes_of_text(members[i].name)))
            continue;
        if (*given & 1u << i)
            return "a member is given twice";
        *given |= 1u << i;
        return members[i].take(identity, word);
    }
    return "behind name and roles stand topics, until, token, cert, rate, connections and "
           "bytes only, each with its value: topics=...";
}

static const char *take_line(struct identity *identity, struct bytes rest)
{
    const char *why = NULL;
    unsigned given = 0;
    struct bytes word;

    identity->name = next_word(&rest);
    if (!identity_is_name(identity->name))
        return "a name is 1 to 64 of [A-Za-z0-9_.-]";
    identity->roles = access_roles_read(next_word(&rest));
    if (!identity->roles)
        return "roles are produce, consume, inspect, operate, admin, with commas between, or "
               "all";
    while (!why && (word = next_word(&rest)).len)
        why = take_member(identity, word, &given);
    return why;
}

struct identity *identity_parse(struct bytes line, const char **why)
{
    struct identity *identity;

    if (line.len > IDENTITY_LINE_MAX) {
        *why = "the line is longer than 16 KiB";
        return NULL;
    }
    identity = must(calloc(1, sizeof(*identity) + line.len));
    if (line.len)
        memcpy(identity->text, line.at, line.len);
    identity->line = bytes_of(identity->text, line.len);
    identity->users = 1;
    identity->account = must(calloc(1, sizeof(*identity->account)));
    identity->account->users = 1;
    allowance_line_init(&identity->account->line);
    identity->until_ms = INT64_MAX;
    *why = take_line(identity, identity->line);
    if (!*why)
        return identity;
    identity_drop(identity);
    return NULL;
}

void identity_print(struct buf *to, const struct identity *identity)
{
    char text[UNTIL_BYTES + 1];

    buf_printf(to, "%.*s ", BYTES_ARG(identity->name));
    access_roles_print(to, identity->roles);
    for (unsigned i = 0; i < identity->topic_count; i++)
        buf_printf(to, "%s%.*s", i ? "," : " topics=", BYTES_ARG(identity->topics[i]));
    if (identity->until_ms != INT64_MAX && print_until(text, identity->until_ms))
        buf_printf(to, " until=%s", text);
    for (unsigned i = 0; i < identity->token_count; i++) {
        buf_add_text(to, i ? "," : " token=");
        hex_add(to, identity->tokens[i], TOKEN_HASH_BYTES);
    }
    if (identity->cert.len)
        buf_printf(to, " cert=%.*s", BYTES_ARG(identity->cert));
    if (identity->rate)
        buf_printf(to, " rate=%u", identity->rate);
    if (identity->connections_max)
        buf_printf(to, " connections=%u", identity->connections_max);
    if (identity->bytes_max)
        print_bytes(to, identity->bytes_max);
}

/* ---- in use ---- */

struct identity *identity_use(struct identity *identity)
{
    if (identity)
        identity->users++;
    return identity;
}

struct identity_account *identity_account_use(struct identity_account *account)
{
    account->users++;
    return account;
}

void identity_account_drop(struct identity_account *account)
{
    if (account && --account->users == 0)
        free(account);
}

void identity_drop(struct identity *identity)
{
    if (!identity || --identity->users)
        return;
    identity_account_drop(identity->account);
    free(identity);
}

void identity_inherit(struct identity *fresh, const struct identity *old)
{
    identity_account_drop(fresh->account);
    fresh->account = identity_account_use(old->account);
}

bool identity_may_have_bytes(const struct identity *identity, size_t bytes, uint64_t more)
{
    return !identity->bytes_max || bytes + more <= identity->bytes_max;
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
    struct buf line_a = BUF_INIT, line_b = BUF_INIT;
    bool is_same;

    if (bytes_equal(a->line, b->line))
        return true;
    identity_print(&line_a, a);
    identity_print(&line_b, b);
    is_same = bytes_equal(buf_bytes(&line_a), buf_bytes(&line_b));
    buf_fini(&line_a);
    buf_fini(&line_b);
    return is_same;
}

static bool has(struct bytes pattern, struct bytes topic)
{
    size_t front = pattern.len - 1;

    if (pattern.at[front] != '*')
        return bytes_equal(pattern, topic);
    return topic.len >= front && memcmp(topic.at, pattern.at, front) == 0;
}

bool identity_has_all_topics(const struct identity *identity)
{
    for (unsigned i = 0; i < identity->topic_count; i++)
        if (bytes_equal(identity->topics[i], BYTES("*")))
            return true;
    return identity->topic_count == 0;
}

bool identity_has_topic(const struct identity *identity, struct bytes topic)
{
    for (unsigned i = 0; i < identity->topic_count; i++)
        if (has(identity->topics[i], topic))
            return true;
    return identity->topic_count == 0;
}
