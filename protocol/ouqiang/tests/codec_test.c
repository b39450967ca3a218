/* What a body says to the ouqiang port, as Go reads it, and its replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/ouqiang/codec.h"

static char text[400];

static bool read(const char *json, struct ouqiang_request *request)
{
    snprintf(text, sizeof(text), "%s", json);
    return ouqiang_read(bytes_of_text(text), request);
}

static void reads_as_go_does(void **state)
{
    static const char *const same[] = {
        "{\"topic\":\"t\",\"id\":\"1\",\"body\":\" b \",\"delay\":5,\"ttr\":60}",
        " \n{\"TTR\":60,\"Delay\":5,\"x\":{\"id\":3},\"ID\":\"0\",\"topic\":\" "
        "t\\n\",\"body\":\" b \",\"id\":\"\\t1\"}"};
    struct ouqiang_request r;

    for (size_t i = 0; i < 2; i++) {
        assert_true(read(same[i], &r));
        assert_true(bytes_equal(r.topic, BYTES("t")));
        assert_true(bytes_equal(r.id, BYTES("1")));
        assert_true(bytes_equal(r.body, BYTES(" b ")));
        assert_int_equal(r.delay_s, 5);
        assert_int_equal(r.ttr_s, 60);
    }
    assert_true(read("{\"id\":null,\"delay\":null}", &r));
    assert_int_equal(r.id.len + (size_t)r.delay_s, 0);
    assert_true(read("null", &r));
    assert_true(read("{}", &r));
}

static void anything_of_another_type_is_no_json(void **state)
{
    static const char *const wrong[] = {"",
                                        "{",
                                        "[]",
                                        "\"t\"",
                                        "1",
                                        "true",
                                        "{\"id\":1}",
                                        "{\"topic\":[\"t\"]}",
                                        "{\"body\":{}}",
                                        "{\"delay\":\"5\"}",
                                        "{\"delay\":1.0}",
                                        "{\"delay\":1e3}",
                                        "{\"ttr\":true}",
                                        "{\"ttr\":[1]}",
                                        "{} {}",
                                        "{\"id\":\"\xff\"}",
                                        "topic=t&id=1"};
    struct ouqiang_request r;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (read(wrong[i], &r))
            fail_msg("%s", wrong[i]);
}

static const char *refusal_of(const char *json)
{
    struct ouqiang_request r;
    const char *refusal;

    assert_true(read(json, &r));
    refusal = ouqiang_refusal_of_push(&r);
    return refusal ? refusal : "";
}

static void refuses_a_push_in_the_originals_words_and_order(void **state)
{
    assert_string_equal(refusal_of("{}"), "job id不能为空");
    assert_string_equal(refusal_of("{\"id\":\" \\u000b\"}"), "job id不能为空");
    assert_string_equal(refusal_of("{\"id\":\"1\"}"), "topic 不能为空");
    assert_string_equal(refusal_of("{\"id\":\"1\",\"topic\":\"t\"}"),
                        "delay 取值范围1 - (2^31 - 1)");
    assert_string_equal(refusal_of("{\"id\":\"1\",\"topic\":\"t\",\"delay\":-1}"),
                        "delay 取值范围1 - (2^31 - 1)");
    assert_string_equal(refusal_of("{\"id\":\"1\",\"topic\":\"t\",\"delay\":2147483649}"),
                        "delay 取值范围1 - (2^31 - 1)");
    assert_string_equal(
        refusal_of("{\"id\":\"1\",\"topic\":\"t\",\"delay\":99999999999999999999}"),
        "delay 取值范围1 - (2^31 - 1)");
    assert_string_equal(refusal_of("{\"id\":\"1\",\"topic\":\"t\",\"delay\":2147483648}"),
                        "ttr 取值范围1 - 86400");
    assert_string_equal(refusal_of("{\"id\":\"1\",\"topic\":\"t\",\"delay\":1,\"ttr\":86401}"),
                        "ttr 取值范围1 - 86400");
    assert_string_equal(refusal_of("{\"id\":\"1\",\"topic\":\"t\",\"delay\":1,\"ttr\":86400}"),
                        "");
}

static void writes_replies(void **state)
{
    const struct job job = {
        .id = BYTES("1"), .body = BYTES("a\"b"), .due_ms = 1700000000999, .ttr_ms = 60001};
    const struct job odd = {.id = BYTES("1"), .body = BYTES("\xff")};
    struct buf out = BUF_INIT;

    ouqiang_add_reply(&out, 1, BYTES("添加失败"), BYTES("null"));
    assert_string_equal(buf_text(&out), "{\"code\":1,\"message\":\"添加失败\",\"data\":null}");
    buf_clear(&out);
    ouqiang_add_popped(&out, &job);
    assert_string_equal(buf_text(&out), "{\"id\":\"1\",\"body\":\"a\\\"b\"}");
    buf_clear(&out);
    ouqiang_add_popped(&out, &odd);
    assert_string_equal(buf_text(&out),
                        "{\"id\":\"1\",\"body\":\"\xef\xbf\xbd\",\"body_base64\":\"/w==\"}");
    buf_clear(&out);
    ouqiang_add_job(&out, BYTES("t"), &job);
    assert_string_equal(buf_text(&out), "{\"topic\":\"t\",\"id\":\"1\",\"delay\":1700000000,"
                                        "\"ttr\":61,\"body\":\"a\\\"b\"}");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_as_go_does),
        cmocka_unit_test(anything_of_another_type_is_no_json),
        cmocka_unit_test(refuses_a_push_in_the_originals_words_and_order),
        cmocka_unit_test(writes_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
