/* From the pop to the acknowledgement: what is confirmed, what is saved, what goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/queue_fixture.h"

static struct fixture f;
static struct consumer a, b;

static int set_up(void **state)
{
    a = b = (struct consumer){0};
    fixture_start_active(&f, 4);
    return 0;
}

static int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

static enum status settle(enum op_verb verb, const struct consumer *c)
{
    struct call call = {0};

    submit(&f, &call, verb, "t", c->ids[0], c->stamps[0]);
    assert_true(call.is_done);
    return call.status;
}

static unsigned long keeps(void)
{
    return memory_store_count(f.ms, OP_KEEP);
}

static unsigned long confirmations(void)
{
    return memory_store_count(f.ms, OP_DELIVERED);
}

static void a_confirmed_job_is_reserved_for_its_own_ttr(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 59000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    assert_int_equal(state_of(&f, "t", "1"), 0);
}

/* Time stands still for the node that has it, as if it had died. */
static void a_job_of_a_dead_node_is_back_within_seconds_without_a_try(void **state)
{
    struct fixture other;

    fixture_join(&other, &f);
    queue_activate(other.q);
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
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

/* ---- slow readers ---- */

static void a_job_stays_with_its_consumer_while_the_reply_is_read(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    fixture_advance(&f, 100000);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.status, STATUS_NOT_FOUND);
    delivered(&f, &a);
    fixture_advance(&f, 59000); /* the time to run begins when it has been read */
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    assert_int_equal(keeps(), 50);
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
    push(&f, "t", "2", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    fixture_advance(&f, 30000);
    returned(&f, &a);
    consume(&f, &b, "t", 1, 0);
    assert_string_equal(b.ids[0], "1");
    assert_int_equal(b.tries[0], 0);
    delivered(&f, &b);
}

static void what_is_flushed_within_two_seconds_is_not_kept(void **state)
{
    for (unsigned i = 0; i < 10; i++) {
        push(&f, "t", "", 0, 60000);
        consume(&f, &a, "t", 1, 0);
        fixture_advance(&f, 1999);
        delivered(&f, &a);
    }
    fixture_advance(&f, 10000);
    assert_int_equal(keeps(), 0);
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
    assert_int_equal(keeps(), 0);
    fixture_advance(&f, 500);
    assert_int_equal(keeps(), 5);
    delivered(&f, &many[5]);
    returned(&f, &many[0]);
    fixture_advance(&f, 2000);
    assert_int_equal(keeps(), 5 + 4 + 4);
    for (unsigned i = 1; i < 10; i++)
        if (i != 5)
            delivered(&f, &many[i]);
}

static void one_keep_that_is_lost_does_no_harm(void **state)
{
    fixture_advance(&f, 100);
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
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
    push(&f, "t", "2", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    consume(&f, &b, "t", 1, 0);
    memory_store_hold(f.ms);
    fixture_advance(&f, 10000);
    assert_int_equal(keeps(), 2);
    delivered(&f, &a); /* the answer finds nobody */
    memory_store_unhold(f.ms);
    fixture_advance(&f, 2000);
    assert_int_equal(keeps(), 3);
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
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
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

static void a_quick_acknowledgement_saves_the_confirmation(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    fixture_advance(&f, 100);
    assert_int_equal(confirmations(), 0);
}

/* The time that another job has waited does not count for it. */
static void a_quick_acknowledgement_comes_before_the_confirmation(void **state)
{
    push(&f, "t", "1", 0, 60000);
    push(&f, "u", "2", 0, 60000);
    consume(&f, &a, "u", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 4);
    consume(&f, &b, "t", 1, 0);
    delivered(&f, &b);
    fixture_advance(&f, 4);
    assert_int_equal(confirmations(), 1);
    assert_int_equal(settle(OP_ACK, &b), STATUS_OK);
    fixture_advance(&f, 100);
    assert_int_equal(confirmations(), 1);
}

/* The consumer still holds the job for its TTR, whatever became of its acknowledgement. */
static void a_failed_acknowledgement_is_followed_by_the_confirmation(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_int_equal(settle(OP_ACK, &a), STATUS_UNKNOWN);
    fixture_advance(&f, 20000);
    assert_int_equal(confirmations(), 1);
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
    assert_int_equal(confirmations(), 2);
}

static void a_lost_confirmation_is_sent_once_more(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    fixture_advance(&f, 20000);
    assert_int_equal(confirmations(), 2);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

static void a_job_without_ttr_is_gone_once_delivered(void **state)
{
    push(&f, "t", "1", 0, 0);
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "1"), 0);
    assert_int_equal(settle(OP_ACK, &a), STATUS_NOT_FOUND);
}

static void
a_job_without_ttr_that_is_touched_while_it_is_read_is_gone_all_the_same(void **state)
{
    struct call call = {0};

    push(&f, "t", "1", 0, 0);
    consume(&f, &a, "t", 1, 0);
    call.op.in.lease.ttr_ms = 60000;
    submit(&f, &call, OP_TOUCH, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "1"), 0);
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
    push(&f, "t", "own", 0, 1000);
    consume(&f, &a, "t", 1, 0);
    push(&f, "t", "none", 0, 60000);
    b.pop.has_ttr = true;
    b.pop.ttr_ms = 0;
    consume(&f, &b, "t", 1, 0);
    delivered(&f, &a);
    delivered(&f, &b);
    fixture_advance(&f, 100);
    assert_int_equal(confirmations(), 1);
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

static void a_release_counts_the_try(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    assert_int_equal(settle(OP_RELEASE, &a), STATUS_OK);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 1);
    delivered(&f, &b);
}

static void a_touch_is_not_undone_by_a_late_confirmation(void **state)
{
    struct call call = {0};

    push(&f, "t", "1", 0, 2000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
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

    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    memory_store_fail(f.ms, 1, status, effect);
    fixture_advance(&f, 6);
    assert_int_equal(confirmations(), 1);
    call.op.in.lease.ttr_ms = 3600000;
    submit(&f, &call, OP_TOUCH, "t", "1", a.stamps[0]);
    assert_int_equal(call.status, STATUS_OK);
    fixture_advance(&f, 3599000);
    assert_int_equal(confirmations(), 2);
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
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 6);
    assert_int_equal(settle(OP_RELEASE, &a), STATUS_OK);
    fixture_advance(&f, 1000);
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.tries[0], 1);
    delivered(&f, &b);
}

static void a_made_up_lease_changes_nothing(void **state)
{
    struct call call = {0};

    push(&f, "t", "1", 0, 60000);
    push(&f, "t", "2", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    submit(&f, &call, OP_ACK, "t", "2", a.stamps[0]); /* another job with this lease */
    assert_int_equal(call.status, STATUS_NOT_RESERVED);
    submit(&f, &call, OP_ACK, "t", "1", a.stamps[0] + 1);
    assert_int_equal(call.status, STATUS_NOT_OWNER);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
}

static void a_confirmation_is_repeated_until_the_store_takes_it(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    memory_store_fail(f.ms, 3, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(queue_stats(f.q)->lost_confirmations, 0);
}

static void a_confirmation_that_is_given_up_is_counted(void **state)
{
    queue_deactivate(f.q);
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    memory_store_fail(f.ms, 1000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 20000);
    assert_int_equal(queue_stats(f.q)->lost_confirmations, 1);
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
}

static void a_confirmation_that_comes_too_late_is_counted(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    memory_store_fail(f.ms, 1000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 6000); /* too long to be kept */
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 1000);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 1);
}

/* Its lease was used up, not over. */
static void what_was_acknowledged_while_it_was_read_is_not_late(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    fixture_advance(&f, 20000);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
    fixture_advance(&f, 20000);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(confirmations(), 1);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 0);
}

/* The first try arrived, and was the job's end; the last one comes after its time. */
static void a_confirmation_that_is_repeated_is_not_late(void **state)
{
    queue_deactivate(f.q);
    push(&f, "t", "1", 0, 0);
    consume(&f, &a, "t", 1, 0);
    fixture_advance(&f, 1900);
    delivered(&f, &a);
    memory_store_fail(f.ms, 16, STATUS_UNKNOWN, MEMORY_DONE); /* half of it looks at settings */
    fixture_advance(&f, 20000);
    assert_int_equal(confirmations(), 9);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 0);
}

/* Of two confirmations in one operation. */
static void only_what_is_late_is_counted_as_late(void **state)
{
    push(&f, "t", "late", 0, 60000);
    push(&f, "t", "done", 0, 60000);
    consume(&f, &a, "t", 1, 0);
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
    assert_int_equal(confirmations(), 1);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 1);
}

static void on_stopped(void *arg)
{
    *(bool *)arg = true;
}

static void stopping_waits_for_what_was_handed_out(void **state)
{
    struct fixture own;
    struct consumer late = {0};
    bool is_stopped = false;

    fixture_start(&own, 2);
    push(&own, "t", "1", 0, 0);
    consume(&own, &late, "t", 1, 0);
    queue_stop(own.q, on_stopped, &is_stopped);
    fixture_turn(&own);
    assert_false(is_stopped); /* the protocol has not said what became of it */
    delivered(&own, &late);
    fixture_turn(&own);
    assert_true(is_stopped);
    assert_int_equal(memory_store_count(own.ms, OP_DELIVERED), 1);
    queue_free(own.q);
    memory_store_free(own.ms);
    timers_fini(&own.timers);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_confirmed_job_is_reserved_for_its_own_ttr),
        TEST(a_job_of_a_dead_node_is_back_within_seconds_without_a_try),
        TEST(a_job_stays_with_its_consumer_while_the_reply_is_read),
        TEST(a_job_may_be_settled_while_the_reply_is_still_read),
        TEST(short_and_no_times_to_run_are_kept_as_well),
        TEST(what_a_slow_reader_never_got_costs_no_try),
        TEST(what_is_flushed_within_two_seconds_is_not_kept),
        TEST(each_delivery_is_kept_in_its_own_time),
        TEST(one_keep_that_is_lost_does_no_harm),
        TEST(a_slow_store_is_asked_once_at_a_time),
        TEST(a_pop_that_was_answered_late_is_kept_at_once),
        TEST(a_keep_that_failed_slowly_is_made_up_for),
        TEST(a_quick_acknowledgement_saves_the_confirmation),
        TEST(a_quick_acknowledgement_comes_before_the_confirmation),
        TEST(a_failed_acknowledgement_is_followed_by_the_confirmation),
        TEST(confirmations_of_a_topic_travel_together),
        TEST(a_lost_confirmation_is_sent_once_more),
        TEST(a_job_without_ttr_is_gone_once_delivered),
        TEST(a_job_without_ttr_that_is_touched_while_it_is_read_is_gone_all_the_same),
        TEST(a_consumer_may_bring_its_own_ttr),
        TEST(ttrs_of_several_consumers_travel_together),
        TEST(a_ttr_out_of_range_is_refused),
        TEST(returned_jobs_are_first_in_line_in_their_old_order),
        TEST(a_release_counts_the_try),
        TEST(a_touch_is_not_undone_by_a_late_confirmation),
        TEST(a_touch_is_not_undone_by_a_confirmation_that_had_arrived),
        TEST(a_touch_is_not_undone_by_a_confirmation_that_had_not),
        TEST(a_release_counts_the_try_of_a_lost_confirmation),
        TEST(a_made_up_lease_changes_nothing),
        TEST(a_confirmation_is_repeated_until_the_store_takes_it),
        TEST(a_confirmation_that_is_given_up_is_counted),
        TEST(a_confirmation_that_comes_too_late_is_counted),
        TEST(what_was_acknowledged_while_it_was_read_is_not_late),
        TEST(a_confirmation_that_is_repeated_is_not_late),
        TEST(only_what_is_late_is_counted_as_late),
        cmocka_unit_test(stopping_waits_for_what_was_handed_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
