#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define JOBS "/v1/topics/t/jobs"

/* One job of each state: d, r, v, x. */
static void push_one_of_each(struct fixture *f)
{
    push(f, "t", "{\"id\":\"x\",\"body\":\"12345\"}");
    assert_starts(call(f, "POST", JOBS "/x/bury", with_lease(pop_lease(f, "t"), "")),
                  "HTTP/1.1 200 ");
    push(f, "t", "{\"id\":\"v\",\"body\":\"123\"}");
    pop_lease(f, "t");
    push(f, "t", "{\"id\":\"r\",\"body\":\"12\"}");
    push(f, "t", "{\"id\":\"d\",\"body\":\"1\",\"delay_ms\":60000}");
}

/* Adds the ids of a page, each one letter, to the text behind `ids`. */
static void add_ids(const char *reply, char *ids)
{
    while ((reply = strstr(reply, "{\"id\":\""))) {
        reply += strlen("{\"id\":\"");
        ids[strlen(ids)] = *reply;
    }
}

static void lists_all_states_one_after_the_other(void **state)
{
    struct fixture *f = *state;
    char ids[16] = "";
    const char *reply;

    push_one_of_each(f);
    reply = call(f, "GET", JOBS, NULL);
    assert_starts(reply, "HTTP/1.1 200 ");
    add_ids(reply, ids);
    assert_string_equal(ids, "drvx");
    assert_has(reply, "{\"id\":\"x\",\"topic\":\"t\",\"body_bytes\":5,\"state\":\"dead\"");
    assert_has(reply, "\"death\":\"buried\"}],\"next\":null}");
}

static void lists_page_by_page_over_the_ends_of_states(void **state)
{
    struct fixture *f = *state;
    char path[1200] = JOBS "?limit=1", ids[16] = "";
    unsigned pages = 0;
    const char *next;

    push_one_of_each(f);
    do {
        const char *reply = call(f, "GET", path, NULL);

        assert_starts(reply, "HTTP/1.1 200 ");
        add_ids(reply, ids);
        assert_true(++pages < 10);
        next = member_of(reply, "next");
        snprintf(path, sizeof(path), JOBS "?limit=1&cursor=%s", next);
    } while (strcmp(next, "null") != 0);
    assert_string_equal(ids, "drvx");
}

static void lists_one_state_alone(void **state)
{
    static const char *const states[] = {"delayed", "ready", "reserved", "dead"};
    struct fixture *f = *state;
    char path[128], ids[16];

    push_one_of_each(f);
    for (int i = 0; i < 4; i++) {
        memset(ids, 0, sizeof(ids));
        snprintf(path, sizeof(path), JOBS "?state=%s", states[i]);
        add_ids(call(f, "GET", path, NULL), ids);
        assert_int_equal(strlen(ids), 1);
        assert_int_equal(ids[0], "drvx"[i]);
    }
    assert_reply(call(f, "GET", "/v1/topics/other/jobs", NULL), 200,
                 "{\"jobs\":[],\"next\":null}");
}

static void refuses_a_cursor_that_no_page_of_jobs_has_given(void **state)
{
    static const char *const queries[] = {
        "cursor=",
        "cursor=x",
        "cursor=0.",
        "cursor=5.",
        "cursor=1.0",
        "cursor=1.0G",
        "cursor=-1.",
        "cursor=99999999999999999999.",
        "cursor=2.7878",
        "cursor=4.7878",
        "state=ready&cursor=1.",
    };
    struct fixture *f = *state;
    char path[256];

    push_one_of_each(f);
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
        const char *reply;

        snprintf(path, sizeof(path), JOBS "?%s", queries[i]);
        reply = call(f, "GET", path, NULL);
        assert_error(reply, 400, "bad_request");
        assert_has(reply, "cursor: not from another page");
    }
}

static void refuses_a_query_of_jobs_and_names_the_parameter(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    reply = call(f, "GET", JOBS "?state=alive", NULL);
    assert_error(reply, 400, "bad_request");
    assert_has(reply, "query parameter state: not one of delayed, ready, reserved, dead");
    assert_error(call(f, "GET", JOBS "?state=", NULL), 400, "bad_request");
    assert_error(call(f, "GET", JOBS "?limit=0", NULL), 400, "out_of_range");
    assert_error(call(f, "GET", JOBS "?limit=101", NULL), 400, "out_of_range");
    assert_error(call(f, "GET", "/v1/topics/%20/jobs", NULL), 400, "bad_topic");
    assert_error(call(f, "GET", "/v1/topics/%20/jobs?cursor=1.61", NULL), 400, "bad_topic");
}

static void tells_why_the_store_cannot_list(void **state)
{
    struct fixture *f = *state;

    memory_store_take_down(f->ms);
    assert_error(call(f, "GET", JOBS, NULL), 503, "unavailable");
    memory_store_bring_up(f->ms);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lists_all_states_one_after_the_other),
        TEST(lists_page_by_page_over_the_ends_of_states),
        TEST(lists_one_state_alone),
        TEST(refuses_a_cursor_that_no_page_of_jobs_has_given),
        TEST(refuses_a_query_of_jobs_and_names_the_parameter),
        TEST(tells_why_the_store_cannot_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
