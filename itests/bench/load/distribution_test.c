#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "itests/bench/load/distribution.h"

static struct distribution d;

static int setup(void **state)
{
    memset(&d, 0, sizeof(d));
    return 0;
}

static void every_value_is_told_with_at_most_one_percent_of_error(void **state)
{
    for (int64_t value = 1; value < INT64_C(1) << 39; value += 1 + value / 100) {
        int64_t told;

        memset(&d, 0, sizeof(d));
        distribution_add(&d, value);
        distribution_add(&d, INT64_C(1) << 39);
        told = distribution_quantile(&d, 0.5);
        assert_true(told >= value && told - value <= value / 100);
    }
}

static void small_values_are_exact(void **state)
{
    for (int64_t value = 0; value < 256; value++)
        distribution_add(&d, value);
    assert_int_equal(distribution_quantile(&d, 0.5), 127);
    assert_int_equal(distribution_quantile(&d, 0.25), 63);
}

static void quantiles_of_a_ramp_are_where_they_belong(void **state)
{
    for (int64_t value = 1; value <= 100000; value++)
        distribution_add(&d, value);
    assert_in_range(distribution_quantile(&d, 0.5), 50000, 50500);
    assert_in_range(distribution_quantile(&d, 0.999), 99900, 100000);
    assert_int_equal(distribution_quantile(&d, 1), 100000);
    assert_true(distribution_mean(&d) > 50000 && distribution_mean(&d) < 50001);
}

static void no_quantile_is_above_the_largest_value(void **state)
{
    distribution_add(&d, 1000001);
    assert_int_equal(distribution_quantile(&d, 0.01), 1000001);
    assert_int_equal(distribution_quantile(&d, 1), 1000001);
}

static void an_empty_one_says_zero(void **state)
{
    assert_int_equal(distribution_quantile(&d, 0.99), 0);
    assert_true(distribution_mean(&d) == 0);
}

static void values_out_of_bounds_count_as_the_bounds(void **state)
{
    distribution_add(&d, -5);
    distribution_add(&d, INT64_MAX / 2);
    assert_int_equal(d.counts[0], 1);
    assert_int_equal(d.counts[DISTRIBUTION_STEPS - 1], 1);
    assert_true(d.max == INT64_MAX / 2);
}

static void it_prints_the_steps_that_are_not_empty(void **state)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    distribution_add(&d, 3);
    distribution_add(&d, 3);
    distribution_add(&d, 256);
    distribution_print(&d, out);
    fclose(out);
    assert_string_equal(text, "[[3,2],[257,1]]");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_value_is_told_with_at_most_one_percent_of_error, setup),
        cmocka_unit_test_setup(small_values_are_exact, setup),
        cmocka_unit_test_setup(quantiles_of_a_ramp_are_where_they_belong, setup),
        cmocka_unit_test_setup(no_quantile_is_above_the_largest_value, setup),
        cmocka_unit_test_setup(an_empty_one_says_zero, setup),
        cmocka_unit_test_setup(values_out_of_bounds_count_as_the_bounds, setup),
        cmocka_unit_test_setup(it_prints_the_steps_that_are_not_empty, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
