/* Connections over an address that moves, and their neighbours over one that stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "protocol/conn/connection.h"
#include "protocol/conn/floating.h"
#include "protocol/conn/tests/ahead.h"

#define CONNECTIONS 410

/* A protocol of lines: each is a request, answered with itself when the test says so; but "!"
 * is answered at once. A peer's kernel acknowledges when it is read: it is no TCP. */
struct line_client {
    struct connection connection;
    int peer;
    unsigned ends;
    bool is_closed;
    struct line_client *closes; /* at its end, NULL: nobody else */
};

struct fixture {
    struct connection_kind kind;
    struct floating floating;
    uint64_t shed;
    bool is_over_it; /* the next one */
    struct line_client clients[CONNECTIONS];
    unsigned count;
};

static struct line_client *client_of(struct connection *c)
{
    return CONTAINER_OF(c, struct line_client, connection);
}

static size_t on_input(struct connection *c, struct bytes input)
{
    const char *end = memchr(input.at, '\n', input.len);

    if (!end || c->in_work)
        return 0;
    if (input.at[0] == '!')
        connection_send(c, BYTES("!\n"));
    else
        connection_begin(c);
    return (size_t)(end + 1 - input.at);
}

static void on_end(struct connection *c)
{
    client_of(c)->ends++;
    if (client_of(c)->closes)
        connection_close(&client_of(c)->closes->connection, "for the test");
}

static void on_acked(struct connection *c)
{
}

static void on_closed(struct connection *c)
{
    assert_false(client_of(c)->is_closed);
    client_of(c)->is_closed = true;
}

static bool is_it(void *arg, const struct sockaddr *own)
{
    const struct fixture *f = arg;

    assert_int_equal(own->sa_family, AF_UNIX);
    return f->is_over_it;
}

static void turn(struct fixture *f)
{
    for (unsigned i = 0; i < 5; i++) {
        event_base_loop(f->kind.loop->base, EVLOOP_NONBLOCK);
        timers_run(&f->kind.loop->timers, timers_now(&f->kind.loop->timers));
    }
}

static void pass(struct fixture *f, int64_t ms)
{
    struct timers *ts = &f->kind.loop->timers;

    for (; ms > 0; ms--) {
        timers_run(ts, timers_now(ts) + 1);
        turn(f);
    }
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->kind = (struct connection_kind){
        .name = "test",
        .loop = loop_new_ahead(),
        .on_input = on_input,
        .on_end = on_end,
        .on_acked = on_acked,
        .on_closed = on_closed,
        .in_work_max = 3,
        .output_max_bytes = 20000,
        .kept_max_bytes = 100,
        .unread_max_bytes = 1000000,
        .ending_ms = 5000,
        .ending_ack_ms = 5000,
        .shed = &f->shed,
    };
    f->floating = (struct floating){.is_it = is_it, .arg = f};
    connections_follow(&f->kind, &f->floating);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < f->count; i++)
        connection_close(&f->clients[i].connection, "the test is over");
    turn(f);
    for (unsigned i = 0; i < f->count; i++) {
        assert_true(f->clients[i].is_closed);
        close(f->clients[i].peer);
    }
    assert_int_equal(connections_floating(&f->kind), 0);
    loop_free(f->kind.loop);
    free(f);
    return 0;
}

static struct line_client *come(struct fixture *f, bool is_over_it)
{
    struct line_client *c = &f->clients[f->count++];
    int ends[2];

    assert_true(f->count <= CONNECTIONS);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    f->is_over_it = is_over_it;
    c->peer = ends[1];
    connection_init(&c->connection, &f->kind, ends[0]);
    return c;
}

/* One that has been served before. */
static struct line_client *come_and_ask(struct fixture *f, bool is_over_it)
{
    struct line_client *c = come(f, is_over_it);
    char reply[2];

    assert_int_equal(write(c->peer, "!\n", 2), 2);
    turn(f);
    assert_int_equal(read(c->peer, reply, 2), 2);
    return c;
}

static void move(struct fixture *f, enum floating_state state)
{
    f->floating.state = state;
    connections_follow(&f->kind, &f->floating);
}

static void say(struct line_client *c, const char *text)
{
    assert_int_equal(write(c->peer, text, strlen(text)), strlen(text));
}

static void answer(struct fixture *f, struct line_client *c)
{
    connection_send(&c->connection, BYTES("reply\n"));
    connection_done(&c->connection);
    turn(f);
}

static void assert_heard(struct line_client *c, const char *text)
{
    char heard[64] = "";

    assert_int_equal(read(c->peer, heard, sizeof(heard) - 1), strlen(text));
    assert_string_equal(heard, text);
}

static void assert_hears_end(struct line_client *c)
{
    char byte;

    assert_int_equal(read(c->peer, &byte, 1), 0);
}

static void assert_hears_nothing(struct line_client *c)
{
    char byte;

    assert_int_equal(read(c->peer, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
}

/* A request of it is in work when its address begins to leave. */
static struct line_client *come_and_wait(struct fixture *f)
{
    struct line_client *c = come(f, true);

    say(c, "a\n");
    turn(f);
    move(f, FLOATING_DRAINING);
    return c;
}

/* ---- leaving ---- */

static void who_asks_nothing_is_closed_at_once(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come_and_ask(f, true);

    assert_int_equal(connections_floating(&f->kind), 1);
    move(f, FLOATING_DRAINING);
    assert_hears_end(c);
    assert_int_equal(connections_floating(&f->kind), 0);
}

static void who_has_just_come_may_still_ask(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come(f, true);

    turn(f);
    move(f, FLOATING_DRAINING);
    assert_hears_nothing(c);
    say(c, "!\n");
    turn(f);
    assert_heard(c, "!\n");
    assert_hears_end(c);
}

static void who_came_over_another_address_notices_nothing(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come(f, false);

    assert_int_equal(connections_floating(&f->kind), 0);
    for (unsigned s = FLOATING_DRAINING; s <= FLOATING_AWAY; s++) {
        move(f, (enum floating_state)s);
        say(c, "a\n");
        turn(f);
        assert_int_equal(c->ends, 0);
        answer(f, c);
        assert_heard(c, "reply\n");
        assert_hears_nothing(c);
    }
}

static void a_wait_is_cancelled_and_closed_behind_its_reply(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come_and_wait(f);

    assert_int_equal(c->ends, 1);
    assert_hears_nothing(c);
    answer(f, c);
    assert_heard(c, "reply\n");
    assert_hears_end(c);
    pass(f, 10);
    assert_true(c->is_closed);
}

static void the_end_waits_for_the_acknowledgement(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come_and_wait(f);

    answer(f, c);
    pass(f, 100);
    assert_int_equal(c->connection.acked_bytes, 0);
    assert_false(c->is_closed);
    assert_heard(c, "reply\n");
    pass(f, 500);
    assert_int_equal(c->connection.acked_bytes, 6);
    assert_true(c->is_closed);
}

static void a_reply_that_is_cut_off_is_not_acknowledged(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come_and_wait(f);

    answer(f, c);
    move(f, FLOATING_AWAY);
    turn(f);
    assert_true(c->is_closed);
    assert_int_equal(c->connection.acked_bytes, 0);
}

/* It crosses with the end. */
static void a_request_that_has_arrived_is_answered(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come(f, true);

    say(c, "a\n");
    move(f, FLOATING_DRAINING);
    assert_hears_nothing(c);
    turn(f);
    answer(f, c);
    assert_heard(c, "reply\n");
    assert_hears_end(c);
}

static void half_a_request_may_be_completed(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come(f, true);

    say(c, "!\n");
    turn(f);
    assert_heard(c, "!\n");
    say(c, "h");
    turn(f);
    move(f, FLOATING_DRAINING);
    say(c, "al");
    turn(f);
    assert_hears_nothing(c);
    say(c, "f\nnext\n");
    turn(f);
    assert_int_equal(c->connection.in_work, 1);
    answer(f, c);
    assert_heard(c, "reply\n");
    assert_hears_end(c);
}

static void who_comes_gets_one_reply(void **state)
{
    struct fixture *f = *state;
    struct line_client *c, *quick;

    move(f, FLOATING_DRAINING);
    c = come(f, true);
    quick = come(f, true);
    turn(f);
    assert_hears_nothing(c);
    say(c, "a\n");
    say(quick, "!\n");
    turn(f);
    assert_heard(quick, "!\n");
    assert_hears_end(quick);
    assert_hears_nothing(c);
    answer(f, c);
    say(c, "b\n");
    pass(f, 600);
    assert_heard(c, "reply\n");
    assert_hears_end(c);
    assert_int_equal(c->connection.in_work, 0);
}

static void a_wait_from_then_on_is_cancelled_soon(void **state)
{
    struct fixture *f = *state;
    struct line_client *c;

    move(f, FLOATING_DRAINING);
    c = come(f, true);
    say(c, "a\n");
    turn(f);
    assert_int_equal(c->ends, 0);
    pass(f, 10);
    assert_int_equal(c->ends, 1);
    answer(f, c);
    assert_heard(c, "reply\n");
}

static void who_has_its_reply_is_owed_none(void **state)
{
    struct fixture *f = *state;
    struct line_client *c = come(f, true);

    assert_false(connections_are_owed(&f->kind));
    say(c, "ha");
    assert_true(connections_are_owed(&f->kind)); /* it has come to the kernel */
    turn(f);
    assert_true(connections_are_owed(&f->kind));
    say(c, "lf\n");
    turn(f);
    move(f, FLOATING_DRAINING);
    assert_true(connections_are_owed(&f->kind));
    answer(f, c);
    assert_false(connections_are_owed(&f->kind));
    assert_int_equal(connections_floating(&f->kind), 1); /* it is not acknowledged yet */
}

/* The loop has more to do when the lead moves. */
static void many_are_told_by_and_by(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < CONNECTIONS; i++)
        come_and_ask(f, true);
    assert_int_equal(connections_floating(&f->kind), CONNECTIONS);
    move(f, FLOATING_DRAINING);
    assert_in_range(connections_floating(&f->kind), 1, CONNECTIONS - 1);
    move(f, FLOATING_AWAY);
    assert_in_range(connections_floating(&f->kind), 1, CONNECTIONS - 2);
    turn(f);
    assert_int_equal(connections_floating(&f->kind), 0);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        assert_hears_end(&f->clients[i]);
}

static void when_it_stays_after_all_the_rest_is_served_as_before(void **state)
{
    struct fixture *f = *state;
    struct line_client *c;

    move(f, FLOATING_DRAINING);
    c = come(f, true);
    move(f, FLOATING_HERE);
    for (unsigned i = 0; i < 3; i++) {
        say(c, "!\n");
        turn(f);
        assert_heard(c, "!\n");
        assert_hears_nothing(c);
    }
}

static void one_that_is_let_go_may_close_another(void **state)
{
    struct fixture *f = *state;
    struct line_client *a = come(f, true), *b = come(f, true), *c = come_and_ask(f, true);

    say(a, "a\n");
    turn(f);
    a->closes = b;
    move(f, FLOATING_DRAINING);
    assert_hears_end(b);
    assert_hears_end(c);
    answer(f, a);
    assert_heard(a, "reply\n");
}

/* ---- away ---- */

static void all_are_cut_off_when_it_is_gone(void **state)
{
    struct fixture *f = *state;
    struct line_client *idle = come(f, true), *busy = come(f, true), *other = come(f, false);

    say(busy, "a\n");
    turn(f);
    move(f, FLOATING_AWAY);
    assert_hears_end(idle);
    assert_hears_end(busy);
    assert_hears_nothing(other);
    assert_int_equal(connections_floating(&f->kind), 0);
    connection_done(&busy->connection);
}

static void who_comes_when_it_is_gone_is_closed(void **state)
{
    struct fixture *f = *state;
    struct line_client *c;

    move(f, FLOATING_AWAY);
    c = come(f, true);
    assert_hears_end(c);
    turn(f);
    assert_true(c->is_closed);
    move(f, FLOATING_HERE);
    assert_hears_nothing(come(f, true));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_asks_nothing_is_closed_at_once),
        TEST(who_has_just_come_may_still_ask),
        TEST(who_came_over_another_address_notices_nothing),
        TEST(a_wait_is_cancelled_and_closed_behind_its_reply),
        TEST(the_end_waits_for_the_acknowledgement),
        TEST(a_reply_that_is_cut_off_is_not_acknowledged),
        TEST(a_request_that_has_arrived_is_answered),
        TEST(half_a_request_may_be_completed),
        TEST(who_comes_gets_one_reply),
        TEST(a_wait_from_then_on_is_cancelled_soon),
        TEST(who_has_its_reply_is_owed_none),
        TEST(many_are_told_by_and_by),
        TEST(when_it_stays_after_all_the_rest_is_served_as_before),
        TEST(one_that_is_let_go_may_close_another),
        TEST(all_are_cut_off_when_it_is_gone),
        TEST(who_comes_when_it_is_gone_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
