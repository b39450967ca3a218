#include "protocol/json/write.h"

#include "base/encoding.h"
#include "protocol/json/read.h"

/* ---- strings ---- */

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
    buf_add_char(out, '"');
    base64_add(out, bytes);
    buf_add_char(out, '"');
}

/* ---- members ---- */

void json_next(struct buf *out)
{
    char last = out->at[out->len - 1];

    if (last != '[' && last != '{')
        buf_add_char(out, ',');
}

void json_put_text(struct buf *out, const char *before, struct bytes text)
{
    buf_add_text(out, before);
    json_add_text(out, text);
}

void json_put_text_or_null(struct buf *out, const char *before, const char *text)
{
    buf_add_text(out, before);
    if (text && *text)
        json_add_text(out, bytes_of_text(text));
    else
        buf_add_text(out, "null");
}

void json_put_bytes(struct buf *out, const char *before, struct bytes bytes,
                    const char *before_base64)
{
    buf_add_text(out, before);
    if (json_add_text(out, bytes))
        return;
    buf_add_text(out, before_base64);
    json_add_base64(out, bytes);
}

void json_put_number(struct buf *out, const char *before, int64_t number)
{
    buf_add_text(out, before);
    buf_add_number(out, number);
}

void json_put_number_or_null(struct buf *out, const char *before, int64_t number)
{
    if (number >= 0) {
        json_put_number(out, before, number);
        return;
    }
    buf_add_text(out, before);
    buf_add_text(out, "null");
}

void json_put_bool(struct buf *out, const char *before, bool is_true)
{
    buf_add_text(out, before);
    buf_add_text(out, is_true ? "true" : "false");
}
