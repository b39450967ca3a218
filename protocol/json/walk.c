#include "protocol/json/walk.h"

#include <endian.h>
#include <stdint.h>

/* ---- long strings: eight characters at a time ---- */

#define ALL(c) (UINT64_C(0x0101010101010101) * (c))
#define HIGH   ALL(0x80)
#define STRIDE 8

/* Each of these has HIGH bits set: none where there is no such character among the eight, and
 * the lowest one where the first of them is. (Above that one there may be false ones.) */
static uint64_t has_below(uint64_t eight, unsigned char c)
{
    return (eight - ALL(c)) & ~eight & HIGH;
}

static uint64_t has(uint64_t eight, unsigned char c)
{
    return has_below(eight ^ ALL(c), 1);
}

static uint64_t load(const char *at)
{
    uint64_t eight;

    memcpy(&eight, at, STRIDE);
    return le64toh(eight);
}

static unsigned first_of(uint64_t found)
{
    return (unsigned)__builtin_ctzll(found) / 8;
}

static uint64_t has_mark(uint64_t eight)
{
    return has(eight, '"') | has(eight, '\\');
}

static uint64_t has_special(uint64_t eight)
{
    return (eight & HIGH) | has_below(eight, 0x20) | has_mark(eight);
}

size_t json_count_plain_run(const char *at, const char *end)
{
    const char *from = at;

    for (; end - at >= STRIDE; at += STRIDE) {
        uint64_t specials = has_special(load(at));

        if (specials)
            return (size_t)(at - from) + first_of(specials);
    }
    while (at < end && json_is_plain(*at))
        at++;
    return (size_t)(at - from);
}

const char *json_find_mark_behind(const char *at, const char *end)
{
    for (; end - at >= STRIDE; at += STRIDE) {
        uint64_t marks = has_mark(load(at));

        if (marks)
            return at + first_of(marks);
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* ---- walking ---- */

static void skip_space(struct json_walk *w)
{
    while (w->at < w->end && json_is_space(*w->at))
        w->at++;
}

static bool skip_mark(struct json_walk *w, char mark)
{
    skip_space(w);
    if (w->at == w->end || *w->at != mark)
        return false;
    w->at++;
    return true;
}

/* Stands on the opening quote, and then behind the closing one. */
static void skip_string(struct json_walk *w)
{
    w->at++;
    while ((w->at = json_find_mark(w->at, w->end)) < w->end && *w->at != '"')
        w->at += w->at + 1 < w->end ? 2 : 1;
    if (w->at < w->end)
        w->at++;
}

/* An object or a list, with all that is in it. */
static void skip_nested(struct json_walk *w)
{
    size_t depth = 0;

    do {
        if (*w->at == '"') {
            skip_string(w);
            continue;
        }
        if (*w->at == '{' || *w->at == '[')
            depth++;
        else if (*w->at == '}' || *w->at == ']')
            depth--;
        w->at++;
    } while (depth && w->at < w->end);
}

static void skip_word(struct json_walk *w)
{
    while (w->at < w->end && *w->at != ',' && *w->at != '}' && *w->at != ']' &&
           !json_is_space(*w->at))
        w->at++;
}

static bool take_value(struct json_walk *w, struct bytes *value)
{
    const char *from;

    skip_space(w);
    from = w->at;
    if (from == w->end)
        return false;
    if (*from == '"')
        skip_string(w);
    else if (*from == '{' || *from == '[')
        skip_nested(w);
    else
        skip_word(w);
    *value = bytes_of(from, (size_t)(w->at - from));
    return value->len > 0;
}

enum json_kind json_kind_of(struct bytes value)
{
    if (value.len == 0)
        return JSON_KIND_NONE;
    switch (value.at[0]) {
    case '"':
        return JSON_KIND_STRING;
    case '{':
        return JSON_KIND_OBJECT;
    case '[':
        return JSON_KIND_LIST;
    case 'n':
        return JSON_KIND_NULL;
    case 't':
    case 'f':
        return JSON_KIND_BOOL;
    default:
        return JSON_KIND_NUMBER;
    }
}

struct json_walk json_walk_into(struct bytes container)
{
    enum json_kind kind = json_kind_of(container);

    if (kind != JSON_KIND_OBJECT && kind != JSON_KIND_LIST)
        return (struct json_walk){0};
    return (struct json_walk){container.at + 1, container.at + container.len, false};
}

static bool begin_item(struct json_walk *w)
{
    bool has_item = !w->has_begun || skip_mark(w, ',');

    w->has_begun = true;
    return has_item;
}

bool json_walk_element(struct json_walk *w, struct bytes *value)
{
    return begin_item(w) && take_value(w, value);
}

bool json_walk_member(struct json_walk *w, struct bytes *name, struct bytes *value)
{
    return begin_item(w) && take_value(w, name) && json_kind_of(*name) == JSON_KIND_STRING &&
           skip_mark(w, ':') && take_value(w, value);
}

/* ---- escapes ---- */

int json_hex4(const char *at)
{
    int unit = 0;

    for (unsigned i = 0; i < 4; i++) {
        char c = at[i];
        int digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20) - 'a' + 10;
        else
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static char *put_utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* Behind "\u"; moves `from` behind the digits, of both halves where there are two. */
static unsigned read_unicode(const char **from)
{
    unsigned c = (unsigned)json_hex4(*from);

    *from += 4;
    if (c >= 0xd800 && c <= 0xdbff) {
        c = 0x10000 + ((c & 0x3ff) << 10) + ((unsigned)json_hex4(*from + 2) & 0x3ff);
        *from += 6;
    }
    return c;
}

static char short_escape(char c)
{
    static const char names[] = "bfnrt", means[] = "\b\f\n\r\t";
    const char *found = strchr(names, c);

    return found ? means[found - names] : c;
}

struct bytes json_unescape(struct bytes string)
{
    const char *from = string.at + 1, *end = string.at + string.len - 1;
    char *start = (char *)string.at + 1, *to;

    from = memchr(from, '\\', (size_t)(end - from));
    if (!from)
        return bytes_of(start, string.len - 2);
    for (to = start + (from - start); from < end;) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        from += 2;
        if (from[-1] == 'u')
            to = put_utf8(to, read_unicode(&from));
        else
            *to++ = short_escape(from[-1]);
    }
    return bytes_of(start, (size_t)(to - start));
}
