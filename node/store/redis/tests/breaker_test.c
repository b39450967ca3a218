/* The circuit breaker in the states of its diagram, on a fake clock. */
#include "base/tests/unit.h"
#include "node/store/redis/breaker.h"

#define AFTER_MS 10000
#define FAILURES 3
#define PROBES   4

static struct redis_breaker breaker;
static int64_t now_mono_ms;

static int setup(void **state)
{
    breaker_init(&breaker, AFTER_MS, FAILURES, PROBES);
    now_mono_ms = 1000;
    return 0;
}

static void open_it(void)
{
    breaker_asked(&breaker, now_mono_ms);
    now_mono_ms += AFTER_MS;
    breaker_look(&breaker, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_OPEN);
}

static void it_begins_closed_and_lets_everything_pass(void **state)
{
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_true(breaker_passes(&breaker, 1000000));
    assert_false(breaker_refuses(&breaker));
    assert_int_equal(breaker_look(&breaker, now_mono_ms + 10 * AFTER_MS), -1);
}

static void silence_opens_it_once_somebody_has_asked_for_that_long(void **state)
{
    breaker_asked(&breaker, now_mono_ms);
    breaker_asked(&breaker, now_mono_ms + 5000); /* the first one counts */
    assert_int_equal(breaker_look(&breaker, now_mono_ms + AFTER_MS - 1),
                     now_mono_ms + AFTER_MS);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_int_equal(breaker_look(&breaker, now_mono_ms + AFTER_MS),
                     now_mono_ms + AFTER_MS + BREAKER_RETRY_MS);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_true(breaker_refuses(&breaker));
    assert_false(breaker_passes(&breaker, 0));
    assert_int_equal(breaker.trips, 1);
    assert_int_equal(breaker.since_mono_ms, now_mono_ms + AFTER_MS);
}

static void an_answer_ends_the_silence(void **state)
{
    breaker_asked(&breaker, now_mono_ms);
    breaker_answered(&breaker, now_mono_ms + AFTER_MS - 1);
    assert_int_equal(breaker_look(&breaker, now_mono_ms + 2 * AFTER_MS), -1);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void late_answers_in_a_row_open_it(void **state)
{
    breaker_lost(&breaker, true, now_mono_ms);
    breaker_lost(&breaker, true, now_mono_ms);
    breaker_answered(&breaker, now_mono_ms);
    breaker_lost(&breaker, true, now_mono_ms);
    breaker_lost(&breaker, true, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    breaker_lost(&breaker, true, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_OPEN);
}

static void refused_connections_do_not(void **state)
{
    for (int i = 0; i < 100; i++)
        breaker_lost(&breaker, false, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void a_fit_connection_lets_some_try(void **state)
{
    open_it();
    breaker_connected(&breaker, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
    assert_false(breaker_refuses(&breaker));
    assert_true(breaker_passes(&breaker, PROBES - 1));
    assert_false(breaker_passes(&breaker, PROBES));
    breaker_answered(&breaker, now_mono_ms);
    assert_true(breaker_passes(&breaker, PROBES - 2)); /* no more in all than it takes */
    assert_false(breaker_passes(&breaker, PROBES - 1));
}

static void enough_answers_close_it(void **state)
{
    open_it();
    breaker_connected(&breaker, now_mono_ms);
    for (int i = 0; i < PROBES; i++) {
        assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
        breaker_answered(&breaker, now_mono_ms);
    }
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_int_equal(breaker.trips, 1);
}

static void a_loss_while_it_tries_opens_it_again_and_is_no_new_trip(void **state)
{
    open_it();
    breaker_connected(&breaker, now_mono_ms);
    breaker_answered(&breaker, now_mono_ms);
    breaker_lost(&breaker, false, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_int_equal(breaker.trips, 1);
    breaker_connected(&breaker, now_mono_ms);
    assert_true(
        breaker_passes(&breaker, PROBES - 1)); /* what was proved before counts no more */
}

/* The connection was not given up, and its answer came after all. */
static void an_answer_while_it_is_open_is_the_first_of_the_probes(void **state)
{
    open_it();
    breaker_answered(&breaker, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
    for (int i = 1; i < PROBES; i++)
        breaker_answered(&breaker, now_mono_ms);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

/* The connection is good, and nothing is in flight that could be answered. */
static void it_is_not_open_for_ever_without_an_answer(void **state)
{
    open_it();
    assert_false(breaker_try(&breaker, now_mono_ms + BREAKER_RETRY_MS - 1));
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_true(breaker_try(&breaker, now_mono_ms + BREAKER_RETRY_MS));
    assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
    assert_true(breaker_passes(&breaker, PROBES - 1));
    assert_int_equal(breaker_look(&breaker, now_mono_ms + BREAKER_RETRY_MS), -1);
    for (int i = 0; i < PROBES; i++)
        breaker_answered(&breaker, now_mono_ms + BREAKER_RETRY_MS);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_false(breaker_try(&breaker, now_mono_ms + 2 * BREAKER_RETRY_MS));
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void silence_while_it_tries_opens_it_again_and_is_no_new_trip(void **state)
{
    open_it();
    breaker_connected(&breaker, now_mono_ms);
    breaker_asked(&breaker, now_mono_ms);
    assert_int_equal(breaker_look(&breaker, now_mono_ms), now_mono_ms + AFTER_MS);
    breaker_look(&breaker, now_mono_ms + AFTER_MS);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_int_equal(breaker.trips, 1);
}

static void it_can_be_switched_off(void **state)
{
    breaker_init(&breaker, 0, 0, 0);
    breaker_asked(&breaker, now_mono_ms);
    for (int i = 0; i < 100; i++)
        breaker_lost(&breaker, true, now_mono_ms);
    assert_int_equal(breaker_look(&breaker, now_mono_ms + 1000 * AFTER_MS), -1);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void each_state_has_a_word(void **state)
{
    assert_string_equal(breaker_word(BREAKER_CLOSED), "closed");
    assert_string_equal(breaker_word(BREAKER_OPEN), "open");
    assert_string_equal(breaker_word(BREAKER_HALF_OPEN), "half_open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_begins_closed_and_lets_everything_pass, setup),
        cmocka_unit_test_setup(silence_opens_it_once_somebody_has_asked_for_that_long, setup),
        cmocka_unit_test_setup(an_answer_ends_the_silence, setup),
        cmocka_unit_test_setup(late_answers_in_a_row_open_it, setup),
        cmocka_unit_test_setup(refused_connections_do_not, setup),
        cmocka_unit_test_setup(a_fit_connection_lets_some_try, setup),
        cmocka_unit_test_setup(enough_answers_close_it, setup),
        cmocka_unit_test_setup(a_loss_while_it_tries_opens_it_again_and_is_no_new_trip, setup),
        cmocka_unit_test_setup(an_answer_while_it_is_open_is_the_first_of_the_probes, setup),
        cmocka_unit_test_setup(it_is_not_open_for_ever_without_an_answer, setup),
        cmocka_unit_test_setup(silence_while_it_tries_opens_it_again_and_is_no_new_trip, setup),
        cmocka_unit_test_setup(it_can_be_switched_off, setup),
        cmocka_unit_test(each_state_has_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
