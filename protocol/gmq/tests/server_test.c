#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "protocol/access/access.h"
#include "protocol/gmq/tests/server_fixture.h"

/* ---- the main job ---- */

static void pushes_hands_over_and_acknowledges(void **state)
{
    struct client c = connect_client(*state);

    say(&c, PUSH("a", "t", ",\"TTR\":\"60\""));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "60", "0"));
    say(&c, ACK("a"));
    expect(&c, ACKED);
    say(&c, ACK("a"));
    expect(&c, "{\"id\":3,\"result\":null,\"error\":\"not_found: no such job\"}\n");
    leave(&c);
}

static void hands_a_delayed_job_over_when_it_is_due_and_not_before(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", ",\"delay\":1"));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    fixture_pass(f, 900);
    expect_silence(&c);
    fixture_pass(f, 100);
    expect(&c, "{\"id\":2,\"result\":{\"TTR\":0,\"body\":\"\",\"consume_num\":0,\"delay\":1,"
               "\"id\":\"a\",\"status\":3,\"topic\":\"t\"},\"error\":null}\n");
    leave(&c);
}

static void says_empty_when_nothing_came_in_time(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    fixture_pass(f, 1900);
    expect_silence(&c);
    fixture_pass(f, 200);
    expect(&c, EMPTY);
    leave(&c);
}

static void prefers_the_topic_that_was_named_first(void **state)
{
    struct client c = connect_client(*state);

    say(&c, PUSH("a", "low", ""));
    expect(&c, PUSHED);
    say(&c, PUSH("b", "high", ""));
    expect(&c, PUSHED);
    say(&c, POP("\"high\",\"low\""));
    expect(&c, POPPED("b", "high", "0", "0"));
    say(&c, POP("\"high\",\"low\""));
    expect(&c, POPPED("a", "low", "0", "0"));
    leave(&c);
}

static void gives_a_job_again_when_its_ttr_is_over(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", ",\"TTR\":5"));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "5", "0"));
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    fixture_pass(f, 5100);
    say(&c, ACK("a"));
    expect(&c, "{\"id\":3,\"result\":null,\"error\":"
               "\"TTR has expired and will be consumed again\"}\n");
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "5", "1"));
    say(&c, ACK("a"));
    expect(&c, ACKED);
    leave(&c);
}

static void a_job_without_ttr_is_gone_once_delivered(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "0", "0"));
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    say(&c, ACK("a"));
    expect(&c, "{\"id\":3,\"result\":null,\"error\":\"not_found: no such job\"}\n");
    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    leave(&c);
}

static void refuses_a_second_push_of_a_living_id(void **state)
{
    struct client c = connect_client(*state);

    say(&c, PUSH("a", "t", ",\"delay\":60"));
    expect(&c, PUSHED);
    say(&c, PUSH("a", "t", ""));
    expect(&c, "{\"id\":1,\"result\":null,\"error\":"
               "\"jobKey:gmq:jobpool:a,error:has exist\"}\n");
    leave(&c);
}

static void passes_on_what_the_queue_refuses(void **state)
{
    struct client c = connect_client(*state);
    char reply[512];
    size_t len;

    say(&c, PUSH("a", "no topic", ""));
    len = receive_piece(&c, reply, sizeof(reply) - 1);
    reply[len] = '\0';
    assert_non_null(strstr(reply, "\"result\":null,\"error\":\"bad_topic: "));
    say(&c, PUSH("no id", "t", ""));
    len = receive_piece(&c, reply, sizeof(reply) - 1);
    reply[len] = '\0';
    assert_non_null(strstr(reply, "\"result\":null,\"error\":\"bad_id: "));
    leave(&c);
}

static void tells_what_may_have_happened_from_what_did_not(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP("\"x\"")); /* the link is up when this is in work */
    AWAIT(f, waiting(f) == 1);
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    say(&c, PUSH("a", "t", ""));
    expect(&c, "{\"id\":1,\"result\":null,\"error\":"
               "\"unknown: the store did not answer; the operation may have happened\"}\n");
    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    say(&c, PUSH("b", "t", ""));
    expect(&c, "{\"id\":1,\"result\":null,\"error\":"
               "\"unavailable: the store is unavailable; nothing happened\"}\n");
    leave(&c);
}

/* ---- the stream ---- */

static void takes_requests_cut_anywhere(void **state)
{
    struct client c = connect_client(*state);
    const char *stream = "  " PUSH("a", "t", "") "\n\n" POP("\"t\"") "\r\n";

    for (const char *at = stream; *at; at++) {
        say_bytes(&c, bytes_of(at, 1));
        fixture_turn(c.f);
    }
    expect(&c, PUSHED);
    expect(&c, POPPED("a", "t", "0", "0"));
    leave(&c);
}

static void answers_requests_in_the_order_of_their_completion(void **state)
{
    struct client c = connect_client(*state);

    say(&c, POP("\"t\"") "{\"method\":\"Service.X\",\"params\":[1]}" PUSH("a", "t", ""));
    expect(&c, "{\"id\":null,\"result\":null,\"error\":"
               "\"rpc: can't find method Service.X\"}\n");
    expect(&c, PUSHED);
    expect(&c, POPPED("a", "t", "0", "0"));
    leave(&c);
}

static void reads_no_further_while_too_many_requests_are_in_work(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    fixture_turn(f);
    memory_store_hold(f->ms);
    for (unsigned i = 0; i < 10; i++)
        say(&c, "{\"method\":\"Service.Push\",\"params\":[{\"id\":\"a\",\"topic\":\"t\"}]}");
    AWAIT(f, memory_store_in_flight(f->ms) >= 4);
    expect_silence(&c);
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 4);
    memory_store_release(f->ms, 1);
    expect(&c, "{\"id\":null,\"result\":\"success\",\"error\":null}\n");
    AWAIT(f, memory_store_count(f->ms, OP_PUSH) == 5);
    memory_store_unhold(f->ms);
    for (unsigned i = 1; i < 10; i++)
        expect(&c, "{\"id\":null,\"result\":null,\"error\":"
                   "\"jobKey:gmq:jobpool:a,error:has exist\"}\n");
    leave(&c);
}

static void closes_on_what_is_not_json_after_it_has_answered_the_rest(void **state)
{
    static const char *const streams[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "{]",
        "[]",
        "{\"id\":1,}",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        struct client c = connect_client(f);

        say(&c, streams[i]);
        expect_end(&c);
        leave(&c);
    }

    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", "") " oops");
    expect(&c, PUSHED);
    expect_end(&c);
    leave(&c);
    AWAIT(f, connections(f) == 0);
    assert_int_equal(f->gmq->stats.requests, 6);
    assert_int_equal(f->gmq->stats.refused, 5);
}

static void refuses_a_body_that_is_too_large_and_goes_on(void **state)
{
    struct client c = connect_client(*state);
    struct buf text = BUF_INIT;

    buf_add_text(&text, "{\"id\":9,\"method\":\"Service.Push\",\"params\":[{\"id\":\"a\","
                        "\"topic\":\"t\",\"body\":\"");
    for (unsigned i = 0; i <= BODY_MAX; i++)
        buf_add_char(&text, 'x');
    buf_add_text(&text, "\"}]}");
    say_bytes(&c, buf_bytes(&text));
    expect(&c, "{\"id\":9,\"result\":null,\"error\":"
               "\"too_large: job.body is too large (limits.body_bytes)\"}\n");
    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    buf_fini(&text);
    leave(&c);
}

static void skips_a_request_that_cannot_fit_and_goes_on(void **state)
{
    struct client c = connect_client(*state);
    struct buf text = BUF_INIT;

    buf_add_text(&text, "{\"id\":9,\"params\":[\"");
    for (unsigned i = 0; i < 300000; i++)
        buf_add_char(&text, '}');
    buf_add_text(&text, "\"]}" PUSH("a", "t", ""));
    say_bytes(&c, buf_bytes(&text));
    expect(&c, "{\"id\":null,\"result\":null,\"error\":\"too_large: the request is too large "
               "(limits.body_bytes); it was skipped\"}\n");
    expect(&c, PUSHED);
    buf_fini(&text);
    leave(&c);
}

static void takes_a_body_of_the_full_size_however_it_is_escaped(void **state)
{
    struct client c = connect_client(*state);
    struct buf text = BUF_INIT;

    buf_add_text(&text, "{\"id\":1,\"method\":\"Service.Push\",\"params\":[{\"id\":\"a\","
                        "\"topic\":\"t\",\"body\":\"");
    for (unsigned i = 0; i < BODY_MAX; i++)
        buf_add_text(&text, "\\u0001");
    buf_add_text(&text, "\"}]}");
    say_bytes(&c, buf_bytes(&text));
    expect(&c, PUSHED);
    buf_fini(&text);
    leave(&c);
}

/* ---- strict ---- */

static void speaks_exactly_like_gmq_when_strict(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH("a", "t", ",\"TTR\":5"));
    expect(&c, PUSHED);
    say(&c, PUSH("a", "t", ""));
    expect(&c, "{\"id\":1,\"result\":\"jobKey:gmq:jobpool:a,error:has exist\","
               "\"error\":null}\n");
    say(&c, POP("\"t\""));
    expect(&c, "{\"id\":2,\"result\":{\"TTR\":\"5\",\"body\":\"\",\"consume_num\":\"0\","
               "\"delay\":\"0\",\"id\":\"a\",\"status\":\"3\",\"topic\":\"t\"},"
               "\"error\":null}\n");
    fixture_pass(f, 7500);
    say(&c, ACK("a"));
    expect(&c, ACKED);
    leave(&c);
}

/* ---- identities ---- */

#define MAY_NOT "\"forbidden: the identity of this port may not do that (gmq.as)\"}\n"

static void become(struct fixture *f, struct access *access, const char *as)
{
    f->options.access = access;
    f->options.as = as;
    gmq_reload(f->gmq, &f->options);
}

static struct access *some_identities(void)
{
    struct access *access = access_new();
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(access,
                                 BYTES("all all\npusher produce\npopper consume\n"
                                       "looker inspect\nshop produce,consume topics=t\n"),
                                 &why),
                     STATUS_OK);
    return access;
}

static void all_clients_act_as_the_ports_identity(void **state)
{
    struct access *access = some_identities();
    struct client c = connect_client(*state);

    become(*state, access, "pusher");
    say(&c, PUSH("a", "t", ""));
    expect(&c, PUSHED);
    say(&c, POP("\"t\""));
    expect(&c, "{\"id\":2,\"result\":null,\"error\":" MAY_NOT);
    say(&c, ACK("a"));
    expect(&c, "{\"id\":3,\"result\":null,\"error\":" MAY_NOT);
    become(*state, access, "popper");
    say(&c, PUSH("b", "t", ""));
    expect(&c, "{\"id\":1,\"result\":null,\"error\":" MAY_NOT);
    say(&c, POP("\"t\""));
    expect(&c, POPPED("a", "t", "0", "0"));
    for (unsigned i = 0; i < 3; i++) {
        static const char *const others[] = {"looker", "", "unknown"};

        become(*state, access, others[i]);
        say(&c, PUSH("b", "t", ""));
        expect(&c, "{\"id\":1,\"result\":null,\"error\":" MAY_NOT);
    }
    leave(&c);
    become(*state, NULL, "");
    access_free(access);
}

static void a_port_for_some_topics_reaches_no_others(void **state)
{
    struct access *access = some_identities();
    struct client c = connect_client(*state), d = connect_client(*state);

    become(*state, access, "all");
    say(&c, PUSH("a", "other", ",\"TTR\":60"));
    expect(&c, PUSHED);
    say(&c, POP("\"other\""));
    expect(&c, POPPED("a", "other", "60", "0"));
    become(*state, access, "shop");
    say(&d, PUSH("b", "other", ""));
    expect(&d, "{\"id\":1,\"result\":null,\"error\":" MAY_NOT);
    say(&d, POP("\"t\",\"other\""));
    expect(&d, "{\"id\":2,\"result\":null,\"error\":" MAY_NOT);
    say(&d, ACK("a")); /* as if there were no such job */
    expect(&d, "{\"id\":3,\"result\":null,\"error\":\"not_found: no such job\"}\n");
    say(&c, ACK("a"));
    expect(&c, "{\"id\":3,\"result\":null,\"error\":\"not_found: no such job\"}\n");
    say(&d, PUSH("a", "t", ",\"TTR\":60"));
    expect(&d, PUSHED);
    say(&d, POP("\"t\""));
    expect(&d, POPPED("a", "t", "60", "0"));
    say(&d, ACK("a"));
    expect(&d, ACKED);
    become(*state, access, "all");
    say(&c, ACK("a"));
    expect(&c, ACKED);
    leave(&c);
    leave(&d);
    become(*state, NULL, "");
    access_free(access);
}

static void know(struct access *access, const char *lines)
{
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(access, bytes_of_text(lines), &why), STATUS_OK);
}

static void clients_of_an_identity_share_its_rate(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client a = connect_client(f), b = connect_from(f, 2);

    know(access, "all all rate=2\n");
    become(f, access, "all");
    say(&a, PUSH("1", "t", ""));
    expect(&a, PUSHED);
    say(&b, PUSH("2", "t", ""));
    expect(&b, PUSHED);
    say(&a, PUSH("3", "t", ""));
    say(&b, PUSH("4", "t", ""));
    fixture_pass(f, 490);
    assert_int_equal(f->gmq->stats.requests, 2);
    fixture_pass(f, 20);
    expect(&a, PUSHED);
    assert_int_equal(f->gmq->stats.requests, 3);
    fixture_pass(f, 500);
    expect(&b, PUSHED);
    leave(&a);
    leave(&b);
    become(f, NULL, "");
    access_free(access);
}

/* Nothing was taken in advance at the rate of before. */
static void a_rate_that_is_raised_helps_clients_that_wait(void **state)
{
    static const char *const then[] = {"all all rate=1000\n", "all all\n", "other all\n"};
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client c[4];

    for (unsigned round = 0; round < 3; round++) {
        know(access, "all all rate=1\nother all\n");
        become(f, access, "all");
        for (unsigned i = 0; i < 4; i++) {
            c[i] = connect_client(f);
            say(&c[i], PUSH("1", "t", ""));
        }
        fixture_pass(f, 10);
        assert_int_equal(f->gmq->stats.requests, 1 + 4 * round);
        know(access, then[round]);
        if (round == 2)
            become(f, access, "other");
        port_recheck(f->gmq);
        fixture_pass(f, 10);
        assert_int_equal(f->gmq->stats.requests, 4 + 4 * round);
        for (unsigned i = 0; i < 4; i++)
            leave(&c[i]);
        AWAIT(f, connections(f) == 0);
        fixture_pass(f, 1000);
    }
    become(f, NULL, "");
    access_free(access);
}

/* Those that wait as one that nobody is any more, and leave. */
static void an_identity_that_goes_leaves_no_line_behind(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client c[3];

    know(access, "all all rate=1\n");
    become(f, access, "all");
    for (unsigned i = 0; i < 3; i++) {
        c[i] = connect_client(f);
        say(&c[i], PUSH("1", "t", ""));
    }
    fixture_pass(f, 10);
    leave(&c[0]);
    AWAIT(f, connections(f) == 2);
    know(access, "other all\n"); /* and gmq.as is as before */
    port_recheck(f->gmq);
    fixture_pass(f, 10);
    for (unsigned i = 1; i < 3; i++) {
        expect(&c[i], "{\"id\":1,\"result\":null,\"error\":" MAY_NOT);
        leave(&c[i]);
    }
    become(f, NULL, "");
    access_free(access);
}

static void an_identity_has_no_more_clients_than_it_may(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client a = connect_client(f), b = connect_client(f);

    know(access, "all all connections=1\n");
    become(f, access, "all");
    say(&a, PUSH("1", "t", ""));
    expect(&a, PUSHED);
    say(&b, PUSH("2", "t", ""));
    expect(&b, "{\"id\":null,\"result\":null,\"error\":\"too_many: too many connections of one "
               "identity (its connections); try again later\"}\n");
    expect_end(&b);
    leave(&a);
    leave(&b);
    AWAIT(f, connections(f) == 0);
    b = connect_client(f);
    say(&b, PUSH("2", "t", ""));
    expect(&b, PUSHED);
    leave(&b);
    AWAIT(f, connections(f) == 0);
    become(f, NULL, "");
    access_free(access);
}

static void bytes_over_the_limit_of_an_identity_are_read_later(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client a = connect_client(f), b = connect_from(f, 2);

    know(access, "all all bytes=50\n");
    become(f, access, "all");
    memory_store_hold(f->ms);
    say(&a, PUSH("1", "t", ""));
    fixture_turn(f);
    say(&b, PUSH("2", "t", ""));
    fixture_pass(f, 500);
    assert_int_equal(f->gmq->stats.requests, 1);
    memory_store_unhold(f->ms);
    expect(&a, PUSHED);
    fixture_pass(f, 500);
    expect(&b, PUSHED);
    leave(&a);
    leave(&b);
    AWAIT(f, connections(f) == 0);
    become(f, NULL, "");
    access_free(access);
}

static void a_pop_that_waits_ends_with_its_identity(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client a = connect_client(f), b = connect_client(f);

    know(access, "all all\n");
    become(f, access, "all");
    say(&a, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    know(access, "all consume\n");
    port_recheck(f->gmq);
    expect(&a, EMPTY);
    know(access, "all all\n");
    say(&b, PUSH("1", "t", ""));
    expect(&b, PUSHED);
    memory_store_hold(f->ms);
    say(&a, POP("\"t\""));
    fixture_turn(f);
    fixture_turn(f);
    know(access, "all consume\n");
    memory_store_unhold(f->ms);
    expect(&a, EMPTY);
    say(&a, POP("\"t\""));
    expect(&a, POPPED("1", "t", "0", "0"));
    leave(&a);
    leave(&b);
    AWAIT(f, connections(f) == 0);
    become(f, NULL, "");
    access_free(access);
}

static void a_pop_that_waits_ends_when_gmq_as_is_another(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct client a = connect_client(f);

    know(access, "all all\nother all\n");
    become(f, access, "all");
    say(&a, POP("\"t\""));
    AWAIT(f, waiting(f) == 1);
    port_recheck(f->gmq);
    fixture_turn(f);
    assert_int_equal(waiting(f), 1);
    become(f, access, "");
    port_recheck(f->gmq);
    fixture_turn(f);
    fixture_turn(f);
    assert_int_equal(waiting(f), 0);
    expect(&a, EMPTY);
    leave(&a);
    AWAIT(f, connections(f) == 0);
    become(f, NULL, "");
    access_free(access);
}

#define gmq_test(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        gmq_test(pushes_hands_over_and_acknowledges),
        gmq_test(hands_a_delayed_job_over_when_it_is_due_and_not_before),
        gmq_test(says_empty_when_nothing_came_in_time),
        gmq_test(prefers_the_topic_that_was_named_first),
        gmq_test(gives_a_job_again_when_its_ttr_is_over),
        gmq_test(a_job_without_ttr_is_gone_once_delivered),
        gmq_test(refuses_a_second_push_of_a_living_id),
        gmq_test(passes_on_what_the_queue_refuses),
        gmq_test(tells_what_may_have_happened_from_what_did_not),
        gmq_test(takes_requests_cut_anywhere),
        gmq_test(answers_requests_in_the_order_of_their_completion),
        gmq_test(reads_no_further_while_too_many_requests_are_in_work),
        gmq_test(closes_on_what_is_not_json_after_it_has_answered_the_rest),
        gmq_test(refuses_a_body_that_is_too_large_and_goes_on),
        gmq_test(skips_a_request_that_cannot_fit_and_goes_on),
        gmq_test(takes_a_body_of_the_full_size_however_it_is_escaped),
        gmq_test(all_clients_act_as_the_ports_identity),
        gmq_test(clients_of_an_identity_share_its_rate),
        gmq_test(an_identity_has_no_more_clients_than_it_may),
        gmq_test(bytes_over_the_limit_of_an_identity_are_read_later),
        gmq_test(a_pop_that_waits_ends_with_its_identity),
        gmq_test(a_pop_that_waits_ends_when_gmq_as_is_another),
        gmq_test(a_rate_that_is_raised_helps_clients_that_wait),
        gmq_test(an_identity_that_goes_leaves_no_line_behind),
        gmq_test(a_port_for_some_topics_reaches_no_others),
        cmocka_unit_test_setup_teardown(speaks_exactly_like_gmq_when_strict, fixture_up_strict,
                                        fixture_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
