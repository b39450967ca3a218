#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/http/api_fixture.h"

static void counts_the_jobs_of_a_topic(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "a%2Fb", "{\"body\":\"\",\"delay_ms\":60000}");
    push(f, "a%2Fb", "{\"body\":\"\"}");
    push(f, "a%2Fb", "{\"body\":\"\"}");
    pop_lease(f, "a%2Fb");
    reply = call(f, "GET", "/v1/topics/a%2Fb", NULL);
    assert_has(reply, "{\"topic\":\"a/b\",\"delayed\":1,\"ready\":1,\"reserved\":1,\"dead\":0,"
                      "\"oldest_ready_age_ms\":");
    assert_in_range(atoi(member_of(reply, "oldest_ready_age_ms")), 0, 30000);
    assert_in_range(atoi(member_of(reply, "next_due_in_ms")), 30000, 60000);
}

static void knows_every_topic_even_one_that_nobody_has_used(void **state)
{
    struct fixture *f = *state;

    assert_reply(call(f, "GET", "/v1/topics/t", NULL), 200,
                 "{\"topic\":\"t\",\"delayed\":0,\"ready\":0,\"reserved\":0,\"dead\":0,"
                 "\"oldest_ready_age_ms\":null,\"next_due_in_ms\":null,\"paused\":false,"
                 "\"paused_until_ms\":null}");
    assert_error(call(f, "GET", "/v1/topics/%2Dt", NULL), 400, "bad_topic");
}

/* ---- the list ---- */

static void lists_nothing_where_nothing_is(void **state)
{
    assert_reply(call(*state, "GET", "/v1/topics", NULL), 200, "{\"topics\":[],\"next\":null}");
}

/* Marks the topics t0 to t31 of a page; returns how many it has. */
static unsigned mark_topics(const char *reply, bool seen[32])
{
    unsigned count = 0;

    while ((reply = strstr(reply, "{\"topic\":\"t"))) {
        reply += strlen("{\"topic\":\"t");
        seen[atoi(reply) % 32] = true;
        count++;
    }
    return count;
}

static void lists_every_topic_page_by_page(void **state)
{
    struct fixture *f = *state;
    char path[256] = "/v1/topics?limit=5";
    bool seen[32] = {false};
    unsigned pages = 0;
    const char *next;

    for (unsigned i = 0; i < 32; i++) {
        char topic[8];

        snprintf(topic, sizeof(topic), "t%u", i);
        push(f, topic, "{\"body\":\"\"}");
    }
    do {
        const char *reply = call(f, "GET", path, NULL);

        assert_starts(reply, "HTTP/1.1 200 ");
        assert_true(mark_topics(reply, seen) <= 5);
        next = member_of(reply, "next");
        snprintf(path, sizeof(path), "/v1/topics?limit=5&cursor=%s", next);
        assert_true(++pages < 100);
    } while (strcmp(next, "null") != 0);
    for (unsigned i = 0; i < 32; i++)
        assert_true(seen[i]);
    assert_true(pages > 6);
}

static void shows_the_counts_in_the_list(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"body\":\"\",\"at_ms\":1900000000000}");
    assert_has(call(f, "GET", "/v1/topics", NULL),
               "{\"topics\":[{\"topic\":\"t\",\"delayed\":1,\"ready\":0,\"reserved\":0,"
               "\"dead\":0,\"oldest_ready_age_ms\":null,\"next_due_in_ms\":");
}

static void refuses_a_cursor_that_no_page_has_given(void **state)
{
    static const char *const cursors[] = {
        "",     "x",      ".",    "4.",   "-1.",     "99999999999.", "0x",   "0.a",
        "0.00", "0.2d61", "0.AA", "0.gg", "0.61.62", "0.6%201",      "0.%61"};
    char path[256];
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cursors) / sizeof(*cursors); i++) {
        snprintf(path, sizeof(path), "/v1/topics?cursor=%s", cursors[i]);
        assert_error(call(f, "GET", path, NULL), 400, "bad_request");
    }
    assert_error(call(f, "GET", "/v1/topics?limit=0", NULL), 400, "out_of_range");
    assert_error(call(f, "GET", "/v1/topics?limit=1001", NULL), 400, "out_of_range");
    assert_error(call(f, "GET", "/v1/topics?size=1", NULL), 400, "bad_request");
}

static void tells_why_the_store_cannot_count(void **state)
{
    struct fixture *f = *state;

    memory_store_take_down(f->ms);
    assert_error(call(f, "GET", "/v1/topics/t", NULL), 503, "unavailable");
    assert_error(call(f, "GET", "/v1/topics", NULL), 503, "unavailable");
    memory_store_bring_up(f->ms);
}

static void survives_a_client_that_leaves_in_the_midst_of_a_list(void **state)
{
    call_and_break_off(*state, "GET", "/v1/topics", NULL, OP_TOPICS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_the_jobs_of_a_topic),
        TEST(knows_every_topic_even_one_that_nobody_has_used),
        TEST(lists_nothing_where_nothing_is),
        TEST(lists_every_topic_page_by_page),
        TEST(shows_the_counts_in_the_list),
        TEST(refuses_a_cursor_that_no_page_has_given),
        TEST(tells_why_the_store_cannot_count),
        TEST(survives_a_client_that_leaves_in_the_midst_of_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
