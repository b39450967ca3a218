#include "protocol/json/read.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/encoding.h"

static int json_hex4(const char *at);

/* Every function begins at the thing in its name, and leaves the reader behind that thing. */
struct reader {
    const unsigned char *at;
    const unsigned char *end;
    unsigned depth;
};

static enum json_fault check_value(struct reader *r);

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && json_is_space((char)*r->at))
        r->at++;
}

static bool skip_mark(struct reader *r, unsigned char mark)
{
    if (r->at == r->end || *r->at != mark)
        return false;
    r->at++;
    return true;
}

/* ---- strings ---- */

/* The four digits of \uXXXX; -1 when they are not. */
static int read_hex(struct reader *r)
{
    int unit = left(r) < 4 ? -1 : json_hex4((const char *)r->at);

    if (unit >= 0)
        r->at += 4;
    return unit;
}

/* Behind "\u". */
static enum json_fault check_unicode(struct reader *r)
{
    int high = read_hex(r), low;

    if (high < 0)
        return JSON_FAULT_SYNTAX;
    if (high < 0xd800 || high > 0xdfff)
        return JSON_FAULT_NONE;
    if (high > 0xdbff || left(r) < 2 || r->at[0] != '\\' || r->at[1] != 'u')
        return JSON_FAULT_SURROGATE;
    r->at += 2;
    low = read_hex(r);
    if (low < 0)
        return JSON_FAULT_SYNTAX;
    return low >= 0xdc00 && low <= 0xdfff ? JSON_FAULT_NONE : JSON_FAULT_SURROGATE;
}

static enum json_fault check_escape(struct reader *r)
{
    unsigned char c;

    r->at++;
    if (r->at == r->end)
        return JSON_FAULT_SYNTAX;
    c = *r->at++;
    if (c == 'u')
        return check_unicode(r);
    return c && strchr("\"\\/bfnrt", c) ? JSON_FAULT_NONE : JSON_FAULT_SYNTAX;
}

/* Takes a run of characters beyond ASCII: they seldom come alone. */
static enum json_fault check_utf8(struct reader *r)
{
    do {
        size_t len = utf8_length(r->at, left(r));

        if (len == 0)
            return JSON_FAULT_UTF8;
        r->at += len;
    } while (r->at < r->end && *r->at >= 0x80);
    return JSON_FAULT_NONE;
}

/* At a character that does not stand for itself, and is no quote. */
static enum json_fault check_special(struct reader *r)
{
    if (*r->at == '\\')
        return check_escape(r);
    return *r->at < 0x20 ? JSON_FAULT_SYNTAX : check_utf8(r);
}

static enum json_fault check_string(struct reader *r)
{
    enum json_fault fault = JSON_FAULT_NONE;

    r->at++;
    while (fault == JSON_FAULT_NONE) {
        r->at += json_count_plain((const char *)r->at, (const char *)r->end);
        if (r->at == r->end)
            return JSON_FAULT_SYNTAX;
        if (skip_mark(r, '"'))
            return JSON_FAULT_NONE;
        fault = check_special(r);
    }
    return fault;
}

/* ---- numbers and words ---- */

static bool skip_digits(struct reader *r)
{
    const unsigned char *from = r->at;

    while (r->at < r->end && is_digit(*r->at))
        r->at++;
    return r->at > from;
}

static enum json_fault check_number(struct reader *r)
{
    skip_mark(r, '-');
    if (!skip_mark(r, '0') && !skip_digits(r))
        return JSON_FAULT_SYNTAX;
    if (skip_mark(r, '.') && !skip_digits(r))
        return JSON_FAULT_SYNTAX;
    if (skip_mark(r, 'e') || skip_mark(r, 'E')) {
        if (!skip_mark(r, '+'))
            skip_mark(r, '-');
        if (!skip_digits(r))
            return JSON_FAULT_SYNTAX;
    }
    return JSON_FAULT_NONE;
}

static enum json_fault check_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);

    if (left(r) < len || memcmp(r->at, word, len) != 0)
        return JSON_FAULT_SYNTAX;
    r->at += len;
    return JSON_FAULT_NONE;
}

/* ---- objects and lists ---- */

static enum json_fault check_member(struct reader *r)
{
    enum json_fault fault;

    skip_space(r);
    if (r->at == r->end || *r->at != '"')
        return JSON_FAULT_SYNTAX;
    fault = check_string(r);
    if (fault)
        return fault;
    skip_space(r);
    return skip_mark(r, ':') ? check_value(r) : JSON_FAULT_SYNTAX;
}

static enum json_fault check_items(struct reader *r)
{
    enum json_fault fault = JSON_FAULT_NONE;
    bool is_object = *r->at == '{';
    unsigned char close = is_object ? '}' : ']';

    r->at++;
    skip_space(r);
    if (skip_mark(r, close))
        return JSON_FAULT_NONE;
    do {
        fault = is_object ? check_member(r) : check_value(r);
        skip_space(r);
    } while (fault == JSON_FAULT_NONE && skip_mark(r, ','));
    if (fault == JSON_FAULT_NONE && !skip_mark(r, close))
        return JSON_FAULT_SYNTAX;
    return fault;
}

static enum json_fault check_nested(struct reader *r)
{
    enum json_fault fault;

    if (r->depth == JSON_DEPTH_MAX)
        return JSON_FAULT_DEPTH;
    r->depth++;
    fault = check_items(r);
    r->depth--;
    return fault;
}

static enum json_fault check_value(struct reader *r)
{
    skip_space(r);
    if (r->at == r->end)
        return JSON_FAULT_SYNTAX;
    switch (*r->at) {
    case '{':
    case '[':
        return check_nested(r);
    case '"':
        return check_string(r);
    case 't':
        return check_word(r, "true");
    case 'f':
        return check_word(r, "false");
    case 'n':
        return check_word(r, "null");
    default:
        return check_number(r);
    }
}

enum json_fault json_check_at(struct bytes text, size_t *at_byte)
{
    const unsigned char *at = (const unsigned char *)text.at;
    struct reader r = {at, at + text.len, 0};
    enum json_fault fault = check_value(&r);

    if (!fault) {
        skip_space(&r);
        fault = r.at == r.end ? JSON_FAULT_NONE : JSON_FAULT_SYNTAX;
    }
    if (fault)
        *at_byte = (size_t)(r.at - at);
    return fault;
}

enum json_fault json_check(struct bytes text)
{
    size_t at_byte;

    return json_check_at(text, &at_byte);
}

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

static void walk_space(struct json_walk *w)
{
    while (w->at < w->end && json_is_space(*w->at))
        w->at++;
}

static bool walk_mark(struct json_walk *w, char mark)
{
    walk_space(w);
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

    walk_space(w);
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
    bool has_item = !w->has_begun || walk_mark(w, ',');

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
           walk_mark(w, ':') && take_value(w, value);
}

/* ---- escapes ---- */

/* Four hexadecimal digits; -1 when they are not. */
static int json_hex4(const char *at)
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

struct bytes json_trim(struct bytes text)
{
    while (text.len && json_is_space(text.at[0]))
        text = bytes_of(text.at + 1, text.len - 1);
    while (text.len && json_is_space(text.at[text.len - 1]))
        text.len--;
    return text;
}

static bool is_named(struct bytes name, const char *wanted)
{
    return name.len == strlen(wanted) && strncasecmp(name.at, wanted, name.len) == 0;
}

void json_pick(struct bytes object, const char *const *names, struct bytes *values,
               unsigned count)
{
    struct json_walk members = json_walk_into(object);
    struct bytes name, value;

    for (unsigned i = 0; i < count; i++)
        values[i] = BYTES("");
    if (json_kind_of(object) != JSON_KIND_OBJECT)
        return;
    while (json_walk_member(&members, &name, &value)) {
        name = json_unescape(name);
        for (unsigned i = 0; i < count; i++)
            if (is_named(name, names[i]))
                values[i] = json_kind_of(value) == JSON_KIND_NULL ? BYTES("") : value;
    }
}
