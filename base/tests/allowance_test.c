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

static void asking_how_long_it_takes_takes_nothing(void **state)
{
    struct allowance a = {0};

    assert_int_equal(allowance_wait_ms(&a, 10, NOW_MS), 0);
    taken_at(&a, 10, NOW_MS);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(allowance_wait_ms(&a, 10, NOW_MS), 100);
    assert_true(allowance_take(&a, 10, NOW_MS + 100));
}

static void the_next_one_is_never_further_away_than_the_rate_says(void **state)
{
    struct allowance a = {0};

    taken_at(&a, 5, NOW_MS);
    assert_int_equal(allowance_wait_ms(&a, 5, NOW_MS), 200);
    assert_int_equal(allowance_wait_ms(&a, 1000, NOW_MS), 1); /* the rate was raised */
    assert_int_equal(allowance_wait_ms(&a, 0, NOW_MS), 0);
    assert_true(allowance_is_whole(&a, NOW_MS + 1000));
}

static void a_high_rate_is_as_high_as_it_says(void **state)
{
    struct allowance a = {0};
    unsigned taken = 0;

    while (taken < 700000 && allowance_take(&a, 600000, NOW_MS))
        taken++;
    assert_in_range(taken, 600000, 600300);
}

static void those_that_may_have_left_come_last(void **state)
{
    struct allowance_line line;
    struct list left, first, second;

    allowance_line_init(&line);
    assert_null(allowance_line_first(&line));
    list_init(&left);
    list_init(&first);
    list_init(&second);
    list_append(&line.leaving, &left);
    list_append(&line.here, &first);
    list_append(&line.here, &second);
    assert_ptr_equal(allowance_line_first(&line), &first);
    list_remove(&first);
    assert_ptr_equal(allowance_line_first(&line), &second);
    list_remove(&second);
    assert_ptr_equal(allowance_line_first(&line), &left);
}

static void stand(struct allowance_line *line, struct list *link)
{
    allowance_line_init(line);
    list_init(link);
    list_append(&line->here, link);
}

static void a_line_and_those_that_cannot_wait_share(void **state)
{
    struct allowance a = {0};
    struct allowance_line line;
    struct list waits;
    unsigned in_line = 0, at_once = 0;

    stand(&line, &waits);
    for (int64_t ms = 0; ms < 10000; ms++) { /* both ask for more than there is */
        at_once += allowance_take_at_once(&a, &line, 10, NOW_MS + ms);
        in_line += allowance_take_in_line(&a, &line, 10, NOW_MS + ms) == 0;
    }
    assert_in_range(in_line + at_once, 109, 110);
    assert_in_range(in_line, 50, 60);
    assert_in_range(at_once, 50, 60);
}

static void a_line_is_as_fast_as_the_rate_while_nobody_else_asks(void **state)
{
    struct allowance a = {0};
    struct allowance_line line;
    struct list waits;
    unsigned taken = 0;

    stand(&line, &waits);
    taken_at(&a, 10, NOW_MS);
    assert_int_equal(allowance_take_in_line(&a, &line, 10, NOW_MS), 100);
    assert_false(allowance_take_at_once(&a, &line, 10, NOW_MS));
    assert_int_equal(allowance_take_in_line(&a, &line, 10, NOW_MS), 200); /* leaves one */
    for (int64_t ms = 0; ms < 5000; ms++)
        taken += allowance_take_in_line(&a, &line, 10, NOW_MS + ms) == 0;
    assert_in_range(taken, 48, 49);
    assert_true(allowance_take_at_once(&a, &line, 10, NOW_MS + 5000)); /* that one */
}

static void a_line_for_one_a_second_does_not_wait_for_two(void **state)
{
    struct allowance a = {0};
    struct allowance_line line;
    struct list waits;

    stand(&line, &waits);
    taken_at(&a, 1, NOW_MS);
    assert_false(allowance_take_at_once(&a, &line, 1, NOW_MS));
    assert_int_equal(allowance_take_in_line(&a, &line, 1, NOW_MS + 1000), 0);
}

static void without_a_rate_there_is_no_limit(void **state)
{
    struct allowance a = {0};

    assert_int_equal(taken_at(&a, 0, NOW_MS), 100000);
    assert_int_equal(a.whole_mono_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_a_second_of_it_at_once),
        cmocka_unit_test(gives_no_more_than_the_rate_in_the_long_run),
        cmocka_unit_test(what_was_not_used_is_not_saved_up),
        cmocka_unit_test(what_is_refused_takes_nothing),
        cmocka_unit_test(asking_how_long_it_takes_takes_nothing),
        cmocka_unit_test(the_next_one_is_never_further_away_than_the_rate_says),
        cmocka_unit_test(a_high_rate_is_as_high_as_it_says),
        cmocka_unit_test(those_that_may_have_left_come_last),
        cmocka_unit_test(a_line_and_those_that_cannot_wait_share),
        cmocka_unit_test(a_line_is_as_fast_as_the_rate_while_nobody_else_asks),
        cmocka_unit_test(a_line_for_one_a_second_does_not_wait_for_two),
        cmocka_unit_test(without_a_rate_there_is_no_limit),
    };

    return cmocka_run_group_tests_name("allowance", tests, NULL, NULL);
}
