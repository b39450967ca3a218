#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/rule/lease.h"

#define T 2400 /* T/4 = 600, T/6 = 400, 2T/3 = 1600, 0.95 T = 2280 */

static struct write_lease lease;

static int setup(void **state)
{
    write_lease_begin(&lease, T);
    return 0;
}

static void nothing_is_proven_without_two_writes_and_a_touch_before_them(void **state)
{
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_touched(&lease, 1000, 1010);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_led(&lease, 2300, 2310);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_written(&lease, 2000, 2010);
    assert_int_equal(write_lease_until(&lease), 1000 + 2280);
}

/* A follower answers reads and pings by itself. */
static void touches_prove_nothing_alone(void **state)
{
    for (int64_t at = 0; at < 10 * T; at += T / 6)
        write_lease_touched(&lease, at, at + 2);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_led(&lease, 10 * T, 10 * T + 2); /* there is no w1 before it */
    assert_true(write_lease_until(&lease) == INT64_MIN);
}

static void writes_of_another_lead_prove_nothing_alone(void **state)
{
    for (int64_t at = 0; at < 10 * T; at += T / 6)
        write_lease_written(&lease, at, at + 2);
    assert_true(write_lease_until(&lease) == INT64_MIN);
}

static void the_touch_was_acknowledged_a_quarter_before_the_first_write_was_sent(void **state)
{
    write_lease_touched(&lease, 1000, 1401);
    write_lease_written(&lease, 2000, 2010);
    write_lease_led(&lease, 2300, 2310);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_touched(&lease, 900, 1400);
    assert_int_equal(write_lease_until(&lease), 900 + 2280);
}

static void the_first_write_was_acknowledged_a_twelfth_before_the_second_was_sent(void **state)
{
    write_lease_touched(&lease, 1000, 1010);
    write_lease_written(&lease, 2000, 2101);
    write_lease_led(&lease, 2300, 2310);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_written(&lease, 1800, 2100);
    assert_int_equal(write_lease_until(&lease), 1000 + 2280);
}

static void an_election_proves_it_at_once_where_standbys_have_written_long_enough(void **state)
{
    assert_false(write_lease_would_be_proven(&lease, 0));
    write_lease_written(&lease, 1000, 1010);
    write_lease_written(&lease, 1700, 1710);
    assert_false(write_lease_would_be_proven(&lease, 1909));
    assert_true(write_lease_would_be_proven(&lease, 1910));
    assert_true(write_lease_would_be_proven(&lease, 1000 + 2279));
    assert_false(write_lease_would_be_proven(&lease, 1000 + 2280));
    assert_true(write_lease_until(&lease) == INT64_MIN);
}

static void neither_a_new_write_alone_nor_a_new_touch_alone_prolongs_it_for_ever(void **state)
{
    write_lease_touched(&lease, 0, 5);
    for (int64_t at = 1000; at < 9000; at += 100)
        write_lease_led(&lease, at, at + 4000); /* acknowledged, but late */
    assert_true(write_lease_until(&lease) <= 9000 - 4000 + 2280);
    setup(NULL);
    write_lease_touched(&lease, 0, 5);
    write_lease_written(&lease, 1000, 1005);
    write_lease_led(&lease, 1300, 1305);
    for (int64_t at = 1700; at < 9000; at += 400)
        write_lease_written(&lease, at, at + 5);
    assert_int_equal(write_lease_until(&lease), 0 + 2280);
}

static void with_beats_each_sixth_it_lasts_0_45_of_t_from_the_newest(void **state)
{
    for (int64_t at = 0; at < 10 * T; at += T / 6) {
        write_lease_led(&lease, at, at + 2);
        if (at >= T)
            assert_int_equal(write_lease_until(&lease), at + T * 45 / 100);
    }
}

static void many_requests_do_not_push_the_older_ones_out(void **state)
{
    for (int64_t at = 0; at <= 3000; at++)
        write_lease_touched(&lease, at, at + 1);
    write_lease_written(&lease, 3000, 3001);
    write_lease_led(&lease, 3201, 3202);
    assert_in_range(write_lease_until(&lease), 3000 - 600 - T / 24 - 1 + 2280,
                    3000 - 600 + 2280);
}

/* Answers without delay, and each request as soon as it counts: no lease is longer. */
static void is_outlasted_by_two_thirds_from_the_newest_write(void **state)
{
    for (int64_t at = 0; at < 3000; at += 100)
        write_lease_touched(&lease, at, at);
    write_lease_written(&lease, 3000, 3000);
    write_lease_led(&lease, 3200, 3200);
    assert_int_equal(write_lease_until(&lease), 2400 + 2280);
    assert_true(write_lease_until(&lease) < 3200 + write_lease_promise_ms(T));
}

static void void_forgets_the_lead_and_a_new_session_forgets_all(void **state)
{
    write_lease_touched(&lease, 1000, 1010);
    write_lease_written(&lease, 2000, 2001);
    write_lease_led(&lease, 2300, 2302);
    write_lease_void(&lease);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_written(&lease, 2700, 2701);
    assert_true(write_lease_until(&lease) == INT64_MIN);
    write_lease_led(&lease, 3001, 3002);
    assert_int_equal(write_lease_until(&lease), 2000 + 2280);
    write_lease_begin(&lease, T);
    write_lease_led(&lease, 4000, 4001);
    write_lease_led(&lease, 4301, 4302);
    assert_true(write_lease_until(&lease) == INT64_MIN);
}

static void beats_come_faster_when_little_is_left_and_not_too_close(void **state)
{
    assert_int_equal(write_lease_next_beat_ms(&lease, 1000, 1001), 1400);
    assert_int_equal(write_lease_next_beat_ms(&lease, 1000, 1300), 1500);
    write_lease_touched(&lease, 1000, 1010);
    write_lease_written(&lease, 2000, 2001);
    write_lease_led(&lease, 2300, 2302); /* until 3280 */
    assert_int_equal(write_lease_next_beat_ms(&lease, 2670, 2680), 3070);
    assert_int_equal(write_lease_next_beat_ms(&lease, 2671, 2681), 2881);
}

#define ON_NEW_LEASE(test) cmocka_unit_test_setup(test, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NEW_LEASE(nothing_is_proven_without_two_writes_and_a_touch_before_them),
        ON_NEW_LEASE(touches_prove_nothing_alone),
        ON_NEW_LEASE(writes_of_another_lead_prove_nothing_alone),
        ON_NEW_LEASE(the_touch_was_acknowledged_a_quarter_before_the_first_write_was_sent),
        ON_NEW_LEASE(the_first_write_was_acknowledged_a_twelfth_before_the_second_was_sent),
        ON_NEW_LEASE(an_election_proves_it_at_once_where_standbys_have_written_long_enough),
        ON_NEW_LEASE(neither_a_new_write_alone_nor_a_new_touch_alone_prolongs_it_for_ever),
        ON_NEW_LEASE(with_beats_each_sixth_it_lasts_0_45_of_t_from_the_newest),
        ON_NEW_LEASE(many_requests_do_not_push_the_older_ones_out),
        ON_NEW_LEASE(is_outlasted_by_two_thirds_from_the_newest_write),
        ON_NEW_LEASE(void_forgets_the_lead_and_a_new_session_forgets_all),
        ON_NEW_LEASE(beats_come_faster_when_little_is_left_and_not_too_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
