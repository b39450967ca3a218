#include "protocol/http/body.h"

#include <assert.h>
#include <ctype.h>

#define LINE_MAX_BYTES    256 /* a chunk's size and what may follow it: nobody uses that */
#define TRAILER_MAX_BYTES 4096

/* More content is announced. */
static enum http_error expect_content(struct body *b, uint64_t bytes)
{
    b->state = BODY_DATA;
    b->left = bytes;
    if (bytes > b->max_bytes - b->len)
        return HTTP_ERROR_TOO_LARGE;
    b->len += bytes;
    return HTTP_ERROR_NONE;
}

enum http_error body_begin(struct body *b, const struct head *h, uint64_t max_bytes)
{
    *b = (struct body){.is_chunked = h->is_chunked, .max_bytes = max_bytes};
    if (h->is_chunked)
        b->state = BODY_SIZE;
    else if (h->body_bytes)
        return expect_content(b, h->body_bytes);
    return HTTP_ERROR_NONE;
}

/* `*used`: the line with its end; 0: it is not complete. */
static enum http_error take_line(struct bytes input, size_t *used, struct bytes *line)
{
    size_t room = input.len < LINE_MAX_BYTES ? input.len : LINE_MAX_BYTES;
    const char *end = memchr(input.at, '\n', room);

    if (!end)
        return input.len < LINE_MAX_BYTES ? HTTP_ERROR_NONE : HTTP_ERROR_CHUNK;
    if (end == input.at || end[-1] != '\r')
        return HTTP_ERROR_LINE_END;
    *line = bytes_of(input.at, (size_t)(end - 1 - input.at));
    *used = line->len + 2;
    return memchr(line->at, '\r', line->len) ? HTTP_ERROR_LINE_END : HTTP_ERROR_NONE;
}

static unsigned hex_value(char c)
{
    return isdigit((unsigned char)c) ? (unsigned)(c - '0')
                                     : (unsigned)(tolower((unsigned char)c) - 'a' + 10);
}

/* Nothing but an extension, which is left alone. */
static bool may_follow_size(struct bytes rest)
{
    while (rest.len && (rest.at[0] == ' ' || rest.at[0] == '\t'))
        rest = bytes_of(rest.at + 1, rest.len - 1);
    return rest.len == 0 || rest.at[0] == ';';
}

static enum http_error take_size(struct body *b, struct bytes line)
{
    uint64_t size = 0;
    size_t i = 0;

    for (; i < line.len && isxdigit((unsigned char)line.at[i]); i++) {
        if (size >> 56)
            return HTTP_ERROR_TOO_LARGE;
        size = size << 4 | hex_value(line.at[i]);
    }
    if (i == 0 || !may_follow_size(bytes_of(line.at + i, line.len - i)))
        return HTTP_ERROR_CHUNK;
    if (size)
        return expect_content(b, size);
    b->state = BODY_TRAILER;
    return HTTP_ERROR_NONE;
}

static enum http_error take_data_end(struct body *b, struct bytes line)
{
    b->state = BODY_SIZE;
    return line.len ? HTTP_ERROR_CHUNK : HTTP_ERROR_NONE;
}

static enum http_error take_trailer(struct body *b, struct bytes line)
{
    b->trailer_bytes += line.len;
    if (!line.len)
        b->state = BODY_DONE;
    return b->trailer_bytes > TRAILER_MAX_BYTES ? HTTP_ERROR_HEAD : HTTP_ERROR_NONE;
}

static void take_data(struct body *b, struct bytes input, size_t *used, struct bytes *content)
{
    *used = input.len < b->left ? input.len : (size_t)b->left;
    *content = bytes_of(input.at, *used);
    b->left -= *used;
    if (b->left == 0)
        b->state = b->is_chunked ? BODY_DATA_END : BODY_DONE;
}

enum http_error body_take(struct body *b, struct bytes input, size_t *used,
                          struct bytes *content)
{
    static enum http_error (*const takers[])(struct body * b, struct bytes line) = {
        [BODY_SIZE] = take_size,
        [BODY_DATA_END] = take_data_end,
        [BODY_TRAILER] = take_trailer};
    struct bytes line;
    enum http_error error;

    assert(b->state != BODY_DONE && b->state != BODY_LOST);
    *used = 0;
    *content = bytes_of(input.at, 0);
    if (b->state == BODY_DATA) {
        take_data(b, input, used, content);
        return HTTP_ERROR_NONE;
    }
    error = take_line(input, used, &line);
    return error || !*used ? error : takers[b->state](b, line);
}
