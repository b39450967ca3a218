/* A real listener on loopback, and a client on the same loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/buf.h"
#include "base/loop.h"
#include "node/queue/queue.h"
#include "protocol/http/http.h"

#define TOO_LONG_MS 10000

struct fixture {
    struct loop *loop;
    struct http *http;
    struct sockaddr_in address;
    struct queue_stats stats;
    const char *why_not_ready;
    struct buf reply;
    struct timer too_long;
    unsigned stopped;
};

/* In place of the engine's: a queue here is nothing but its numbers. */
const struct queue_stats *queue_stats(struct queue *q)
{
    return (const struct queue_stats *)q;
}

static struct rlimit enough;

static const char *why_not_ready(void *arg)
{
    const struct fixture *f = arg;

    return f->why_not_ready;
}

static void read_store(void *arg, struct http_store_numbers *numbers)
{
    numbers->round_trips = 42;
}

static void on_too_long(struct timer *timer)
{
    fail_msg("no end after %d ms", TOO_LONG_MS);
}

static int listen_on(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*address);

    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &len), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct http_options options = {
        .body_max_bytes = 1000,
        .node = {.why_not_ready = why_not_ready, .read_store = read_store, .arg = f},
    };

    f->loop = loop_new();
    f->http = http_new(&options, f->loop, (struct queue *)&f->stats, listen_on(&f->address));
    timer_init(&f->too_long, on_too_long);
    timer_arm(&f->loop->timers, &f->too_long, TOO_LONG_MS);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    http_free(f->http);
    timer_disarm(&f->loop->timers, &f->too_long);
    loop_free(f->loop);
    buf_fini(&f->reply);
    free(f);
    return 0;
}

static int connect_to(struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
    return fd;
}

static void on_reply(evutil_socket_t fd, short what, void *arg)
{
    struct fixture *f = arg;
    ssize_t got = recv(fd, buf_reserve(&f->reply, 65536), 65536, 0);

    if (got > 0)
        f->reply.len += (size_t)got;
    else
        loop_stop(f->loop);
}

/* Sends the bytes and returns everything that comes until the server closes. */
static const char *ask_on(struct fixture *f, int fd, const char *bytes)
{
    struct event *event = event_new(f->loop->base, fd, EV_READ | EV_PERSIST, on_reply, f);

    buf_clear(&f->reply);
    assert_int_equal(send(fd, bytes, strlen(bytes), 0), strlen(bytes));
    event_add(event, NULL);
    loop_run(f->loop);
    event_free(event);
    close(fd);
    return buf_text(&f->reply);
}

static const char *ask(struct fixture *f, const char *bytes)
{
    return ask_on(f, connect_to(f), bytes);
}

static void assert_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0)
        fail_msg("'%s' does not start with '%s'", text, start);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' has no '%s'", text, part);
}

#define END "Connection: close\r\n\r\n"

static void says_that_it_lives_and_is_ready_and_leads(void **state)
{
    assert_has(ask(*state, "GET /health/live HTTP/1.1\r\n" END),
               "\r\n\r\n{\"status\":\"live\"}");
    assert_has(ask(*state, "GET /health/ready HTTP/1.1\r\n" END), "{\"status\":\"ready\"}");
    assert_has(ask(*state, "GET /health/leader HTTP/1.1\r\n" END), "{\"status\":\"leader\"}");
}

static void says_why_it_is_not_ready_and_still_lives(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    f->why_not_ready = "Redis says \"LOADING\"";
    reply = ask(f, "GET /health/ready HTTP/1.1\r\n" END);
    assert_starts(reply, "HTTP/1.1 503 ");
    assert_has(reply, "\r\n\r\n{\"error\":{\"code\":\"not_ready\","
                      "\"message\":\"Redis says \\\"LOADING\\\"\"}}");
    assert_starts(ask(f, "GET /health/leader HTTP/1.1\r\n" END), "HTTP/1.1 503 ");
    assert_starts(ask(f, "GET /health/live HTTP/1.1\r\n" END), "HTTP/1.1 200 ");
}

static void shows_metrics(void **state)
{
    const char *reply = ask(*state, "GET /metrics HTTP/1.1\r\n" END);

    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    assert_has(reply, "\ndueq_store_round_trips_total 42\n");
}

static void refuses_unknown_paths_and_other_methods(void **state)
{
    const char *reply = ask(*state, "GET /healthy HTTP/1.1\r\n" END);

    assert_starts(reply, "HTTP/1.1 404 ");
    assert_has(reply, "{\"error\":{\"code\":\"no_such_path\",");
    reply = ask(*state, "PATCH /health/live HTTP/1.1\r\nContent-Length: 0\r\n" END);
    assert_starts(reply, "HTTP/1.1 405 ");
    assert_has(reply, "Allow: GET, HEAD\r\n");
    assert_has(reply, "{\"error\":{\"code\":\"method_not_allowed\",");
}

static void ignores_the_query(void **state)
{
    assert_starts(ask(*state, "GET /health/live?from=lb HTTP/1.1\r\n" END), "HTTP/1.1 200 ");
}

static void answers_head_without_a_body(void **state)
{
    const char *reply = ask(*state, "HEAD /health/live HTTP/1.1\r\n" END);

    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "Content-Length: 17\r\n");
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
}

static void keeps_the_clients_request_id(void **state)
{
    assert_has(ask(*state, "GET /health/live HTTP/1.1\r\nX-Request-Id: order-7.a\r\n" END),
               "X-Request-Id: order-7.a\r\n");
}

static void gives_a_request_id_of_its_own_for_none_and_for_a_strange_one(void **state)
{
    static const char *const requests[] = {
        "GET /health/live HTTP/1.1\r\n" END,
        "GET /nothing HTTP/1.1\r\nX-Request-Id: a b\r\n" END,
        "GET /health/live HTTP/1.1\r\nX-Request-Id: "
        "00000000001111111111222222222233333333334444444444555555555566666\r\n" END,
    };
    char ending[] = "-1\r\n";

    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        const char *id = strstr(ask(*state, requests[i]), "X-Request-Id: ");

        ending[1] = (char)('1' + i);
        assert_non_null(id);
        assert_memory_equal(id + strlen("X-Request-Id: ") + 16, ending, strlen(ending));
    }
}

static void serves_many_requests_on_one_connection(void **state)
{
    const char *reply = ask(*state, "GET /health/live HTTP/1.1\r\n\r\n"
                                    "GET /nothing HTTP/1.1\r\n\r\n"
                                    "GET /health/ready HTTP/1.1\r\n" END);

    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "HTTP/1.1 404 ");
    assert_has(reply, "{\"status\":\"ready\"}");
}

static void refuses_a_body_that_is_too_large(void **state)
{
    assert_starts(ask(*state, "POST /metrics HTTP/1.1\r\nContent-Length: 2000\r\n" END),
                  "HTTP/1.1 413 ");
}

static void on_lack_over(struct timer *timer)
{
    setrlimit(RLIMIT_NOFILE, &enough);
}

static void goes_on_accepting_after_a_lack_of_descriptors(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);
    struct timer lack;
    struct rlimit none;

    getrlimit(RLIMIT_NOFILE, &enough);
    none = (struct rlimit){.rlim_cur = (rlim_t)fd + 1, .rlim_max = enough.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    timer_init(&lack, on_lack_over);
    timer_arm(&f->loop->timers, &lack, 20);
    assert_starts(ask_on(f, fd, "GET /health/live HTTP/1.1\r\n" END), "HTTP/1.1 200 ");
}

static void on_stopped(void *arg)
{
    struct fixture *f = arg;

    f->stopped++;
    loop_stop(f->loop);
}

static void stops_at_once_when_nothing_is_in_flight(void **state)
{
    struct fixture *f = *state;

    http_stop(f->http, on_stopped, f);
    assert_int_equal(f->stopped, 0);
    loop_run(f->loop);
    assert_int_equal(f->stopped, 1);
}

static void refuses_requests_on_open_connections_while_it_stops(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(f);
    const char *reply;

    event_base_loop(f->loop->base, EVLOOP_ONCE); /* it is accepted */
    http_stop(f->http, on_stopped, f);
    loop_run(f->loop);
    reply = ask_on(f, fd, "GET /health/live HTTP/1.1\r\n\r\n");
    assert_starts(reply, "HTTP/1.1 503 ");
    assert_has(reply, "\"shutting_down\"");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(says_that_it_lives_and_is_ready_and_leads),
        TEST(says_why_it_is_not_ready_and_still_lives),
        TEST(shows_metrics),
        TEST(refuses_unknown_paths_and_other_methods),
        TEST(ignores_the_query),
        TEST(answers_head_without_a_body),
        TEST(keeps_the_clients_request_id),
        TEST(gives_a_request_id_of_its_own_for_none_and_for_a_strange_one),
        TEST(serves_many_requests_on_one_connection),
        TEST(refuses_a_body_that_is_too_large),
        TEST(goes_on_accepting_after_a_lack_of_descriptors),
        TEST(stops_at_once_when_nothing_is_in_flight),
        TEST(refuses_requests_on_open_connections_while_it_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
