/* Topics over HTTP, and the jobs in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/queue/shares.h"
#include "protocol/api/tests/api_fixture.h"
#include "protocol/http/server.h"

/* ---- topics ---- */

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

static void tells_buckets_and_that_nobody_owns_a_topic_where_one_node_scans_all(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "t", "{\"body\":\"\",\"at_ms\":1900000000000}");
    reply = call(f, "GET", "/v1/topics?owners=true", NULL);
    assert_has(reply, "{\"topics\":[{\"topic\":\"t\",\"delayed\":1,");
    assert_in_range(atoi(member_of(reply, "bucket")), 0, 3);
    assert_has(reply, ",\"owner\":null,\"preferred\":null}");
    assert_null(strstr(call(f, "GET", "/v1/topics?owners=false", NULL), "owner"));
    assert_error(call(f, "GET", "/v1/topics?owners=yes", NULL), 400, "bad_request");
    assert_error(call(f, "GET", "/v1/topics?owners=", NULL), 400, "bad_request");
}

static void share(struct fixture *f, uint64_t number, const char *node)
{
    struct bytes name = bytes_of_text(node);

    queue_share(f->queue, &(struct shares_view){.number = number, .nodes = &name, .count = 1});
}

static const char *page_with_owner(struct fixture *f)
{
    return strstr(call(f, "GET", "/v1/topics?owners=true", NULL), "\"owner\":{");
}

static void tells_who_has_the_lock_of_a_topic_and_who_should(void **state)
{
    struct fixture *f = *state;
    const char *owner;

    share(f, 7, "test-node");
    push(f, "t", "{\"body\":\"\",\"delay_ms\":20}");
    AWAIT(f, page_with_owner(f));
    owner = page_with_owner(f);
    assert_starts(owner, "\"owner\":{\"node\":\"test-node\",\"token\":");
    assert_in_range(atoi(strstr(owner, "\"left_ms\":") + 10), 1, 60000);
    assert_has(owner, ",\"view\":7},\"preferred\":\"test-node\"}");
    share(f, 8, "another");
    owner = page_with_owner(f);
    assert_has(owner, ",\"view\":7},\"preferred\":\"another\"}");
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

static void read_a_store_in_parts(void *arg, struct store_numbers *numbers)
{
    static const struct store_unreached away[] = {{0, "10.0.0.2:7001", "Connection refused"},
                                                  {1, "", "nobody has its slot"}};

    (void)arg;
    numbers->is_up = 1;
    numbers->unreached = away;
    numbers->unreached_count = 2;
}

/* "" where its message is as ever. */
static void assert_refused(struct fixture *f, const char *path, const char *part)
{
    const char *reply = call(f, "GET", path, NULL);

    assert_error(reply, 503, "unavailable");
    assert_has(reply, *part ? part : "the store is unavailable");
}

static void tells_which_bucket_is_not_reached_and_why(void **state)
{
    struct fixture *f = *state;
    unsigned seen = 0;
    char path[64];

    f->api.node.read_store = read_a_store_in_parts;
    for (unsigned b = 0; b < 3; b++)
        memory_store_take_away(f->ms, b);
    for (unsigned i = 0; i < 40; i++) {
        const char *reply;

        snprintf(path, sizeof(path), "/v1/topics/t%u", i);
        reply = call(f, "GET", path, NULL);
        seen |= strstr(reply, "\"delayed\":0") ? 1 : 0;
        seen |= strstr(reply, "bucket 0 of the store cannot be used (10.0.0.2:7001: Connection "
                              "refused); nothing happened")
                    ? 2
                    : 0;
        seen |=
            strstr(reply, "bucket 1 of the store cannot be used (nobody has its slot)") ? 4 : 0;
        seen |= strstr(reply, "the store is unavailable") ? 8 : 0;
    }
    assert_int_equal(seen, 15); /* the third bucket is back by the time it is looked at */
    assert_refused(f, "/v1/topics", "bucket 0 of the store cannot be used");
    memory_store_give_back(f->ms, 0);
    memory_store_give_back(f->ms, 1);
    assert_refused(f, "/v1/topics", "");
    memory_store_give_back(f->ms, 2);
}

static void owners_of_what_is_reached_are_told_and_what_is_missing(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    for (unsigned i = 0; i < 32; i++) {
        char topic[8];

        snprintf(topic, sizeof(topic), "t%u", i);
        push(f, topic, "{\"body\":\"\"}");
    }
    f->api.node.read_store = read_a_store_in_parts;
    memory_store_take_away(f->ms, 0);
    memory_store_take_away(f->ms, 1);
    reply = call(f, "GET", "/v1/topics?owners=true", NULL);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_null(strstr(reply, "\"bucket\":0,"));
    assert_null(strstr(reply, "\"bucket\":1,"));
    assert_has(reply, "\"bucket\":2,");
    assert_has(reply, "\"bucket\":3,");
    assert_has(reply, "],\"next\":null,\"unreached\":[0,1]}");
    memory_store_give_back(f->ms, 0);
    memory_store_give_back(f->ms, 1);
    f->api.node.read_store = NULL;
    reply = call(f, "GET", "/v1/topics?owners=true", NULL);
    assert_has(reply, "\"bucket\":0,");
    assert_has(reply, "],\"next\":null,\"unreached\":[]}");
    assert_has(call(f, "GET", "/v1/topics", NULL), "],\"next\":null}");
}

static void a_bucket_that_redis_refuses_is_missing_and_named(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    reply = call(f, "GET", "/v1/topics?owners=true", NULL);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "],\"next\":null,\"unreached\":[0]}");
    memory_store_fail(f->ms, 4, STATUS_STORE_ERROR, MEMORY_UNDONE); /* of all buckets */
    assert_error(call(f, "GET", "/v1/topics?owners=true", NULL), 502, "store_error");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_error(call(f, "GET", "/v1/topics", NULL), 502,
                 "store_error"); /* it is whole, or not */
}

static void asks_no_further_for_a_client_that_has_gone(void **state)
{
    struct fixture *f = *state;

    call_and_break_off(f, "GET", "/v1/topics", NULL, OP_TOPICS);
    assert_int_equal(memory_store_count(f->ms, OP_TOPICS), 1);
}

/* Not only what it waited for when the client left: the steps behind that, too. */
static void waits_for_nothing_when_its_client_has_ended_its_side(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    fixture_pass(f, 0); /* all settings are read */
    memory_store_let_wait(f->ms);
    memory_store_take_away(f->ms, 1);
    fixture_turn(f);
    memory_store_hold(f->ms);
    send_call(&c, "GET", "/v1/topics", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_TOPICS) == 1);
    end_sending(&c);
    fixture_pass(f, 100);
    memory_store_unhold(f->ms);
    assert_error(receive_all(&c), 503, "unavailable");
    assert_int_equal(memory_store_count(f->ms, OP_TOPICS), 2);
    leave(&c);
    memory_store_give_back(f->ms, 1);
}

/* ---- lists of jobs ---- */

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
        TEST(counts_the_jobs_of_a_topic),
        TEST(knows_every_topic_even_one_that_nobody_has_used),
        TEST(lists_nothing_where_nothing_is),
        TEST(lists_every_topic_page_by_page),
        TEST(shows_the_counts_in_the_list),
        TEST(tells_buckets_and_that_nobody_owns_a_topic_where_one_node_scans_all),
        TEST(tells_who_has_the_lock_of_a_topic_and_who_should),
        TEST(refuses_a_cursor_that_no_page_has_given),
        TEST(tells_why_the_store_cannot_count),
        TEST(tells_which_bucket_is_not_reached_and_why),
        TEST(owners_of_what_is_reached_are_told_and_what_is_missing),
        TEST(a_bucket_that_redis_refuses_is_missing_and_named),
        TEST(asks_no_further_for_a_client_that_has_gone),
        TEST(waits_for_nothing_when_its_client_has_ended_its_side),
        TEST(lists_all_states_one_after_the_other),
        TEST(lists_page_by_page_over_the_ends_of_states),
        TEST(lists_one_state_alone),
        TEST(refuses_a_cursor_that_no_page_of_jobs_has_given),
        TEST(refuses_a_query_of_jobs_and_names_the_parameter),
        TEST(tells_why_the_store_cannot_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
