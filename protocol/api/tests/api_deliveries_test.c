#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

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

static void ends_the_waiting_when_the_node_stops(void **state)
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
        TEST(begins_with_what_comes_from_now_on),
        TEST(tells_who_got_what),
        TEST(shows_one_topic_alone_when_asked_for_it),
        TEST(answers_a_long_poll_with_the_next_one),
        TEST(notices_at_once_that_a_follower_has_left),
        TEST(ends_the_waiting_when_the_node_stops),
        TEST(refuses_what_cannot_be_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
