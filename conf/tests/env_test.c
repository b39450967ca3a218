/* ${NAME} and its neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "conf/load.h"

static char long_value[ENV_TEXT_MAX + 2];

static const char *get_env(const char *name)
{
    if (!strcmp(name, "HOST"))
        return "redis.example";
    if (!strcmp(name, "EMPTY"))
        return "";
    if (!strcmp(name, "DOLLAR"))
        return "${HOST}";
    return strcmp(name, "LONG") != 0 ? NULL : long_value;
}

static void expect(const char *text, const char *expanded)
{
    struct buf to = BUF_INIT, why = BUF_INIT;

    assert_int_equal(env_expand(text, get_env, &to, &why), STATUS_OK);
    assert_string_equal(buf_text(&to), expanded);
    assert_int_equal(why.len, 0);
    buf_fini(&to);
    buf_fini(&why);
}

static void expect_refusal(const char *text, const char *reason)
{
    struct buf to = BUF_INIT, why = BUF_INIT;

    buf_add_text(&to, "before");
    assert_int_equal(env_expand(text, get_env, &to, &why), STATUS_BAD_CONFIG);
    assert_string_equal(buf_text(&to), "before");
    assert_non_null(strstr(buf_text(&why), reason));
    buf_fini(&to);
    buf_fini(&why);
}

static void puts_values_in_their_places(void **state)
{
    expect("${HOST}", "redis.example");
    expect("${HOST}:${PORT:-6379}", "redis.example:6379");
    expect("plain", "plain");
    expect("", "");
}

static void takes_the_default_for_unset_and_for_empty(void **state)
{
    expect("${NOT_THERE:-x}", "x");
    expect("${EMPTY:-x}", "x");
    expect("${EMPTY:-}", "");
    expect("${EMPTY}", "");
    expect("${HOST:-x}", "redis.example");
}

static void refuses_what_is_not_set_and_says_its_name(void **state)
{
    expect_refusal("a ${NOT_THERE} b", "NOT_THERE is not set");
}

static void leaves_other_dollar_signs_alone(void **state)
{
    expect("$HOST pa$$word $", "$HOST pa$$word $");
    expect("$${HOST}", "${HOST}");
    expect("$$${HOST}", "$${HOST}");
}

static void does_not_expand_what_a_variable_brought(void **state)
{
    expect("${DOLLAR}", "${HOST}");
}

static void refuses_what_is_not_a_reference(void **state)
{
    expect_refusal("${", "expected ${NAME}");
    expect_refusal("${HOST", "expected ${NAME}");
    expect_refusal("${}", "expected ${NAME}");
    expect_refusal("${1A}", "expected ${NAME}");
    expect_refusal("${HOST-x}", "expected ${NAME}");
    expect_refusal("${HO ST}", "expected ${NAME}");
}

static void refuses_a_value_without_end(void **state)
{
    memset(long_value, 'x', sizeof(long_value) - 1);
    expect_refusal("${LONG}", "longer than");
    long_value[ENV_TEXT_MAX] = '\0';
    expect("${LONG}", long_value);
    expect_refusal("${LONG}y", "longer than");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_values_in_their_places),
        cmocka_unit_test(takes_the_default_for_unset_and_for_empty),
        cmocka_unit_test(refuses_what_is_not_set_and_says_its_name),
        cmocka_unit_test(leaves_other_dollar_signs_alone),
        cmocka_unit_test(does_not_expand_what_a_variable_brought),
        cmocka_unit_test(refuses_what_is_not_a_reference),
        cmocka_unit_test(refuses_a_value_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
