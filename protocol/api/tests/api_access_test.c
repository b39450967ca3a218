/* The identities in Redis, over HTTP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "protocol/access/access.h"
#include "protocol/api/tests/api_fixture.h"

#define HASH_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HASH_B "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int set_up(void **state)
{
    struct fixture *f;

    fixture_up(state);
    f = *state;
    registry_use_redis(&f->registry, true);
    fixture_turn(f);
    fixture_pass(f, REGISTRY_SETTLE_MS + REGISTRY_READ_MS);
    AWAIT(f, !access_is_incomplete(f->access));
    return 0;
}

/* The version of a change that was made. */
static int64_t made(const char *reply)
{
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_string_equal(member_of(reply, "name"), "shop");
    return strtoll(member_of(reply, "version"), NULL, 10);
}

static int64_t put(struct fixture *f, const char *line, int64_t version)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"line\":\"%s\",\"version\":%lld}", line,
             (long long)version);
    return made(call(f, "PUT", "/v1/identities/shop", body));
}

static void expect_list(struct fixture *f, const char *before, int64_t version,
                        const char *line)
{
    char json[1024];

    snprintf(json, sizeof(json),
             "{\"identities\":[{\"name\":\"shop\",%s,\"version\":%lld,\"line\":\"%s\"}]}",
             before, (long long)version, line);
    assert_reply(call(f, "GET", "/v1/identities", NULL), 200, json);
}

static void an_identity_is_made_listed_changed_and_revoked(void **state)
{
    struct fixture *f = *state;
    int64_t first, second;
    char path[64];

    assert_reply(call(f, "GET", "/v1/identities", NULL), 200, "{\"identities\":[]}");
    first = put(f, "shop  all topics=a,b* token=" HASH_A, 0);
    assert_non_null(access_of_name(f->access, BYTES("shop"), 0)); /* it is known at once */
    expect_list(f,
                "\"roles\":[\"produce\",\"consume\",\"inspect\",\"operate\",\"admin\"],"
                "\"topics\":[\"a\",\"b*\"],\"until_ms\":null,\"tokens\":1",
                first, "shop produce,consume,inspect,operate,admin topics=a,b* token=" HASH_A);
    second = put(f, "shop produce cert=DNS:A until=2030-01-01T00:00:00Z", first);
    assert_true(second > first);
    expect_list(f,
                "\"roles\":[\"produce\"],\"topics\":[\"*\"],\"until_ms\":1893456000000,"
                "\"tokens\":0,\"cert\":\"DNS:a\"",
                second, "shop produce until=2030-01-01T00:00:00Z cert=DNS:a");
    snprintf(path, sizeof(path), "/v1/identities/shop?version=%lld", (long long)second);
    assert_true(made(call(f, "DELETE", path, NULL)) > second);
    assert_null(access_of_name(f->access, BYTES("shop"), 0));
    assert_reply(call(f, "GET", "/v1/identities", NULL), 200, "{\"identities\":[]}");
}

static void assert_refused(const char *reply, int code, const char *word, const char *text)
{
    assert_error(reply, code, word);
    assert_has(reply, text);
}

static void a_change_that_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *body;
        int code;
        const char *word, *text;
    } rows[] = {
        {"{}", 400, "bad_request", "line: missing"},
        {"{\"line\":\"\"}", 400, "bad_request", "line: missing"},
        {"{\"line\":7}", 400, "bad_request", "line"},
        {"{\"line\":\"shop produce\",\"version\":-1}", 400, "out_of_range", "version"},
        {"{\"line\":\"shop king\"}", 400, "bad_request", "roles are produce"},
        {"{\"line\":\"mill produce\"}", 400, "bad_request",
         "the line's name is not the path's"},
        {"{\"line\":\"shop produce\",\"version\":7}", 409, "wrong_state",
         "somebody else has changed it"},
        {"{\"line\":\"shop produce token=" HASH_B "\"}", 409, "duplicate", "token"},
    };
    struct fixture *f = *state;

    (void)put(f, "shop produce token=" HASH_A, 0);
    assert_starts(
        call(f, "PUT", "/v1/identities/mill", "{\"line\":\"mill produce token=" HASH_B "\"}"),
        "HTTP/1.1 200 ");
    AWAIT(f, access_count(f->access) == 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_refused(call(f, "PUT", "/v1/identities/shop", rows[i].body), rows[i].code,
                       rows[i].word, rows[i].text);
    assert_refused(call(f, "DELETE", "/v1/identities/shop?version=7", NULL), 409, "wrong_state",
                   "somebody else");
    assert_refused(call(f, "DELETE", "/v1/identities/a%20b", NULL), 400, "bad_request",
                   "a name is");
    registry_use_redis(&f->registry, false);
    assert_refused(call(f, "PUT", "/v1/identities/shop", rows[4].body), 409, "wrong_state",
                   "access.in_redis");
    assert_refused(call(f, "DELETE", "/v1/identities/shop", NULL), 409, "wrong_state",
                   "access.in_redis");
}

static void a_lost_answer_is_unknown(void **state)
{
    struct fixture *f = *state;

    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_refused(call(f, "PUT", "/v1/identities/shop", "{\"line\":\"shop produce\"}"), 504,
                   "unknown", "may have happened");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_identity_is_made_listed_changed_and_revoked, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(a_change_that_cannot_be_is_refused, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_unknown, set_up, fixture_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
