/* How long a node that stops uses its store: 9 s, so parts of 3 s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/patience.h"

#define BEGIN 1000
#define PART  3000

static struct patience begun(uint64_t pending)
{
    struct patience p;

    patience_init(&p, BEGIN, 3 * PART);
    assert_false(patience_is_over(&p, BEGIN, pending, 7));
    return p;
}

static void a_store_that_answers_is_used_until_the_middle_of_the_last_part(void **state)
{
    struct patience p = begun(1);
    uint64_t answers = 7;

    for (int64_t ms = PART; ms < 2 * PART + PART / 2; ms += PATIENCE_LOOK_MS)
        assert_false(patience_is_over(&p, BEGIN + ms, 3, ++answers));
    assert_true(patience_is_over(&p, BEGIN + 2 * PART + PART / 2, 3, ++answers));
}

static void so_is_one_that_nothing_is_asked_of(void **state)
{
    struct patience p = begun(0);

    for (int64_t ms = PART; ms < 2 * PART + PART / 2; ms += PATIENCE_LOOK_MS)
        assert_false(patience_is_over(&p, BEGIN + ms, 0, 7));
    assert_true(patience_is_over(&p, BEGIN + 2 * PART + PART / 2, 0, 7));
}

static void one_that_was_silent_from_the_beginning_is_given_up_after_the_first(void **state)
{
    struct patience p = begun(1);

    assert_true(patience_is_over(&p, BEGIN + PART, 1, 7));
}

/* An idle node sends a request right before a look. */
static void a_request_of_a_moment_ago_is_no_silence(void **state)
{
    struct patience p = begun(0);

    assert_false(patience_is_over(&p, BEGIN + PART, 1, 7));
    assert_false(patience_is_over(&p, BEGIN + PART + PATIENCE_SILENT_MS - 1, 1, 7));
    assert_false(patience_is_over(&p, BEGIN + PART + PATIENCE_SILENT_MS, 1, 8));
    assert_false(patience_is_over(&p, BEGIN + PART + PATIENCE_SILENT_MS + 100, 0, 8));
    assert_false(patience_is_over(&p, BEGIN + PART + PATIENCE_SILENT_MS + 200, 1, 8));
    assert_true(patience_is_over(&p, BEGIN + PART + 2 * PATIENCE_SILENT_MS + 200, 1, 8));
}

static void one_that_hangs_later_is_given_up_then(void **state)
{
    struct patience p = begun(1);

    assert_false(patience_is_over(&p, BEGIN + PART, 1, 8));
    assert_false(patience_is_over(&p, BEGIN + PART + 400, 1, 8));
    assert_true(patience_is_over(&p, BEGIN + PART + PATIENCE_SILENT_MS, 1, 8));
}

static void a_short_stop_is_less_patient(void **state)
{
    struct patience p;

    patience_init(&p, BEGIN, 300);
    assert_false(patience_is_over(&p, BEGIN, 0, 7));
    assert_false(patience_is_over(&p, BEGIN + 100, 1, 7));
    assert_true(patience_is_over(&p, BEGIN + 126, 1, 7));
    patience_init(&p, BEGIN, 0);
    assert_true(patience_is_over(&p, BEGIN, 1, 7));
}

/* The hook of the address has the last 900 ms. */
static void the_last_answers_have_a_part_or_half_of_what_is_left(void **state)
{
    struct patience p = begun(0);

    assert_int_equal(patience_for_answers_ms(&p, BEGIN + PART / 2, 900), PART);
    assert_int_equal(patience_for_answers_ms(&p, BEGIN + PART, 900), (2 * PART - 900) / 2);
    assert_int_equal(patience_for_answers_ms(&p, BEGIN + 3 * PART - 1000, 900), 50);
    assert_int_equal(patience_for_answers_ms(&p, BEGIN + 3 * PART - 900, 900), 0);
    assert_int_equal(patience_for_answers_ms(&p, BEGIN + 4 * PART, 900), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_answers_is_used_until_the_middle_of_the_last_part),
        cmocka_unit_test(so_is_one_that_nothing_is_asked_of),
        cmocka_unit_test(one_that_was_silent_from_the_beginning_is_given_up_after_the_first),
        cmocka_unit_test(a_request_of_a_moment_ago_is_no_silence),
        cmocka_unit_test(one_that_hangs_later_is_given_up_then),
        cmocka_unit_test(a_short_stop_is_less_patient),
        cmocka_unit_test(the_last_answers_have_a_part_or_half_of_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
