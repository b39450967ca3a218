/* Clients over an address that moves to another node, on real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/gmq/server.h"
#include "protocol/gmq/tests/server_fixture.h"
#include "protocol/conn/floating.h"

static bool is_loopback(void *arg, const struct sockaddr *own)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)own;

    return own->sa_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

static bool is_another(void *arg, const struct sockaddr *own)
{
    return false;
}

static struct floating moving;

static void move(struct fixture *f, enum floating_state state)
{
    moving = (struct floating){.is_it = is_loopback, .state = state};
    port_follow(f->gmq, &moving);
}

static int up(void **state)
{
    int result = fixture_up(state);

    move(*state, FLOATING_HERE);
    return result;
}

static void push(struct fixture *f, const char *request)
{
    struct client c;

    moving.is_it = is_another;
    c = connect_client(f);
    moving.is_it = is_loopback;
    say(&c, request);
    expect(&c, PUSHED);
    leave(&c);
    AWAIT(f, connections(f) == port_floating(f->gmq));
}

static void expect_end_of_all(struct fixture *f, struct client *c)
{
    expect_end(c);
    leave(c);
    fixture_pass(f, 50);
    AWAIT(f, connections(f) == 0);
}

static void a_pop_that_waits_ends_as_empty_and_then_the_connection(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    move(f, FLOATING_DRAINING);
    expect(&c, EMPTY);
    expect_end_of_all(f, &c);
}

static void a_request_in_work_is_answered_first(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    memory_store_hold(f->ms);
    say(&c, PUSH("a", "t", ""));
    AWAIT(f, memory_store_in_flight(f->ms) == 1);
    move(f, FLOATING_DRAINING);
    expect_silence(&c);
    memory_store_unhold(f->ms);
    expect(&c, PUSHED);
    expect_end_of_all(f, &c);
}

static void who_comes_then_gets_one_reply(void **state)
{
    struct fixture *f = *state;
    struct client c;

    move(f, FLOATING_DRAINING);
    c = connect_client(f);
    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    expect_end_of_all(f, &c);
    c = connect_client(f);
    say(&c, "{\"method\":\"Service.None\",\"params\":[1],\"id\":1}");
    expect(&c,
           "{\"id\":1,\"result\":null,\"error\":\"rpc: can't find method Service.None\"}\n");
    expect_end_of_all(f, &c);
}

/* The kernel has taken its request, and the loop has not turned yet. */
static void who_waits_to_be_accepted_is_owed_a_reply_and_hears_the_end(void **state)
{
    struct fixture *f = *state;
    struct client c, late;

    only_for_plain_clients();
    c = dial_loopback(f, f->loop, f->port);
    say(&c, PUSH("a", "t", ""));
    move(f, FLOATING_DRAINING);
    assert_int_equal(port_floating(f->gmq), 1);
    assert_true(port_owes(f->gmq));
    expect(&c, PUSHED);
    expect_end_of_all(f, &c);
    assert_false(port_owes(f->gmq));
    c = dial_loopback(f, f->loop, f->port); /* while its address leaves */
    say(&c, PUSH("b", "t", ""));
    assert_true(port_owes(f->gmq));
    expect(&c, PUSHED);
    expect_end_of_all(f, &c);
    late = dial_loopback(f, f->loop, f->port);
    move(f, FLOATING_AWAY);
    assert_int_equal(f->gmq->stats.accepted, 3);
    expect_end_of_all(f, &late);
}

static void a_push_that_waits_for_the_store_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    fixture_pass(f, 0); /* all settings are read */
    memory_store_take_down(f->ms);
    memory_store_let_wait(f->ms);
    say(&c, PUSH("a", "t", ""));
    AWAIT(f, f->gmq->stats.requests == 1);
    move(f, FLOATING_DRAINING);
    expect(&c, "{\"id\":1,\"result\":null,\"error\":"
               "\"unavailable: the store is unavailable; nothing happened\"}\n");
    expect_end_of_all(f, &c);
    memory_store_bring_up(f->ms);
}

/* Its TTR is a minute: nobody waits for that. */
static void a_job_on_its_way_to_a_client_that_is_cut_off_comes_back(void **state)
{
    struct fixture *f = *state;
    struct client gone, c;

    push(f, PUSH("a", "t", ",\"TTR\":60"));
    gone = connect_client(f);
    memory_store_hold(f->ms);
    say(&gone, POP("\"t\""));
    AWAIT(f, memory_store_in_flight(f->ms) == 1);
    move(f, FLOATING_AWAY);
    memory_store_unhold(f->ms);
    expect_end_of_all(f, &gone);
    AWAIT(f, queue_stats(f->queue)->returned_jobs == 1);
    move(f, FLOATING_HERE);
    c = connect_client(f);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "60", "0"));
    leave(&c);
}

#define UNREAD 40

/* Pops so many jobs and reads none: all replies are with the kernel here, and only the first
 * ones with the kernel there. */
static struct client pop_unread(struct fixture *f)
{
    int small = 4096, large = 1 << 20;
    struct connection *own;
    struct client c;

    for (unsigned i = 0; i < UNREAD; i++) {
        struct buf request = BUF_INIT;

        buf_printf(&request,
                   "{\"method\":\"Service.Push\",\"id\":1,\"params\":[{\"id\":\"%u\","
                   "\"topic\":\"t\",\"TTR\":60,\"body\":\"%01000u\"}]}",
                   i, i);
        push(f, buf_text(&request));
        buf_fini(&request);
    }
    c = connect_client(f);
    AWAIT(f, connections(f) == 1);
    own = &CONTAINER_OF(f->gmq->clients.next, struct gmq_client, base.link)->base.connection;
    assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(setsockopt(own->fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)), 0);
    for (unsigned i = 0; i < UNREAD; i++) {
        say(&c, POP("\"t\""));
        AWAIT(f, own->sent_bytes > 1000 * (i + 1) && stream_len(&own->output) == 0);
    }
    assert_in_range(queue_stats(f->queue)->unconfirmed, 1, UNREAD);
    return c;
}

/* Its acknowledgement may have gone to the host that has the address now. */
static void a_job_that_may_have_arrived_before_the_address_left_is_left_open(void **state)
{
    struct fixture *f = *state;
    struct client client = pop_unread(f);

    move(f, FLOATING_AWAY);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_int_equal(memory_store_count(f->ms, OP_RETURN), 0);
    assert_in_range(queue_stats(f->queue)->popped_jobs, 0, UNREAD - 1);
    leave(&client);
}

/* A reset is no acknowledgement that went astray. */
static void a_job_whose_client_left_before_the_address_comes_back(void **state)
{
    struct fixture *f = *state;
    struct client client = pop_unread(f);

    move(f, FLOATING_DRAINING);
    reset(&client);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_in_range(queue_stats(f->queue)->returned_jobs, 1, UNREAD);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pop_that_waits_ends_as_empty_and_then_the_connection),
        TEST(a_request_in_work_is_answered_first),
        TEST(who_comes_then_gets_one_reply),
        TEST(who_waits_to_be_accepted_is_owed_a_reply_and_hears_the_end),
        TEST(a_push_that_waits_for_the_store_is_refused),
        TEST(a_job_on_its_way_to_a_client_that_is_cut_off_comes_back),
        TEST(a_job_that_may_have_arrived_before_the_address_left_is_left_open),
        TEST(a_job_whose_client_left_before_the_address_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
