#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define SETTINGS "/v1/topics/t/settings"
#define NONE     "{\"kind\":\"none\"}"

static void shows_what_is_built_in_where_nothing_is_set(void **state)
{
    const char *reply = call(*state, "GET", SETTINGS, NULL);

    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "{\"topic\":\"t\",\"own\":{},\"configured\":{},\"effective\":{"
                      "\"ttr_ms\":60000,\"priority\":1024,\"max_tries\":0,\"backoff\":" NONE ","
                      "\"ttl_ms\":0,\"dead_max\":0,\"dead_age_ms\":0,\"history\":false");
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        assert_has(reply, setting_word(i));
    assert_has(reply, "},\"paused\":false,\"paused_until_ms\":null}");
}

static void sets_some_and_leaves_the_others(void **state)
{
    struct fixture *f = *state;

    assert_has(call(f, "PATCH", SETTINGS, "{\"ttr_ms\":5000,\"max_tries\":3}"),
               "\"own\":{\"ttr_ms\":5000,\"max_tries\":3},\"configured\":{},\"effective\":{"
               "\"ttr_ms\":5000,"
               "\"priority\":1024,\"max_tries\":3,");
    assert_has(call(f, "PATCH", SETTINGS, "{\"ttr_ms\":null,\"priority\":7}"),
               "\"own\":{\"priority\":7,\"max_tries\":3},\"configured\":{},\"effective\":{"
               "\"ttr_ms\":60000,"
               "\"priority\":7,");
    assert_has(call(f, "GET", SETTINGS, NULL), "\"own\":{\"priority\":7,\"max_tries\":3},");
}

static void changes_nothing_when_one_member_is_wrong(void **state)
{
    struct fixture *f = *state;
    const char *reply = call(f, "PATCH", SETTINGS, "{\"ttr_ms\":5000,\"max_tries\":-1}");

    assert_error(reply, 400, "out_of_range");
    assert_has(reply, "max_tries: not from 0 to 65534");
    assert_error(call(f, "PATCH", SETTINGS, "{}"), 400, "bad_request");
    assert_error(call(f, "PATCH", SETTINGS, NULL), 400, "bad_request");
    assert_error(call(f, "PATCH", "/v1/topics/%20/settings", "{\"ttr_ms\":1}"), 400,
                 "bad_topic");
    assert_has(call(f, "GET", SETTINGS, NULL), "\"own\":{},");
}

static void a_push_takes_from_them_what_it_leaves_out(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    assert_starts(call(f, "PATCH", SETTINGS,
                       "{\"ttr_ms\":5000,\"priority\":7,\"max_tries\":3,\"ttl_ms\":100000,"
                       "\"backoff\":{\"kind\":\"fixed\",\"base_ms\":9}}"),
                  "HTTP/1.1 200 ");
    memory_store_set_now(f->ms, 1900000000000);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    reply = call(f, "GET", "/v1/topics/t/jobs/1", NULL);
    assert_has(reply, "\"ttr_ms\":5000,\"tries\":0,\"priority\":7,\"max_tries\":3,\"backoff\":"
                      "{\"kind\":\"fixed\",\"base_ms\":9,\"cap_ms\":0,\"jitter_percent\":0}");
    assert_time(reply, "expires_ms", 1900000100000);
    push(f, "t",
         "{\"id\":\"2\",\"body\":\"\",\"ttr_ms\":1,\"priority\":0,\"max_tries\":0,"
         "\"ttl_ms\":0,\"backoff\":" NONE "}");
    reply = call(f, "GET", "/v1/topics/t/jobs/2", NULL);
    assert_has(reply,
               "\"ttr_ms\":1,\"tries\":0,\"priority\":0,\"max_tries\":0,\"backoff\":" NONE "}");
}

/* ---- pauses ---- */

static void pauses_until_it_is_resumed(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"body\":\"\"}");
    assert_reply(call(f, "POST", "/v1/topics/t/pause", "{}"), 200,
                 "{\"paused\":true,\"paused_until_ms\":null}");
    assert_reply(call(f, "POST", "/v1/topics/t/pop", NULL), 200,
                 "{\"topic\":null,\"jobs\":[]}");
    assert_has(call(f, "GET", "/v1/topics/t", NULL),
               "\"paused\":true,\"paused_until_ms\":null}");
    assert_error(call(f, "POST", "/v1/topics/t/resume", "{\"for_ms\":1}"), 400, "bad_request");
    assert_reply(call(f, "POST", "/v1/topics/t/resume", NULL), 200,
                 "{\"paused\":false,\"paused_until_ms\":null}");
    pop_lease(f, "t");
}

static void pauses_for_a_while_or_until_a_time(void **state)
{
    struct fixture *f = *state;

    memory_store_set_now(f->ms, 1900000000000);
    assert_time(call(f, "POST", "/v1/topics/t/pause", "{\"for_ms\":60000}"), "paused_until_ms",
                1900000060000);
    assert_reply(call(f, "POST", "/v1/topics/t/pause", "{\"until_ms\":1900000900000}"), 200,
                 "{\"paused\":true,\"paused_until_ms\":1900000900000}");
    assert_has(call(f, "GET", SETTINGS, NULL),
               "\"paused\":true,\"paused_until_ms\":1900000900000}");
}

/* Whoever gives such a time has made a mistake: it ends no pause. */
static void refuses_a_pause_until_a_time_that_is_past(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    memory_store_set_now(f->ms, 1900000000000);
    call(f, "POST", "/v1/topics/t/pause", "{}");
    reply = call(f, "POST", "/v1/topics/t/pause", "{\"until_ms\":1000000000000}");
    assert_error(reply, 400, "out_of_range");
    assert_has(reply, "until_ms: that is past");
    assert_error(call(f, "POST", "/v1/topics/t/pause", "{\"until_ms\":1900000000000}"), 400,
                 "out_of_range");
    assert_has(call(f, "GET", SETTINGS, NULL), "\"paused\":true,\"paused_until_ms\":null}");
}

static void says_what_is_wrong_with_a_pause(void **state)
{
    struct fixture *f = *state;
    const char *reply =
        call(f, "POST", "/v1/topics/t/pause", "{\"for_ms\":1,\"until_ms\":1900000000000}");

    assert_error(reply, 400, "bad_request");
    assert_has(reply, "for_ms: not together with until_ms");
    assert_error(call(f, "POST", "/v1/topics/t/pause", "{\"for_ms\":0}"), 400, "out_of_range");
    assert_error(call(f, "POST", "/v1/topics/%20/resume", NULL), 400, "bad_topic");
}

/* ---- all that have any ---- */

static void lists_the_topics_that_have_any(void **state)
{
    struct fixture *f = *state;
    char path[1200] = "/v1/settings?limit=1";
    unsigned pages = 0, set = 0, paused = 0;

    assert_reply(call(f, "GET", "/v1/settings", NULL), 200, "{\"topics\":[],\"next\":null}");
    call(f, "PATCH", SETTINGS, "{\"ttr_ms\":5000}");
    call(f, "POST", "/v1/topics/p/pause", "{}");
    push(f, "neither", "{\"body\":\"\"}");
    for (const char *next = ""; strcmp(next, "null") != 0;) {
        const char *reply = call(f, "GET", path, NULL);

        assert_null(strstr(reply, "neither"));
        set += strstr(reply, "{\"topic\":\"t\",\"own\":{\"ttr_ms\":5000},\"paused\":false,") !=
               NULL;
        paused += strstr(reply, "{\"topic\":\"p\",\"own\":{},\"paused\":true,") != NULL;
        next = member_of(reply, "next");
        snprintf(path, sizeof(path), "/v1/settings?limit=1&cursor=%s", next);
        assert_true(++pages < 20);
    }
    assert_true(set >= 1 && paused >= 1);
    assert_error(call(f, "GET", "/v1/settings?cursor=9.", NULL), 400, "bad_request");
}

static void tells_why_the_store_has_no_settings(void **state)
{
    struct fixture *f = *state;

    memory_store_take_down(f->ms);
    assert_error(call(f, "GET", SETTINGS, NULL), 503, "unavailable");
    assert_error(call(f, "GET", "/v1/settings", NULL), 503, "unavailable");
    memory_store_bring_up(f->ms);
    memory_store_fail(f->ms, 8, STATUS_UNKNOWN, MEMORY_DONE);
    assert_error(call(f, "PATCH", SETTINGS, "{\"ttr_ms\":5000}"), 504, "unknown");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shows_what_is_built_in_where_nothing_is_set),
        TEST(sets_some_and_leaves_the_others),
        TEST(changes_nothing_when_one_member_is_wrong),
        TEST(a_push_takes_from_them_what_it_leaves_out),
        TEST(pauses_until_it_is_resumed),
        TEST(pauses_for_a_while_or_until_a_time),
        TEST(refuses_a_pause_until_a_time_that_is_past),
        TEST(says_what_is_wrong_with_a_pause),
        TEST(lists_the_topics_that_have_any),
        TEST(tells_why_the_store_has_no_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
