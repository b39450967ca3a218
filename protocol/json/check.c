#include "protocol/json/check.h"

#include "protocol/json/walk.h"
#include "protocol/json/utf8.h"

/* Every function stands on what it is named after, and leaves the reader behind it. */
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

/* They seldom come alone. */
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

/* On one that does not stand for itself, and is no quote. */
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
