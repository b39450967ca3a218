/* Consumers that leave, and a store that fails: nothing is lost, nobody starves. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

#include <stdio.h>

static void cancelling_a_waiting_consumer_costs_nothing(void **state)
{
    consume(&f, &a, "t,u", 1, 60000);
    queue_pop_cancel(&a.pop);
    assert_int_equal(a.done, 0);
    fixture_turn(&f);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_CANCELLED);
    push(&f, "t", "1", 0, 5000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void a_job_popped_for_one_who_left_goes_to_the_next_without_a_try(void **state)
{
    push(&f, "t", "1", 0, 5000);
    push(&f, "t", "2", 0, 5000);
    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 60000);
    queue_pop_cancel(&a.pop);
    fixture_turn(&f);
    assert_int_equal(a.status, STATUS_CANCELLED);
    fixture_unhold(&f);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    consume(&f, &b, "t", 1, 0);
    assert_got(&b, "1"); /* still first in line */
    assert_int_equal(b.tries[0], 0);
    assert_int_equal(queue_stats(f.q)->returned_jobs, 1);
    delivered(&f, &b);
}

static void a_consumer_is_never_popped_for_twice_at_a_time(void **state)
{
    push(&f, "t", "1", 0, 5000);
    push(&f, "u", "2", 0, 5000);
    memory_store_hold(f.ms);
    consume(&f, &a, "t,u", 1, 5000);
    assert_int_equal(count(OP_POP), 1);
    fixture_unhold(&f);
    assert_got(&a, "1");
    assert_int_equal(state_of(&f, "u", "2"), JOB_READY);
    delivered(&f, &a);
}

static void keeps_waiting_through_a_failure_of_the_store(void **state)
{
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    consume(&f, &a, "t", 1, 60000);
    assert_int_equal(a.done, 0);
    push(&f, "t", "1", 0, 5000);
    fixture_advance(&f, 1000);
    assert_got(&a, "1");
    delivered(&f, &a);
}

/* No word comes of a job that was there before. */
static void asks_again_by_itself_after_a_failure(void **state)
{
    push(&f, "t", "1", 0, 5000);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    consume(&f, &a, "t", 1, 60000);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1000);
    assert_got(&a, "1");
    delivered(&f, &a);
}

/* So many wait for "high" that one pop does not ask for all of them. */
static void fill_the_line_at_high(struct consumer *crowd, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        consume(&f, &crowd[i], "high", 1, 1000000);
}

static void one_far_back_in_the_line_is_not_kept_from_its_other_topic(void **state)
{
    static struct consumer crowd[70];

    push(&f, "low", "l", 0, 5000);
    memory_store_hold(f.ms);
    fill_the_line_at_high(crowd, 70);
    consume(&f, &a, "high,low", 1, 60000);
    fixture_unhold(&f);
    assert_got(&a, "l");
    delivered(&f, &a);
}

static void one_far_back_that_does_not_wait_is_answered(void **state)
{
    static struct consumer crowd[70];

    memory_store_hold(f.ms);
    fill_the_line_at_high(crowd, 70);
    consume(&f, &a, "high,low", 1, 0);
    consume(&f, &b, "low,high", 64, 0);
    fixture_unhold(&f);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
    assert_int_equal(b.status, STATUS_NOT_FOUND);
}

static void a_sick_topic_does_not_starve_the_next(void **state)
{
    push(&f, "low", "l", 0, 5000);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE); /* the pop of "sick" */
    consume(&f, &a, "sick,low", 1, 60000);
    assert_got(&a, "l");
    delivered(&f, &a);
}

/* It waits behind `a`, and the topic may have a job for it. */
static void one_that_a_topic_blocks_is_released_when_the_topic_fails(void **state)
{
    push(&f, "low", "l", 0, 5000);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE); /* the pop of "sick" */
    memory_store_hold(f.ms);
    consume(&f, &a, "sick", 1, 60000);
    consume(&f, &b, "sick,low", 1, 60000);
    assert_int_equal(count(OP_POP), 1);
    fixture_unhold(&f);
    assert_got(&b, "l");
    delivered(&f, &b);
}

static void tells_a_consumer_that_does_not_wait_of_the_failure(void **state)
{
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_UNKNOWN);
}

/* The store has been away for as long as it is waited for: who waits in front goes on waiting,
 * and holds up nobody. */
static void one_that_does_not_wait_is_not_kept_by_those_who_do(void **state)
{
    memory_store_fail(f.ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 60000);
    consume(&f, &b, "t", 1, 0);
    fixture_unhold(&f);
    assert_int_equal(a.done, 0);
    assert_int_equal(b.status, STATUS_UNAVAILABLE);
    push(&f, "t", "1", 0, 5000);
    fixture_advance(&f, 1000);
    assert_got(&a, "1");
    delivered(&f, &a);
}

/* Nobody would get the job: it would be returned, a moment later. */
static void a_pop_that_waits_for_the_store_is_dropped_with_its_last_consumer(void **state)
{
    memory_store_take_down(f.ms);
    memory_store_let_wait(f.ms);
    consume(&f, &a, "t", 1, 60000);
    consume(&f, &b, "t", 1, 60000);
    queue_pop_cancel(&b.pop);
    fixture_turn(&f);
    assert_int_equal(memory_store_dropped(f.ms), 0);
    queue_pop_cancel(&a.pop);
    fixture_turn(&f);
    assert_int_equal(memory_store_dropped(f.ms), 1);
    assert_int_equal(a.status, STATUS_CANCELLED);

    consume(&f, &a, "t", 1, 60000); /* the next is served all the same */
    fixture_bring_up(&f);
    push(&f, "t", "1", 0, 5000);
    assert_got(&a, "1");
    delivered(&f, &a);
}

/* Its client would give up, and call that an error. */
static void one_whose_time_is_over_does_not_wait_long_for_a_silent_store(void **state)
{
    push(&f, "t", "1", 0, 5000);
    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 2000);
    fixture_advance(&f, 2400);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 100);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
    fixture_unhold(&f);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(a.done, 1);
}

static void looks_again_after_the_store_was_away(void **state)
{
    consume(&f, &a, "t", 1, 60000);
    fixture_join(&other, &f);
    fixture_turn(&other);
    fixture_take_down(&f);
    push(&other, "t", "1", 0, 5000); /* f does not hear of it */
    fixture_end(&other);
    fixture_turn(&f);
    assert_int_equal(a.done, 0);
    fixture_bring_up(&f);
    assert_got(&a, "1");
    delivered(&f, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ONE(cancelling_a_waiting_consumer_costs_nothing),
        WITH_ONE(a_job_popped_for_one_who_left_goes_to_the_next_without_a_try),
        WITH_ONE(a_consumer_is_never_popped_for_twice_at_a_time),
        WITH_ONE(keeps_waiting_through_a_failure_of_the_store),
        WITH_ONE(asks_again_by_itself_after_a_failure),
        WITH_ONE(one_far_back_in_the_line_is_not_kept_from_its_other_topic),
        WITH_ONE(one_far_back_that_does_not_wait_is_answered),
        WITH_ONE(a_sick_topic_does_not_starve_the_next),
        WITH_ONE(one_that_a_topic_blocks_is_released_when_the_topic_fails),
        WITH_ONE(tells_a_consumer_that_does_not_wait_of_the_failure),
        WITH_ONE(one_that_does_not_wait_is_not_kept_by_those_who_do),
        WITH_ONE(a_pop_that_waits_for_the_store_is_dropped_with_its_last_consumer),
        WITH_ONE(one_whose_time_is_over_does_not_wait_long_for_a_silent_store),
        WITH_ONE(looks_again_after_the_store_was_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
