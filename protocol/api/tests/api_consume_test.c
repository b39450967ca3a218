/* What consumers get over HTTP, and what they are seen to get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

/* ---- pop ---- */

#define NOTHING "{\"topic\":null,\"jobs\":[]}"

static uint64_t waiting(struct fixture *f)
{
    return queue_stats(f->queue)->waiting;
}

/* ---- what comes ---- */

static void hands_a_job_out_with_all_that_is_known_of_it(void **state)
{
    struct fixture *f = *state;
    const char *reply;
    char expected[256];

    push(f, "t",
         "{\"id\":\"1\",\"body\":\"b\",\"ttr_ms\":5,\"max_tries\":3,\"at_ms\":100000000000}");
    reply = call(f, "POST", "/v1/topics/t/pop", NULL);
    snprintf(expected, sizeof(expected),
             "{\"topic\":\"t\",\"jobs\":[{\"id\":\"1\",\"topic\":\"t\",\"body\":\"b\","
             "\"lease\":\"%s\",\"due_ms\":100000000000,\"delay_ms\":0,\"ttr_ms\":5,\"tries\":0,"
             "\"max_tries\":3}]}",
             member_of(reply, "lease"));
    assert_reply(reply, 200, expected);
}

static void has_its_parameters_in_the_query_and_says_so(void **state)
{
    struct fixture *f = *state;
    const char *reply = call(f, "POST", "/v1/topics/t/pop", "{\"count\":2}");

    assert_error(reply, 400, "bad_request");
    assert_has(reply, "count: unknown member (a pop has its parameters in the query: "
                      "?count=&wait_ms=&ttr_ms=)");
    assert_error(call(f, "POST", "/v1/topics/t/pop", "count=2"), 400, "bad_request");
    assert_reply(call(f, "POST", "/v1/topics/t/pop", "{}"), 200, NOTHING);
}

static void says_that_there_is_nothing(void **state)
{
    assert_reply(call(*state, "POST", "/v1/topics/t/pop", NULL), 200, NOTHING);
}

static void goes_by_the_order_of_the_topics(void **state)
{
    struct fixture *f = *state;
    const char *pop = "/v1/topics/a,b%2Fc,d/pop?count=2";

    push(f, "d", "{\"body\":\"\"}");
    push(f, "b%2Fc", "{\"body\":\"\"}");
    assert_string_equal(member_of(call(f, "POST", pop, NULL), "topic"), "b/c");
    assert_string_equal(member_of(call(f, "POST", pop, NULL), "topic"), "d");
    assert_reply(call(f, "POST", pop, NULL), 200, NOTHING);
}

static void hands_out_no_more_than_asked_for(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    for (unsigned i = 0; i < 3; i++)
        push(f, "t", i == 1 ? "{\"id\":\"1\",\"body\":\"\"}" : "{\"body\":\"\"}");
    reply = call(f, "POST", "/v1/topics/t/pop?count=2", NULL);
    assert_has(reply, "},{\"id\":\"1\"");
    assert_null(strstr(strstr(reply, "},{") + 1, "},{"));
    assert_int_equal(queue_stats(f->queue)->popped_jobs, 2);
}

static void gives_a_reservation_the_time_it_asks_for(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"\",\"ttr_ms\":60000}");
    call(f, "POST", "/v1/topics/t/pop?ttr_ms=600000", NULL);
    fixture_pass(f, 300000);
    assert_string_equal(state_of(f, "t", "1"), "reserved");
    fixture_pass(f, 301000);
    assert_string_equal(state_of(f, "t", "1"), "ready");
}

static void is_done_with_a_job_that_it_gives_no_time(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"\",\"ttr_ms\":60000}");
    call(f, "POST", "/v1/topics/t/pop?ttr_ms=0", NULL);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_string_equal(state_of(f, "t", "1"), "");
}

static void refuses_what_cannot_be_popped(void **state)
{
    static const struct {
        const char *path;
        const char *word;
    } cases[] = {
        {"/v1/topics/t/pop?count=0", "out_of_range"},
        {"/v1/topics/t/pop?count=65", "out_of_range"},
        {"/v1/topics/t/pop?count=x", "bad_request"},
        {"/v1/topics/t/pop?wait_ms=3600001", "out_of_range"},
        {"/v1/topics/t/pop?wait_ms=-1", "out_of_range"},
        {"/v1/topics/t/pop?ttr_ms=-1", "out_of_range"},
        {"/v1/topics/t/pop?ttr_ms=604800001", "out_of_range"},
        {"/v1/topics/t/pop?wait=1", "bad_request"},
        {"/v1/topics/,t/pop", "bad_topic"},
        {"/v1/topics/t,/pop", "bad_topic"},
        {"/v1/topics/%2Dt/pop", "bad_topic"},
        {"/v1/topics/t%00/pop", "bad_topic"},
    };
    struct fixture *f = *state;
    struct buf path = BUF_INIT;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_error(call(f, "POST", cases[i].path, NULL), 400, cases[i].word);
    buf_add_text(&path, "/v1/topics/t");
    for (unsigned i = 1; i < QUEUE_TOPICS_PER_POP_MAX; i++)
        buf_printf(&path, ",t%u", i);
    buf_add_text(&path, "/pop");
    assert_reply(call(f, "POST", buf_text(&path), NULL), 200, NOTHING);
    path.len -= strlen("/pop");
    buf_add_text(&path, ",t/pop");
    assert_reply(
        call(f, "POST", buf_text(&path), NULL), 400,
        "{\"error\":{\"code\":\"out_of_range\",\"message\":\"topics: more than 64\"}}");
    buf_fini(&path);
}

static void tells_why_the_store_gave_nothing(void **state)
{
    struct fixture *f = *state;

    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_error(call(f, "POST", "/v1/topics/t/pop", NULL), 502, "store_error");
    memory_store_take_down(f->ms);
    assert_error(call(f, "POST", "/v1/topics/t/pop", NULL), 503, "unavailable");
    memory_store_bring_up(f->ms);
}

/* ---- waiting ---- */

static void answers_a_long_poll_as_soon_as_there_is_a_job(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "POST", "/v1/topics/a,t/pop?wait_ms=3600000", NULL);
    AWAIT(f, waiting(f) == 1);
    expect_silence(&c);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    assert_string_equal(member_of(receive(&c), "id"), "1");
    send_call(&c, "POST", "/v1/topics/t/pop", NULL);
    assert_reply(receive(&c), 200, NOTHING);
    leave(&c);
}

static void answers_a_long_poll_when_its_time_is_over(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "POST", "/v1/topics/t/pop?wait_ms=600000", NULL);
    AWAIT(f, waiting(f) == 1);
    fixture_pass(f, 590000);
    expect_silence(&c);
    fixture_pass(f, 10001);
    assert_reply(receive(&c), 200, NOTHING);
    leave(&c);
}

static void notices_at_once_that_a_long_poller_has_left(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f), broken = connect_client(f);

    send_call(&gone, "POST", "/v1/topics/t/pop?wait_ms=3600000", NULL);
    send_call(&broken, "POST", "/v1/topics/t/pop?wait_ms=3600000", NULL);
    AWAIT(f, waiting(f) == 2);
    leave(&gone);
    AWAIT(f, waiting(f) == 1);
    reset(&broken);
    AWAIT(f, waiting(f) == 0);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    assert_string_equal(state_of(f, "t", "1"), "ready");
}

static void serves_what_is_behind_a_long_poll_after_it(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "POST /v1/topics/t/pop?wait_ms=3600000 HTTP/1.1\r\nHost: h\r\n\r\n" GET_LIVE);
    AWAIT(f, waiting(f) == 1);
    expect_silence(&c);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    assert_string_equal(member_of(receive(&c), "id"), "1");
    assert_has(receive(&c), "{\"status\":\"live\"}");
    leave(&c);
}

static void gives_back_what_came_for_a_client_that_had_left(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    memory_store_hold(f->ms);
    send_call(&c, "POST", "/v1/topics/t/pop", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_POP) == 1);
    reset(&c);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
    memory_store_unhold(f->ms);
    AWAIT(f, memory_store_count(f->ms, OP_RETURN) == 1);
    assert_string_equal(state_of(f, "t", "1"), "ready");
    assert_string_equal(member_of(call(f, "POST", "/v1/topics/t/pop", NULL), "tries"), "0");
}

static void delivers_only_what_the_client_has_read(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    struct buf job = BUF_INIT;

    buf_printf(&job, "{\"id\":\"1\",\"body\":\"%*s\"}", JOB_BODY_MAX, "");
    for (unsigned i = 0; i < 40; i++) {
        job.at[7] = (char)('0' + i);
        push(f, "t", buf_text(&job));
    }
    buf_fini(&job);
    send_call(&c, "POST", "/v1/topics/t/pop?count=40", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_POP) == 1);
    fixture_turn(f);
    assert_int_equal(memory_store_count(f->ms, OP_DELIVERED), 0);
    reset(&c);
    AWAIT(f, memory_store_count(f->ms, OP_RETURN) == 1);
    assert_string_equal(state_of(f, "t", "1"), "ready");
}

static void ends_the_waiting_when_the_node_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "POST", "/v1/topics/t/pop?wait_ms=3600000", NULL);
    AWAIT(f, waiting(f) == 1);
    fixture_stop(f);
    fixture_turn(f);
    assert_reply(receive_all(&c), 200, NOTHING);
    leave(&c);
}

/* ---- deliveries ---- */

static uint64_t following(struct fixture *f)
{
    return queue_stats(f->queue)->following;
}

/* A job from push to delivery. */
static void hand_over(struct fixture *f, const char *topic, const char *job)
{
    uint64_t before = queue_stats(f->queue)->popped_jobs;

    push(f, topic, job);
    pop_lease(f, topic);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_int_equal(queue_stats(f->queue)->popped_jobs, before + 1);
}

/* The number from which on a follower has seen everything. */
static const char *path_after(struct fixture *f, const char *more)
{
    static char path[256];

    snprintf(path, sizeof(path), "/v1/deliveries?after=%s%s",
             member_of(call(f, "GET", "/v1/deliveries", NULL), "next"), more);
    return path;
}

static void begins_with_what_comes_from_now_on(void **state)
{
    struct fixture *f = *state;

    hand_over(f, "t", "{\"body\":\"\"}");
    assert_has(call(f, "GET", "/v1/deliveries", NULL), "{\"deliveries\":[],\"next\":");
}

static void tells_who_got_what(void **state)
{
    struct fixture *f = *state;
    char path[256];
    const char *reply;

    strcpy(path, path_after(f, ""));
    hand_over(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    reply = call(f, "GET", path, NULL);
    assert_has(reply, "\"topic\":\"t\",\"id\":\"1\",\"tries\":1,\"late_ms\":");
    assert_has(reply, ",\"client\":\"http 127.0.0.1:");
    assert_has(reply, "\"missed\":0}");
    snprintf(path, sizeof(path), "/v1/deliveries?after=%s", member_of(reply, "next"));
    assert_has(call(f, "GET", path, NULL), "{\"deliveries\":[],");
}

static void shows_one_topic_alone_when_asked_for_it(void **state)
{
    struct fixture *f = *state;
    char path[256];
    const char *reply;

    strcpy(path, path_after(f, "&topic=b%2Fc"));
    hand_over(f, "a", "{\"id\":\"1\",\"body\":\"\"}");
    hand_over(f, "b%2Fc", "{\"id\":\"2\",\"body\":\"\"}");
    reply = call(f, "GET", path, NULL);
    assert_has(reply, "\"id\":\"2\"");
    assert_null(strstr(reply, "\"id\":\"1\""));
}

static void answers_a_long_poll_with_the_next_one(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/v1/deliveries?wait_ms=3600000", NULL);
    AWAIT(f, following(f) == 1);
    expect_silence(&c);
    hand_over(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    assert_has(receive(&c), "\"id\":\"1\"");
    assert_int_equal(following(f), 0);
    leave(&c);
}

static void notices_at_once_that_a_follower_has_left(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/v1/deliveries?wait_ms=3600000", NULL);
    AWAIT(f, following(f) == 1);
    leave(&c);
    AWAIT(f, following(f) == 0);
}

static void ends_the_following_when_the_node_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_call(&c, "GET", "/v1/deliveries?wait_ms=3600000", NULL);
    AWAIT(f, following(f) == 1);
    fixture_stop(f);
    fixture_turn(f);
    assert_has(receive_all(&c), "{\"deliveries\":[],\"next\":");
    leave(&c);
}

static void refuses_what_cannot_be_followed(void **state)
{
    static const struct {
        const char *path;
        const char *word;
    } cases[] = {
        {"/v1/deliveries?after=-1", "out_of_range"},
        {"/v1/deliveries?after=9007199254740992", "out_of_range"},
        {"/v1/deliveries?after=x", "bad_request"},
        {"/v1/deliveries?wait_ms=3600001", "out_of_range"},
        {"/v1/deliveries?topic=", "bad_topic"},
        {"/v1/deliveries?topic=%2Dt", "bad_topic"},
        {"/v1/deliveries?max=1", "bad_request"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_error(call(*state, "GET", cases[i].path, NULL), 400, cases[i].word);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hands_a_job_out_with_all_that_is_known_of_it),
        TEST(has_its_parameters_in_the_query_and_says_so),
        TEST(says_that_there_is_nothing),
        TEST(goes_by_the_order_of_the_topics),
        TEST(hands_out_no_more_than_asked_for),
        TEST(gives_a_reservation_the_time_it_asks_for),
        TEST(is_done_with_a_job_that_it_gives_no_time),
        TEST(refuses_what_cannot_be_popped),
        TEST(tells_why_the_store_gave_nothing),
        TEST(answers_a_long_poll_as_soon_as_there_is_a_job),
        TEST(answers_a_long_poll_when_its_time_is_over),
        TEST(notices_at_once_that_a_long_poller_has_left),
        TEST(serves_what_is_behind_a_long_poll_after_it),
        TEST(gives_back_what_came_for_a_client_that_had_left),
        TEST(delivers_only_what_the_client_has_read),
        TEST(ends_the_waiting_when_the_node_stops),
        TEST(begins_with_what_comes_from_now_on),
        TEST(tells_who_got_what),
        TEST(shows_one_topic_alone_when_asked_for_it),
        TEST(answers_a_long_poll_with_the_next_one),
        TEST(notices_at_once_that_a_follower_has_left),
        TEST(ends_the_following_when_the_node_stops),
        TEST(refuses_what_cannot_be_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
