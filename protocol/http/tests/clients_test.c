/* Connections: how many, how long, and how they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "protocol/api/handlers.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

#define LARGE_BYTES 100000

/* In the places of some of the API's: a handler that answers at once, one whose reply is large,
 * and one that answers when the test says so. */
static struct exchange *waiting;

static void own_health_live(struct exchange *x)
{
    exchange_reply_status(x, 200, "live");
}

static void reply_large(struct exchange *x)
{
    struct bytes large = {calloc(1, LARGE_BYTES), LARGE_BYTES};

    exchange_reply(x, 200, "text/plain", large);
    free((char *)large.at);
}

static void own_health_ready(struct exchange *x)
{
    reply_large(x);
}

static void own_health_leader(struct exchange *x)
{
    assert_null(waiting);
    waiting = x;
}

static int up(void **state)
{
    static const struct stand_in stand_ins[] = {
        {health_live, own_health_live},
        {health_ready, own_health_ready},
        {health_leader, own_health_leader},
    };

    return fixture_up_with(state, stand_ins, sizeof(stand_ins) / sizeof(*stand_ins));
}

static void answer_large(void)
{
    struct exchange *x = waiting;

    waiting = NULL;
    reply_large(x);
}

static void answer(void)
{
    struct exchange *x = waiting;

    waiting = NULL;
    exchange_reply_status(x, 200, "leader");
}

#define GET_LARGE   "GET /health/ready HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET_NOTHING "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET_LATER   "GET /health/leader HTTP/1.1\r\nHost: h\r\n\r\n"

static uint64_t connections(const struct fixture *f)
{
    return http_port(f->http)->stats.connections;
}

static void fill_up(struct fixture *f, struct client *clients)
{
    for (unsigned i = 0; i < f->options.connections_max; i++) {
        clients[i] = connect_client(f);
        say(&clients[i], GET_LIVE);
        assert_starts(receive(&clients[i]), "HTTP/1.1 200 ");
    }
    assert_int_equal(connections(f), f->options.connections_max);
}

static void is_full(struct fixture *f)
{
    const char *reply = ask(f, GET_NOTHING);

    assert_starts(reply, "HTTP/1.1 503 Service Unavailable\r\n");
    assert_has(reply, "Retry-After: 1\r\n");
    assert_has(reply, "Connection: close\r\n");
    assert_has(reply, "X-Request-Id: ");
    assert_has(reply, "{\"error\":{\"code\":\"too_many\",\"message\":\"too many connections");
}

static void has_room(struct fixture *f)
{
    AWAIT(f, connections(f) < f->options.connections_max);
    assert_starts(ask(f, "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE), "HTTP/1.1 200 ");
}

/* ---- the limit ---- */

static void turns_clients_away_when_there_are_too_many(void **state)
{
    struct fixture *f = *state;
    struct client clients[3];

    fill_up(f, clients);
    is_full(f);
    is_full(f);
    assert_int_equal(http_port(f->http)->stats.rejected, 2);
    assert_int_equal(http_port(f->http)->stats.accepted, 3);
    assert_int_equal(connections(f), 3);
    say(&clients[0], GET_LIVE);
    assert_starts(receive(&clients[0]), "HTTP/1.1 200 ");
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

static void has_room_again_when_a_client_has_closed_or_reset_or_asked_to_end(void **state)
{
    struct fixture *f = *state;
    struct client clients[3];

    fill_up(f, clients);
    leave(&clients[0]);
    has_room(f);
    reset(&clients[1]);
    AWAIT(f, connections(f) == 1);
    say(&clients[2], "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE);
    receive_all(&clients[2]);
    AWAIT(f, connections(f) == 0);
    leave(&clients[2]);
}

static void has_room_again_when_a_client_was_idle_or_slow_or_did_not_read(void **state)
{
    struct fixture *f = *state;
    struct client clients[3];

    f->options.idle_ms = 90000;
    http_reload(http_port(f->http), &f->options);
    fill_up(f, clients);
    say(&clients[1], "GET /health/live HT");
    for (unsigned i = 0; i < 100; i++)
        say(&clients[2], GET_LARGE);
    AWAIT(f, http_port(f->http)->stats.requests > 3);
    fixture_pass(f, 59000);
    assert_int_equal(connections(f), 3);
    fixture_pass(f, 2000);
    AWAIT(f, connections(f) == 1);
    assert_starts(receive_all(&clients[1]), "HTTP/1.1 408 Request Timeout\r\n");
    fixture_pass(f, 30000);
    AWAIT(f, connections(f) == 0);
    expect_end(&clients[0]);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

static void who_is_told_that_it_is_slow_may_go_on_talking_and_still_reads_it(void **state)
{
    struct fixture *f = *state;
    struct client slow = connect_client(f);

    say(&slow, "GET /health/live HT");
    fixture_turn(f);
    fixture_pass(f, 60000);
    say(&slow, "TP/1.1\r\n");
    fixture_turn(f);
    assert_starts(receive_all(&slow), "HTTP/1.1 408 ");
    assert_int_equal(http_port(f->http)->stats.connections, 1);
    fixture_pass(f, 1000);
    assert_int_equal(http_port(f->http)->stats.connections, 0);
    leave(&slow);
}

static void a_slow_request_is_not_idle_and_an_idle_client_is_not_slow(void **state)
{
    struct fixture *f = *state;
    struct client slow, idle;

    f->options.idle_ms = 10000;
    f->options.request_ms = 20000;
    http_reload(http_port(f->http), &f->options);
    slow = connect_client(f);
    idle = connect_client(f);
    say(&slow, "GET /health/live HT");
    say(&idle, "\r"); /* an empty line, in two parts */
    expect_silence(&idle);
    say(&idle, "\n");
    expect_silence(&idle);
    fixture_pass(f, 9000);
    say(&idle, GET_LIVE);
    assert_starts(receive(&idle), "HTTP/1.1 200 ");
    fixture_pass(f, 9900);
    assert_int_equal(connections(f), 2);
    fixture_pass(f, 1200);
    expect_end(&idle);
    assert_starts(receive_all(&slow), "HTTP/1.1 408 ");
    leave(&slow);
    leave(&idle);
}

/* Whatever is read meanwhile: it is the time of the whole reply. */
static void a_reply_has_a_time_to_be_read_the_last_one_too(void **state)
{
    static const char *const requests[] = {
        GET_LARGE,
        "GET /health/ready HTTP/1.1\r\nHost: h\r\n" CLOSE,
        GET_LATER,
        "GET /health/leader HTTP/1.1\r\nHost: h\r\n" CLOSE,
    };
    struct fixture *f = *state;

    f->options.request_ms = 2000;
    http_reload(http_port(f->http), &f->options);
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        struct client c = connect_client(f);
        int small = 4096;

        assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
        say(&c, requests[i]);
        if (i >= 2) {
            AWAIT(f, waiting);
            answer_large();
        }
        AWAIT(f, f->http->port.kind.unread_bytes > 0);
        fixture_pass(f, 1900);
        assert_int_equal(connections(f), 1);
        fixture_pass(f, 200);
        assert_int_equal(connections(f), 0);
        leave(&c);
    }
}

static void a_last_reply_may_be_left_unread_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    int small = 16384;

    assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    say(&c, "GET /health/ready HTTP/1.1\r\nHost: h\r\n" CLOSE);
    AWAIT(f, f->http->port.kind.unread_bytes > 0);
    fixture_pass(f, 30000);
    receive_all(&c);
    assert_true(f->reply.len > LARGE_BYTES);
    leave(&c);
}

static void has_room_again_when_a_client_sent_nonsense(void **state)
{
    struct fixture *f = *state;
    struct client clients[3];

    fill_up(f, clients);
    say(&clients[0], "\x16\x03\x01\x02 this looks like TLS\r\n\r\n");
    assert_starts(receive(&clients[0]), "HTTP/1.1 400 ");
    fixture_pass(f, 1100); /* it does not close */
    has_room(f);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

static void a_new_limit_holds_at_once(void **state)
{
    struct fixture *f = *state;
    struct client clients[3];

    fill_up(f, clients);
    f->options.connections_max = 4;
    http_reload(http_port(f->http), &f->options);
    has_room(f);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

static void those_to_be_turned_away_are_told_within_a_second_and_are_not_many(void **state)
{
    struct fixture *f = *state;
    struct client clients[3], silent[70];
    unsigned told = 0;

    fill_up(f, clients);
    for (unsigned i = 0; i < 70; i++)
        silent[i] = connect_client(f);
    fixture_pass(f, 1100);
    for (unsigned i = 0; i < 70; i++) {
        told += strncmp(receive_all(&silent[i]), "HTTP/1.1 503 ", 13) == 0;
        leave(&silent[i]);
    }
    assert_int_equal(told, 64);
    assert_int_equal(http_port(f->http)->stats.rejected, 70);
    fixture_pass(f, 100); /* their ends are seen */
    is_full(f);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

/* However many connect and say nothing, and whatever a client has no place for. */
static void health_and_metrics_are_served_when_all_places_are_taken(void **state)
{
    static const char *const monitors[] = {GET_LIVE, GET_LARGE,
                                           "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"};
    struct fixture *f = *state;
    struct client clients[3], silent[70];

    f->options.connections_per_address = 3;
    http_reload(http_port(f->http), &f->options);
    fill_up(f, clients);
    for (unsigned i = 0; i < 70; i++) {
        silent[i] = connect_client(f);
        say(&silent[i], "G");
    }
    for (size_t i = 0; i < sizeof(monitors) / sizeof(*monitors); i++) {
        const char *reply = ask(f, monitors[i]);

        assert_starts(reply, "HTTP/1.1 200 OK\r\n");
        assert_has(reply, "\r\nConnection: close\r\n");
        f->options.connections_max = 4; /* the address is over its limit, and not the node */
        http_reload(http_port(f->http), &f->options);
    }
    assert_int_equal(connections(f), 3);
    for (unsigned i = 0; i < 70; i++)
        leave(&silent[i]);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

/* All of them are in the kernel's queue, with what they say, before any is accepted. */
static void whoever_asks_within_a_crowd_is_answered(void **state)
{
    struct fixture *f = *state;
    struct client clients[3], crowd[120];

    fill_up(f, clients);
    for (unsigned i = 0; i < 120; i++) {
        crowd[i] = dial(f);
        say(&crowd[i], i % 8 == 0 ? GET_LIVE : "G");
    }
    for (unsigned i = 0; i < 120; i += 8)
        assert_starts(receive(&crowd[i]), "HTTP/1.1 200 OK\r\n");
    for (unsigned i = 0; i < 120; i++)
        leave(&crowd[i]);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
}

static void one_address_has_no_more_places_than_its_limit(void **state)
{
    struct fixture *f = *state;
    struct client first, second, other;
    const char *reply;

    f->options.connections_per_address = 2;
    http_reload(http_port(f->http), &f->options);
    first = connect_client(f);
    second = connect_client(f);
    reply = ask(f, GET_NOTHING);
    assert_starts(reply, "HTTP/1.1 503 ");
    assert_has(reply, "{\"error\":{\"code\":\"too_many\",\"message\":\"too many connections "
                      "from one address (limits.connections_per_address); ");
    other = connect_from(f, 2);
    say(&other, GET_NOTHING);
    assert_starts(receive(&other), "HTTP/1.1 404 ");
    leave(&first);
    AWAIT(f, connections(f) == 2);
    assert_starts(ask(f, "GET /nothing HTTP/1.1\r\nHost: h\r\n" CLOSE), "HTTP/1.1 404 ");
    leave(&second);
    leave(&other);
}

static struct rlimit enough;

static void on_lack_over(struct timer *timer)
{
    setrlimit(RLIMIT_NOFILE, &enough);
}

static void goes_on_accepting_after_a_lack_of_descriptors(void **state)
{
    struct fixture *f = *state;
    struct client c;
    struct timer lack;
    struct rlimit none;

    only_for_plain_clients();
    c = dial(f);
    getrlimit(RLIMIT_NOFILE, &enough);
    none = (struct rlimit){.rlim_cur = (rlim_t)c.fd + 1, .rlim_max = enough.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    timer_init(&lack, on_lack_over);
    timer_arm(&f->loop->timers, &lack, 20);
    say(&c, GET_LIVE);
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    leave(&c);
}

/* ---- bodies nobody wants ---- */

static void refuses_a_large_body_before_it_has_come(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "GET /health/live HTTP/1.1\r\nHost: h\r\nContent-Length: 4097\r\n\r\n");
    assert_starts(receive(&c), "HTTP/1.1 413 Content Too Large\r\n");
    expect_end(&c);
    for (unsigned i = 0; i < 1000; i++)
        say(&c, "what it sends meanwhile is thrown away, and takes no memory\r\n");
    for (unsigned i = 0; i < 20; i++)
        fixture_turn(f);
    assert_int_equal(connections(f), 1);
    fixture_pass(f, 1100);
    assert_int_equal(connections(f), 0);
    leave(&c);
}

/* Nobody knows where a request ends that cannot be read. */
static void what_follows_a_bad_head_does_not_drown_the_reply(void **state)
{
    static const char *const heads[] = {
        "POST /v1/topics/t/jobs HTTP/1.1\r\nBad Header: 1\r\nContent-Length: 5000000\r\n\r\n",
        "GET / HTTP/1.1\r\nX: ",
    };
    struct fixture *f = *state;
    struct bytes large = {calloc(1, 5000000), 5000000};

    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct client c = connect_client(f);

        say(&c, heads[i]);
        say_bytes(&c, large);
        assert_starts(receive_all(&c), i ? "HTTP/1.1 431 " : "HTTP/1.1 400 ");
        leave(&c);
        AWAIT(f, connections(f) == 0);
    }
    free((char *)large.at);
}

static void refuses_a_large_body_to_any_path_and_in_chunks_too(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
    assert_starts(receive(&c), "HTTP/1.1 404 ");
    leave(&c);
    c = connect_client(f);
    say(&c, "GET /metrics HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
            "chunked\r\n\r\n1\r\na\r\n1000\r\n");
    assert_starts(receive(&c), "HTTP/1.1 413 ");
    leave(&c);
    AWAIT(f, connections(f) == 0);
}

/* ---- pipelining ---- */

static void serves_no_more_to_a_client_that_does_not_read(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    for (unsigned i = 0; i < 15; i++)
        say(&c, GET_LARGE);
    for (unsigned i = 0; i < 100; i++)
        fixture_turn(f);
    assert_in_range(http_port(f->http)->stats.requests, 1, 5);
    for (unsigned i = 0; i < 15; i++)
        assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_int_equal(http_port(f->http)->stats.requests, 15);
    leave(&c);
}

static void a_large_reply_comes_whole_and_not_at_all_to_head(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "HEAD /health/ready HTTP/1.1\r\nHost: h\r\n\r\n" GET_LARGE GET_LIVE);
    while (!strstr(buf_text(&f->reply), "\r\n\r\n"))
        assert_true(receive_some(&c, 1));
    assert_has(buf_text(&f->reply), "\r\nContent-Length: 100000\r\n");
    receive(&c);
    assert_true(f->reply.len > LARGE_BYTES);
    assert_has(receive(&c), "{\"status\":\"live\"}");
    leave(&c);
}

static void one_turn_serves_only_some_of_many_pipelined_requests(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    uint64_t most = 0;

    for (unsigned i = 0; i < 500; i++)
        say(&c, GET_LIVE);
    while (http_port(f->http)->stats.requests < 100) {
        uint64_t before = http_port(f->http)->stats.requests;

        fixture_turn(f);
        if (http_port(f->http)->stats.requests - before > most)
            most = http_port(f->http)->stats.requests - before;
    }
    assert_in_range(most, 1, 50);
    for (unsigned i = 0; i < 500; i++)
        assert_starts(receive(&c), "HTTP/1.1 200 ");
    leave(&c);
}

/* ---- handlers that answer later ---- */

static void later_requests_wait_for_a_handler_that_answers_later(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, GET_LATER GET_LIVE GET_LATER);
    AWAIT(f, waiting);
    fixture_pass(f, 120000); /* nobody is idle or slow here */
    expect_silence(&c);
    answer();
    assert_has(receive(&c), "{\"status\":\"leader\"}");
    assert_has(receive(&c), "{\"status\":\"live\"}");
    AWAIT(f, waiting);
    say(&c, GET_LIVE);
    answer();
    assert_has(receive(&c), "{\"status\":\"leader\"}");
    assert_has(receive(&c), "{\"status\":\"live\"}");
    leave(&c);
}

/* Its client would have it waiting here for as long as the handler takes. */
static void little_is_read_behind_a_request_in_work(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    char much[65536 + 1];
    struct bytes bytes = {much, sizeof(much) - 1};

    memset(much, 'x', bytes.len);
    memcpy(much, GET_LATER, strlen(GET_LATER));
    say_bytes(&c, bytes);
    AWAIT(f, waiting);
    expect_silence(&c);
    assert_in_range(f->http->port.kind.kept_bytes, 0, HEAD_MAX_BYTES);
    reset(&c);
    fixture_pass(f, 1000);
    answer();
}

static void a_handler_may_answer_when_its_client_has_left(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, GET_LATER);
    AWAIT(f, waiting);
    reset(&c);
    fixture_pass(f, 1000);
    answer();
    AWAIT(f, connections(f) == 0);
}

static void a_client_that_has_ended_its_side_gets_its_reply(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, GET_LATER);
    end_sending(&c);
    AWAIT(f, waiting);
    fixture_pass(f, 1000);
    answer();
    assert_has(receive_all(&c), "{\"status\":\"leader\"}");
    leave(&c);
}

/* ---- the end ---- */

static void stops_at_once_when_nobody_is_there(void **state)
{
    struct fixture *f = *state;

    fixture_stop(f);
    assert_false(f->is_stopped);
    AWAIT(f, f->is_stopped);
}

static void stops_when_all_in_work_is_answered(void **state)
{
    struct fixture *f = *state;
    struct client idle = connect_client(f), late = connect_client(f), busy = connect_client(f);
    const char *reply;

    say(&busy, GET_LATER);
    AWAIT(f, waiting);
    fixture_stop(f);
    say(&late, GET_LIVE);
    reply = receive_all(&late);
    assert_starts(reply, "HTTP/1.1 503 ");
    assert_has(reply, "\"shutting_down\"");
    fixture_pass(f, 100);
    expect_end(&idle);
    assert_false(f->is_stopped);
    answer();
    assert_has(receive_all(&busy), "{\"status\":\"leader\"}");
    AWAIT(f, f->is_stopped);
    leave(&idle);
    leave(&late);
    leave(&busy);
}

static void stops_without_the_last_reply_being_read(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    for (unsigned i = 0; i < 100; i++)
        say(&c, GET_LARGE);
    AWAIT(f, http_port(f->http)->stats.requests > 0);
    fixture_stop(f);
    fixture_pass(f, 1900);
    assert_false(f->is_stopped);
    assert_true(f->http->port.kind.is_draining); /* as connection_test.c has it */
    fixture_pass(f, 200);
    AWAIT(f, f->is_stopped);
    leave(&c);
}

static void a_stop_waits_for_handlers_and_then_for_their_replies_to_be_read(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    int small = 16384;

    assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    say(&c, GET_LATER);
    AWAIT(f, waiting);
    fixture_stop(f);
    fixture_pass(f, 5000);
    assert_int_equal(connections(f), 1);
    answer_large();
    fixture_pass(f, 1900);
    assert_int_equal(connections(f), 1);
    receive_all(&c);
    assert_true(f->reply.len > LARGE_BYTES);
    AWAIT(f, f->is_stopped);
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(turns_clients_away_when_there_are_too_many),
        TEST(has_room_again_when_a_client_has_closed_or_reset_or_asked_to_end),
        TEST(has_room_again_when_a_client_was_idle_or_slow_or_did_not_read),
        TEST(who_is_told_that_it_is_slow_may_go_on_talking_and_still_reads_it),
        TEST(a_slow_request_is_not_idle_and_an_idle_client_is_not_slow),
        TEST(a_reply_has_a_time_to_be_read_the_last_one_too),
        TEST(a_last_reply_may_be_left_unread_for_a_while),
        TEST(has_room_again_when_a_client_sent_nonsense),
        TEST(a_new_limit_holds_at_once),
        TEST(those_to_be_turned_away_are_told_within_a_second_and_are_not_many),
        TEST(health_and_metrics_are_served_when_all_places_are_taken),
        TEST(whoever_asks_within_a_crowd_is_answered),
        TEST(one_address_has_no_more_places_than_its_limit),
        TEST(goes_on_accepting_after_a_lack_of_descriptors),
        TEST(refuses_a_large_body_before_it_has_come),
        TEST(what_follows_a_bad_head_does_not_drown_the_reply),
        TEST(refuses_a_large_body_to_any_path_and_in_chunks_too),
        TEST(serves_no_more_to_a_client_that_does_not_read),
        TEST(a_large_reply_comes_whole_and_not_at_all_to_head),
        TEST(one_turn_serves_only_some_of_many_pipelined_requests),
        TEST(later_requests_wait_for_a_handler_that_answers_later),
        TEST(little_is_read_behind_a_request_in_work),
        TEST(a_handler_may_answer_when_its_client_has_left),
        TEST(a_client_that_has_ended_its_side_gets_its_reply),
        TEST(stops_at_once_when_nobody_is_there),
        TEST(stops_when_all_in_work_is_answered),
        TEST(stops_without_the_last_reply_being_read),
        TEST(a_stop_waits_for_handlers_and_then_for_their_replies_to_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
