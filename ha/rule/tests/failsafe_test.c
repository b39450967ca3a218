#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "ha/rule/failsafe.h"

#define T       3000
#define PROMISE 2000

static struct failsafe f;

static int setup(void **state)
{
    f = (struct failsafe){.is_on = false};
    failsafe_begin(&f, T);
    failsafe_add_member(&f, "b");
    failsafe_add_member(&f, "c");
    failsafe_add_member(&f, "b");
    return 0;
}

static void lasts_from_the_oldest_of_the_members_newest_promises(void **state)
{
    uint64_t first = failsafe_asked(&f, 1000), second = failsafe_asked(&f, 1500);

    assert_true(failsafe_until(&f) == INT64_MIN);
    failsafe_promised(&f, "b", second);
    assert_true(failsafe_until(&f) == INT64_MIN);
    failsafe_promised(&f, "c", first);
    assert_int_equal(failsafe_until(&f), 1000 + PROMISE);
    failsafe_promised(&f, "c", second);
    assert_int_equal(failsafe_until(&f), 1500 + PROMISE);
    failsafe_promised(&f, "c", first); /* late */
    assert_int_equal(failsafe_until(&f), 1500 + PROMISE);
}

static void strangers_and_numbers_that_were_not_asked_do_not_count(void **state)
{
    uint64_t seq = failsafe_asked(&f, 1000);

    failsafe_promised(&f, "b", seq);
    failsafe_promised(&f, "d", seq);
    failsafe_promised(&f, "c", seq + 1);
    failsafe_promised(&f, "c", 0);
    assert_true(failsafe_until(&f) == INT64_MIN);
}

static void promises_of_an_earlier_time_do_not_count(void **state)
{
    uint64_t seq = failsafe_asked(&f, 1000);

    failsafe_end(&f);
    failsafe_begin(&f, T);
    failsafe_add_member(&f, "b");
    failsafe_promised(&f, "b", seq);
    assert_true(failsafe_until(&f) == INT64_MIN);
    seq = failsafe_asked(&f, 5000);
    failsafe_promised(&f, "b", seq);
    assert_int_equal(failsafe_until(&f), 5000 + PROMISE);
}

static void one_that_falls_silent_ends_it(void **state)
{
    for (int64_t at = 0; at < 10000; at += 500) {
        uint64_t seq = failsafe_asked(&f, at);

        failsafe_promised(&f, "b", seq);
        if (at <= 1000)
            failsafe_promised(&f, "c", seq);
    }
    assert_int_equal(failsafe_until(&f), 1000 + PROMISE);
}

static void a_member_more_must_agree_too(void **state)
{
    uint64_t seq = failsafe_asked(&f, 1000);

    failsafe_promised(&f, "b", seq);
    failsafe_promised(&f, "c", seq);
    failsafe_add_member(&f, "d");
    assert_true(failsafe_until(&f) == INT64_MIN);
}

static void alone_it_needs_nobody_but_goes_on_asking(void **state)
{
    failsafe_begin(&f, T);
    assert_true(failsafe_until(&f) == INT64_MIN);
    failsafe_asked(&f, 1000);
    assert_int_equal(failsafe_until(&f), 1000 + PROMISE);
}

static void more_members_than_can_be_asked_end_it(void **state)
{
    char name[16];

    failsafe_begin(&f, T);
    for (int i = 0; i <= PEERS_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        failsafe_add_member(&f, name);
    }
    failsafe_asked(&f, 1000);
    assert_false(f.is_on);
    assert_true(failsafe_until(&f) == INT64_MIN);
}

static void a_promise_is_never_shortened(void **state)
{
    struct failsafe_promise p = {0};

    assert_false(failsafe_has_promised(&p, 1));
    failsafe_promise(&p, 1000, T);
    failsafe_promise(&p, 1100, T / 2);
    assert_true(failsafe_has_promised(&p, 2999));
    assert_false(failsafe_has_promised(&p, 3000));
}

#define ON_TWO_OTHERS(test) cmocka_unit_test_setup(test, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TWO_OTHERS(lasts_from_the_oldest_of_the_members_newest_promises),
        ON_TWO_OTHERS(strangers_and_numbers_that_were_not_asked_do_not_count),
        ON_TWO_OTHERS(promises_of_an_earlier_time_do_not_count),
        ON_TWO_OTHERS(one_that_falls_silent_ends_it),
        ON_TWO_OTHERS(a_member_more_must_agree_too),
        ON_TWO_OTHERS(alone_it_needs_nobody_but_goes_on_asking),
        ON_TWO_OTHERS(more_members_than_can_be_asked_end_it),
        cmocka_unit_test(a_promise_is_never_shortened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
