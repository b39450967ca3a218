#include "protocol/json_text.h"

#include <stdint.h>

#include "protocol/json_walk.h"
#include "protocol/utf8.h"

static void add_escaped(struct buf *out, unsigned char c)
{
    static const char short_forms[][2] = {{'"', '"'},  {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'},
                                          {'\t', 't'}, {'\b', 'b'},  {'\f', 'f'}};

    for (size_t i = 0; i < sizeof(short_forms) / sizeof(short_forms[0]); i++) {
        if ((unsigned char)short_forms[i][0] == c) {
            buf_add_char(out, '\\');
            buf_add_char(out, short_forms[i][1]);
            return;
        }
    }
    buf_printf(out, "\\u%04x", c);
}

/* Adds the one character at the front, which is not plain; returns how long it is. */
static size_t add_special(struct buf *out, const unsigned char *at, size_t left, bool *is_utf8)
{
    size_t len = utf8_length(at, left);

    if (len == 0) {
        buf_add_text(out, "\xef\xbf\xbd");
        *is_utf8 = false;
        return 1;
    }
    if (len == 1 && at[0] != 0x7f)
        add_escaped(out, at[0]);
    else
        buf_add(out, at, len);
    return len;
}

bool json_add_text(struct buf *out, struct bytes text)
{
    const unsigned char *at = (const unsigned char *)text.at;
    size_t i = 0;
    bool is_utf8 = true;

    buf_reserve(out, text.len + 2);
    buf_add_char(out, '"');
    while (i < text.len) {
        size_t from = i;

        while (i < text.len && json_is_plain((char)at[i]))
            i++;
        buf_add(out, at + from, i - from);
        if (i < text.len)
            i += add_special(out, at + i, text.len - i, &is_utf8);
    }
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
