#include "protocol/http/url.h"

#include <ctype.h>

static int hex_value(char c)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool url_unescape(struct bytes *text)
{
    char *at = text->len ? memchr(text->at, '%', text->len) : NULL;
    const char *from = at, *end;

    if (!at)
        return true;
    for (end = text->at + text->len; from < end;) {
        int high, low;

        if (*from != '%') {
            *at++ = *from++;
            continue;
        }
        high = end - from > 2 ? hex_value(from[1]) : -1;
        low = high >= 0 ? hex_value(from[2]) : -1;
        if (low < 0)
            return false;
        *at++ = (char)(high << 4 | low);
        from += 3;
    }
    text->len = (size_t)(at - text->at);
    return true;
}

struct bytes url_cut(struct bytes *rest, char c)
{
    const char *at = rest->len ? memchr(rest->at, c, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->at) : rest->len;
    size_t gone = at ? len + 1 : len;
    struct bytes front = bytes_of(rest->at, len);

    *rest = bytes_of(rest->at + gone, rest->len - gone);
    return front;
}

bool url_query_next(struct bytes *rest, struct bytes *name, struct bytes *value)
{
    while (rest->len) {
        *value = url_cut(rest, '&');
        if (!value->len)
            continue;
        *name = url_cut(value, '=');
        return true;
    }
    return false;
}
