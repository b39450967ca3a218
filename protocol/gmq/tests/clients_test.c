#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/gmq/server.h"
#include "protocol/gmq/tests/server_fixture.h"

/* ---- clients that leave ---- */

static void take_the_store_away(struct fixture *f)
{
    fixture_pass(f, 0); /* all settings are read */
    memory_store_take_down(f->ms);
    memory_store_let_wait(f->ms);
    fixture_turn(f);
}

/* It may have pushed it again, elsewhere. */
static void a_push_that_waits_for_the_store_is_dropped_when_its_client_leaves(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f), c = connect_client(f);

    take_the_store_away(f);
    say(&gone, PUSH("a", "t", ""));
    say(&c, PUSH("b", "t", ""));
    AWAIT(f, f->gmq->stats.requests == 2);
    leave(&gone);
    fixture_turn(f);
    fixture_pass(f, 100);
    AWAIT(f, connections(f) == 1);
    assert_true(memory_store_dropped(f->ms) > 0);
    memory_store_bring_up(f->ms);
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("b", "t", "0", "0"));
    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED); /* not DUPLICATE */
    leave(&c);
}

/* The work is done, whoever has left. */
static void an_ack_that_waits_for_the_store_is_not_dropped(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f), c = connect_client(f);

    say(&gone, PUSH("a", "t", ",\"TTR\":60"));
    expect(&gone, PUSHED);
    say(&gone, POP("\"t\""));
    expect(&gone, POPPED("a", "t", "60", "0"));
    take_the_store_away(f);
    say(&gone, ACK("a"));
    AWAIT(f, f->gmq->stats.requests == 3);
    reset(&gone);
    AWAIT(f, queue_stats(f->queue)->in_flight > 0);
    fixture_pass(f, 100);
    memory_store_bring_up(f->ms);
    AWAIT(f, connections(f) == 1);
    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    leave(&c);
}

/* It cannot be told from one that has left; but it is told the truth, if it reads. */
static void who_has_ended_its_side_is_not_kept_waiting_for_the_store(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    take_the_store_away(f);
    say(&c, PUSH("a", "t", ""));
    end_sending(&c);
    fixture_turn(f);
    fixture_pass(f, 100);
    expect(&c, "{\"id\":1,\"result\":null,\"error\":"
               "\"unavailable: the store is unavailable; nothing happened\"}\n");
    expect_end(&c);
    leave(&c);
    memory_store_bring_up(f->ms);
}

static void a_consumer_that_leaves_while_it_waits_costs_no_job_and_no_try(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f);
    struct client c = connect_client(f);

    say(&gone, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    leave(&gone);
    fixture_pass(f, 100);
    AWAIT(f, waiting(f) == 0 && connections(f) == 1);
    say(&c, PUSH("a", "t", ",\"TTR\":60"));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "60", "0"));
    leave(&c);
}

static void a_job_that_was_popped_for_a_consumer_that_has_left_comes_back(void **state)
{
    static void (*const ways[])(struct client * c) = {leave, reset};
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    for (unsigned i = 0; i < 2; i++) {
        struct client gone = connect_client(f);

        memory_store_hold(f->ms);
        say(&gone, POP("\"t\""));
        AWAIT(f, memory_store_in_flight(f->ms) == 1);
        ways[i](&gone);
        for (unsigned turns = 0; turns < 10; turns++)
            fixture_turn(f); /* the end is seen, the pop is under way */
        memory_store_unhold(f->ms);
        AWAIT(f, connections(f) == 1 && queue_stats(f->queue)->returned_jobs == i + 1);
    }
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "0", "0"));
    leave(&c);
}

/* The limit is four requests in work: nothing more of it is read. */
static void a_consumer_that_leaves_with_its_pipeline_full_costs_no_job(void **state)
{
    struct fixture *f = *state;

    for (unsigned pops = 4; pops <= 6; pops += 2) {
        struct client gone = connect_client(f);
        struct client c = connect_client(f);

        for (unsigned i = 0; i < pops; i++)
            say(&gone, POP("\"t\""));
        AWAIT(f, waiting(f) == 4);
        leave(&gone);
        say(&c, PUSH("a", "t", ""));
        expect(&c, PUSHED);
        fixture_pass(f, 200);
        AWAIT(f, connections(f) == 1 && waiting(f) == 0);
        AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
        say(&c, POP("\"t\""));
        expect(&c, POPPED("a", "t", "0", "0"));
        leave(&c);
        AWAIT(f, connections(f) == 0 && queue_stats(f->queue)->unconfirmed == 0);
    }
}

static void a_client_that_has_ended_its_side_gets_its_replies(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", "") POP("\"t\"") POP("\"t\""));
    end_sending(&c);
    expect(&c, PUSHED);
    expect(&c, POPPED("a", "t", "0", "0"));
    fixture_pass(f, 100); /* no use in waiting for more */
    expect(&c, EMPTY);
    expect_end(&c);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_int_equal(queue_stats(f->queue)->returned_jobs, 0);
    leave(&c);
}

static void get_more_replies_than_fit_at_once(struct fixture *f, void (*end)(struct client *c))
{
    struct client c = connect_client(f);
    int64_t read_mono_ms;

    memory_store_hold(f->ms);
    for (unsigned i = 0; i < 3; i++)
        say(&c, PUSH("a", "t", "") PUSH("b", "t", "") POP("\"t\"") ACK("a"));
    end(&c);
    for (unsigned i = 0; i < 10; i++)
        fixture_turn(f);
    memory_store_unhold(f->ms);
    for (unsigned lines = 0; lines < 12;) {
        char reply[4096];
        size_t len = receive_piece(&c, reply, sizeof(reply));

        assert_true(len > 0);
        for (size_t i = 0; i < len; i++)
            lines += reply[i] == '\n';
        fixture_pass(f, 60); /* a Pop without a job does not wait */
    }
    read_mono_ms = timers_now(&f->loop->timers);
    expect_end(&c);
    assert_in_range(timers_now(&f->loop->timers) - read_mono_ms, 0, 1000);
    leave(&c);
}

static void a_client_that_has_ended_its_side_gets_more_replies_than_fit_at_once(void **state)
{
    get_more_replies_than_fit_at_once(*state, end_sending);
}

static void a_client_that_says_goodbye_gets_more_replies_than_fit_at_once(void **state)
{
    get_more_replies_than_fit_at_once(*state, say_goodbye);
}

/* ---- limits ---- */

static void a_lower_limit_of_pipelined_requests_stops_no_client(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP("\"t\"") POP("\"u\""));
    AWAIT(f, waiting(f) == 2);
    f->options.limits.pipelined_max = 1;
    gmq_reload(f->gmq, &f->options);
    say(&c, PUSH("a", "v", ""));
    expect_silence(&c);
    fixture_pass(f, 2000);
    AWAIT(f, memory_store_count(f->ms, OP_PUSH) == 1);
    expect(&c, EMPTY);
    expect(&c, EMPTY);
    expect(&c, PUSHED);
    leave(&c);
}

static void turns_clients_away_when_there_are_too_many(void **state)
{
    struct fixture *f = *state;
    struct client many[8], more;

    only_for_plain_clients();
    for (unsigned i = 0; i < 8; i++)
        many[i] = connect_client(f);
    more = connect_client(f);
    expect(&more, "{\"id\":null,\"result\":null,\"error\":\"too_many: too many connections "
                  "(limits.connections); try again later\"}\n");
    expect_end(&more);
    leave(&more);
    leave(&many[0]);
    AWAIT(f, connections(f) == 7);
    more = connect_client(f);
    say(&more, PUSH("a", "t", ""));
    expect(&more, PUSHED);
    leave(&more);
    for (unsigned i = 1; i < 8; i++)
        leave(&many[i]);
}

static void one_address_has_no_more_places_than_its_limit(void **state)
{
    struct fixture *f = *state;
    struct client first, more, other;

    only_for_plain_clients();
    f->options.limits.connections_per_address = 1;
    gmq_reload(f->gmq, &f->options);
    first = connect_client(f);
    more = connect_client(f);
    expect(&more,
           "{\"id\":null,\"result\":null,\"error\":\"too_many: too many connections from "
           "one address (limits.connections_per_address); try again later\"}\n");
    expect_end(&more);
    leave(&more);
    other = connect_from(f, 2);
    say(&other, PUSH("a", "t", ""));
    expect(&other, PUSHED);
    leave(&first);
    AWAIT(f, connections(f) == 1);
    first = connect_client(f);
    say(&first, PUSH("b", "t", ""));
    expect(&first, PUSHED);
    leave(&first);
    leave(&other);
}

/* `count` pushes at once; their answers come as their turns come. */
static void say_pushes(struct client *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char request[200];

        snprintf(request, sizeof(request), PUSH("p%u", "t", "") "\n", i);
        say(c, request);
    }
}

static unsigned answers(struct client *c)
{
    char text[4096];
    ssize_t n;
    unsigned lines = 0;

    while ((n = recv(c->fd, text, sizeof(text), MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
    return lines;
}

static void requests_over_the_rate_of_an_address_are_read_later(void **state)
{
    struct fixture *f = *state;
    struct client c, other;

    only_for_plain_clients();
    f->options.limits.of_address.requests = 5;
    gmq_reload(f->gmq, &f->options);
    c = connect_client(f);
    other = connect_from(f, 2);
    say_pushes(&c, 8);
    fixture_pass(f, 10);
    assert_int_equal(answers(&c), 5);
    say(&other, PUSH("a", "t", ""));
    expect(&other, PUSHED);
    for (unsigned i = 0; i < 3; i++) {
        fixture_pass(f, 200);
        assert_int_equal(answers(&c), 1);
    }
    assert_int_equal(f->gmq->stats.slowed, 3);
    leave(&c);
    leave(&other);
}

/* Ten that wait at once get ten turns, one after the other, and no more. */
static void clients_of_an_address_that_wait_share_its_rate(void **state)
{
    struct fixture *f = *state;
    struct client c[6];
    unsigned answered = 0;

    only_for_plain_clients();
    f->options.limits.of_address.requests = 2;
    gmq_reload(f->gmq, &f->options);
    for (unsigned i = 0; i < 6; i++) {
        c[i] = connect_client(f);
        say(&c[i], PUSH("a", "t", ""));
    }
    fixture_pass(f, 10);
    for (unsigned round = 0; round < 4; round++) {
        unsigned now = 0;

        for (unsigned i = 0; i < 6; i++)
            now += answers(&c[i]);
        assert_int_equal(now, round ? 1 : 2);
        answered += now;
        if (round < 3)
            fixture_pass(f, 500);
    }
    assert_int_equal(answered, 5);
    for (unsigned i = 0; i < 6; i++)
        leave(&c[i]);
}

/* Line feeds behind a request are no request. */
static void only_requests_count_among_those_of_a_second(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    f->options.limits.of_address.requests = 3;
    gmq_reload(f->gmq, &f->options);
    c = connect_client(f);
    for (unsigned i = 0; i < 3; i++) {
        say(&c, ACK("nothing"));
        AWAIT(f, answers(&c) == 1);
        say(&c, "\n");
        fixture_turn(f);
    }
    say(&c, ACK("nothing"));
    fixture_pass(f, 10);
    assert_int_equal(answers(&c), 0);
    leave(&c);
}

static void a_held_client_that_leaves_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    f->options.limits.of_address.requests = 1;
    gmq_reload(f->gmq, &f->options);
    c = connect_client(f);
    say_pushes(&c, 3);
    fixture_pass(f, 10);
    reset(&c);
    AWAIT(f, connections(f) == 0);
    fixture_pass(f, 5000);
}

static void limit_requests(struct fixture *f, unsigned a_second)
{
    f->options.limits.connections_max = 200;
    f->options.limits.of_address.requests = a_second;
    gmq_reload(f->gmq, &f->options);
}

static void the_turn_of_a_client_that_leaves_is_the_next_ones(void **state)
{
    struct fixture *f = *state;
    struct client first, gone[20], next;

    only_for_plain_clients();
    limit_requests(f, 1);
    first = connect_client(f);
    say(&first, PUSH("1", "t", ""));
    expect(&first, PUSHED);
    for (unsigned i = 0; i < 20; i++) {
        gone[i] = connect_client(f);
        say(&gone[i], i % 2 ? "{" : PUSH("2", "t", ""));
    }
    fixture_pass(f, 10);
    for (unsigned i = 0; i < 20; i++)
        reset(&gone[i]);
    AWAIT(f, connections(f) == 1);
    next = connect_client(f);
    say(&next, PUSH("3", "t", ""));
    fixture_pass(f, 1000);
    assert_int_equal(answers(&next), 1);
    leave(&first);
    leave(&next);
}

static unsigned served(struct fixture *f)
{
    return (unsigned)(f->gmq->stats.requests - f->gmq->stats.refused);
}

/* Each second ten that have waited for one give up, and ask again over new connections. */
static void clients_that_give_up_and_come_again_do_not_starve_another(void **state)
{
    struct fixture *f = *state;
    struct client hasty[10], patient;
    unsigned before;

    only_for_plain_clients();
    limit_requests(f, 2);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 10; i++) {
            hasty[i] = connect_client(f);
            say(&hasty[i], PUSH("1", "t", ""));
        }
        if (round == 10) {
            patient = connect_client(f);
            say(&patient, PUSH("2", "t", ""));
        }
        fixture_pass(f, 1000);
        for (unsigned i = 0; i < 10; i++)
            leave(&hasty[i]);
        fixture_pass(f, 60);
        if (round == 11)
            assert_int_equal(answers(&patient), 1);
    }
    leave(&patient);
    before = served(f);
    AWAIT(f, connections(f) == 0);
    assert_in_range(served(f) - before, 8, 12); /* 5 s are all that they wait */
}

static void all_that_wait_have_a_new_rate_at_once(void **state)
{
    static const unsigned rates[] = {1000, 0};
    struct fixture *f = *state;

    only_for_plain_clients();
    for (unsigned round = 0; round < 2; round++) {
        struct client c;

        limit_requests(f, 1);
        c = connect_client(f);
        say_pushes(&c, 4);
        fixture_pass(f, 10);
        assert_int_equal(answers(&c), 1);
        limit_requests(f, rates[round]);
        fixture_pass(f, 20);
        assert_int_equal(answers(&c), 3);
        leave(&c);
        fixture_pass(f, 2000);
    }
}

static void a_client_that_waits_for_its_turn_is_not_idle(void **state)
{
    struct fixture *f = *state;
    struct client c[6];
    unsigned answered = 0;

    only_for_plain_clients();
    f->options.limits.idle_ms = 1500;
    limit_requests(f, 1);
    for (unsigned i = 0; i < 6; i++) {
        c[i] = connect_client(f);
        say(&c[i], PUSH("1", "t", ""));
    }
    fixture_pass(f, 5100);
    for (unsigned i = 0; i < 6; i++) {
        answered += answers(&c[i]);
        leave(&c[i]);
    }
    assert_int_equal(answered, 6);
}

#define NO_TURN                                                                               \
    "{\"id\":null,\"result\":null,\"error\":\"too_many: the request had no turn within 5 "    \
    "seconds (limits.requests_per_address, limits.bytes_per_address, or the identity's rate " \
    "or bytes); nothing was done\"}\n"

/* It may have left. Behind others it waits for a while and is told; where there is a turn it
 * has it. */
static void a_client_that_has_ended_its_side_comes_last(void **state)
{
    struct fixture *f = *state;
    struct client ended, c;

    only_for_plain_clients();
    limit_requests(f, 1);
    ended = connect_client(f);
    say_pushes(&ended, 9);
    end_sending(&ended);
    fixture_pass(f, 7500);
    assert_int_equal(answers(&ended), 8);
    c = connect_client(f);
    say_pushes(&c, 20);
    fixture_pass(f, 2000);
    assert_int_equal(answers(&ended), 0);
    assert_int_equal(answers(&c), 2);
    fixture_pass(f, 2900);
    expect(&ended, NO_TURN);
    expect_end(&ended);
    leave(&ended);
    leave(&c);
}

/* Its five seconds begin with its end, however long it has waited. */
static void a_client_that_ends_its_side_while_it_waits_is_told(void **state)
{
    struct fixture *f = *state;
    struct client others[12], ended;

    only_for_plain_clients();
    limit_requests(f, 1);
    for (unsigned i = 0; i < 12; i++) {
        others[i] = connect_client(f);
        say(&others[i], PUSH("1", "t", ""));
    }
    ended = connect_client(f);
    say(&ended, PUSH("2", "t", ""));
    fixture_pass(f, 4000);
    end_sending(&ended);
    fixture_pass(f, 4500);
    expect_silence(&ended);
    fixture_pass(f, 1000);
    expect(&ended, NO_TURN);
    expect_end(&ended);
    leave(&ended);
    for (unsigned i = 0; i < 12; i++)
        leave(&others[i]);
}

static void bytes_over_the_limit_of_an_address_are_read_when_others_are_answered(void **state)
{
    struct fixture *f = *state;
    struct client c, same, other;

    only_for_plain_clients();
    f->options.limits.of_address.bytes = 100;
    gmq_reload(f->gmq, &f->options);
    c = connect_client(f);
    same = connect_client(f);
    other = connect_from(f, 2);
    memory_store_hold(f->ms);
    say(&c, PUSH("1", "t", "") PUSH("2", "t", "") PUSH("3", "t", ""));
    fixture_turn(f);
    say(&same, PUSH("4", "t", ""));
    say(&other, PUSH("5", "t", ""));
    fixture_pass(f, 10);
    assert_int_equal(f->gmq->stats.requests, 3); /* two of `c`, one of `other` */
    memory_store_unhold(f->ms);
    AWAIT(f, f->gmq->stats.requests == 5);
    expect(&same, PUSHED);
    expect(&other, PUSHED);
    leave(&c);
    leave(&same);
    leave(&other);
}

#define TOO_LATE                                                                              \
    "{\"id\":null,\"result\":null,\"error\":\"request_timeout: the request took too long to " \
    "arrive (limits.request_time)\"}\n"

/* Also behind others, and however it trickles. */
static void a_request_has_its_time_to_arrive(void **state)
{
    static const char *const starts[] = {"{", PUSH("b", "t", "") " {\"method\":\"Serv"};
    struct fixture *f = *state;

    f->options.limits.request_ms = 10000;
    gmq_reload(f->gmq, &f->options);
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        struct client c = connect_client(f);

        say(&c, starts[i]);
        if (i)
            expect(&c, PUSHED);
        expect_silence(&c);
        fixture_pass(f, 6000);
        say(&c, " ");
        expect_silence(&c);
        fixture_pass(f, 6000);
        expect(&c, TOO_LATE);
        expect_end(&c);
        leave(&c);
        AWAIT(f, connections(f) == 0);
    }
}

static void between_requests_and_in_work_there_is_no_time_to_arrive(void **state)
{
    struct fixture *f = *state;
    struct client c;

    f->options.limits.request_ms = 10000;
    f->options.pop_wait_ms = 30000;
    f->options.limits.pipelined_max = 1;
    gmq_reload(f->gmq, &f->options);
    c = connect_client(f);
    say(&c, " " PUSH("a", "u", "") " ");
    expect(&c, PUSHED);
    fixture_pass(f, 20000);
    say(&c, POP("\"t\"") "{\"method\":"); /* not read before the first is answered */
    AWAIT(f, waiting(f) == 1);
    fixture_pass(f, 30000);
    expect(&c, EMPTY);
    fixture_pass(f, 1000);
    say(&c, "\"Service.Ack\",\"params\":[\"x\"],\"id\":3}");
    expect(&c, "{\"id\":3,\"result\":null,\"error\":\"not_found: no such job\"}\n");
    leave(&c);
}

static void closes_idle_connections_but_none_that_waits(void **state)
{
    struct fixture *f = *state;
    struct client idle, busy;

    f->options.limits.idle_ms = 1000;
    gmq_reload(f->gmq, &f->options);
    idle = connect_client(f);
    busy = connect_client(f);
    say(&busy, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    fixture_pass(f, 900);
    assert_int_equal(connections(f), 2);
    fixture_pass(f, 200);
    expect_end(&idle);
    assert_int_equal(connections(f), 1);
    fixture_pass(f, 1000);
    expect(&busy, EMPTY);
    leave(&idle);
    leave(&busy);
}

static void push_large(struct client *c, unsigned id)
{
    struct buf push = BUF_INIT;

    buf_printf(&push,
               "{\"method\":\"Service.Push\",\"id\":1,\"params\":[{\"id\":\"%u\","
               "\"topic\":\"t\",\"TTR\":60,\"body\":\"%01000u\"}]}",
               id, id);
    say(c, buf_text(&push));
    expect(c, PUSHED);
    buf_fini(&push);
}

static struct connection *last_connection(struct fixture *f)
{
    return &CONTAINER_OF(f->gmq->clients.prev, struct gmq_client, base.link)->base.connection;
}

/* Pushes, and pops with a client that does not read, until a reply cannot be written. */
static unsigned fill_output(struct fixture *f, struct client *producer, struct client *reader)
{
    int small = 4096, on = 1;
    unsigned jobs = 0;

    assert_int_equal(setsockopt(reader->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    /* Its requests must not wait for acknowledgements that its full buffer drops. */
    assert_int_equal(setsockopt(reader->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    do {
        push_large(producer, jobs++);
        say(reader, POP("\"t\""));
        AWAIT(f, memory_store_count(f->ms, OP_POP) == jobs);
        fixture_turn(f);
    } while (stream_len(&last_connection(f)->output) == 0);
    return jobs;
}

static void a_job_counts_as_delivered_when_its_reply_is_acknowledged(void **state)
{
    struct fixture *f = *state;
    struct client producer = connect_client(f);
    struct client reader = connect_client(f);
    unsigned jobs = fill_output(f, &producer, &reader), lines = 0;

    fixture_pass(f, 1000);
    assert_true(queue_stats(f->queue)->unconfirmed > 0);
    while (lines < jobs) {
        char reply[4096];
        size_t len = receive_piece(&reader, reply, sizeof(reply));

        for (size_t i = 0; i < len; i++)
            lines += reply[i] == '\n';
    }
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_int_equal(queue_stats(f->queue)->returned_jobs, 0);
    leave(&producer);
    leave(&reader);
}

static void what_was_acknowledged_is_delivered_when_its_connection_closes_at_once(void **state)
{
    struct fixture *f = *state;
    struct client producer = connect_client(f);
    struct client reader = connect_client(f);
    struct connection *c = last_connection(f);

    fill_output(f, &producer, &reader);
    c->acked_bytes = c->sent_bytes; /* as when an acknowledgement and an end come together */
    connection_close(c, "for the test");
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_int_equal(queue_stats(f->queue)->returned_jobs, 0);
    leave(&producer);
    leave(&reader);
}

/* Pops so many jobs and reads none: all replies are with the kernel here, and only the first
 * ones with the kernel there. */
static void leave_unread(struct fixture *f, struct client *reader, unsigned jobs)
{
    struct client producer = connect_client(f);
    int small = 4096, large = 1 << 20, on = 1;
    struct connection *c =
        &CONTAINER_OF(f->gmq->clients.next, struct gmq_client, base.link)->base.connection;

    assert_int_equal(setsockopt(reader->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(setsockopt(reader->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)), 0);
    for (unsigned i = 0; i < jobs; i++) {
        push_large(&producer, i);
        say(reader, POP("\"t\""));
        AWAIT(f, memory_store_count(f->ms, OP_POP) == i + 1);
        fixture_turn(f);
    }
    assert_int_equal(stream_len(&c->output), 0);
    leave(&producer);
    AWAIT(f, connections(f) == 1);
}

static void what_lies_in_the_kernel_of_the_node_is_not_delivered(void **state)
{
    struct fixture *f = *state;
    struct client reader = connect_client(f);

    leave_unread(f, &reader, 50);
    fixture_pass(f, 3000);
    assert_in_range(queue_stats(f->queue)->popped_jobs, 1, 25);
    assert_int_equal(queue_stats(f->queue)->unconfirmed,
                     50 - queue_stats(f->queue)->popped_jobs);
    reset(&reader);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_in_range(queue_stats(f->queue)->returned_jobs, 25, 49);
}

/* No timer is needed where a client goes on asking. */
static void the_next_request_proves_the_reply_before_it(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", ",\"TTR\":60"));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "60", "0"));
    say(&c, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    assert_int_equal(queue_stats(f->queue)->popped_jobs, 1);
    leave(&c);
}

static void a_stop_waits_a_moment_for_acknowledgements(void **state)
{
    struct fixture *f = *state;
    struct client reader = connect_client(f);

    leave_unread(f, &reader, 50);
    fixture_stop_gmq(f);
    fixture_pass(f, 50 + 99);
    assert_int_equal(connections(f), 1);
    fixture_pass(f, 100);
    AWAIT(f, f->is_gmq_stopped);
    assert_in_range(queue_stats(f->queue)->returned_jobs, 25, 49);
    leave(&reader);
}

/* What its kernel takes, a little at a time, stretches the moment for nobody. */
static void a_stop_waits_no_longer_for_a_client_that_reads_a_little_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct client reader = connect_client(f);
    int64_t ms = 0;

    leave_unread(f, &reader, 50);
    fixture_stop_gmq(f);
    fixture_pass(f, 50);
    for (; connections(f) == 1 && ms < 300; ms += 10) {
        last_connection(f)->progress_mono_ms = timers_now(&f->loop->timers);
        fixture_pass(f, 10);
    }
    assert_in_range(ms, 0, CONNECTION_DRAIN_ACK_MS);
    AWAIT(f, f->is_gmq_stopped);
    assert_true(queue_stats(f->queue)->returned_jobs > 0);
    leave(&reader);
}

static void cuts_off_a_client_that_does_not_read(void **state)
{
    struct fixture *f = *state;
    struct client producer = connect_client(f);
    struct client reader = connect_client(f);
    unsigned jobs = fill_output(f, &producer, &reader);

    while (connections(f) == 2) {
        push_large(&producer, jobs++);
        (void)!send(reader.fd, POP("\"t\""), strlen(POP("\"t\"")), MSG_NOSIGNAL);
        fixture_turn(f);
    }
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_true(queue_stats(f->queue)->returned_jobs > 0);
    leave(&producer);
    leave(&reader);
}

/* ---- the end ---- */

static void stops_when_all_in_work_is_answered(void **state)
{
    struct fixture *f = *state;
    struct client idle = connect_client(f);
    struct client busy = connect_client(f);
    struct client waiter = connect_client(f);

    say(&waiter, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    memory_store_hold(f->ms);
    say(&busy, PUSH("a", "u", ""));
    AWAIT(f, memory_store_in_flight(f->ms) == 1);
    say(&idle, PUSH("c", "u", "")); /* on its way when the stop begins */
    fixture_stop_gmq(f);
    expect(&waiter, EMPTY);
    expect(&idle, "{\"id\":1,\"result\":null,\"error\":"
                  "\"shutting_down: the node is stopping\"}\n");
    fixture_pass(f, 50);
    expect_end(&idle);
    expect_end(&waiter);
    say(&busy, PUSH("b", "u", ""));
    expect(&busy, "{\"id\":1,\"result\":null,\"error\":"
                  "\"shutting_down: the node is stopping\"}\n");
    assert_false(f->is_gmq_stopped);
    memory_store_unhold(f->ms);
    expect(&busy, PUSHED);
    expect_end(&busy);
    AWAIT(f, f->is_gmq_stopped);
    leave(&idle);
    leave(&busy);
    leave(&waiter);
}

#define gmq_test(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        gmq_test(a_consumer_that_leaves_while_it_waits_costs_no_job_and_no_try),
        gmq_test(a_job_that_was_popped_for_a_consumer_that_has_left_comes_back),
        gmq_test(a_push_that_waits_for_the_store_is_dropped_when_its_client_leaves),
        gmq_test(an_ack_that_waits_for_the_store_is_not_dropped),
        gmq_test(who_has_ended_its_side_is_not_kept_waiting_for_the_store),
        gmq_test(a_consumer_that_leaves_with_its_pipeline_full_costs_no_job),
        gmq_test(a_client_that_has_ended_its_side_gets_its_replies),
        gmq_test(a_client_that_has_ended_its_side_gets_more_replies_than_fit_at_once),
        gmq_test(a_client_that_says_goodbye_gets_more_replies_than_fit_at_once),
        gmq_test(a_lower_limit_of_pipelined_requests_stops_no_client),
        gmq_test(turns_clients_away_when_there_are_too_many),
        gmq_test(one_address_has_no_more_places_than_its_limit),
        gmq_test(requests_over_the_rate_of_an_address_are_read_later),
        gmq_test(clients_of_an_address_that_wait_share_its_rate),
        gmq_test(only_requests_count_among_those_of_a_second),
        gmq_test(a_held_client_that_leaves_is_forgotten),
        gmq_test(the_turn_of_a_client_that_leaves_is_the_next_ones),
        gmq_test(clients_that_give_up_and_come_again_do_not_starve_another),
        gmq_test(all_that_wait_have_a_new_rate_at_once),
        gmq_test(a_client_that_waits_for_its_turn_is_not_idle),
        gmq_test(a_client_that_has_ended_its_side_comes_last),
        gmq_test(a_client_that_ends_its_side_while_it_waits_is_told),
        gmq_test(bytes_over_the_limit_of_an_address_are_read_when_others_are_answered),
        gmq_test(a_request_has_its_time_to_arrive),
        gmq_test(between_requests_and_in_work_there_is_no_time_to_arrive),
        gmq_test(closes_idle_connections_but_none_that_waits),
        gmq_test(a_job_counts_as_delivered_when_its_reply_is_acknowledged),
        gmq_test(what_was_acknowledged_is_delivered_when_its_connection_closes_at_once),
        gmq_test(what_lies_in_the_kernel_of_the_node_is_not_delivered),
        gmq_test(the_next_request_proves_the_reply_before_it),
        gmq_test(a_stop_waits_a_moment_for_acknowledgements),
        gmq_test(a_stop_waits_no_longer_for_a_client_that_reads_a_little_at_a_time),
        gmq_test(cuts_off_a_client_that_does_not_read),
        gmq_test(stops_when_all_in_work_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
