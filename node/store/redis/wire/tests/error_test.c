#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/store/redis/wire/error.h"

static void expect(bool is_lasting, const char *const *errors)
{
    for (; *errors; errors++) {
        if (redis_error_is_lasting(*errors) != is_lasting)
            fail_msg("%s", *errors);
    }
}

static void what_somebody_must_set_right_lasts(void **state)
{
    static const char *const errors[] = {
        "NOAUTH Authentication required.",
        "WRONGPASS invalid username-password pair or user is disabled.",
        "NOPERM this user has no permissions to run the 'info' command",
        "ERR AUTH <password> called without any password configured for the default user.",
        "ERR Client sent AUTH, but no password is set",
        "ERR unknown command 'INFO', with args beginning with: ",
        "WRONGTYPE Operation against a key holding the wrong kind of value script: 5f",
        "ERR Error running script (call to f_5f): WRONGTYPE Operation against a key",
        "DENIED Redis is running in protected mode because protected mode is enabled",
        NULL,
    };

    expect(true, errors);
}

static void what_may_pass_by_itself_does_not(void **state)
{
    static const char *const errors[] = {
        "",
        "ERR max number of clients reached",
        "BUSY Redis is busy running a script.",
        "LOADING Redis is loading the dataset in memory",
        "MISCONF Errors writing to the AOF file: No space left on device",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "READONLY You can't write against a read only replica.",
        "CLUSTERDOWN The cluster is down",
        NULL,
    };

    expect(false, errors);
}

static void a_new_connection_may_help_against_some(void **state)
{
    assert_true(redis_error_is_of_the_connection("READONLY You can't write"));
    assert_true(redis_error_is_of_the_connection("LOADING Redis is loading"));
    assert_true(redis_error_is_of_the_connection(
        "ERR Error running script (call to f_5f): @user_script:9: @user_script: 9: -READONLY "
        "You can't write against a read only replica."));
    assert_true(redis_error_is_of_the_connection("NOAUTH Authentication required."));
    assert_false(redis_error_is_of_the_connection("OOM command not allowed"));
    assert_false(redis_error_is_of_the_connection("ERR LOADING"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_somebody_must_set_right_lasts),
        cmocka_unit_test(what_may_pass_by_itself_does_not),
        cmocka_unit_test(a_new_connection_may_help_against_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
