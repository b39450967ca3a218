/* Quantiles and counts against the sorted values themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/histogram.h"

#define VALUES 20000

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct histogram));
    return !*state;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* As many small values as large ones: a random number of random length. */
static void fill(struct histogram *h, int64_t *values, unsigned bits_max)
{
    uint64_t seed = 88172645463325252u;

    for (int i = 0; i < VALUES; i++) {
        unsigned bits = (unsigned)(next_random(&seed) % (bits_max + 1));

        values[i] = (int64_t)(next_random(&seed) & ((UINT64_C(1) << bits) - 1));
        histogram_add(h, values[i]);
    }
    qsort(values, VALUES, sizeof(*values), compare);
}

static void quantiles_are_at_most_3_percent_too_high(void **state)
{
    static const double fractions[] = {0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    static int64_t values[VALUES];
    struct histogram *h = *state;

    fill(h, values, 40);
    for (size_t i = 0; i < sizeof(fractions) / sizeof(*fractions); i++) {
        int rank = (int)ceil(fractions[i] * VALUES);
        int64_t exact = values[rank > 0 ? rank - 1 : 0];
        int64_t got = histogram_quantile(h, fractions[i]);

        assert_true(got >= exact);
        assert_true((double)got <= (double)exact * 1.032);
    }
    assert_int_equal(histogram_quantile(h, 1), values[VALUES - 1]);
}

static uint64_t count_up_to(const int64_t *values, int64_t bound)
{
    uint64_t count = 0;

    for (int i = 0; i < VALUES; i++)
        count += values[i] <= bound;
    return count;
}

static void counts_are_exact_up_to_64_and_for_powers_of_two(void **state)
{
    static int64_t values[VALUES];
    struct histogram *h = *state;

    fill(h, values, 20);
    for (int64_t bound = 0; bound <= 64; bound++)
        assert_int_equal(histogram_count_up_to(h, bound), count_up_to(values, bound));
    for (int64_t bound = 64; bound <= 1 << 20; bound *= 2)
        assert_int_equal(histogram_count_up_to(h, bound), count_up_to(values, bound));
}

static void other_counts_leave_out_at_most_3_percent_below_the_bound(void **state)
{
    static int64_t values[VALUES];
    struct histogram *h = *state;

    fill(h, values, 20);
    for (int64_t bound = 65; bound <= 1 << 20; bound += bound / 7) {
        uint64_t got = histogram_count_up_to(h, bound);

        assert_true(got <= count_up_to(values, bound));
        assert_true(got >= count_up_to(values, bound - bound / 31));
    }
}

static void an_empty_one_has_zeros(void **state)
{
    assert_int_equal(histogram_quantile(*state, 0.5), 0);
    assert_int_equal(histogram_count_up_to(*state, 1000), 0);
}

static void keeps_the_sum_the_maximum_and_the_number(void **state)
{
    struct histogram *h = *state;

    histogram_add(h, 5);
    histogram_add(h, 70);
    histogram_add(h, -3);
    assert_int_equal(h->total, 3);
    assert_int_equal(h->sum, 75);
    assert_int_equal(h->max, 70);
    assert_int_equal(histogram_count_up_to(h, 0), 1);
}

static void takes_values_beyond_its_range_as_the_largest(void **state)
{
    struct histogram *h = *state;

    histogram_add(h, INT64_C(1) << 50);
    histogram_add(h, INT64_C(1) << 40);
    assert_int_equal(h->counts[HISTOGRAM_BUCKETS - 1], 2);
    assert_int_equal(histogram_count_up_to(h, INT64_C(1) << 40), 2);
}

#define ON_A_NEW_ONE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_NEW_ONE(quantiles_are_at_most_3_percent_too_high),
        ON_A_NEW_ONE(counts_are_exact_up_to_64_and_for_powers_of_two),
        ON_A_NEW_ONE(other_counts_leave_out_at_most_3_percent_below_the_bound),
        ON_A_NEW_ONE(an_empty_one_has_zeros),
        ON_A_NEW_ONE(keeps_the_sum_the_maximum_and_the_number),
        ON_A_NEW_ONE(takes_values_beyond_its_range_as_the_largest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
