/* Which requests have a line in the audit log, and when it is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/access/audit.h"
#include "protocol/api/handlers.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

#define PURGE "POST /v1/topics/a%2Fb/purge HTTP/1.1\r\nHost: h\r\nX-Request-Id: r7\r\n"

static char file[64], lines[4096];
static struct audit *audit;
static struct exchange *waiting;

/* In place of a pause: answers when the test says so. */
static void own_api_pause(struct exchange *x)
{
    waiting = x;
}

static void answer_with(enum http_error error)
{
    struct exchange *x = waiting;

    waiting = NULL;
    exchange_reply_error(x, error);
}

static void own_api_sweep(struct exchange *x)
{
    if (x->topic.len) /* a handler may change what it gets */
        memset((char *)x->topic.at, '-', x->topic.len);
    if (x->body.len)
        memset((char *)x->body.at, '-', x->body.len);
    x->count = 12;
    exchange_reply_nothing(x);
}

static int set_up(void **state)
{
    static const struct stand_in stand_ins[] = {{api_pause, own_api_pause},
                                                {api_sweep, own_api_sweep}};
    struct fixture *f;

    waiting = NULL;
    if (fixture_up_with(state, stand_ins, 2))
        return -1;
    f = *state;
    snprintf(file, sizeof(file), "/tmp/dueq-audit-%d", (int)getpid());
    audit = audit_new();
    assert_int_equal(audit_use(audit, file), STATUS_OK);
    f->options.audit = audit;
    http_reload(http_port(f->http), &f->options);
    return 0;
}

static int tear_down(void **state)
{
    int result = fixture_down(state);

    audit_free(audit);
    unlink(file);
    return result;
}

static const char *read_lines(void)
{
    FILE *in = fopen(file, "r");
    size_t len;

    assert_non_null(in);
    len = fread(lines, 1, sizeof(lines) - 1, in);
    lines[len] = '\0';
    fclose(in);
    return lines;
}

/* "http 127.0.0.1:40712", as the server sees it. */
static void print_name(const struct client *c, char *to, size_t room)
{
    struct sockaddr_in own = {0};
    socklen_t len = sizeof(own);

    assert_int_equal(getsockname(c->fd, (struct sockaddr *)&own, &len), 0);
    snprintf(to, room, "\"from\":\"http 127.0.0.1:%u\"", (unsigned)ntohs(own.sin_port));
}

static void an_operators_request_has_a_line(void **state)
{
    assert_starts(ask(*state, PURGE CLOSE), "HTTP/1.1 204");
    assert_has(read_lines(), "\"operation\":\"purge\",\"role\":\"operate\"");
    assert_has(lines, "\"request\":\"r7\",\"status\":204,\"error\":null,\"count\":12}\n");
}

/* Whatever a handler has made of it. */
static void it_says_what_was_asked_for(void **state)
{
    assert_starts(ask(*state, PURGE "Content-Length: 2\r\nConnection: close\r\n\r\n{}"),
                  "HTTP/1.1 204");
    assert_has(read_lines(), "\"topic\":\"a/b\",\"id\":null,\"body\":\"{}\"");
}

static void a_topic_that_cannot_be_read_is_not_named(void **state)
{
    assert_starts(ask(*state, "POST /v1/topics/a%41b%zz/purge HTTP/1.1\r\nHost: h\r\n" CLOSE),
                  "HTTP/1.1 400");
    assert_has(read_lines(), "\"topic\":null,\"id\":null");
    assert_has(lines, "\"status\":400,\"error\":\"bad_request\",\"count\":null}\n");
}

static void a_clients_request_has_none(void **state)
{
    ask(*state, "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE);
    ask(*state, "GET /v1/topics/t HTTP/1.1\r\nHost: h\r\n" CLOSE);
    ask(*state, "POST /v1/topics/t/nothing HTTP/1.1\r\nHost: h\r\n" CLOSE);
    assert_string_equal(read_lines(), "");
}

static void what_is_refused_before_its_handler_has_a_line(void **state)
{
    assert_starts(ask(*state, PURGE "Origin: http://else.where\r\n" CLOSE), "HTTP/1.1 403");
    assert_has(read_lines(), "\"status\":403,\"error\":\"forbidden_origin\",");
    assert_has(lines, "\"topic\":\"a/b\"");
    assert_has(lines, "\"request\":\"r7\"");
}

/* From when its head is read and names an operation; with its body as far as it came. */
static void what_is_refused_has_a_line_where_it_names_an_operation(void **state)
{
#define START   "POST /v1/topics/t/purge HTTP/1.1\r\nHost: h\r\n"
#define TWO     "Content-Length: 2\r\n\r\n{}"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    static const struct {
        const char *request, *reply, *body; /* NULL: it has no line */
    } rows[] = {
        {START "Origin: http://else.where\r\n" TWO, "HTTP/1.1 403", "\"{}\""},
        {START "Origin: http://else.where\r\n" CHUNKED "0\r\n\r\n", "HTTP/1.1 403", "\"{}\""},
        {START CHUNKED "?\r\n", "HTTP/1.1 400", "\"{}\""},
        {START "Content-Length: 100000\r\n\r\n", "HTTP/1.1 413", "null"},
        {"POST /v1/topics/t/purge?no=1 HTTP/1.1\r\nHost: h\r\n" TWO, "HTTP/1.1 400", "\"{}\""},
        {"POST /v1/topics/%zz/purge HTTP/1.1\r\nHost: h\r\n" TWO, "HTTP/1.1 400", "\"{}\""},
        {"POST /v1/topics/t/no HTTP/1.1\r\nHost: h\r\n" TWO, "HTTP/1.1 404", NULL},
        {"PUT /v1/topics/t/purge HTTP/1.1\r\nHost: h\r\n" TWO, "HTTP/1.1 405", NULL},
        {START "Host: h\r\n\r\n", "HTTP/1.1 400", NULL},
        {START "Expect: more\r\n\r\n", "HTTP/1.1 417", NULL},
        {START "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 501", NULL},
        {"POST /v1/topics/t/purge HTTP/2.0\r\nHost: h\r\n\r\n", "HTTP/1.1 505", NULL},
    };
    char part[32];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c = connect_client(*state);

        assert_int_equal(truncate(file, 0), 0);
        say(&c, rows[i].request);
        assert_starts(receive(&c), rows[i].reply);
        leave(&c);
        snprintf(part, sizeof(part), "\"body\":%s,", rows[i].body ? rows[i].body : "");
        if (rows[i].body)
            assert_has(read_lines(), part);
        else
            assert_string_equal(read_lines(), "");
    }
}

static void what_comes_over_a_limit_has_a_line(void **state)
{
    struct client clients[3];

    for (unsigned i = 0; i < 3; i++)
        clients[i] = connect_client(*state);
    assert_starts(ask(*state, START TWO), "HTTP/1.1 503");
    assert_has(read_lines(), "\"status\":503,\"error\":\"too_many\",");
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

static void the_time_is_over_for_one_that_does_not_arrive(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PURGE "Content-Length: 5\r\n\r\n{");
    fixture_pass(f, f->options.request_ms + 1000);
    assert_starts(receive(&c), "HTTP/1.1 408");
    assert_has(
        read_lines(),
        "\"body\":\"{\",\"request\":\"r7\",\"status\":408,\"error\":\"request_timeout\",");
    leave(&c);
}

static void the_line_comes_with_the_answer_not_before(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "POST /v1/topics/t/pause HTTP/1.1\r\nHost: h\r\n\r\n");
    AWAIT(f, waiting);
    assert_string_equal(read_lines(), "");
    answer_with(HTTP_ERROR_UNKNOWN);
    assert_has(read_lines(), "\"status\":504,\"error\":\"unknown\",");
    leave(&c);
}

static void who_has_left_before_the_answer_is_named(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    char name[64];

    print_name(&c, name, sizeof(name));
    say(&c, "POST /v1/topics/t/pause HTTP/1.1\r\nHost: h\r\n\r\n");
    AWAIT(f, waiting);
    reset(&c);
    AWAIT(f, CONTAINER_OF(waiting, struct http_request, exchange)->client->is_closed);
    answer_with(HTTP_ERROR_UNKNOWN);
    assert_has(read_lines(), name);
}

/* It was reset before the server has read it, and the socket forgets where it came from. */
static void who_has_left_before_the_request_is_named(void **state)
{
    struct fixture *f = *state;
    struct client c = dial(f);
    char name[64];

    print_name(&c, name, sizeof(name));
    say(&c, PURGE CLOSE);
    reset(&c);
    AWAIT(f, *read_lines());
    assert_has(lines, name);
}

static void what_cannot_be_written_is_counted(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(audit_use(audit, "/dev/full"), STATUS_OK);
    assert_starts(ask(f, PURGE CLOSE), "HTTP/1.1 204");
    assert_int_equal(http_port(f->http)->stats.unaudited, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_operators_request_has_a_line),
        TEST(it_says_what_was_asked_for),
        TEST(a_topic_that_cannot_be_read_is_not_named),
        TEST(a_clients_request_has_none),
        TEST(what_is_refused_before_its_handler_has_a_line),
        TEST(what_is_refused_has_a_line_where_it_names_an_operation),
        TEST(what_comes_over_a_limit_has_a_line),
        TEST(the_time_is_over_for_one_that_does_not_arrive),
        TEST(the_line_comes_with_the_answer_not_before),
        TEST(who_has_left_before_the_answer_is_named),
        TEST(who_has_left_before_the_request_is_named),
        TEST(what_cannot_be_written_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
