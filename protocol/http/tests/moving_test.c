/* Clients over an address that moves to another node, on real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "protocol/http/tests/server_fixture.h"
#include "protocol/conn/floating.h"

static bool is_v4(void *arg, const struct sockaddr *own)
{
    return own->sa_family == AF_INET;
}

static struct floating moving;

static void move(struct fixture *f, enum floating_state state)
{
    moving = (struct floating){.is_it = is_v4, .state = state};
    port_follow(http_port(f->http), &moving);
}

static int up(void **state)
{
    int result = fixture_up(state);

    move(*state, FLOATING_HERE);
    return result;
}

#define POP  "POST /v1/topics/t/pop?wait_ms=60000 HTTP/1.1\r\nHost: h\r\n\r\n"
#define PUSH "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 18\r\n\r\n"

static void expect_end_of_all(struct fixture *f, struct client *c)
{
    expect_end(c);
    leave(c);
    fixture_pass(f, 50);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
}

static void an_idle_client_sees_the_end_and_no_reset(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, GET_LIVE);
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_int_equal(port_floating(http_port(f->http)), 1);
    move(f, FLOATING_DRAINING);
    expect_end_of_all(f, &c);
}

static void a_long_poll_ends_without_jobs_and_the_last_reply_says_so(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    const char *reply;

    say(&c, POP);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    move(f, FLOATING_DRAINING);
    reply = receive(&c);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "Connection: close\r\n");
    assert_has(reply, "\"jobs\":[]");
    expect_end_of_all(f, &c);
}

static void a_request_in_work_is_answered_with_the_last_reply(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    const char *reply;

    memory_store_hold(f->ms);
    say(&c, PUSH "{\"body\":\"a body\"} ");
    AWAIT(f, memory_store_in_flight(f->ms) == 1);
    move(f, FLOATING_DRAINING);
    expect_silence(&c);
    memory_store_unhold(f->ms);
    reply = receive(&c);
    assert_starts(reply, "HTTP/1.1 201 ");
    assert_has(reply, "Connection: close\r\n");
    expect_end_of_all(f, &c);
}

static void a_body_on_its_way_still_arrives(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH "{\"body\":");
    fixture_turn(f);
    move(f, FLOATING_DRAINING);
    expect_silence(&c);
    say(&c, "\"a body\"} ");
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    expect_end_of_all(f, &c);
}

static void who_comes_then_gets_one_reply(void **state)
{
    struct fixture *f = *state;
    struct client c;

    move(f, FLOATING_DRAINING);
    c = connect_client(f);
    expect_silence(&c);
    say(&c, GET_LIVE GET_LIVE);
    assert_has(receive(&c), "Connection: close\r\n");
    expect_end_of_all(f, &c);
}

static void a_refusal_counts_as_one_reply(void **state)
{
    struct fixture *f = *state;
    struct client c;

    move(f, FLOATING_DRAINING);
    c = connect_client(f);
    say(&c, "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
    assert_starts(receive(&c), "HTTP/1.1 404 ");
    expect_end(&c);
    leave(&c);
}

static void who_is_cut_off_in_the_middle_of_anything_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct client in_head = connect_client(f), in_body = connect_client(f),
                  in_work = connect_client(f);

    say(&in_head, "GET /health/li");
    say(&in_body, PUSH "{\"body\":");
    say(&in_work, POP);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    fixture_turn(f);
    move(f, FLOATING_AWAY);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
    AWAIT(f, queue_stats(f->queue)->waiting == 0);
    expect_end(&in_head);
    expect_end(&in_body);
    expect_end(&in_work);
    leave(&in_head);
    leave(&in_body);
    leave(&in_work);
}

static void who_comes_when_it_is_gone_is_closed_and_may_come_again(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    move(f, FLOATING_AWAY);
    c = connect_client(f);
    expect_end_of_all(f, &c);
    move(f, FLOATING_HERE);
    assert_starts(ask(f, "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE), "HTTP/1.1 200 ");
}

static void who_waits_to_be_accepted_when_it_is_first_told_is_closed_as_well(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    c = dial(f);
    move(f, FLOATING_AWAY);
    expect_end_of_all(f, &c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_idle_client_sees_the_end_and_no_reset),
        TEST(a_long_poll_ends_without_jobs_and_the_last_reply_says_so),
        TEST(a_request_in_work_is_answered_with_the_last_reply),
        TEST(a_body_on_its_way_still_arrives),
        TEST(who_comes_then_gets_one_reply),
        TEST(a_refusal_counts_as_one_reply),
        TEST(who_is_cut_off_in_the_middle_of_anything_is_forgotten),
        TEST(who_comes_when_it_is_gone_is_closed_and_may_come_again),
        cmocka_unit_test_setup_teardown(
            who_waits_to_be_accepted_when_it_is_first_told_is_closed_as_well, fixture_up,
            fixture_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
