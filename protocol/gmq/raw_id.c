/* Finds the "id" of a request as raw text, because it is echoed verbatim: a parser's tree has
 * lost whether it was 1, 1.0 or 1e0. A cursor walks over the members of the outer object.
 */
#include <strings.h>

#include "protocol/gmq/call.h"

struct cursor {
    const char *at;
    const char *end;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && is_space(*c->at))
        c->at++;
}

static bool skip_mark(struct cursor *c, char mark)
{
    skip_space(c);
    if (c->at == c->end || *c->at != mark)
        return false;
    c->at++;
    return true;
}

/* Stands on the opening quote, and then behind the closing one. */
static void skip_string(struct cursor *c)
{
    c->at++;
    while (c->at < c->end && *c->at != '"')
        c->at += *c->at == '\\' && c->at + 1 < c->end ? 2 : 1;
    if (c->at < c->end)
        c->at++;
}

/* An object or a list, with all that is in it. */
static void skip_nested(struct cursor *c)
{
    size_t depth = 0;

    do {
        if (*c->at == '"') {
            skip_string(c);
            continue;
        }
        if (*c->at == '{' || *c->at == '[')
            depth++;
        else if (*c->at == '}' || *c->at == ']')
            depth--;
        c->at++;
    } while (depth && c->at < c->end);
}

static void skip_word(struct cursor *c)
{
    while (c->at < c->end && *c->at != ',' && *c->at != '}' && !is_space(*c->at))
        c->at++;
}

static struct bytes take_value(struct cursor *c)
{
    const char *from;

    skip_space(c);
    from = c->at;
    if (c->at == c->end)
        return bytes_of(from, 0);
    if (*c->at == '"')
        skip_string(c);
    else if (*c->at == '{' || *c->at == '[')
        skip_nested(c);
    else
        skip_word(c);
    return bytes_of(from, (size_t)(c->at - from));
}

struct bytes gmq_raw_id(struct bytes frame)
{
    struct cursor c = {frame.at, frame.at + frame.len};
    struct bytes id = BYTES("null");
    char mark = '{';

    while (skip_mark(&c, mark)) {
        struct bytes name, value;

        skip_space(&c);
        if (c.at == c.end || *c.at != '"')
            break;
        name = take_value(&c);
        if (!skip_mark(&c, ':'))
            break;
        value = take_value(&c);
        if (name.len == 4 && strncasecmp(name.at, "\"id\"", 4) == 0 && value.len)
            id = value;
        mark = ',';
    }
    return id;
}
