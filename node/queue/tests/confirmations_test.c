/* Confirmations that are late or lost, and operations that come before them. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

static void a_release_counts_the_try(void **state)
{
    hand_out("t", "1", 60000);
    assert_int_equal(settle(OP_RELEASE, &a), STATUS_OK);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 1);
    delivered(&f, &b);
}

static void a_touch_is_not_undone_by_a_late_confirmation(void **state)
{
    struct call call = {0};

    hand_out("t", "1", 2000);
    call.op.in.lease.ttr_ms = 100000;
    submit(&f, &call, OP_TOUCH, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
    fixture_advance(&f, 50000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

/* An hour's touch; the confirmation meets it again half a second later. */
static void touch_behind_a_confirmation(enum status status, enum memory_effect effect)
{
    struct call call = {0};

    hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1, status, effect);
    fixture_advance(&f, 6);
    assert_int_equal(count(OP_DELIVERED), 1);
    call.op.in.lease.ttr_ms = 3600000;
    submit(&f, &call, OP_TOUCH, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
    fixture_advance(&f, 3599000);
    assert_int_equal(count(OP_DELIVERED), 2);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    submit(&f, &call, OP_GET, "t", "1", 0);
    assert_int_equal(call.job.tries, 1);
}

static void a_touch_is_not_undone_by_a_confirmation_that_had_arrived(void **state)
{
    touch_behind_a_confirmation(STATUS_UNKNOWN, MEMORY_DONE);
}

static void a_touch_is_not_undone_by_a_confirmation_that_had_not(void **state)
{
    touch_behind_a_confirmation(STATUS_STORE_ERROR, MEMORY_UNDONE);
}

static void a_release_counts_the_try_of_a_lost_confirmation(void **state)
{
    hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 6);
    assert_int_equal(settle(OP_RELEASE, &a), STATUS_OK);
    fixture_advance(&f, 1000);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 1);
    delivered(&f, &b);
}

static void a_confirmation_is_repeated_until_the_store_takes_it(void **state)
{
    hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 3, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(queue_stats(f.q)->lost_confirmations, 0);
}

static void a_confirmation_that_is_given_up_is_counted(void **state)
{
    queue_deactivate(f.q);
    hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 20000);
    assert_int_equal(queue_stats(f.q)->lost_confirmations, 1);
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
}

static void a_confirmation_that_comes_too_late_is_counted(void **state)
{
    begin_hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 6000); /* too long to be kept */
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 1000);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 1);
}

/* Its lease was used up at another node, not over. */
static void what_was_acknowledged_while_it_was_read_is_not_late(void **state)
{
    struct call call = {0};

    fixture_join(&other, &f);
    begin_hand_out("t", "1", 60000);
    fixture_advance(&f, 20000);
    submit(&other, &call, OP_ACK, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
    fixture_advance(&f, 20000);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 0);
    fixture_end(&other);
}

/* The first try arrived, and was the job's end; the last one comes after its time. */
static void a_confirmation_that_is_repeated_is_not_late(void **state)
{
    queue_deactivate(f.q);
    begin_hand_out("t", "1", 0);
    fixture_advance(&f, 1900);
    delivered(&f, &a);
    memory_store_fail(f.ms, 16, STATUS_UNKNOWN, MEMORY_DONE); /* half of it looks at settings */
    fixture_advance(&f, 20000);
    assert_int_equal(count(OP_DELIVERED), 9);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 0);
}

/* Of two confirmations in one operation. */
static void only_what_is_late_is_counted_as_late(void **state)
{
    push(&f, "t", "late", 0, 60000);
    begin_hand_out("t", "done", 60000);
    memory_store_fail(f.ms, 1000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 6000); /* too long to be kept */
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
    consume(&f, &b, "t", 1, 0);
    assert_string_equal(b.ids[0], "done");
    fixture_advance(&f, 1000);
    assert_int_equal(settle(OP_ACK, &b), STATUS_OK);
    delivered(&f, &a);
    delivered(&f, &b);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(a_release_counts_the_try),
        WITH_ACTIVE(a_touch_is_not_undone_by_a_late_confirmation),
        WITH_ACTIVE(a_touch_is_not_undone_by_a_confirmation_that_had_arrived),
        WITH_ACTIVE(a_touch_is_not_undone_by_a_confirmation_that_had_not),
        WITH_ACTIVE(a_release_counts_the_try_of_a_lost_confirmation),
        WITH_ACTIVE(a_confirmation_is_repeated_until_the_store_takes_it),
        WITH_ACTIVE(a_confirmation_that_is_given_up_is_counted),
        WITH_ACTIVE(a_confirmation_that_comes_too_late_is_counted),
        WITH_ACTIVE(what_was_acknowledged_while_it_was_read_is_not_late),
        WITH_ACTIVE(a_confirmation_that_is_repeated_is_not_late),
        WITH_ACTIVE(only_what_is_late_is_counted_as_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
