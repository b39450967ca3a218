#include "node/ctl/text.h"

#include <string.h>

#define NO_CHARACTER UINT32_MAX

/* The bytes that follow the first one of a UTF-8 sequence, 0 where no sequence begins so; and
 * the smallest character that needs as many: a shorter one in a longer form is not UTF-8. */
static size_t followers(unsigned char first, uint32_t *smallest)
{
    static const uint32_t smallest_of[] = {0, 0x80, 0x800, 0x10000};
    size_t n = first >= 0xf0 && first < 0xf8   ? 3
               : first >= 0xe0 && first < 0xf0 ? 2
               : first >= 0xc0 && first < 0xe0 ? 1
                                               : 0;

    *smallest = smallest_of[n];
    return n;
}

/* The character at the beginning and its length in bytes; NO_CHARACTER where there is none. */
static uint32_t decode(struct bytes from, size_t *len)
{
    unsigned char first = (unsigned char)from.at[0];
    uint32_t smallest;
    size_t n;
    uint32_t c;

    *len = 1;
    if (first < 0x80)
        return first;
    n = followers(first, &smallest);
    if (n == 0 || n >= from.len)
        return NO_CHARACTER;
    c = first & (0x3fu >> n);
    for (size_t i = 1; i <= n; i++) {
        unsigned char next = (unsigned char)from.at[i];

        if ((next & 0xc0) != 0x80)
            return NO_CHARACTER;
        c = c << 6 | (next & 0x3f);
    }
    if (c < smallest || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return NO_CHARACTER;
    *len = n + 1;
    return c;
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
    struct buf number = BUF_INIT;
    size_t len;

    buf_printf(&number, "%lld", (long long)n);
    len = number.len - (n < 0);
    memcpy(digits, buf_text(&number) + (n < 0), len);
    if (n < 0)
        buf_add_char(to, '-');
    for (size_t i = 0; i < len; i++) {
        if (is_grouped && i && (len - i) % 3 == 0)
            buf_add_char(to, ',');
        buf_add_char(to, digits[i]);
    }
    buf_fini(&number);
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

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void text_to_base64(struct buf *to, struct bytes from)
{
    for (size_t i = 0; i < from.len; i += 3) {
        size_t n = from.len - i < 3 ? from.len - i : 3;
        uint32_t group = 0;

        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < n ? (unsigned char)from.at[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_add_char(to, k <= n ? alphabet[group >> (18 - 6 * k) & 0x3f] : '=');
    }
}

/* Four characters to up to three bytes; returns how many, 0 for none. */
static size_t decode_group(const char *at, bool is_last, char *bytes)
{
    size_t n = !is_last || at[3] != '=' ? 3 : at[2] != '=' ? 2 : 1;
    uint32_t group = 0;

    for (size_t k = 0; k < 4; k++) {
        const char *found = at[k] ? strchr(alphabet, at[k]) : NULL;

        if (!found && k <= n)
            return 0;
        group = group << 6 | (found && k <= n ? (uint32_t)(found - alphabet) : 0);
    }
    for (size_t k = 0; k < 3; k++)
        bytes[k] = (char)(group >> (16 - 8 * k));
    return n;
}

bool text_from_base64(struct buf *to, struct bytes from)
{
    size_t before = to->len;

    if (from.len % 4)
        return false;
    for (size_t i = 0; i < from.len; i += 4) {
        char bytes[3];
        size_t n = decode_group(from.at + i, i + 4 == from.len, bytes);

        if (n == 0) {
            to->len = before;
            return false;
        }
        buf_add(to, bytes, n);
    }
    return true;
}
