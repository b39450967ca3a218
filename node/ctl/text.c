#include "node/ctl/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"

#define NO_CHARACTER UINT32_MAX

/* The character at the beginning and its length in bytes; NO_CHARACTER where there is none. */
static uint32_t decode(struct bytes from, size_t *len)
{
    const unsigned char *at = (const unsigned char *)from.at;
    size_t n = utf8_length(at, from.len);
    uint32_t c = n > 1 ? at[0] & (0x7fu >> n) : at[0];

    *len = n ? n : 1;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (at[i] & 0x3f);
    return n ? c : NO_CHARACTER;
}

/* Line and paragraph separators, and the marks that make text read in another order. */
static bool misleads(uint32_t c)
{
    return (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x061c || c == 0xfeff;
}

static void escape_control(struct buf *to, uint32_t c)
{
    static const char letters[] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', ['\\'] = '\\'};

    if (c < sizeof(letters) && letters[c])
        buf_printf(to, "\\%c", letters[c]);
    else
        buf_printf(to, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
}

void text_escape(struct buf *to, struct bytes from)
{
    size_t len;

    for (; from.len; from.at += len, from.len -= len) {
        uint32_t c = decode(from, &len);

        if (c == NO_CHARACTER)
            buf_printf(to, "\\x%02x", (unsigned char)from.at[0]);
        else if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == '\\' || misleads(c))
            escape_control(to, c);
        else
            buf_add(to, from.at, len);
    }
}

size_t text_width(const char *text)
{
    size_t columns = 0;

    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void text_number(struct buf *to, int64_t n, bool is_grouped)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, n), sign = n < 0;

    for (int i = 0; i < len; i++) {
        if (is_grouped && i > sign && (len - i) % 3 == 0)
            buf_add_char(to, ',');
        buf_add_char(to, digits[i]);
    }
}

/* From small to large. */
static const struct {
    const char *name;
    int64_t factor;
} units[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};

#define UNITS (sizeof(units) / sizeof(*units))

bool size_parse(const char *text, int64_t *bytes)
{
    struct bytes rest = bytes_of_text(text);
    int64_t number;
    size_t i = 0;

    if (!bytes_take_digits(&rest, &number))
        return false;
    while (i < UNITS && strcmp(*rest.at ? rest.at : "B", units[i].name) != 0)
        i++;
    if (i == UNITS || __builtin_mul_overflow(number, units[i].factor, &number))
        return false;
    *bytes = number;
    return true;
}

void size_write(struct buf *to, int64_t bytes)
{
    size_t best = 0;

    for (size_t i = 1; i < UNITS; i++) {
        if (bytes && bytes % units[i].factor == 0)
            best = i;
    }
    buf_printf(to, "%" PRId64 "%s", bytes / units[best].factor, best ? units[best].name : "");
}

bool text_is_plain(struct bytes from)
{
    size_t len;

    for (; from.len; from.at += len, from.len -= len) {
        uint32_t c = decode(from, &len);

        if (c == NO_CHARACTER || c == 0)
            return false;
    }
    return true;
}

bool text_from_base64(struct buf *to, struct bytes from)
{
    size_t before = to->len;
    struct bytes decoded = BYTES("");
    bool is_base64;

    buf_add_bytes(to, from);
    is_base64 = base64_decode(bytes_of(to->at + before, from.len), &decoded);
    to->len = before + decoded.len;
    return is_base64;
}
