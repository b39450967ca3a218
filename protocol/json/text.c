#include "protocol/json/text.h"

#include <stdbool.h>
#include <stdint.h>

#include "protocol/json/read.h"

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

/* ---- into JSON ---- */

static void add_escaped(struct buf *out, unsigned char c)
{
    static const char shorts[] = {['"'] = '"',  ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r',
                                  ['\t'] = 't', ['\b'] = 'b',  ['\f'] = 'f'};
    static const char digits[] = "0123456789abcdef";
    char *to = buf_reserve(out, 6);

    *to++ = '\\';
    if (shorts[c]) {
        *to++ = shorts[c];
    } else {
        to = mempcpy(to, "u00", 3);
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    out->len = (size_t)(to - out->at);
}

/* The one byte at the front that cannot stay as it is. */
static bool add_special(struct buf *out, unsigned char c)
{
    if (c < 0x80) {
        add_escaped(out, c);
        return true;
    }
    buf_add_text(out, "\xef\xbf\xbd");
    return false;
}

bool json_add_text(struct buf *out, struct bytes text)
{
    const char *at = text.len ? text.at : "", *end = at + text.len, *from = at;
    bool is_utf8 = true;

    buf_reserve(out, text.len + 2);
    buf_add_char(out, '"');
    while ((at += json_count_plain(at, end)) < end) {
        size_t len = utf8_length((const unsigned char *)at, (size_t)(end - at));

        if (len > 1) {
            at += len;
            continue;
        }
        if (at > from)
            buf_add(out, from, (size_t)(at - from));
        is_utf8 = add_special(out, (unsigned char)*at) && is_utf8;
        from = ++at;
    }
    buf_add(out, from, (size_t)(end - from));
    buf_add_char(out, '"');
    return is_utf8;
}

void json_add_base64(struct buf *out, struct bytes bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes.at;

    buf_add_char(out, '"');
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t have = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t three = (uint32_t)at[i] << 16;
        char four[4];

        three |= have > 1 ? (uint32_t)at[i + 1] << 8 : 0;
        three |= have > 2 ? at[i + 2] : 0;
        for (unsigned k = 0; k < 4; k++)
            four[k] = k <= have ? digits[three >> (18 - 6 * k) & 63] : '=';
        buf_add(out, four, sizeof(four));
    }
    buf_add_char(out, '"');
}
