#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/gmq/reply.h"

static void assert_written(struct buf *out, const char *reply)
{
    assert_string_equal(buf_text(out), reply);
    buf_fini(out);
}

static void says_that_a_push_or_an_ack_was_done(void **state)
{
    struct buf out = BUF_INIT;

    gmq_reply_done(&out, BYTES("0"), GMQ_PUSH);
    gmq_reply_done(&out, BYTES("\"a b\""), GMQ_ACK);
    assert_written(&out, "{\"id\":0,\"result\":\"success\",\"error\":null}\n"
                         "{\"id\":\"a b\",\"result\":true,\"error\":null}\n");
}

static const struct job job = {
    .id = {"j1", 2},
    .body = {"say \"hi\"\n", 9},
    .delay_ms = 2000,
    .ttr_ms = 13000,
    .tries = 2,
};

static void hands_a_job_over_with_numbers(void **state)
{
    struct buf out = BUF_INIT;

    gmq_reply_job(&out, BYTES("1"), BYTES("t"), &job, false);
    assert_written(&out, "{\"id\":1,\"result\":{\"TTR\":13,\"body\":\"say \\\"hi\\\"\\n\","
                         "\"consume_num\":2,\"delay\":2,\"id\":\"j1\",\"status\":3,"
                         "\"topic\":\"t\"},\"error\":null}\n");
}

static void hands_a_job_over_as_gmq_does_when_strict(void **state)
{
    struct buf out = BUF_INIT;

    gmq_reply_job(&out, BYTES("1"), BYTES("t"), &job, true);
    assert_written(&out, "{\"id\":1,\"result\":{\"TTR\":\"10\",\"body\":\"say \\\"hi\\\"\\n\","
                         "\"consume_num\":\"2\",\"delay\":\"2\",\"id\":\"j1\",\"status\":\"3\","
                         "\"topic\":\"t\"},\"error\":null}\n");
}

static void rounds_up_what_other_protocols_gave_in_milliseconds(void **state)
{
    struct job small = {.id = {"j", 1}, .body = {"", 0}, .delay_ms = 1, .ttr_ms = 1500};
    struct buf out = BUF_INIT;

    gmq_reply_job(&out, BYTES("1"), BYTES("t"), &small, false);
    assert_written(&out,
                   "{\"id\":1,\"result\":{\"TTR\":2,\"body\":\"\",\"consume_num\":0,"
                   "\"delay\":1,\"id\":\"j\",\"status\":3,\"topic\":\"t\"},\"error\":null}\n");
}

static void adds_the_exact_bytes_of_a_body_that_is_not_utf8(void **state)
{
    struct job odd = {.id = {"j", 1}, .body = {"\xff\0", 2}};
    struct buf out = BUF_INIT;

    gmq_reply_job(&out, BYTES("1"), BYTES("t"), &odd, false);
    assert_written(&out, "{\"id\":1,\"result\":{\"TTR\":0,\"body\":\"\xef\xbf\xbd\\u0000\","
                         "\"body_base64\":\"/wA=\",\"consume_num\":0,\"delay\":0,\"id\":\"j\","
                         "\"status\":3,\"topic\":\"t\"},\"error\":null}\n");
}

static void has_gmqs_own_words_where_gmq_has_some(void **state)
{
    static const struct {
        enum gmq_method method;
        enum status status;
        const char *error;
    } cases[] = {
        {GMQ_PUSH, STATUS_DUPLICATE, "jobKey:gmq:jobpool:j1,error:has exist"},
        {GMQ_POP, STATUS_NOT_FOUND, "empty"},
        {GMQ_POP, STATUS_CANCELLED, "empty"},
        {GMQ_ACK, STATUS_NOT_OWNER, "TTR has expired and will be consumed again"},
        {GMQ_ACK, STATUS_NOT_FOUND, "not_found: no such job"},
        {GMQ_PUSH, STATUS_TOO_LARGE, "too_large: job.body is too large (limits.body_bytes)"},
        {GMQ_PUSH, STATUS_TOPIC_FULL,
         "topic_full: the topic has as many jobs as its max_jobs allows, dead ones counted: "
         "consume, purge the dead, or raise max_jobs"},
        {GMQ_PUSH, STATUS_TOPIC_FULL_BYTES,
         "topic_full: with this body the topic would have more than its max_bytes, dead jobs "
         "counted: consume, purge the dead, or raise max_bytes"},
        {GMQ_PUSH, STATUS_UNAVAILABLE,
         "unavailable: the store is unavailable; nothing happened"},
        {GMQ_PUSH, STATUS_UNKNOWN,
         "unknown: the store did not answer; the operation may have happened"},
        {GMQ_ACK, STATUS_NOT_REPLICATED,
         "unknown: too few replicas have it (store.min_replicas): lost if Redis fails over "
         "now"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gmq_call call = {.method = cases[i].method,
                                .has_method = true,
                                .id = BYTES("5"),
                                .job_id = BYTES("j1")};
        struct buf out = BUF_INIT, expected = BUF_INIT;

        gmq_reply_status(&out, &call, cases[i].status, false);
        buf_printf(&expected, "{\"id\":5,\"result\":null,\"error\":\"%s\"}\n", cases[i].error);
        assert_written(&out, buf_text(&expected));
        buf_fini(&expected);
    }
}

static void puts_a_pushs_errors_into_the_result_when_strict(void **state)
{
    struct gmq_call call = {.method = GMQ_PUSH,
                            .has_method = true,
                            .id = BYTES("5"),
                            .job_id = BYTES("j1"),
                            .refusal = "job.topic is empty"};
    struct buf out = BUF_INIT;

    gmq_reply_status(&out, &call, STATUS_DUPLICATE, true);
    gmq_reply_refusal(&out, &call, true);
    assert_written(
        &out, "{\"id\":5,\"result\":\"jobKey:gmq:jobpool:j1,error:has exist\",\"error\":null}\n"
              "{\"id\":5,\"result\":\"job.topic is empty\",\"error\":null}\n");
}

static void puts_all_other_errors_where_they_belong_when_strict(void **state)
{
    struct gmq_call pop = {.method = GMQ_POP, .has_method = true, .id = BYTES("5")};
    struct gmq_call other = {
        .id = BYTES("6"), .refusal = "rpc: can't find method ", .detail = BYTES("Service.X")};
    struct buf out = BUF_INIT;

    gmq_reply_status(&out, &pop, STATUS_NOT_FOUND, true);
    gmq_reply_refusal(&out, &other, true);
    assert_written(
        &out, "{\"id\":5,\"result\":null,\"error\":\"empty\"}\n"
              "{\"id\":6,\"result\":null,\"error\":\"rpc: can't find method Service.X\"}\n");
}

static void cuts_off_what_the_client_wrote(void **state)
{
    char name[5000];
    struct gmq_call call = {
        .id = BYTES("5"), .refusal = "rpc: can't find method ", .detail = {name, sizeof(name)}};
    struct buf out = BUF_INIT;

    memset(name, '\n', sizeof(name));
    gmq_reply_refusal(&out, &call, false);
    assert_true(out.len < 500);
    assert_non_null(strstr(buf_text(&out), "method \\n\\n"));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_a_push_or_an_ack_was_done),
        cmocka_unit_test(hands_a_job_over_with_numbers),
        cmocka_unit_test(hands_a_job_over_as_gmq_does_when_strict),
        cmocka_unit_test(rounds_up_what_other_protocols_gave_in_milliseconds),
        cmocka_unit_test(adds_the_exact_bytes_of_a_body_that_is_not_utf8),
        cmocka_unit_test(has_gmqs_own_words_where_gmq_has_some),
        cmocka_unit_test(puts_a_pushs_errors_into_the_result_when_strict),
        cmocka_unit_test(puts_all_other_errors_where_they_belong_when_strict),
        cmocka_unit_test(cuts_off_what_the_client_wrote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
