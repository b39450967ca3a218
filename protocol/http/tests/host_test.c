#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/http/message.h"

static bool is_ours(const char *host, const char *names)
{
    return host_is_ours(bytes_of_text(host), names);
}

static void without_a_list_any_name_is_ours(void **state)
{
    assert_true(is_ours("evil.example:8000", ""));
}

static void with_a_list_only_its_names_are_ours_with_any_port(void **state)
{
    static const char names[] = "dueq,dueq.example.com";

    assert_true(is_ours("dueq", names));
    assert_true(is_ours("dueq:8000", names));
    assert_true(is_ours("DueQ.Example.com:1", names));
    assert_false(is_ours("due", names));
    assert_false(is_ours("dueq.example.co", names));
    assert_false(is_ours("evil.dueq.example.com", names));
    assert_false(is_ours("evil.example:8000", names));
    assert_false(is_ours(":8000", "dueq"));
}

static void addresses_and_localhost_are_always_ours(void **state)
{
    assert_true(is_ours("127.0.0.1:8000", "dueq"));
    assert_true(is_ours("10.0.0.5", "dueq"));
    assert_true(is_ours("[::1]:8000", "dueq"));
    assert_true(is_ours("LocalHost:8000", "dueq"));
    assert_false(is_ours("127.0.0.1.evil.example", "dueq"));
    assert_false(is_ours("localhost.evil.example", "dueq"));
}

static void who_says_no_name_is_no_browser(void **state)
{
    assert_true(is_ours("", "dueq"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_list_any_name_is_ours),
        cmocka_unit_test(with_a_list_only_its_names_are_ours_with_any_port),
        cmocka_unit_test(addresses_and_localhost_are_always_ours),
        cmocka_unit_test(who_says_no_name_is_no_browser),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
