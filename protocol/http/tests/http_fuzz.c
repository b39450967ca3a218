/* Any bytes as requests on one connection.
 *
 * The first byte of the input seeds how the rest is cut into pieces. However it is cut, the
 * same requests come out, with the same content and the same error at the end; and what is
 * found in a head lies in that head.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "protocol/http/message.h"

#define BODY_MAX_BYTES 300

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct reader {
    bool is_in_body;
    size_t seen;
    struct body body;
    struct buf story; /* what came out */
};

static void check_within(struct bytes part, struct bytes whole)
{
    assert(!part.len || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len));
}

static void tell_head(struct reader *r, struct bytes bytes, const struct head *h)
{
    struct bytes name, value;

    check_within(h->method, bytes);
    check_within(h->path, bytes);
    check_within(h->query, bytes);
    check_within(h->request_id, bytes);
    assert(h->method.len && h->path.len && h->path.at[0] == '/');
    assert(!(h->is_chunked && h->has_length));
    for (struct bytes rest = h->fields; head_next_field(&rest, &name, &value);) {
        check_within(name, h->fields);
        check_within(value, h->fields);
    }
    buf_printf(&r->story, "[%.*s %.*s %d]", BYTES_ARG(h->method), BYTES_ARG(h->path),
               h->is_kept_alive);
}

static enum http_error read_head(struct reader *r, struct bytes input, size_t *used)
{
    struct head head;
    enum http_error error = head_find_end(input, &r->seen, used);

    if (error || !*used)
        return error;
    r->seen = 0;
    error = head_parse(bytes_of(input.at, *used), &head);
    if (error)
        return error;
    tell_head(r, bytes_of(input.at, *used), &head);
    error = body_begin(&r->body, &head, BODY_MAX_BYTES);
    r->is_in_body = r->body.state != BODY_DONE;
    return error;
}

static enum http_error read_body(struct reader *r, struct bytes input, size_t *used)
{
    struct bytes content;
    enum http_error error = body_take(&r->body, input, used, &content);

    if (error)
        return error;
    assert(*used <= input.len);
    check_within(content, input);
    assert(r->body.len <= BODY_MAX_BYTES);
    buf_add_bytes(&r->story, content);
    r->is_in_body = r->body.state != BODY_DONE;
    return HTTP_ERROR_NONE;
}

/* All there is in `input`; returns how much of it was used. */
static size_t read_some(struct reader *r, struct bytes input, enum http_error *error)
{
    size_t all = 0, used = 1;

    while (used && all < input.len && !*error) {
        struct bytes rest = bytes_of(input.at + all, input.len - all);

        used = 0;
        *error = r->is_in_body ? read_body(r, rest, &used) : read_head(r, rest, &used);
        all += used;
    }
    return all;
}

/* A seed of 0 does not cut. Each piece is in memory of its own, of exactly its size. */
static struct buf read_all(struct bytes stream, unsigned seed)
{
    struct reader r = {.story = BUF_INIT};
    enum http_error error = HTTP_ERROR_NONE;
    size_t from = 0, to = 0;

    while (to < stream.len && !error) {
        size_t left = stream.len - to;
        char *copy;

        seed = seed * 1103515245 + 12345 * (seed != 0);
        to += seed ? 1 + (seed >> 16) % (left < 40 ? left : 40) : left;
        copy = malloc(to - from);
        assert(copy);
        memcpy(copy, stream.at + from, to - from);
        from += read_some(&r, bytes_of(copy, to - from), &error);
        free(copy);
    }
    buf_printf(&r.story, "error %d", (int)error);
    return r.story;
}

/* As the body of a form. */
static void check_form(struct bytes stream)
{
    char *copy = malloc(stream.len);
    struct bytes rest, name, value;

    assert(copy);
    memcpy(copy, stream.at, stream.len);
    rest = bytes_of(copy, stream.len);
    while (form_next(&rest, &name, &value) > 0) {
        check_within(name, bytes_of(copy, stream.len));
        check_within(value, bytes_of(copy, stream.len));
        assert(!name.len || !memchr(name.at, '&', name.len) ||
               memchr(stream.at, '%', stream.len));
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct buf whole, cut;
    struct bytes stream;

    if (size < 2)
        return 0;
    stream = bytes_of((const char *)data + 1, size - 1);
    check_form(stream);
    whole = read_all(stream, 0);
    cut = read_all(stream, 1 + data[0]);
    assert(bytes_equal(buf_bytes(&whole), buf_bytes(&cut)));
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
