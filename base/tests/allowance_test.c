/* So many a second, and not more at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/allowance.h"

#define NOW_MS INT64_C(123456789)

static unsigned taken_at(struct allowance *a, unsigned a_second, int64_t now_ms)
{
    unsigned taken = 0;

    while (taken < 100000 && allowance_take(a, a_second, now_ms))
        taken++;
    return taken;
}

static void gives_a_second_of_it_at_once(void **state)
{
    static const unsigned rates[] = {1, 2, 3, 7, 100, 1000, 9999};

    for (unsigned i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        struct allowance a = {0};

        assert_in_range(taken_at(&a, rates[i], NOW_MS), rates[i], rates[i] + 1);
        assert_int_equal(taken_at(&a, rates[i], NOW_MS), 0);
        assert_int_equal(taken_at(&a, rates[i], NOW_MS - 1000), 0);
    }
}

static void gives_no_more_than_the_rate_in_the_long_run(void **state)
{
    struct allowance a = {0};
    unsigned taken = 0;

    for (int64_t ms = 0; ms < 60000; ms += 7)
        taken += taken_at(&a, 50, NOW_MS + ms);
    assert_in_range(taken, 60 * 50, 61 * 50 + 1);
}

static void what_was_not_used_is_not_saved_up(void **state)
{
    struct allowance a = {0};

    taken_at(&a, 10, NOW_MS);
    assert_false(allowance_is_whole(&a, NOW_MS + 999));
    assert_true(allowance_is_whole(&a, NOW_MS + 1000));
    assert_int_equal(taken_at(&a, 10, NOW_MS + 3600000), 10);
}

static void what_is_refused_takes_nothing(void **state)
{
    struct allowance a = {0};

    taken_at(&a, 10, NOW_MS);
    for (unsigned i = 0; i < 1000; i++)
        assert_false(allowance_take(&a, 10, NOW_MS + 99));
    assert_true(allowance_take(&a, 10, NOW_MS + 100));
}

static void those_that_wait_get_theirs_one_after_the_other(void **state)
{
    struct allowance a = {0};

    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(allowance_reserve(&a, 10, NOW_MS), 0);
    for (unsigned i = 1; i <= 5; i++)
        assert_int_equal(allowance_reserve(&a, 10, NOW_MS), 100 * i);
    assert_int_equal(allowance_reserve(&a, 10, NOW_MS + 600), 0);
}

static void without_a_rate_there_is_no_limit(void **state)
{
    struct allowance a = {0};

    assert_int_equal(taken_at(&a, 0, NOW_MS), 100000);
    assert_int_equal(a.whole_mono_us, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_a_second_of_it_at_once),
        cmocka_unit_test(gives_no_more_than_the_rate_in_the_long_run),
        cmocka_unit_test(what_was_not_used_is_not_saved_up),
        cmocka_unit_test(what_is_refused_takes_nothing),
        cmocka_unit_test(those_that_wait_get_theirs_one_after_the_other),
        cmocka_unit_test(without_a_rate_there_is_no_limit),
    };

    return cmocka_run_group_tests_name("allowance", tests, NULL, NULL);
}
