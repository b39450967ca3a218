#include "protocol/json/read.h"

#include <endian.h>
#include <stdint.h>

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

/* ---- UTF-8 ---- */

static size_t length_by_lead(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2)
        return 0;
    if (lead < 0xe0)
        return 2;
    if (lead < 0xf0)
        return 3;
    return lead < 0xf5 ? 4 : 0;
}

/* Overlong forms, surrogates and what lies above U+10FFFF show in the second byte. */
static bool is_second_byte(unsigned char lead, unsigned char second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

size_t utf8_length(const unsigned char *at, size_t left)
{
    size_t len = length_by_lead(at[0]);

    if (len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return len < 2 || is_second_byte(at[0], at[1]) ? len : 0;
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

static enum json_fault check_items(struct reader *r, unsigned char close,
                                   enum json_fault (*check_item)(struct reader *r))
{
    enum json_fault fault = JSON_FAULT_NONE;

    r->at++;
    skip_space(r);
    if (skip_mark(r, close))
        return JSON_FAULT_NONE;
    do {
        fault = check_item(r);
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
    fault =
        *r->at == '{' ? check_items(r, '}', check_member) : check_items(r, ']', check_value);
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

/* ---- base64 ---- */

/* The value of each digit plus one; 0: not a digit. */
static const unsigned char base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,
    ['H'] = 8,  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14,
    ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21,
    ['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28,
    ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35,
    ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
    ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49,
    ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
    ['/'] = 64,
};

/* The 24 bits of four digits. A character that is no digit sets bits above them. */
static uint32_t read_four(const unsigned char *at)
{
    uint32_t four = 0, wrong = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t value = base64_values[at[i]] - 1U;

        four = four << 6 | (value & 63);
        wrong |= value & ~63U;
    }
    return four | (wrong ? 0xff000000 : 0);
}

static char *put_bytes(char *to, uint32_t three, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        *to++ = (char)(three >> (16 - 8 * i) & 0xff);
    return to;
}

static unsigned count_padding(struct bytes text)
{
    if (text.at[text.len - 1] != '=')
        return 0;
    return text.at[text.len - 2] == '=' ? 2 : 1;
}

/* The last four digits: padding counts as zeros, and the unused bits must be zero, too. */
static bool read_last(const unsigned char *at, unsigned padding, uint32_t *three)
{
    unsigned char last[4];

    memcpy(last, at, sizeof(last));
    memset(last + 4 - padding, 'A', padding);
    *three = read_four(last);
    return !(*three >> 24) && !(*three & ((1U << 8 * padding) - 1));
}

bool json_base64_decode(struct bytes text, struct bytes *out)
{
    const unsigned char *from = (const unsigned char *)text.at, *last;
    char *to = (char *)text.at;
    uint32_t three;
    unsigned padding;

    if (text.len % 4 != 0)
        return false;
    if (text.len == 0) {
        *out = text;
        return true;
    }
    padding = count_padding(text);
    for (last = from + text.len - 4; from < last; from += 4) {
        three = read_four(from);
        if (three >> 24)
            return false;
        to = put_bytes(to, three, 3);
    }
    if (!read_last(last, padding, &three))
        return false;
    to = put_bytes(to, three, 3 - padding);
    *out = bytes_of(text.at, (size_t)(to - text.at));
    return true;
}
