#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "itests/bench/load/schedule.h"

#define BEGIN_US  INT64_C(5000000)
#define SECOND_US INT64_C(1000000)

static struct schedule of_a_second(int64_t rate)
{
    struct schedule s;

    schedule_init(&s, BEGIN_US, BEGIN_US + SECOND_US, rate);
    return s;
}

static int64_t take_all(struct schedule *s, int64_t now_us)
{
    int64_t at_us, count = 0;

    while (schedule_take(s, now_us, &at_us))
        count++;
    return count;
}

static void operations_are_due_at_even_distances(void **state)
{
    struct schedule s = of_a_second(4);
    int64_t at_us;

    for (int64_t n = 0; n < 4; n++) {
        int64_t due_us = BEGIN_US + n * SECOND_US / 4;

        assert_false(schedule_take(&s, due_us - 1, &at_us));
        assert_true(schedule_take(&s, due_us, &at_us));
        assert_int_equal(at_us, due_us);
    }
    assert_true(schedule_is_over(&s));
}

static void a_rate_that_does_not_divide_a_second_does_not_drift(void **state)
{
    struct schedule s = of_a_second(30000);

    assert_int_equal(s.total, 30000);
    assert_int_equal(schedule_at_us(&s, 15000), BEGIN_US + SECOND_US / 2);
    assert_int_equal(take_all(&s, BEGIN_US + SECOND_US - 1), 30000);
}

/* The heart of it: a pause of the server shortens nobody's wait. */
static void what_fell_due_during_a_pause_counts_from_when_it_was_due(void **state)
{
    struct schedule s = of_a_second(1000);
    int64_t now_us = BEGIN_US + SECOND_US / 2, at_us, longest_us = 0, count = 0;

    while (schedule_take(&s, now_us, &at_us)) {
        if (now_us - at_us > longest_us)
            longest_us = now_us - at_us;
        count++;
    }
    assert_int_equal(count, 501);
    assert_int_equal(longest_us, SECOND_US / 2);
}

static void it_says_how_long_until_the_next_one(void **state)
{
    struct schedule s = of_a_second(2);
    int64_t at_us;

    assert_int_equal(schedule_wait_us(&s, BEGIN_US - 7), 7);
    assert_int_equal(schedule_wait_us(&s, BEGIN_US + 7), 0);
    assert_true(schedule_take(&s, BEGIN_US + 7, &at_us));
    assert_int_equal(schedule_wait_us(&s, BEGIN_US + 7), SECOND_US / 2 - 7);
}

static void when_it_is_over_there_is_nothing_to_wait_for(void **state)
{
    struct schedule s = of_a_second(10);

    assert_int_equal(take_all(&s, BEGIN_US + 100 * SECOND_US), 10);
    assert_true(schedule_is_over(&s));
    assert_true(schedule_wait_us(&s, BEGIN_US) == INT64_MAX);
}

static void one_that_was_never_begun_is_over(void **state)
{
    struct schedule s = {0};
    int64_t at_us;

    assert_true(schedule_is_over(&s));
    assert_false(schedule_take(&s, BEGIN_US, &at_us));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_due_at_even_distances),
        cmocka_unit_test(a_rate_that_does_not_divide_a_second_does_not_drift),
        cmocka_unit_test(what_fell_due_during_a_pause_counts_from_when_it_was_due),
        cmocka_unit_test(it_says_how_long_until_the_next_one),
        cmocka_unit_test(when_it_is_over_there_is_nothing_to_wait_for),
        cmocka_unit_test(one_that_was_never_begun_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
