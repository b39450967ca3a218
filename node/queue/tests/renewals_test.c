/* Slow readers: a job stays reserved for as long as its consumer reads the reply. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

static void a_job_stays_with_its_consumer_while_the_reply_is_read(void **state)
{
    begin_hand_out("t", "1", 60000);
    fixture_advance(&f, 100000);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.status, STATUS_NOT_FOUND);
    delivered(&f, &a);
    fixture_advance(&f, 59000); /* the time to run begins when it has been read */
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    assert_int_equal(count(OP_KEEP), 50);
}

static void a_job_may_be_settled_while_the_reply_is_still_read(void **state)
{
    push(&f, "t", "1", 0, 60000);
    push(&f, "t", "2", 0, 60000);
    consume(&f, &a, "t", 2, 0);
    fixture_advance(&f, 20000);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "2"), JOB_RESERVED);
    delivered(&f, &a);
}

static void short_and_no_times_to_run_are_kept_as_well(void **state)
{
    push(&f, "t", "short", 0, 1);
    push(&f, "t", "none", 0, 0);
    consume(&f, &a, "t", 2, 0);
    fixture_advance(&f, 60000);
    assert_int_equal(state_of(&f, "t", "short"), JOB_RESERVED);
    assert_int_equal(state_of(&f, "t", "none"), JOB_RESERVED);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "short"), JOB_READY);
    assert_int_equal(state_of(&f, "t", "none"), 0);
}

static void what_a_slow_reader_never_got_costs_no_try(void **state)
{
    push(&f, "t", "1", 0, 60000);
    begin_hand_out("t", "2", 60000);
    fixture_advance(&f, 30000);
    returned(&f, &a);
    consume(&f, &b, "t", 1, 0);
    assert_string_equal(b.ids[0], "1");
    assert_int_equal(b.tries[0], 0);
    delivered(&f, &b);
}

static void what_is_delivered_within_two_seconds_is_not_kept(void **state)
{
    for (unsigned i = 0; i < 10; i++) {
        begin_hand_out("t", "", 60000);
        fixture_advance(&f, 1999);
        delivered(&f, &a);
    }
    fixture_advance(&f, 10000);
    assert_int_equal(count(OP_KEEP), 0);
}

static void each_delivery_is_kept_in_its_own_time(void **state)
{
    static struct consumer many[10];

    for (unsigned i = 0; i < 10; i++) {
        push(&f, "t", "", 0, 60000);
        consume(&f, &many[i], "t", 1, 0);
        fixture_advance(&f, 100);
    }
    fixture_advance(&f, 999);
    assert_int_equal(count(OP_KEEP), 0);
    fixture_advance(&f, 500);
    assert_int_equal(count(OP_KEEP), 5);
    delivered(&f, &many[5]);
    returned(&f, &many[0]);
    fixture_advance(&f, 2000);
    assert_int_equal(count(OP_KEEP), 5 + 4 + 4);
    for (unsigned i = 1; i < 10; i++)
        if (i != 5)
            delivered(&f, &many[i]);
}

static void one_keep_that_is_lost_does_no_harm(void **state)
{
    fixture_advance(&f, 100);
    begin_hand_out("t", "1", 60000);
    queue_deactivate(f.q);
    fixture_advance(&f, 1950); /* the next operation is the keep */
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    fixture_advance(&f, 50);
    assert_int_equal(queue_stats(f.q)->unknown[OP_KEEP], 1);
    queue_activate(f.q);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    delivered(&f, &a);
}

static void a_slow_store_is_asked_once_at_a_time(void **state)
{
    push(&f, "t", "1", 0, 60000);
    begin_hand_out("t", "2", 60000);
    consume(&f, &b, "t", 1, 0);
    memory_store_hold(f.ms);
    fixture_advance(&f, 10000);
    assert_int_equal(count(OP_KEEP), 2);
    delivered(&f, &a); /* the answer finds nobody */
    memory_store_unhold(f.ms);
    fixture_advance(&f, 2000);
    assert_int_equal(count(OP_KEEP), 3);
    returned(&f, &b);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

static void a_pop_that_was_answered_late_is_kept_at_once(void **state)
{
    push(&f, "t", "1", 0, 60000);
    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 10000);
    fixture_advance(&f, 3200);
    memory_store_unhold(f.ms);
    fixture_advance(&f, 3000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    delivered(&f, &a);
}

static void a_keep_that_failed_slowly_is_made_up_for(void **state)
{
    begin_hand_out("t", "1", 60000);
    queue_deactivate(f.q);
    memory_store_hold(f.ms);
    fixture_advance(&f, 1950); /* the next operation is the keep */
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    fixture_advance(&f, 2150);
    memory_store_unhold(f.ms);
    queue_activate(f.q);
    fixture_advance(&f, 1500);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    delivered(&f, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(a_job_stays_with_its_consumer_while_the_reply_is_read),
        WITH_ACTIVE(a_job_may_be_settled_while_the_reply_is_still_read),
        WITH_ACTIVE(short_and_no_times_to_run_are_kept_as_well),
        WITH_ACTIVE(what_a_slow_reader_never_got_costs_no_try),
        WITH_ACTIVE(what_is_delivered_within_two_seconds_is_not_kept),
        WITH_ACTIVE(each_delivery_is_kept_in_its_own_time),
        WITH_ACTIVE(one_keep_that_is_lost_does_no_harm),
        WITH_ACTIVE(a_slow_store_is_asked_once_at_a_time),
        WITH_ACTIVE(a_pop_that_was_answered_late_is_kept_at_once),
        WITH_ACTIVE(a_keep_that_failed_slowly_is_made_up_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
