/* Requests of a port's identity that may be on its way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "protocol/access/access.h"
#include "protocol/conn/floating.h"
#include "protocol/gmq/server.h"
#include "protocol/gmq/tests/server_fixture.h"

static struct access *access;

#define ERROR(text) "{\"id\":1,\"result\":null,\"error\":\"" text "\"}\n"
#define FORBIDDEN   ERROR("forbidden: the identity of this port may not do that (gmq.as)")
#define NOT_KNOWN                                                                             \
    ERROR(                                                                                    \
        "unavailable: this node has not read the identities from Redis yet "                  \
        "(access.in_redis), and knows none of this client; nothing happened: look at Redis, " \
        "or try again later")

static void become(struct fixture *f, const char *as)
{
    f->options.access = access;
    f->options.as = as;
    gmq_reload(f->gmq, &f->options);
}

static void all_are_known(struct fixture *f, const char *lines)
{
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(access, bytes_of_text(lines), &why), STATUS_OK);
    access_complete(access);
    port_recheck(f->gmq);
}

static int set_up(void **state)
{
    struct fixture *f;

    if (fixture_up(state))
        return -1;
    f = *state;
    access = access_new();
    access_await(access);
    f->options.limits.request_ms = 10000;
    f->options.limits.idle_ms = 10000;
    become(f, "shop");
    return 0;
}

static int tear_down(void **state)
{
    int result = fixture_down(state);

    access_free(access);
    return result;
}

static unsigned held(struct fixture *f)
{
    unsigned count = 0;

    LIST_EACH (link, &f->gmq->held)
        count++;
    return count;
}

/* Says it, and is held. */
static struct client wait_with(struct fixture *f, const char *request)
{
    unsigned before = held(f);
    struct client c = connect_client(f);

    say(&c, request);
    AWAIT(f, held(f) == before + 1);
    return c;
}

static void a_request_waits_from_its_first_byte_and_no_time_runs(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, "{\"method\":\"Service.Push\",\"params\":[{\"id\":\"1\",");

    port_recheck(f->gmq); /* nothing new */
    fixture_pass(f, 60000);
    expect_silence(&c);
    assert_int_equal(held(f), 1);
    all_are_known(f, "shop all\n");
    fixture_pass(f, 9000);
    say(&c, "\"topic\":\"t\"}],\"id\":1}" POP("\"t\""));
    expect(&c, PUSHED);
    expect(&c, POPPED("1", "t", "0", "0"));
    assert_int_equal(f->gmq->stats.requests, 2);
    leave(&c);
}

/* Those before it are in work already. */
static void requests_keep_their_order(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    access_turn_off(access);
    memory_store_hold(f->ms);
    say(&c, PUSH("1", "t", ""));
    AWAIT(f, f->gmq->stats.requests == 1);
    access_await(access);
    say(&c, POP("\"t\"") "rubbish");
    AWAIT(f, held(f) == 1);
    memory_store_unhold(f->ms);
    expect(&c, PUSHED);
    expect_silence(&c);
    all_are_known(f, "shop all\n");
    expect(&c, POPPED("1", "t", "0", "0"));
    expect_end(&c);
    leave(&c);
}

static void behind_the_wait_requests_stand_in_line_as_ever(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH("1", "t", "")), d = wait_with(f, PUSH("2", "t", ""));

    all_are_known(f, "shop all rate=1\n");
    expect(&c, PUSHED);
    expect_silence(&d);
    fixture_pass(f, 1000);
    expect(&d, PUSHED);
    leave(&c);
    leave(&d);
}

static void is_told_when_they_do_not_come_and_served_when_they_come_late(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH("1", "t", ""));

    access_give_up(access);
    port_recheck(f->gmq);
    expect(&c, NOT_KNOWN);
    say(&c, PUSH("1", "t", ""));
    expect(&c, NOT_KNOWN);
    all_are_known(f, "shop all\n");
    say(&c, PUSH("1", "t", ""));
    expect(&c, PUSHED);
    leave(&c);
}

static void is_refused_as_ever_where_all_are_known_or_none_can_come(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH("1", "t", "")), nobody;

    become(f, "");
    nobody = connect_client(f);
    say(&nobody, PUSH("1", "t", ""));
    expect(&nobody, FORBIDDEN);
    become(f, "shop");
    all_are_known(f, "other all\n");
    expect(&c, FORBIDDEN);
    leave(&c);
    leave(&nobody);
}

static void a_client_that_ends_its_side_is_told(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH("1", "t", "") PUSH("2", "t", ""));

    end_sending(&c);
    expect(&c, NOT_KNOWN);
    expect(&c, NOT_KNOWN);
    expect_end(&c);
    leave(&c);
}

static void a_client_that_leaves_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH("1", "t", ""));

    reset(&c);
    AWAIT(f, connections(f) == 0);
    assert_int_equal(held(f), 0);
    all_are_known(f, "shop all\n");
    fixture_pass(f, 10);
    assert_int_equal(f->gmq->stats.requests, 0);
}

static void clients_that_wait_are_told_when_the_node_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH("1", "t", ""));

    fixture_stop_gmq(f);
    expect(&c, ERROR("shutting_down: the node is stopping"));
    fixture_pass(f, 100);
    expect_end(&c);
    leave(&c);
}

static bool is_v4(void *arg, const struct sockaddr *own)
{
    return own->sa_family == AF_INET;
}

static void clients_whose_address_leaves_are_told(void **state)
{
    static struct floating moving = {.is_it = is_v4};
    struct fixture *f = *state;
    struct client c;

    moving.state = FLOATING_HERE;
    port_follow(f->gmq, &moving);
    c = wait_with(f, PUSH("1", "t", ""));
    moving.state = FLOATING_DRAINING;
    port_follow(f->gmq, &moving);
    expect(&c, NOT_KNOWN);
    expect_end(&c);
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_waits_from_its_first_byte_and_no_time_runs),
        TEST(requests_keep_their_order),
        TEST(behind_the_wait_requests_stand_in_line_as_ever),
        TEST(is_told_when_they_do_not_come_and_served_when_they_come_late),
        TEST(is_refused_as_ever_where_all_are_known_or_none_can_come),
        TEST(a_client_that_ends_its_side_is_told),
        TEST(a_client_that_leaves_is_forgotten),
        TEST(clients_that_wait_are_told_when_the_node_stops),
        TEST(clients_whose_address_leaves_are_told),
    };

    return cmocka_run_group_tests_name("awaited", tests, NULL, NULL);
}
