/* The numbers of jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/crc16.h"
#include "protocol/beanstalkd/numbers.h"

#define BUCKETS 64

static struct numbers *n;

static int set_up(void **state)
{
    n = malloc(sizeof(*n));
    numbers_init(n, BUCKETS);
    return 0;
}

static int tear_down(void **state)
{
    numbers_fini(n);
    free(n);
    return 0;
}

static void assert_knows(uint64_t number, const char *topic, const char *id)
{
    struct bytes t, i;

    assert_true(numbers_find(n, number, &t, &i));
    assert_true(bytes_equal(t, bytes_of_text(topic)) && bytes_equal(i, bytes_of_text(id)));
}

static void a_job_with_an_id_of_the_stores_goes_by_it(void **state)
{
    uint64_t own = 7 * BUCKETS + crc16(BYTES("t")) % BUCKETS;
    char id[32];

    snprintf(id, sizeof(id), "%llu", (unsigned long long)own);
    assert_int_equal(numbers_of(n, BYTES("t"), bytes_of_text(id)), own);
    assert_int_equal(n->count, 0);
    snprintf(id, sizeof(id), "%llu", (unsigned long long)own + 1);
    assert_true(numbers_of(n, BYTES("t"), bytes_of_text(id)) >= NUMBERS_OWN_MAX);
}

static void any_other_id_has_a_number_that_is_remembered(void **state)
{
    static const char *const ids[] = {
        "order-7", "0", "007", "-1", "7x", "4503599627370496", "99999999999999999999"};

    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        uint64_t number = numbers_of(n, BYTES("t"), bytes_of_text(ids[i]));

        assert_true(number >= NUMBERS_OWN_MAX && number < 2 * NUMBERS_OWN_MAX);
        assert_knows(number, "t", ids[i]);
        assert_int_equal(numbers_of(n, BYTES("t"), bytes_of_text(ids[i])), number);
    }
    assert_true(numbers_of(n, BYTES("t"), BYTES("a")) != numbers_of(n, BYTES("u"), BYTES("a")));
    assert_true(numbers_of(n, BYTES("ta"), BYTES("b")) !=
                numbers_of(n, BYTES("t"), BYTES("ab")));
}

static void the_oldest_is_forgotten(void **state)
{
    uint64_t first = numbers_of(n, BYTES("t"), BYTES("first"));
    uint64_t second = numbers_of(n, BYTES("t"), BYTES("second"));
    struct bytes topic, id;
    char text[32];

    for (unsigned i = 2; i < NUMBERS_MAX; i++) {
        snprintf(text, sizeof(text), "j%u", i);
        (void)numbers_of(n, BYTES("t"), bytes_of_text(text));
    }
    assert_int_equal(numbers_of(n, BYTES("t"), BYTES("first")), first); /* asked for again */
    (void)numbers_of(n, BYTES("t"), BYTES("last"));
    assert_knows(first, "t", "first");
    assert_false(numbers_find(n, second, &topic, &id));
    assert_int_equal(n->count, NUMBERS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_with_an_id_of_the_stores_goes_by_it),
        TEST(any_other_id_has_a_number_that_is_remembered),
        TEST(the_oldest_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
