/* An HTTP request as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "protocol/http/message.h"

/* ---- escapes and queries ---- */

static void assert_is(struct bytes bytes, const char *text)
{
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.at, text, bytes.len);
}

/* In memory of exactly its size. */
static void unescapes_to(const char *escaped, const char *plain)
{
    struct bytes text = {malloc(strlen(escaped)), strlen(escaped)};
    char *memory = (char *)text.at;

    assert_non_null(memory);
    memcpy(memory, escaped, text.len);
    if (plain) {
        assert_true(url_unescape(&text));
        assert_is(text, plain);
    } else if (url_unescape(&text)) {
        fail_msg("'%s' was taken for right", escaped);
    }
    free(memory);
}

static void unescapes_in_place(void **state)
{
    unescapes_to("orders", "orders");
    unescapes_to("%2Fa%2fb", "/a/b");
    unescapes_to("a%20b", "a b");
    unescapes_to("%25%32%35", "%25");
    unescapes_to("a+b", "a+b");
    unescapes_to("%C3%A4", "\xc3\xa4");
}

static void unescapes_what_ends_no_text_and_nothing(void **state)
{
    struct bytes nothing = {NULL, 0};
    char zero[] = "a%00b";
    struct bytes text = bytes_of(zero, 5);

    assert_true(url_unescape(&nothing));
    assert_true(url_unescape(&text));
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.at, "a\0b", 3);
}

static void refuses_an_escape_that_is_none(void **state)
{
    static const char *const wrong[] = {"%", "a%", "%2", "%2g", "%g2", "%%41", "a%4", "% 1"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        unescapes_to(wrong[i], NULL);
}

static void takes_a_query_apart(void **state)
{
    struct bytes rest = BYTES("&count=2&&wait_ms=&flag&a=b=c&=x"), name, value;
    static const char *const expected[][2] = {
        {"count", "2"}, {"wait_ms", ""}, {"flag", ""}, {"a", "b=c"}, {"", "x"}};

    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        assert_true(url_query_next(&rest, &name, &value));
        assert_is(name, expected[i][0]);
        assert_is(value, expected[i][1]);
        assert_non_null(value.at);
    }
    assert_false(url_query_next(&rest, &name, &value));
}

static void takes_a_form_apart(void **state)
{
    char text[] = "data=%7B%22a%22%3A+1%2B1%7D&&a+b=c&x";
    struct bytes rest = bytes_of_text(text), name, value;

    assert_int_equal(form_next(&rest, &name, &value), 1);
    assert_is(name, "data");
    assert_is(value, "{\"a\": 1+1}");
    assert_int_equal(form_next(&rest, &name, &value), 1);
    assert_is(name, "a b");
    assert_is(value, "c");
    assert_int_equal(form_next(&rest, &name, &value), 1);
    assert_is(name, "x");
    assert_is(value, "");
    assert_int_equal(form_next(&rest, &name, &value), 0);
    rest = bytes_of_text(strcpy(text, "a=%+1"));
    assert_int_equal(form_next(&rest, &name, &value), -1);
}

/* ---- the names of this node ---- */

static bool is_ours(const char *host, const char *names)
{
    return host_is_ours(bytes_of_text(host), names);
}

static void any_name_is_ours_where_the_list_says_so(void **state)
{
    assert_true(is_ours("evil.example:8000", "*"));
    assert_false(is_ours("evil.example:8000", ""));
}

static void some_names_no_page_can_have(void **state)
{
    static const char *const of_nobody[] = {
        "dueq",        "node1:8000",          "dueq.",
        "a.localhost", "dueq.queue.svc:8000", "d.q.svc.cluster.local",
        "D.INTERNAL",  "nas.home.arpa"};
    static const char *const of_somebody[] = {
        "evil.example", "evil.example.:8000", "dueq.queue", "local.example",
        ".local",       "evillocal.example",  "svc.evil",   "internal.x.y"};

    for (size_t i = 0; i < sizeof(of_nobody) / sizeof(*of_nobody); i++)
        assert_true(host_is_private(bytes_of_text(of_nobody[i])));
    for (size_t i = 0; i < sizeof(of_somebody) / sizeof(*of_somebody); i++)
        assert_false(host_is_private(bytes_of_text(of_somebody[i])));
}

static void with_a_list_only_its_names_are_ours_with_any_port(void **state)
{
    static const char names[] = "dueq,dueq.example.com";

    assert_true(is_ours("dueq", names));
    assert_true(is_ours("dueq:8000", names));
    assert_true(is_ours("DueQ.Example.com:1", names));
    assert_false(is_ours("due", names));
    assert_false(is_ours("dueq.example.co", names));
    assert_false(is_ours("evil.dueq.example.com", names));
    assert_false(is_ours("evil.example:8000", names));
    assert_false(is_ours(":8000", "dueq"));
}

static void addresses_and_localhost_are_always_ours(void **state)
{
    assert_true(is_ours("127.0.0.1:8000", "dueq"));
    assert_true(is_ours("10.0.0.5", "dueq"));
    assert_true(is_ours("[::1]:8000", "dueq"));
    assert_true(is_ours("[2001:db8::9]", "dueq"));
    assert_true(is_ours("[::ffff:10.0.0.1]:1", "dueq"));
    assert_true(is_ours("LocalHost:8000", "dueq"));
    assert_false(is_ours("127.0.0.1.evil.example", "dueq"));
    assert_false(is_ours("localhost.evil.example", "dueq"));
    assert_false(is_ours("[evil.example]", "dueq"));
    assert_false(is_ours("[10.0.0.1]", "dueq"));
    assert_false(is_ours("[::1", "dueq"));
    assert_false(is_ours("[::1].evil.example", "dueq"));
    assert_false(is_ours("[]:8000", "dueq"));
}

static void who_says_no_name_is_no_browser(void **state)
{
    assert_true(is_ours("", "dueq"));
}

/* ---- the first line and the headers ---- */

static struct head parse(const char *text)
{
    struct head head;

    assert_int_equal(head_parse(bytes_of_text(text), &head), HTTP_ERROR_NONE);
    return head;
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

/* ---- where the body ends ---- */

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

static void expect_body_error(const char *text, enum http_error expected)
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
    expect_body_error("\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("x\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("-1\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("0x1\r\n", HTTP_ERROR_CHUNK);
    expect_body_error(" 1\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("1 1\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("1 \tx;y\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("1\r\nab\r\n", HTTP_ERROR_CHUNK);
    expect_body_error("1\n", HTTP_ERROR_LINE_END);
    expect_body_error("1\r\r\n", HTTP_ERROR_LINE_END);
    expect_body_error("1\r\na\n", HTTP_ERROR_LINE_END);
}

static void refuses_endless_lines_and_trailers(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "1;");
    for (unsigned i = 0; i < 300; i++)
        buf_add_text(&text, "x");
    expect_body_error(buf_text(&text), HTTP_ERROR_CHUNK);
    buf_clear(&text);
    buf_add_text(&text, "0\r\n");
    for (unsigned i = 0; i < 300; i++)
        buf_add_text(&text, "Trailer: 12345\r\n");
    expect_body_error(buf_text(&text), HTTP_ERROR_HEAD);
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
    expect_body_error("15\r\n", HTTP_ERROR_TOO_LARGE);
    expect_body_error("1\r\na\r\n14\r\n", HTTP_ERROR_TOO_LARGE);
    expect_body_error("ffffffffffffffff\r\n", HTTP_ERROR_TOO_LARGE);
    expect_body_error("1\r\na\r\nffffffffffffffff\r\n", HTTP_ERROR_TOO_LARGE);
    expect_body_error("10000000000000000000000001\r\n", HTTP_ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unescapes_in_place),
        cmocka_unit_test(unescapes_what_ends_no_text_and_nothing),
        cmocka_unit_test(refuses_an_escape_that_is_none),
        cmocka_unit_test(takes_a_query_apart),
        cmocka_unit_test(takes_a_form_apart),
        cmocka_unit_test(any_name_is_ours_where_the_list_says_so),
        cmocka_unit_test(some_names_no_page_can_have),
        cmocka_unit_test(with_a_list_only_its_names_are_ours_with_any_port),
        cmocka_unit_test(addresses_and_localhost_are_always_ours),
        cmocka_unit_test(who_says_no_name_is_no_browser),
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
