/* Requests of identities that may be on their way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "protocol/access/access.h"
#include "protocol/conn/floating.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

static struct access *access;

static void add(struct buf *text, const char *name, const char *roles)
{
    unsigned char hash[TOKEN_HASH_BYTES];

    access_hash(bytes_of_text(name), hash);
    buf_printf(text, "%s %s token=", name, roles);
    for (unsigned i = 0; i < sizeof(hash); i++)
        buf_printf(text, "%02x", hash[i]);
    buf_add_char(text, '\n');
}

/* The token of each is its name. `of_store`: also the one that comes from there. */
static void know(bool of_store)
{
    struct buf text = BUF_INIT, why = BUF_INIT;

    add(&text, "file", "all");
    if (of_store)
        add(&text, "shop", "produce,inspect");
    assert_int_equal(access_take(access, buf_bytes(&text), &why), STATUS_OK);
    buf_fini(&text);
}

static void all_are_known(struct fixture *f)
{
    know(true);
    access_complete(access);
    port_recheck(http_port(f->http));
}

static int set_up(void **state)
{
    struct fixture *f;

    if (fixture_up(state))
        return -1;
    f = *state;
    access = access_new();
    know(false);
    access_await(access);
    f->options.access = access;
    f->options.as = "";
    f->options.connections_max = 300;
    f->options.idle_ms = 10000;
    f->options.request_ms = 10000;
    http_reload(http_port(f->http), &f->options);
    return 0;
}

static int tear_down(void **state)
{
    int result = fixture_down(state);

    access_free(access);
    return result;
}

static const struct port_stats *stats_of(const struct fixture *f)
{
    return &http_port(f->http)->stats;
}

static unsigned held(struct fixture *f)
{
    unsigned count = 0;

    LIST_EACH (link, &http_port(f->http)->held)
        count++;
    return count;
}

#define AS(token) "Authorization: Bearer " token "\r\n"
#define GET(as)   "GET /v1/topics HTTP/1.1\r\nHost: h\r\n" as "\r\n"
#define HEAD(as) \
    "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\n" as "Content-Length: 12\r\n\r\n"
#define BODY     "{\"body\":\"b\"}"
#define PUSH(as) HEAD(as) BODY

/* Says it, and is held. */
static struct client wait_with(struct fixture *f, const char *request)
{
    unsigned before = held(f);
    struct client c = connect_client(f);

    say(&c, request);
    AWAIT(f, held(f) == before + 1);
    return c;
}

static void what_needs_no_identity_that_is_missing_is_answered_at_once(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    static const struct {
        const char *request, *reply;
    } rows[] = {
        {GET_LIVE, "HTTP/1.1 200 "},
        {PUSH(AS("file")), "HTTP/1.1 201 "},
        {GET(""), "HTTP/1.1 401 "}, /* nobody, whatever comes */
        {"GET /v1/nothing HTTP/1.1\r\nHost: h\r\n" AS("shop") "\r\n", "HTTP/1.1 404 "},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        say(&c, rows[i].request);
        assert_starts(receive(&c), rows[i].reply);
    }
    f->options.as = "file";
    http_reload(http_port(f->http), &f->options);
    say(&c, GET(""));
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    f->options.as = "shop";
    f->options.is_for_operators = true;
    http_reload(http_port(f->http), &f->options);
    say(&c, GET(""));
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    say(&c, "GET /v1/topics HTTP/1.1\r\nHost\r\n\r\n");
    assert_starts(receive_all(&c), "HTTP/1.1 400 ");
    leave(&c);
}

/* Neither of its timers, the idle one and that of its arrival, which begins behind the wait. */
static void no_time_runs_against_a_client_that_waits(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\n");
    AWAIT(f, http_port(f->http)->kind.kept_bytes > 0);
    fixture_pass(f, 9000);
    say(&c, AS("shop") "Content-Length: 12\r\n\r\n");
    AWAIT(f, held(f) == 1);
    fixture_pass(f, 60000);
    expect_silence(&c);
    all_are_known(f);
    AWAIT(f, stats_of(f)->requests == 1);
    fixture_pass(f, 9000);
    say(&c, BODY);
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    say(&c, GET(AS("shop")));
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_has(buf_text(&f->reply), "\"ready\":1,");
    leave(&c);
}

/* The address may ask twice, and looks a dozen times. */
static void a_request_that_waits_is_counted_once(void **state)
{
    struct fixture *f = *state;
    struct client c, wrong;

    f->options.of_address.requests = 2;
    http_reload(http_port(f->http), &f->options);
    c = wait_with(f, PUSH(AS("shop")));
    wrong = wait_with(f, GET(AS("wrong")));
    for (unsigned i = 0; i < ACCESS_ATTEMPTS + 2; i++) {
        port_recheck(http_port(f->http));
        AWAIT(f, list_is_empty(&http_port(f->http)->resumed));
        assert_int_equal(held(f), 2);
    }
    assert_int_equal(stats_of(f)->requests, 0);
    all_are_known(f);
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    assert_starts(receive(&wrong), "HTTP/1.1 401 ");
    assert_int_equal(stats_of(f)->requests, 2);
    assert_int_equal(stats_of(f)->slowed, 0);
    leave(&c);
    leave(&wrong);
}

static void is_told_when_they_do_not_come_and_served_when_they_come_late(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH(AS("shop")));

    access_give_up(access);
    port_recheck(http_port(f->http));
    for (unsigned i = 0; i <= ACCESS_ATTEMPTS; i++) { /* and no wrong token is counted */
        assert_starts(receive(&c), "HTTP/1.1 503 ");
        assert_has(buf_text(&f->reply), "\"not_ready\"");
        assert_has(buf_text(&f->reply), "access.in_redis");
        assert_has(buf_text(&f->reply), "\r\nRetry-After: ");
        say(&c, PUSH(AS("shop")));
    }
    assert_starts(receive(&c), "HTTP/1.1 503 ");
    say(&c, GET(""));
    assert_starts(receive(&c), "HTTP/1.1 401 ");
    all_are_known(f);
    say(&c, PUSH(AS("shop")));
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    leave(&c);
}

static void requests_behind_one_that_waits_keep_their_order(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH(AS("shop")) GET_LIVE PUSH(AS("file")));

    expect_silence(&c);
    all_are_known(f);
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    leave(&c);
}

static void many_clients_are_judged_over_several_turns(void **state)
{
    struct fixture *f = *state;
    struct client c[150];

    for (unsigned i = 0; i < 150; i++)
        c[i] = wait_with(f, PUSH(AS("shop")));
    all_are_known(f);
    (void)timers_run(&f->loop->timers, timers_now(&f->loop->timers));
    assert_in_range(stats_of(f)->requests, 1, 149);
    for (unsigned i = 0; i < 150; i++) {
        assert_starts(receive(&c[i]), "HTTP/1.1 201 ");
        leave(&c[i]);
    }
    assert_int_equal(stats_of(f)->requests, 150);
}

/* It may still read; and what it asks behind does not wait either. */
static void a_client_that_ends_its_side_is_told(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH(AS("shop")) PUSH(AS("shop")) GET_LIVE);

    end_sending(&c);
    assert_starts(receive(&c), "HTTP/1.1 503 ");
    assert_has(buf_text(&f->reply), "\"not_ready\"");
    assert_starts(receive(&c), "HTTP/1.1 503 ");
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    expect_end(&c);
    leave(&c);
}

/* Over TLS in the bytes of the request. */
static void a_client_that_has_ended_its_side_is_told(void **state)
{
    struct client c = connect_client(*state);

    say(&c, GET_LIVE PUSH(AS("shop")) GET_LIVE);
    say_goodbye(&c);
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_starts(receive(&c), "HTTP/1.1 503 ");
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    expect_end(&c);
    leave(&c);
}

static void a_client_that_leaves_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH(AS("shop"))), d = wait_with(f, PUSH(AS("shop")));

    reset(&c);
    AWAIT(f, stats_of(f)->connections == 1);
    assert_int_equal(held(f), 1);
    leave(&d);
    AWAIT(f, stats_of(f)->connections == 0);
    all_are_known(f);
    fixture_pass(f, 10);
    /* The second one was perhaps refused when it left: nobody knows that it does not read. */
    assert_int_equal(stats_of(f)->requests, stats_of(f)->refused);
}

/* Also one whose turn to be judged is near. */
static void clients_that_wait_are_told_when_the_node_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH(AS("shop"))), d;

    port_recheck(http_port(f->http));
    AWAIT(f, list_is_empty(&http_port(f->http)->resumed));
    d = wait_with(f, PUSH(AS("shop")));
    port_recheck(http_port(f->http));
    fixture_stop(f);
    assert_starts(receive_all(&c), "HTTP/1.1 503 ");
    assert_has(buf_text(&f->reply), "\"shutting_down\"");
    assert_starts(receive_all(&d), "HTTP/1.1 503 ");
    leave(&c);
    leave(&d);
    AWAIT(f, f->is_stopped);
}

static bool is_v4(void *arg, const struct sockaddr *own)
{
    return own->sa_family == AF_INET;
}

static void clients_whose_address_leaves_are_told(void **state)
{
    static struct floating moving = {.is_it = is_v4};
    struct fixture *f = *state;
    struct client c, late;

    moving.state = FLOATING_HERE;
    port_follow(http_port(f->http), &moving);
    c = wait_with(f, PUSH(AS("shop")));
    late = connect_client(f);
    port_follow(http_port(f->http), &moving);
    expect_silence(&c);
    moving.state = FLOATING_DRAINING;
    port_follow(http_port(f->http), &moving);
    assert_starts(receive_all(&c), "HTTP/1.1 503 ");
    assert_has(buf_text(&f->reply), "\"not_ready\"");
    say(&late, PUSH(AS("shop")));
    assert_starts(receive_all(&late), "HTTP/1.1 503 ");
    leave(&c);
    leave(&late);
}

/* A reload that turns them off opens the node. */
static void is_judged_as_ever_where_none_is_awaited_any_more(void **state)
{
    struct fixture *f = *state;
    struct client c = wait_with(f, PUSH(AS("shop")));

    access_turn_off(access);
    port_recheck(http_port(f->http));
    assert_starts(receive(&c), "HTTP/1.1 201 ");
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_needs_no_identity_that_is_missing_is_answered_at_once),
        TEST(no_time_runs_against_a_client_that_waits),
        TEST(a_request_that_waits_is_counted_once),
        TEST(is_told_when_they_do_not_come_and_served_when_they_come_late),
        TEST(requests_behind_one_that_waits_keep_their_order),
        TEST(many_clients_are_judged_over_several_turns),
        TEST(a_client_that_ends_its_side_is_told),
        TEST(a_client_that_has_ended_its_side_is_told),
        TEST(a_client_that_leaves_is_forgotten),
        TEST(clients_that_wait_are_told_when_the_node_stops),
        TEST(clients_whose_address_leaves_are_told),
        TEST(is_judged_as_ever_where_none_is_awaited_any_more),
    };

    return cmocka_run_group_tests_name("awaited", tests, NULL, NULL);
}
