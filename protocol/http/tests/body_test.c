#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "protocol/http/message.h"

#define MAX_BYTES 20

static const struct head chunked = {.is_chunked = true};

/* Byte by byte, as slowly as it can come. `*used`: where the body ended. */
static enum http_error feed(struct body *b, struct bytes input, struct buf *content,
                            size_t *used)
{
    enum http_error error = HTTP_ERROR_NONE;

    *used = 0;
    for (size_t to = 1; to <= input.len && !error && b->state != BODY_DONE; to++) {
        size_t n = 1;

        while (n && *used < to && !error && b->state != BODY_DONE) {
            struct bytes piece;

            error = body_take(b, bytes_of(input.at + *used, to - *used), &n, &piece);
            buf_add_bytes(content, piece);
            *used += n;
        }
    }
    return error;
}

static void expect_content(const char *text, const char *expected, const char *rest)
{
    struct buf content = BUF_INIT;
    struct body b;
    size_t used;

    assert_int_equal(body_begin(&b, &chunked, MAX_BYTES), HTTP_ERROR_NONE);
    assert_int_equal(feed(&b, bytes_of_text(text), &content, &used), HTTP_ERROR_NONE);
    assert_int_equal(b.state, BODY_DONE);
    assert_string_equal(buf_text(&content), expected);
    assert_string_equal(text + used, rest);
    buf_fini(&content);
}

static void expect_error(const char *text, enum http_error expected)
{
    struct buf content = BUF_INIT;
    struct body b;
    size_t used;
    enum http_error error;

    assert_int_equal(body_begin(&b, &chunked, MAX_BYTES), HTTP_ERROR_NONE);
    error = feed(&b, bytes_of_text(text), &content, &used);
    if (error != expected)
        fail_msg("'%s': error %d, not %d", text, (int)error, (int)expected);
    assert_int_not_equal(b.state, BODY_DONE);
    buf_fini(&content);
}

static void a_request_without_a_body_has_none(void **state)
{
    struct head none = {.body_bytes = 0};
    struct body b;

    assert_int_equal(body_begin(&b, &none, 0), HTTP_ERROR_NONE);
    assert_int_equal(b.state, BODY_DONE);
}

static void a_body_with_a_length_ends_there(void **state)
{
    struct head head = {.has_length = true, .body_bytes = 5};
    struct buf content = BUF_INIT;
    struct body b;
    size_t used;

    assert_int_equal(body_begin(&b, &head, 5), HTTP_ERROR_NONE);
    assert_int_equal(feed(&b, BYTES("abcdefg"), &content, &used), HTTP_ERROR_NONE);
    assert_string_equal(buf_text(&content), "abcde");
    assert_int_equal(used, 5);
    buf_fini(&content);
}

static void chunks_are_put_together(void **state)
{
    expect_content("5\r\nabcde\r\n0\r\n\r\nGET /", "abcde", "GET /");
    expect_content("1\r\na\r\n1\r\nb\r\n000\r\n\r\n", "ab", "");
    expect_content("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789",
                   "");
    expect_content("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", "");
    expect_content("1 \t\r\na\r\n0\r\n\r\n", "a", "");
}

static void leaves_extensions_and_trailers_alone(void **state)
{
    expect_content("1;name=\"value\"\r\na\r\n0 ; x\r\nTrailer: x\r\nAnother: y\r\n\r\nrest",
                   "a", "rest");
}

static void refuses_what_is_no_chunk(void **state)
{
    expect_error("\r\n", HTTP_ERROR_CHUNK);
    expect_error("x\r\n", HTTP_ERROR_CHUNK);
    expect_error("-1\r\n", HTTP_ERROR_CHUNK);
    expect_error("0x1\r\n", HTTP_ERROR_CHUNK);
    expect_error(" 1\r\n", HTTP_ERROR_CHUNK);
    expect_error("1 1\r\n", HTTP_ERROR_CHUNK);
    expect_error("1 \tx;y\r\n", HTTP_ERROR_CHUNK);
    expect_error("1\r\nab\r\n", HTTP_ERROR_CHUNK);
    expect_error("1\n", HTTP_ERROR_LINE_END);
    expect_error("1\r\r\n", HTTP_ERROR_LINE_END);
    expect_error("1\r\na\n", HTTP_ERROR_LINE_END);
}

static void refuses_endless_lines_and_trailers(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "1;");
    for (unsigned i = 0; i < 300; i++)
        buf_add_text(&text, "x");
    expect_error(buf_text(&text), HTTP_ERROR_CHUNK);
    buf_clear(&text);
    buf_add_text(&text, "0\r\n");
    for (unsigned i = 0; i < 300; i++)
        buf_add_text(&text, "Trailer: 12345\r\n");
    expect_error(buf_text(&text), HTTP_ERROR_HEAD);
    buf_fini(&text);
}

static void refuses_too_much_as_soon_as_it_is_announced(void **state)
{
    struct head head = {.has_length = true, .body_bytes = MAX_BYTES + 1};
    struct body b;

    assert_int_equal(body_begin(&b, &head, MAX_BYTES), HTTP_ERROR_TOO_LARGE);
    assert_int_not_equal(b.state, BODY_DONE);
    head.body_bytes = UINT64_MAX;
    assert_int_equal(body_begin(&b, &head, MAX_BYTES), HTTP_ERROR_TOO_LARGE);
    expect_error("15\r\n", HTTP_ERROR_TOO_LARGE);
    expect_error("1\r\na\r\n14\r\n", HTTP_ERROR_TOO_LARGE);
    expect_error("ffffffffffffffff\r\n", HTTP_ERROR_TOO_LARGE);
    expect_error("1\r\na\r\nffffffffffffffff\r\n", HTTP_ERROR_TOO_LARGE);
    expect_error("10000000000000000000000001\r\n", HTTP_ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_a_body_has_none),
        cmocka_unit_test(a_body_with_a_length_ends_there),
        cmocka_unit_test(chunks_are_put_together),
        cmocka_unit_test(leaves_extensions_and_trailers_alone),
        cmocka_unit_test(refuses_what_is_no_chunk),
        cmocka_unit_test(refuses_endless_lines_and_trailers),
        cmocka_unit_test(refuses_too_much_as_soon_as_it_is_announced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
