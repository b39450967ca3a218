#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define KICK  "/v1/topics/t/kick"
#define PURGE "/v1/topics/t/purge"

static void bury(struct fixture *f, const char *id)
{
    char job[64], path[128];

    snprintf(job, sizeof(job), "{\"id\":\"%s\",\"body\":\"b\"}", id);
    push(f, "t", job);
    snprintf(path, sizeof(path), "/v1/topics/t/jobs/%s/bury", id);
    assert_starts(call(f, "POST", path, with_lease(pop_lease(f, "t"), "")), "HTTP/1.1 200 ");
}

static void kicks_all_that_are_dead(void **state)
{
    struct fixture *f = *state;

    bury(f, "1");
    bury(f, "2");
    assert_reply(call(f, "POST", KICK, "{}"), 200, "{\"count\":2,\"has_more\":false}");
    assert_string_equal(state_of(f, "t", "1"), "ready");
    assert_string_equal(state_of(f, "t", "2"), "ready");
    assert_reply(call(f, "POST", KICK, "{}"), 200, "{\"count\":0,\"has_more\":false}");
}

static void kicks_some_and_says_that_there_are_more(void **state)
{
    struct fixture *f = *state;

    bury(f, "1");
    bury(f, "2");
    assert_reply(call(f, "POST", KICK, "{\"limit\":1}"), 200,
                 "{\"count\":1,\"has_more\":true}");
    assert_reply(call(f, "POST", KICK, "{\"limit\":1}"), 200,
                 "{\"count\":1,\"has_more\":false}");
}

static void kicks_those_that_died_between_two_times(void **state)
{
    struct fixture *f = *state;

    memory_store_set_now(f->ms, 1900000000000);
    bury(f, "1");
    memory_store_set_now(f->ms, 1900000001000);
    bury(f, "2");
    assert_reply(call(f, "POST", KICK, "{\"before_ms\":1900000000000}"), 200,
                 "{\"count\":0,\"has_more\":false}");
    assert_reply(
        call(f, "POST", KICK, "{\"since_ms\":1900000000000,\"before_ms\":1900000001000}"), 200,
        "{\"count\":1,\"has_more\":false}");
    assert_string_equal(state_of(f, "t", "1"), "ready");
    assert_string_equal(state_of(f, "t", "2"), "dead");
}

static void purges_the_states_that_are_named(void **state)
{
    struct fixture *f = *state;

    bury(f, "1");
    push(f, "t", "{\"id\":\"2\",\"body\":\"b\"}");
    push(f, "t", "{\"id\":\"3\",\"body\":\"b\",\"delay_ms\":60000}");
    assert_reply(call(f, "POST", PURGE, "{\"states\":[\"dead\",\"ready\"]}"), 200,
                 "{\"count\":2,\"has_more\":false}");
    assert_string_equal(state_of(f, "t", "1"), "");
    assert_string_equal(state_of(f, "t", "2"), "");
    assert_string_equal(state_of(f, "t", "3"), "delayed");
}

static void says_what_is_wrong_with_a_sweep(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    assert_error(call(f, "POST", KICK, NULL), 400, "bad_request");
    reply = call(f, "POST", PURGE, "{}");
    assert_error(reply, 400, "bad_request");
    assert_has(reply, "states: missing");
    assert_error(call(f, "POST", KICK, "{\"limit\":0}"), 400, "out_of_range");
    assert_error(call(f, "POST", "/v1/topics/%20/kick", "{}"), 400, "bad_topic");
}

static void says_that_a_sweep_could_not_begin(void **state)
{
    struct fixture *f = *state;

    bury(f, "1");
    memory_store_take_down(f->ms);
    assert_error(call(f, "POST", KICK, "{}"), 503, "unavailable");
    memory_store_bring_up(f->ms);
    assert_string_equal(state_of(f, "t", "1"), "dead");
}

static void says_that_nobody_knows_how_far_a_sweep_came(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    bury(f, "1");
    memory_store_fail(f->ms, 8, STATUS_UNKNOWN, MEMORY_DONE);
    reply = call(f, "POST", KICK, "{\"limit\":5}");
    assert_error(reply, 504, "unknown");
    assert_has(reply, "0 were done, and perhaps up to 100 more");
    assert_has(reply, ",\"count\":0}}");
}

static void push_ready(struct fixture *f, unsigned count)
{
    struct buf list = BUF_INIT;

    buf_add_text(&list, "[{\"body\":\"\"}");
    for (unsigned i = 1; i < count; i++)
        buf_add_text(&list, ",{\"body\":\"\"}");
    buf_add_char(&list, ']');
    assert_starts(call(f, "POST", "/v1/topics/t/jobs", buf_text(&list)), "HTTP/1.1 200 ");
    buf_fini(&list);
}

static void says_how_far_it_came_before_the_store_went_away(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    const char *reply;

    push_ready(f, 1000);
    memory_store_hold(f->ms);
    send_call(&c, "POST", PURGE, "{\"states\":[\"ready\"],\"limit\":1000}");
    AWAIT(f, memory_store_count(f->ms, OP_PURGE) == 1);
    memory_store_fail(f->ms, 100, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    memory_store_unhold(f->ms);
    reply = receive(&c);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "\"has_more\":true}");
    assert_in_range(atoi(member_of(reply, "count")), 1, 999);
    leave(&c);
    memory_store_fail(f->ms, 0, STATUS_UNAVAILABLE, MEMORY_UNDONE);
}

static void stops_when_its_client_has_left(void **state)
{
    struct fixture *f = *state;
    const char *all = "{\"states\":[\"ready\"],\"limit\":1000}";

    push_ready(f, 1000);
    call_and_break_off(f, "POST", PURGE, all, OP_PURGE);
    assert_int_equal(memory_store_count(f->ms, OP_PURGE), 1);
    assert_true(atoi(member_of(call(f, "GET", "/v1/topics/t", NULL), "ready")) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kicks_all_that_are_dead),
        TEST(kicks_some_and_says_that_there_are_more),
        TEST(kicks_those_that_died_between_two_times),
        TEST(purges_the_states_that_are_named),
        TEST(says_what_is_wrong_with_a_sweep),
        TEST(says_that_a_sweep_could_not_begin),
        TEST(says_that_nobody_knows_how_far_a_sweep_came),
        TEST(says_how_far_it_came_before_the_store_went_away),
        TEST(stops_when_its_client_has_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
