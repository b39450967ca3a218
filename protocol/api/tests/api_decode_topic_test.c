#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "node/queue/queue.h"
#include "protocol/api/decode.h"

/* A case: a body, and the beginning of why it is refused, "" when it is not. */
struct refusal {
    const char *text;
    enum status status;
    const char *why;
};

/* A copy of exactly its bytes, so that a sanitizer sees a step beyond. */
static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text));

    assert_non_null(copy);
    return memcpy(copy, text, strlen(text));
}

static enum status decode_sweep(const char *text, enum op_verb verb, struct sweep *sweep,
                                struct api_why *why)
{
    char *copy = copy_of(text);
    enum status status;

    sweep->verb = verb;
    status = api_decode_sweep(bytes_of(copy, strlen(text)), sweep, why);
    free(copy);
    return status;
}

static void assert_refusal(const struct refusal *refusal, enum status status,
                           const struct api_why *why)
{
    if (status != refusal->status || !strstr(why->text, refusal->why))
        fail_msg("%s: %s: %s", refusal->text, status_word(status), why->text);
}

/* ---- whole states ---- */

static void reads_what_is_to_be_swept(void **state)
{
    struct sweep sweep;
    struct api_why why;

    assert_int_equal(decode_sweep("{}", OP_KICK, &sweep, &why), STATUS_OK);
    assert_int_equal(sweep.limit + (uint64_t)sweep.since_ms + (uint64_t)sweep.before_ms, 0);
    assert_int_equal(
        decode_sweep("{\"limit\":1000000000,\"since_ms\":0,\"before_ms\":100000000000}",
                     OP_KICK, &sweep, &why),
        STATUS_OK);
    assert_int_equal(sweep.limit, 1000000000);
    assert_int_equal(sweep.before_ms, 100000000000);
    assert_int_equal(
        decode_sweep("{\"states\":[\"ready\",\"d\\u0065ad\"]}", OP_PURGE, &sweep, &why),
        STATUS_OK);
    assert_int_equal(sweep.states, 1u << JOB_READY | 1u << JOB_DEAD);
    assert_int_equal(decode_sweep("{\"states\":[\"dead\"],\"since_ms\":281474976710655}",
                                  OP_PURGE, &sweep, &why),
                     STATUS_OK);
    assert_int_equal(sweep.since_ms, QUEUE_AT_MAX_MS);
}

static void refuses_a_kick_and_names_the_member(void **state)
{
    static const struct refusal refusals[] = {
        {"[]", STATUS_BAD_REQUEST, "not an object"},
        {"{\"states\":[\"dead\"]}", STATUS_BAD_REQUEST, "states: unknown member"},
        {"{\"limit\":0}", STATUS_OUT_OF_RANGE, "limit: not from 1 to 1000000000"},
        {"{\"limit\":1000000001}", STATUS_OUT_OF_RANGE, "limit: not"},
        {"{\"since_ms\":-1}", STATUS_OUT_OF_RANGE, "since_ms: not 0, nor from 100000000000"},
        {"{\"since_ms\":1}", STATUS_OUT_OF_RANGE, "since_ms: below 100000000000, these look"},
        {"{\"since_ms\":1795249367}", STATUS_OUT_OF_RANGE, "these look like seconds"},
        {"{\"before_ms\":99999999999}", STATUS_OUT_OF_RANGE, "before_ms: below 100000000000"},
        {"{\"before_ms\":0}", STATUS_OUT_OF_RANGE, "before_ms: below"},
        {"{\"before_ms\":-1}", STATUS_OUT_OF_RANGE, "before_ms: not from 100000000000"},
        {"{\"before_ms\":\"1\"}", STATUS_BAD_REQUEST, "before_ms: not an integer"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct sweep sweep = {.limit = 7};
        struct api_why why;

        assert_refusal(&refusals[i], decode_sweep(refusals[i].text, OP_KICK, &sweep, &why),
                       &why);
        assert_int_equal(sweep.limit, 7);
    }
}

static void refuses_a_purge_that_does_not_say_of_what(void **state)
{
    static const struct refusal refusals[] = {
        {"{}", STATUS_BAD_REQUEST, "states: missing"},
        {"{\"states\":[]}", STATUS_BAD_REQUEST, "states: missing"},
        {"{\"states\":\"dead\"}", STATUS_BAD_REQUEST, "states: not a list"},
        {"{\"states\":[4]}", STATUS_BAD_REQUEST, "states: not strings"},
        {"{\"states\":[\"Dead\"]}", STATUS_BAD_REQUEST,
         "states: not one of delayed, ready, reserved, dead"},
        {"{\"states\":[\"dead\",\"dead\"]}", STATUS_BAD_REQUEST, "states: dead given twice"},
        {"{\"states\":[\"ready\"],\"since_ms\":0}", STATUS_BAD_REQUEST,
         "since_ms: of dead jobs alone"},
        {"{\"states\":[\"dead\",\"ready\"],\"before_ms\":100000000000}", STATUS_BAD_REQUEST,
         "before_ms: of dead jobs alone"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct sweep sweep = {.limit = 7};
        struct api_why why;

        assert_refusal(&refusals[i], decode_sweep(refusals[i].text, OP_PURGE, &sweep, &why),
                       &why);
        assert_int_equal(sweep.limit, 7);
    }
}

/* ---- pauses ---- */

static void reads_how_long_a_pause_is(void **state)
{
    static const struct {
        struct refusal refusal;
        int64_t until_ms, for_ms;
    } cases[] = {
        {{"{}", STATUS_OK, ""}, SETTINGS_FOREVER, 0},
        {{"{\"for_ms\":315360000000}", STATUS_OK, ""}, SETTINGS_FOREVER, 315360000000},
        {{"{\"until_ms\":100000000000}", STATUS_OK, ""}, 100000000000, 0},
        {{"{\"until_ms\":1795249367}", STATUS_OUT_OF_RANGE, "these look like seconds"}, -1, -1},
        {{"{\"until_ms\":0}", STATUS_OUT_OF_RANGE, "until_ms: below"}, -1, -1},
        {{"{\"for_ms\":0}", STATUS_OUT_OF_RANGE, "for_ms: not from 1"}, -1, -1},
        {{"{\"until_ms\":281474976710655}", STATUS_OUT_OF_RANGE, "until_ms: not"}, -1, -1},
        {{"{\"for_ms\":1,\"until_ms\":100000000000}", STATUS_BAD_REQUEST,
          "for_ms: not together"},
         -1,
         -1},
        {{"{\"for\":1}", STATUS_BAD_REQUEST, "for: unknown member"}, -1, -1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct refusal *refusal = &cases[i].refusal;
        char *copy = copy_of(refusal->text);
        struct op op = {.verb = OP_CONFIGURE,
                        .in.configure = {.settings.paused_until_ms = -1, .pause_ms = -1}};
        struct api_why why = {""};

        assert_refusal(
            refusal, api_decode_pause(bytes_of(copy, strlen(refusal->text)), &op, &why), &why);
        assert_int_equal(op.in.configure.settings.paused_until_ms, cases[i].until_ms);
        assert_int_equal(op.in.configure.pause_ms, cases[i].for_ms);
        free(copy);
    }
}

/* ---- settings ---- */

static enum status decode_settings(const char *text, struct op *op, struct api_why *why)
{
    char *copy = copy_of(text);
    enum status status = api_decode_settings(bytes_of(copy, strlen(text)), op, why);

    free(copy);
    return status;
}

static void sets_what_is_given_and_unsets_what_is_null(void **state)
{
    struct op op = {.verb = OP_CONFIGURE};
    struct api_why why;

    assert_int_equal(
        decode_settings("{\"ttr_ms\":1,\"priority\":null,\"history\":true}", &op, &why),
        STATUS_OK);
    assert_int_equal(op.in.configure.mask,
                     SETTING_BIT(TTR) | SETTING_BIT(PRIORITY) | SETTING_BIT(HISTORY));
    assert_int_equal(op.in.configure.settings.set, SETTING_BIT(TTR) | SETTING_BIT(HISTORY));
    assert_int_equal(op.in.configure.settings.ttr_ms, 1);
    assert_true(op.in.configure.settings.history);
    assert_int_equal(decode_settings("{\"history\":false}", &op, &why), STATUS_OK);
    assert_int_equal(op.in.configure.settings.set, SETTING_BIT(HISTORY));
    assert_false(op.in.configure.settings.history);
}

static void reads_all_settings(void **state)
{
    struct buf text = BUF_INIT;
    struct op op = {.verb = OP_CONFIGURE};
    struct api_why why;

    buf_add_text(&text, "{\"backoff\":{\"kind\":\"fixed\",\"base_ms\":5}");
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (setting_kind(i) == SETTING_SWITCH)
            buf_printf(&text, ",\"%s\":true", setting_word(i));
        else if (setting_kind(i) != SETTING_BACKOFFS)
            buf_printf(&text, ",\"%s\":%" PRId64, setting_word(i), setting_max(i));
    }
    buf_add_text(&text, "}");
    assert_int_equal(decode_settings(buf_text(&text), &op, &why), STATUS_OK);
    buf_fini(&text);
    assert_int_equal(op.in.configure.mask, SETTINGS_ALL);
    assert_int_equal(op.in.configure.settings.set, SETTINGS_ALL);
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        assert_true(setting_kind(i) == SETTING_BACKOFFS ||
                    setting_number(&op.in.configure.settings, i) == setting_max(i));
    assert_int_equal(op.in.configure.settings.ttr_ms, QUEUE_TTR_MAX_MS);
    assert_int_equal(op.in.configure.settings.priority, RULES_PRIORITY_MAX);
    assert_int_equal(op.in.configure.settings.max_tries, RULES_TRIES_MAX);
    assert_int_equal(op.in.configure.settings.backoff.kind, BACKOFF_FIXED);
    assert_int_equal(op.in.configure.settings.backoff.base_ms, 5);
    assert_int_equal(op.in.configure.settings.ttl_ms, QUEUE_DELAY_MAX_MS);
    assert_int_equal(op.in.configure.settings.dead_max, UINT32_MAX);
    assert_int_equal(op.in.configure.settings.dead_age_ms, QUEUE_DELAY_MAX_MS);
    assert_true(op.in.configure.settings.history);
}

static void refuses_settings_and_names_the_member(void **state)
{
    static const struct refusal refusals[] = {
        {"{}", STATUS_BAD_REQUEST, "no setting is given"},
        {"null", STATUS_BAD_REQUEST, "not an object"},
        {"{\"ttr\":1}", STATUS_BAD_REQUEST, "ttr: unknown member"},
        {"{\"ttr_ms\":null,\"ttr_ms\":1}", STATUS_BAD_REQUEST, "ttr_ms: given twice"},
        {"{\"ttr_ms\":604800001}", STATUS_OUT_OF_RANGE, "ttr_ms: not"},
        {"{\"ttr_ms\":\"1m\"}", STATUS_BAD_REQUEST, "ttr_ms: not an integer, or null"},
        {"{\"history\":1}", STATUS_BAD_REQUEST, "history: not true or false, or null"},
        {"{\"dead_max\":4294967296}", STATUS_OUT_OF_RANGE, "dead_max: not"},
        {"{\"backoff\":{\"kind\":\"fixed\"}}", STATUS_BAD_REQUEST, "backoff.base_ms: missing"},
        {"{\"backoff\":[]}", STATUS_BAD_REQUEST, "backoff: not an object, or null"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct op op = {.verb = OP_CONFIGURE, .in.configure.mask = 7};
        struct api_why why;

        assert_refusal(&refusals[i], decode_settings(refusals[i].text, &op, &why), &why);
        assert_int_equal(op.in.configure.mask, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_to_be_swept),
        cmocka_unit_test(refuses_a_kick_and_names_the_member),
        cmocka_unit_test(refuses_a_purge_that_does_not_say_of_what),
        cmocka_unit_test(reads_how_long_a_pause_is),
        cmocka_unit_test(sets_what_is_given_and_unsets_what_is_null),
        cmocka_unit_test(reads_all_settings),
        cmocka_unit_test(refuses_settings_and_names_the_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
