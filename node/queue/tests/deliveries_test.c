/* From the pop to the acknowledgement: confirmations sent, confirmations saved, jobs
 * returned. */
#include "node/queue/tests/fixtures/nodes_fixture.h"
#include "node/queue/renewals.h"

static void a_confirmed_job_is_reserved_for_its_own_ttr(void **state)
{
    hand_out("t", "1", 60000);
    fixture_advance(&f, 59000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    assert_int_equal(state_of(&f, "t", "1"), 0);
}

/* Time stands still for the node that has it, as if it had died. */
static void a_job_of_a_dead_node_is_back_within_seconds_without_a_try(void **state)
{
    fixture_join(&other, &f);
    queue_activate(other.q);
    begin_hand_out("t", "1", 60000);
    fixture_advance(&other, 4999);
    assert_int_equal(state_of(&other, "t", "1"), JOB_RESERVED);
    fixture_advance(&other, 1);
    assert_int_equal(state_of(&other, "t", "1"), JOB_READY);
    consume(&other, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 0);
    delivered(&other, &b);
    fixture_end(&other);
    delivered(&f, &a);
}

static void a_quick_acknowledgement_saves_the_confirmation(void **state)
{
    hand_out("t", "1", 60000);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 0);
}

/* The time that another job has waited does not count for it. */
static void a_quick_acknowledgement_comes_before_the_confirmation(void **state)
{
    push(&f, "t", "1", 0, 60000);
    hand_out("u", "2", 60000);
    fixture_advance(&f, 4);
    consume(&f, &b, "t", 1, 0);
    delivered(&f, &b);
    fixture_advance(&f, 4);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(settle(OP_ACK, &b), STATUS_OK);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 1);
}

/* The consumer still holds the job for its TTR, whatever became of its acknowledgement. */
static void a_failed_acknowledgement_is_followed_by_the_confirmation(void **state)
{
    hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_int_equal(settle(OP_ACK, &a), STATUS_UNKNOWN);
    fixture_advance(&f, 20000);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
}

static void confirmations_of_a_topic_travel_together(void **state)
{
    static struct consumer many[30];

    for (unsigned i = 0; i < 30; i++)
        push(&f, i % 3 ? "t" : "u", "", 0, 60000);
    for (unsigned i = 0; i < 30; i++) {
        consume(&f, &many[i], "t,u", 1, 0);
        delivered(&f, &many[i]);
    }
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 2);
}

static void a_lost_confirmation_is_sent_once_more(void **state)
{
    hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    fixture_advance(&f, 20000);
    assert_int_equal(count(OP_DELIVERED), 2);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

static void a_job_without_ttr_is_gone_once_delivered(void **state)
{
    begin_hand_out("t", "1", 0);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "1"), 0);
    assert_int_equal(settle(OP_ACK, &a), STATUS_NOT_FOUND);
}

/* The lease proves that it was delivered, and without a time to run that is the end. */
static void a_job_without_ttr_that_is_touched_while_it_is_read_is_gone(void **state)
{
    struct call call = {0};

    begin_hand_out("t", "1", 0);
    call.op.in.lease.ttr_ms = 60000;
    submit(&f, &call, OP_TOUCH, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_NOT_FOUND);
    assert_int_equal(state_of(&f, "t", "1"), 0);
    returned(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "1"), 0);
}

/* Over another connection than the one that has not acknowledged the reply. */
static void an_acknowledgement_proves_the_delivery(void **state)
{
    push(&f, "t", "1", 0, 60000);
    push(&f, "t", "2", 0, 60000);
    consume(&f, &a, "t", 2, 0);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    assert_int_equal(queue_stats(f.q)->popped_jobs, 1);
    fixture_advance(&f, RENEWAL_INTERVAL_MS);
    assert_int_equal(count(OP_KEEP), 1); /* of the other one */
    returned(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 0);
    assert_int_equal(queue_stats(f.q)->returned_jobs, 1);
    assert_int_equal(state_of(&f, "t", "1"), 0);
    assert_int_equal(state_of(&f, "t", "2"), JOB_READY);
}

static void
what_was_touched_or_released_does_not_come_back_as_if_it_had_not_been_read(void **state)
{
    struct call call = {.op.in.lease.ttr_ms = 60000};

    push(&f, "t", "1", 0, 1000);
    begin_hand_out("t", "2", 1000);
    consume(&f, &b, "t", 1, 0);
    submit(&f, &call, OP_TOUCH, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
    assert_int_equal(settle(OP_RELEASE, &b), STATUS_OK);
    assert_int_equal(queue_stats(f.q)->popped_jobs, 2);
    fixture_advance(&f, RENEWAL_INTERVAL_MS);
    assert_int_equal(count(OP_KEEP), 0);
    returned(&f, &a);
    returned(&f, &b);
    fixture_advance(&f, 50000);
    assert_int_equal(queue_stats(f.q)->returned_jobs, 0);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 1);
    delivered(&f, &b);
}

/* With it they are enough to be sent at once, and it is not one of them. */
static void an_acknowledgement_proves_the_delivery_among_many_others(void **state)
{
    static struct consumer many[OP_ITEMS_MAX];

    for (unsigned i = 0; i < OP_ITEMS_MAX; i++) {
        push(&f, "t", "", 0, 60000);
        consume(&f, &many[i], "t", 1, 0);
    }
    for (unsigned i = 1; i < OP_ITEMS_MAX; i++)
        delivered(&f, &many[i]);
    assert_int_equal(count(OP_DELIVERED), 0);
    assert_int_equal(settle(OP_ACK, &many[0]), STATUS_OK);
    returned(&f, &many[0]);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(queue_stats(f.q)->popped_jobs, OP_ITEMS_MAX);
    assert_int_equal(queue_stats(f.q)->unconfirmed, 0);
}

/* The store has not heard that it was acknowledged, but the consumer has it. */
static void an_acknowledgement_that_fails_proves_the_delivery_too(void **state)
{
    begin_hand_out("t", "1", 60000);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_int_equal(settle(OP_ACK, &a), STATUS_UNKNOWN);
    returned(&f, &a);
    fixture_advance(&f, 20000);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

static void a_consumer_may_bring_its_own_ttr(void **state)
{
    push(&f, "t", "1", 0, 1000);
    a.pop.has_ttr = true;
    a.pop.ttr_ms = 60000;
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 59000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    fixture_advance(&f, 2000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    consume(&f, &b, "t", 1, 0); /* and the next one does not */
    delivered(&f, &b);
    fixture_advance(&f, 2000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void ttrs_of_several_consumers_travel_together(void **state)
{
    begin_hand_out("t", "own", 1000);
    push(&f, "t", "none", 0, 60000);
    b.pop.has_ttr = true;
    b.pop.ttr_ms = 0;
    consume(&f, &b, "t", 1, 0);
    delivered(&f, &a);
    delivered(&f, &b);
    fixture_advance(&f, 100);
    assert_int_equal(count(OP_DELIVERED), 1);
    assert_int_equal(state_of(&f, "t", "own"), JOB_RESERVED);
    assert_int_equal(state_of(&f, "t", "none"), 0);
}

static void a_ttr_out_of_range_is_refused(void **state)
{
    a.pop.has_ttr = true;
    a.pop.ttr_ms = -1;
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.status, STATUS_OUT_OF_RANGE);
    a.pop.ttr_ms = QUEUE_TTR_MAX_MS + 1;
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.status, STATUS_OUT_OF_RANGE);
}

static void returned_jobs_are_first_in_line_in_their_old_order(void **state)
{
    for (const char *id = "1\0"
                          "2\0"
                          "3\0";
         *id; id += 2)
        push(&f, "t", id, 0, 60000);
    consume(&f, &a, "t", 2, 0);
    returned(&f, &a);
    consume(&f, &b, "t", 3, 0);
    assert_string_equal(b.ids[0], "1");
    assert_string_equal(b.ids[1], "2");
    assert_string_equal(b.ids[2], "3");
    delivered(&f, &b);
}

static void leave_open(struct consumer *c)
{
    queue_left_open(f.q, c->delivery);
    c->delivery = NULL;
    fixture_turn(&f);
}

static void what_is_left_open_is_its_consumers_for_some_seconds(void **state)
{
    struct call call = {0};

    begin_hand_out("t", "1", 60000);
    leave_open(&a);
    assert_int_equal(queue_stats(f.q)->unconfirmed, 0);
    fixture_advance(&f, 4000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    submit(&f, &call, OP_ACK, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
}

static void what_is_left_open_comes_again_at_no_try(void **state)
{
    begin_hand_out("t", "1", 60000);
    leave_open(&a);
    fixture_advance(&f, 7000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 0);
    delivered(&f, &b);
}

static void a_made_up_lease_changes_nothing(void **state)
{
    struct call call = {0};

    push(&f, "t", "1", 0, 60000);
    hand_out("t", "2", 60000);
    submit(&f, &call, OP_ACK, "t", "2", a.stamps[0]); /* another job with this lease */
    assert_int_equal(call.status, STATUS_NOT_RESERVED);
    submit(&f, &call, OP_ACK, "t", "1", a.stamps[0] + 1);
    assert_int_equal(call.status, STATUS_NOT_OWNER);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

static void stopping_waits_for_what_was_handed_out(void **state)
{
    struct fixture own;
    struct consumer late = {0};

    fixture_start(&own, 2);
    push(&own, "t", "1", 0, 0);
    consume(&own, &late, "t", 1, 0);
    fixture_stop(&own);
    fixture_turn(&own);
    assert_false(own.is_stopped); /* the protocol has not said what became of it */
    delivered(&own, &late);
    fixture_turn(&own);
    assert_true(own.is_stopped);
    assert_int_equal(memory_store_count(own.ms, OP_DELIVERED), 1);
    fixture_end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(a_confirmed_job_is_reserved_for_its_own_ttr),
        WITH_ACTIVE(a_job_of_a_dead_node_is_back_within_seconds_without_a_try),
        WITH_ACTIVE(a_quick_acknowledgement_saves_the_confirmation),
        WITH_ACTIVE(a_quick_acknowledgement_comes_before_the_confirmation),
        WITH_ACTIVE(a_failed_acknowledgement_is_followed_by_the_confirmation),
        WITH_ACTIVE(confirmations_of_a_topic_travel_together),
        WITH_ACTIVE(a_lost_confirmation_is_sent_once_more),
        WITH_ACTIVE(a_job_without_ttr_is_gone_once_delivered),
        WITH_ACTIVE(a_job_without_ttr_that_is_touched_while_it_is_read_is_gone),
        WITH_ACTIVE(an_acknowledgement_proves_the_delivery),
        WITH_ACTIVE(what_was_touched_or_released_does_not_come_back_as_if_it_had_not_been_read),
        WITH_ACTIVE(an_acknowledgement_proves_the_delivery_among_many_others),
        WITH_ACTIVE(an_acknowledgement_that_fails_proves_the_delivery_too),
        WITH_ACTIVE(a_consumer_may_bring_its_own_ttr),
        WITH_ACTIVE(ttrs_of_several_consumers_travel_together),
        WITH_ACTIVE(a_ttr_out_of_range_is_refused),
        WITH_ACTIVE(returned_jobs_are_first_in_line_in_their_old_order),
        WITH_ACTIVE(what_is_left_open_is_its_consumers_for_some_seconds),
        WITH_ACTIVE(what_is_left_open_comes_again_at_no_try),
        WITH_ACTIVE(a_made_up_lease_changes_nothing),
        cmocka_unit_test(stopping_waits_for_what_was_handed_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
