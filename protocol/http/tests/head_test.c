#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "protocol/http/message.h"

#include <ctype.h>

static struct head parse(const char *text)
{
    struct head head;

    assert_int_equal(head_parse(bytes_of_text(text), &head), HTTP_ERROR_NONE);
    return head;
}

static void assert_is(struct bytes bytes, const char *text)
{
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.at, text, bytes.len);
}

static void expect_error(const char *text, enum http_error expected)
{
    struct head head;
    enum http_error error = head_parse(bytes_of_text(text), &head);

    if (error != expected)
        fail_msg("'%s': error %d, not %d", text, (int)error, (int)expected);
}

static void takes_the_first_line_apart(void **state)
{
    struct head head =
        parse("POST /v1/topics/a+b/jobs?count=2&wait=1s HTTP/1.1\r\nHost: h\r\n\r\n");

    assert_is(head.method, "POST");
    assert_is(head.path, "/v1/topics/a+b/jobs");
    assert_is(head.query, "count=2&wait=1s");
    assert_false(head.is_old);
    assert_is(parse("GET /? HTTP/1.1\r\nHost: h\r\n\r\n").query, "");
}

static void understands_a_proxys_form_of_the_path(void **state)
{
    struct head head = parse("GET HTTP://node:8000/health/live?x HTTP/1.1\r\nHost: h\r\n\r\n");

    assert_is(head.path, "/health/live");
    assert_is(head.query, "x");
    head = parse("GET http://h?/v1/topics HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_is(head.path, "/");
    assert_is(head.query, "/v1/topics");
    assert_is(parse("GET http://[::1]:80 HTTP/1.1\r\nHost: h\r\n\r\n").path, "/");
    expect_error("GET http:///path HTTP/1.1\r\nHost: h\r\n\r\n", HTTP_ERROR_REQUEST_LINE);
    expect_error("GET http://a#/path HTTP/1.1\r\nHost: h\r\n\r\n", HTTP_ERROR_REQUEST_LINE);
    expect_error("GET http://a@b/path HTTP/1.1\r\nHost: h\r\n\r\n", HTTP_ERROR_REQUEST_LINE);
}

static void keeps_a_connection_as_version_and_client_want_it(void **state)
{
#define KEPT(version, more) \
    parse("GET / HTTP/1." version "\r\nHost: h\r\n" more "\r\n").is_kept_alive
    assert_true(KEPT("1", ""));
    assert_false(KEPT("1", "Connection: close\r\n"));
    assert_false(KEPT("1", "connection: keep-alive, Close\r\n"));
    assert_false(KEPT("1", "Connection: close\r\nConnection: keep-alive\r\n"));
    assert_true(KEPT("1", "Connection: upgrade\r\n"));
    assert_false(KEPT("0", ""));
    assert_true(KEPT("0", "Connection: , KEEP-ALIVE\r\n"));
    assert_false(KEPT("0", "Connection: close, keep-alive\r\n"));
}

static void knows_how_long_the_body_is(void **state)
{
    struct head head = parse("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length:  0042 \r\n\r\n");

    assert_true(head.has_length);
    assert_int_equal(head.body_bytes, 42);
    head = parse("PUT / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n");
    assert_true(head.is_chunked);
    assert_false(parse("PUT / HTTP/1.1\r\nHost: h\r\n\r\n").has_length);
}

static void refuses_a_body_of_two_lengths_or_of_none_it_understands(void **state)
{
#define PUT(fields) "PUT / HTTP/1.1\r\nHost: h\r\n" fields "\r\n"
    static const char *const bad[] = {
        PUT("Content-Length: 1\r\nContent-Length: 1\r\n"),
        PUT("Content-Length: 1, 1\r\n"),
        PUT("Content-Length: +1\r\n"),
        PUT("Content-Length: 0x1\r\n"),
        PUT("Content-Length: 1 1\r\n"),
        PUT("Content-Length:\r\n"),
        PUT("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
        PUT("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
        PUT("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        expect_error(bad[i], HTTP_ERROR_LENGTH);
    expect_error(PUT("Transfer-Encoding: gzip, chunked\r\n"), HTTP_ERROR_CODING);
    expect_error(PUT("Transfer-Encoding: chunked, chunked\r\n"), HTTP_ERROR_CODING);
    expect_error(PUT("Content-Length: 99999999999999999999\r\n"), HTTP_ERROR_TOO_LARGE);
}

static void refuses_first_lines_that_are_none(void **state)
{
    static const char *const bad[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / \r\n\r\n",
        " / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET health HTTP/1.1\r\nHost: h\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / http/1.1\r\n\r\n",
        "GET / HTTP/1\r\n\r\n",
        "GET / HTTP/1.11\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        expect_error(bad[i], HTTP_ERROR_REQUEST_LINE);
    expect_error("GET / HTTP/1.2\r\n\r\n", HTTP_ERROR_VERSION);
    expect_error("PRI / HTTP/2.0\r\n\r\n", HTTP_ERROR_VERSION);
}

static void refuses_headers_that_are_none(void **state)
{
    static const char *const bad[] = {
        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n: no name\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nName : value\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n Name: value\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nName: goes\r\n on\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nName: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nName: \x01\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        expect_error(bad[i], HTTP_ERROR_FIELD);
    parse("GET / HTTP/1.1\r\nHost: h\r\nname:value\r\nEmpty:\r\nX: \t \xc3\xa4\r\n\r\n");
}

/* The request with the byte at the '*'. */
static enum http_error try_byte(const char *request, unsigned char byte)
{
    struct buf text = BUF_INIT;
    struct head head;
    enum http_error error;

    buf_add_text(&text, request);
    *strchr(text.at, '*') = (char)byte;
    error = head_parse(buf_bytes(&text), &head);
    buf_fini(&text);
    return error;
}

static bool is_alnum_or(unsigned c, const char *more)
{
    return (c < 0x80 && isalnum((int)c)) || (c && strchr(more, (int)c));
}

static void knows_where_each_byte_may_stand(void **state)
{
    for (unsigned c = 0; c < 256; c++) {
        bool is_visible = c > ' ' && c < 0x7f;
        bool is_text = c == '\t' || (c >= ' ' && c != 0x7f);

        if (c == '\n')
            continue; /* then it is two lines */
        assert_int_equal(!try_byte("G*T / HTTP/1.1\r\nHost: h\r\n\r\n", (unsigned char)c),
                         is_alnum_or(c, "!#$%&'*+-.^_`|~"));
        assert_int_equal(!try_byte("GET /a*b HTTP/1.1\r\nHost: h\r\n\r\n", (unsigned char)c),
                         is_visible);
        assert_int_equal(
            !try_byte("GET / HTTP/1.1\r\nHost: h\r\nA*b: c\r\n\r\n", (unsigned char)c),
            is_alnum_or(c, "!#$%&'*+-.^_`|~:"));
        assert_int_equal(
            !try_byte("GET / HTTP/1.1\r\nHost: h\r\nA: b*c\r\n\r\n", (unsigned char)c),
            is_text);
        assert_int_equal(!try_byte("GET / HTTP/1.1\r\nHost: a*b\r\n\r\n", (unsigned char)c),
                         is_alnum_or(c, "-._~%!$&'()*+;=:[]"));
    }
}

static void refuses_too_many_headers(void **state)
{
    struct buf text = BUF_INIT;
    struct head head;

    buf_add_text(&text, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (unsigned i = 0; i < HEAD_MAX_FIELDS - 1; i++)
        buf_printf(&text, "X-%u: %u\r\n", i, i);
    expect_error(buf_text(&text), HTTP_ERROR_NONE);
    buf_add_text(&text, "X: one more\r\n\r\n");
    assert_int_equal(head_parse(buf_bytes(&text), &head), HTTP_ERROR_HEAD);
    buf_fini(&text);
}

static void wants_one_host(void **state)
{
    static const char *const bad[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "GET http://h/ HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        expect_error(bad[i], HTTP_ERROR_NO_HOST);
    assert_is(parse("GET / HTTP/1.1\r\nHOST: [::1]:8000\r\n\r\n").host, "[::1]:8000");
    assert_is(parse("GET / HTTP/1.0\r\nHost: a_b.c\r\n\r\n").host, "a_b.c");
    assert_null(parse("GET / HTTP/1.0\r\n\r\n").host.at);
}

static void knows_a_page_of_somebody_else(void **state)
{
    struct head head;

#define IS_FOREIGN(fields) \
    (head = parse("PUT / HTTP/1.1\r\nHost: h\r\n" fields "\r\n"), head_is_foreign(&head))
    assert_false(IS_FOREIGN(""));
    assert_true(IS_FOREIGN("Origin: http://h\r\n"));
    assert_true(IS_FOREIGN("Origin: null\r\n"));
    assert_true(IS_FOREIGN("Origin:\r\n"));
    assert_true(IS_FOREIGN("sec-fetch-site: cross-site\r\n"));
    assert_true(IS_FOREIGN("Sec-Fetch-Site: same-site\r\n"));
    assert_true(IS_FOREIGN("Sec-Fetch-Site:\r\n"));
    assert_false(IS_FOREIGN("Sec-Fetch-Site: same-origin\r\nOrigin: https://a\r\n"));
    assert_false(IS_FOREIGN("Sec-Fetch-Site: none\r\n"));
}

static void takes_a_request_id_of_harmless_characters_only(void **state)
{
#define ID(value) \
    parse("GET / HTTP/1.1\r\nHost: h\r\nX-Request-ID: " value "\r\n\r\n").request_id
    assert_is(ID("order-7.a:B_"), "order-7.a:B_");
    assert_is(ID("a b"), "");
    assert_is(ID("\xc3\xa4"), "");
    assert_is(ID(""), "");
    assert_int_equal(ID("0000000000111111111122222222223333333333444444444455555555556666").len,
                     64);
    assert_int_equal(
        ID("00000000001111111111222222222233333333334444444444555555555566666").len, 0);
}

static void finds_the_end_wherever_the_bytes_are_cut(void **state)
{
    struct bytes text = BYTES("GET / HTTP/1.1\r\nHost: h\r\nName: value\r\n\r\nmore");
    size_t seen = 0, len = 0;

    for (size_t to = 1; to < text.len - 4; to++) {
        assert_int_equal(head_find_end(bytes_of(text.at, to), &seen, &len), HTTP_ERROR_NONE);
        assert_int_equal(len, 0);
    }
    assert_int_equal(head_find_end(text, &seen, &len), HTTP_ERROR_NONE);
    assert_int_equal(len, text.len - 4);
}

static void sees_at_once_that_a_line_ends_wrongly_or_a_head_does_not_end(void **state)
{
    char endless[HEAD_MAX_BYTES + 1];
    size_t seen = 0, len;

    assert_int_equal(head_find_end(BYTES("GET / HTTP/1.1\n"), &seen, &len),
                     HTTP_ERROR_LINE_END);
    memset(endless, 'x', sizeof(endless));
    seen = 0;
    assert_int_equal(head_find_end(bytes_of(endless, HEAD_MAX_BYTES - 1), &seen, &len),
                     HTTP_ERROR_NONE);
    assert_int_equal(head_find_end(bytes_of(endless, HEAD_MAX_BYTES), &seen, &len),
                     HTTP_ERROR_HEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_first_line_apart),
        cmocka_unit_test(understands_a_proxys_form_of_the_path),
        cmocka_unit_test(keeps_a_connection_as_version_and_client_want_it),
        cmocka_unit_test(knows_how_long_the_body_is),
        cmocka_unit_test(refuses_a_body_of_two_lengths_or_of_none_it_understands),
        cmocka_unit_test(refuses_first_lines_that_are_none),
        cmocka_unit_test(refuses_headers_that_are_none),
        cmocka_unit_test(knows_where_each_byte_may_stand),
        cmocka_unit_test(refuses_too_many_headers),
        cmocka_unit_test(wants_one_host),
        cmocka_unit_test(knows_a_page_of_somebody_else),
        cmocka_unit_test(takes_a_request_id_of_harmless_characters_only),
        cmocka_unit_test(finds_the_end_wherever_the_bytes_are_cut),
        cmocka_unit_test(sees_at_once_that_a_line_ends_wrongly_or_a_head_does_not_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
