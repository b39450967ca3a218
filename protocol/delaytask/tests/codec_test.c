/* What a body says to the delaytask port, and what is no path of a service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/delaytask/codec.h"

/* Why it is refused; "": it is not. */
static const char *refusal_of(const char *json)
{
    static char text[400], room[160], copy[400];
    struct delaytask_request request;
    const char *refusal;

    snprintf(text, sizeof(text), "%s", json);
    refusal = delaytask_read(bytes_of_text(text), &request, room);
    if (!refusal)
        refusal = delaytask_refusal_of_add(&request, copy);
    return refusal ? refusal : "";
}

static void reads_members_of_numbers_and_texts(void **state)
{
    static const char *const same[] = {"{\"topic\":\"t\",\"timing_moment\":1700000000,"
                                       "\"content\":\"{\\\"a\\\":1}\",\"task_id\":12}",
                                       " {\"content\":\"{\\\"a\\\":1}\",\"Topic\":\"t\",\"x\":["
                                       "],\"timing_moment\":\"1700000000\","
                                       "\"task_id\":\"12\"}"};
    struct delaytask_request request;
    char text[200], room[160];

    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%s", same[i]);
        assert_null(delaytask_read(bytes_of_text(text), &request, room));
        assert_true(bytes_equal(request.topic, BYTES("t")));
        assert_true(bytes_equal(request.content, BYTES("{\"a\":1}")));
        assert_true(bytes_equal(request.task_id, BYTES("12")));
        assert_int_equal(request.moment_s, 1700000000);
    }
}

static void says_what_is_wrong_with_a_body(void **state)
{
    static const char *const wrong[][2] = {
        {"", "the body is not JSON (about byte 0); content is a string"},
        {"{\"topic\":\"t\",\"content\":\"{\"a\":1}\"}", "the body is not JSON (about byte 2"},
        {"[]", "the body must be an object"},
        {"{}", "topic: missing"},
        {"{\"topic\":null}", "topic: missing"},
        {"{\"topic\":1}", "topic must be a string"},
        {"{\"topic\":\"t\",\"content\":{\"a\":1}}", "content must be a string: JSON in it"},
        {"{\"topic\":\"t\",\"task_id\":1.5}", "task_id must be a number"},
        {"{\"topic\":\"t\",\"task_id\":\"\"}", "task_id must be a number"},
        {"{\"topic\":\"t\",\"timing_moment\":-1}", "timing_moment must be a whole number"},
        {"{\"topic\":\"t\",\"timing_moment\":\"soon\"}",
         "timing_moment must be a whole number"},
        {"{\"topic\":\"t\",\"timing_moment\":1700000000000}",
         "timing_moment is beyond the year"},
        {"{\"topic\":\"t\",\"content\":\"c\"}", "timing_moment: missing"},
        {"{\"topic\":\"t\",\"timing_moment\":1}", "content: missing, or empty"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (strncmp(refusal_of(wrong[i][0]), wrong[i][1], strlen(wrong[i][1])) != 0)
            fail_msg("%s: %s", wrong[i][0], refusal_of(wrong[i][0]));
}

static void looks_at_a_service_only_where_there_is_one(void **state)
{
    static const char *const contents[][2] = {
        {"plain text", ""},
        {"[\\\"sn\\\",\\\"url\\\"]", ""},
        {"{\\\"url\\\":\\\"https://elsewhere.example/\\\"}", ""},
        {"{\\\"sn\\\":3}", ""},
        {"{\\\"sn\\\":\\\"orders\\\",\\\"url\\\":\\\"/close?id=7\\\"}", ""},
        {"{\\\"sn\\\":\\\"or/ders\\\",\\\"url\\\":\\\"/close\\\"}", "content: sn is the name"},
        {"{\\\"sn\\\":\\\"\\\",\\\"url\\\":\\\"/close\\\"}", "content: sn is the name"},
        {"{\\\"sn\\\":1,\\\"url\\\":\\\"/close\\\"}", "content: sn and url must be strings"},
        {" {\\\"sn\\\":\\\"orders\\\",\\\"url\\\":\\\"/../x\\\"}", "content: url is a path"},
    };
    char json[300];

    for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++) {
        snprintf(json, sizeof(json), "{\"topic\":\"t\",\"timing_moment\":1,\"content\":\"%s\"}",
                 contents[i][0]);
        if (strncmp(refusal_of(json), contents[i][1], strlen(contents[i][1])) != 0 ||
            (!*contents[i][1] && *refusal_of(json)))
            fail_msg("%s: %s", json, refusal_of(json));
    }
}

static bool is_fit(const char *url)
{
    char text[100];

    snprintf(text, sizeof(text), "%s", url);
    return delaytask_url_is_fit(bytes_of_text(text));
}

static void knows_a_path_that_stays_where_it_is(void **state)
{
    static const char *const fit[] = {"/",          "/a",  "/a/b.c/...", "/a?b=/../c&d=%41",
                                      "/%E4%BD%A0", "/a/", "/.a",        "/a//b"};
    static const char *const unfit[] = {
        "",      "a",      "?a",     "//host", "http://h/", "@h",     "/a#b",
        "/a b",  "/a\\b",  "/../a",  "/a/..",  "/.",        "/a/./b", "/%2e",
        "/%2E.", "/.%2e/", "/a%2fb", "/a%5Cb", "/%25",      "/%00",   "/%0d%0a",
        "/%",    "/%4",    "/%zz",   "/%7f",   "/\xe4",     "/a?b c", "/a?\n"};

    for (size_t i = 0; i < sizeof(fit) / sizeof(*fit); i++)
        if (!is_fit(fit[i]))
            fail_msg("%s", fit[i]);
    for (size_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++)
        if (is_fit(unfit[i]))
            fail_msg("%s", unfit[i]);
}

static void writes_replies(void **state)
{
    struct buf out = BUF_INIT;

    delaytask_add_added(&out, BYTES("57393310220289"));
    assert_string_equal(buf_text(&out), "{\"dm_error\":0,\"error_msg\":\"操作成功\","
                                        "\"task_id\":57393310220289}");
    buf_clear(&out);
    delaytask_add_pulled(&out, BYTES("{\"a\":1}"));
    assert_string_equal(buf_text(&out), "{\"dm_error\":0,\"error_msg\":\"操作成功\","
                                        "\"content\":\"{\\\"a\\\":1}\"}");
    buf_clear(&out);
    delaytask_add_pulled(&out, BYTES("\xff"));
    assert_non_null(strstr(buf_text(&out), "\",\"content_base64\":\"/w==\"}"));
    buf_clear(&out);
    delaytask_add_error(&out, 404, "not_found", BYTES("no such task"));
    assert_string_equal(buf_text(&out),
                        "{\"dm_error\":404,\"error_msg\":\"not_found: no such task\"}");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_members_of_numbers_and_texts),
        cmocka_unit_test(says_what_is_wrong_with_a_body),
        cmocka_unit_test(looks_at_a_service_only_where_there_is_one),
        cmocka_unit_test(knows_a_path_that_stays_where_it_is),
        cmocka_unit_test(writes_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
