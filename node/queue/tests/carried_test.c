/* A scan brings the pops of consumers that wait for what may become due. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

#include <stdio.h>

#include "base/crc16.h"

static unsigned bucket_of(const char *topic)
{
    return crc16(bytes_of_text(topic)) % 4; /* the fixture's */
}

static void a_due_job_comes_with_the_scan_that_moves_it(void **state)
{
    unsigned long before, scans;

    consume(&f, &a, "t", 1, 60000);
    push(&f, "t", "1", 500, 5000);
    before = count(OP_POP);
    scans = count(OP_SCAN);
    fixture_advance(&f, 500);
    assert_got(&a, "1");
    assert_int_equal(count(OP_POP), before);
    assert_int_equal(count(OP_SCAN), scans + 1);
    assert_int_equal(queue_stats(f.q)->done[OP_POP], before + 1);
    delivered(&f, &a);
    assert_int_equal(queue_stats(f.q)->delivery_lateness.max, 0);
}

static void what_is_left_goes_to_the_other_node(void **state)
{
    unsigned long before;

    consume(&f, &a, "t", 1, 60000);
    consume(&other, &b, "t", 1, 60000);
    push(&f, "t", "1", 500, 5000);
    before = memory_store_count(other.ms, OP_POP);
    fixture_advance(&f, 500);
    fixture_turn(&other);
    assert_got(&a, "1");
    assert_int_equal(memory_store_count(other.ms, OP_POP), before); /* it heard of nothing */
    delivered(&f, &a);
    push(&f, "t", "2", 500, 5000);
    fixture_advance(&f, 500);
    fixture_turn(&other);
    assert_got(&b, "2");
    delivered(&other, &b);
}

static void several_that_become_due_at_once_all_find_their_consumers(void **state)
{
    static struct consumer many[20];

    for (unsigned i = 0; i < 20; i++) {
        consume(&f, &many[i], i % 2 ? "t" : "t,u", 1, 60000);
        push(&f, "t", "", 500, 5000);
    }
    fixture_advance(&f, 500);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(many[i].status, STATUS_OK);
        delivered(&f, &many[i]);
    }
}

/* Its answer may be older than they. */
static void news_during_the_scan_are_not_lost(void **state)
{
    struct call call = {0};

    consume(&f, &a, "t", 1, 60000);
    memory_store_hold(f.ms);
    fixture_advance(&f, 1000); /* all buckets are being scanned */
    submit(&f, &call, OP_PUSH, "t", "1", 0);
    fixture_unhold(&f);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void a_job_for_one_who_has_left_meanwhile_goes_to_the_next(void **state)
{
    consume(&f, &a, "t", 1, 60000);
    push(&f, "t", "1", 500, 5000);
    memory_store_hold(f.ms);
    fixture_advance(&f, 500);
    queue_pop_cancel(&a.pop);
    fixture_turn(&f);
    assert_int_equal(a.status, STATUS_CANCELLED);
    fixture_unhold(&f);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    consume(&f, &b, "t", 1, 0);
    assert_got(&b, "1");
    assert_int_equal(b.tries[0], 0);
    delivered(&f, &b);
}

static void a_consumer_whose_time_ends_during_the_scan_gets_its_job(void **state)
{
    consume(&f, &a, "t", 1, 600);
    push(&f, "t", "1", 500, 5000);
    memory_store_hold(f.ms);
    fixture_advance(&f, 700);
    assert_int_equal(a.done, 0);
    fixture_unhold(&f);
    assert_got(&a, "1");
    delivered(&f, &a);
}

/* It may have moved the job, or not. */
static void after_a_scan_that_failed_the_store_is_asked(void **state)
{
    static const enum memory_effect kinds[] = {MEMORY_UNDONE, MEMORY_DONE};

    for (unsigned i = 0; i < 2; i++) {
        struct consumer who = {0};

        consume(&f, &who, "t", 1, 60000);
        push(&f, "t", "1", 500, 5000);
        fixture_advance(&f, 499);
        memory_store_fail(
            f.ms, 1, kinds[i] == MEMORY_DONE ? STATUS_UNKNOWN : STATUS_UNAVAILABLE, kinds[i]);
        fixture_advance(&f, 1 + 10000); /* the first pop of an answer that is lost runs out */
        assert_got(&who, "1");
        delivered(&f, &who);
        assert_int_equal(settle(OP_ACK, &who), STATUS_OK);
    }
}

/* Else each single job would go to a smaller one behind him. */
static void who_wants_more_than_a_scan_can_bring_is_not_passed_over(void **state)
{
    static struct consumer one;

    consume(&f, &one, "t0", 1, 60000);
    consume(&f, &a, "t4", OP_ITEMS_MAX, 60000);
    consume(&f, &b, "t4", 1, 60000);
    assert_int_equal(bucket_of("t0"), bucket_of("t4"));
    push(&f, "t4", "1", 500, 5000);
    fixture_advance(&f, 500);
    assert_got(&a, "1");
    delivered(&f, &a);
    queue_pop_cancel(&one.pop);
    fixture_turn(&f);
}

/* Whichever of the topics somebody asked for first. */
static void the_better_topic_comes_first_where_both_become_due(void **state)
{
    static const char *const order[][2] = {{"t0", "t4"}, {"t4", "t0"}};

    for (unsigned i = 0; i < 2; i++) {
        struct consumer first = {0}, who = {0};
        char topics[8];

        consume(&f, &first, order[i][1], 1, 60000);
        snprintf(topics, sizeof(topics), "%s,%s", order[i][0], order[i][1]);
        consume(&f, &who, topics, 1, 60000);
        queue_pop_cancel(&first.pop);
        fixture_turn(&f);
        push(&f, order[i][1], "less", 500, 5000);
        push(&f, order[i][0], "better", 500, 5000);
        fixture_advance(&f, 500);
        assert_got(&who, "better");
        delivered(&f, &who);
        consume(&f, &who, order[i][1], 1, 0);
        assert_got(&who, "less");
        delivered(&f, &who);
    }
}

static void who_comes_during_the_scan_is_served_after_it(void **state)
{
    consume(&f, &a, "t", 1, 60000);
    push(&f, "t", "1", 500, 5000);
    push(&f, "t", "2", 500, 5000);
    push(&f, "u", "low", 0, 5000);
    memory_store_hold(f.ms);
    fixture_advance(&f, 500);
    consume(&f, &b, "t,u", 1, 60000);
    assert_int_equal(b.done, 0);
    fixture_unhold(&f);
    assert_got(&a, "1");
    assert_got(&b, "2");
    delivered(&f, &a);
    delivered(&f, &b);
}

/* Nothing has run: nobody is asked, and the new leader's scans tell. */
static void a_scan_that_is_fenced_asks_for_nothing(void **state)
{
    unsigned long before;

    consume(&f, &a, "t", 1, 60000);
    before = count(OP_POP);
    memory_store_fail(f.ms, 4, STATUS_FENCED, MEMORY_UNDONE);
    fixture_advance(&f, 1000);
    assert_int_equal(count(OP_POP), before);
    assert_int_equal(a.done, 0);
    push(&f, "t", "1", 0, 5000);
    fixture_turn(&f);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void a_bucket_with_many_topics_brings_none(void **state)
{
    static struct consumer many[OP_SCAN_POPS_MAX + 1];
    unsigned long before;
    char name[8];

    for (unsigned i = 0, number = 0; i <= OP_SCAN_POPS_MAX; number++) {
        snprintf(name, sizeof(name), "t%u", number);
        if (bucket_of(name) != bucket_of("t0"))
            continue;
        consume(&f, &many[i++], name, 1, 60000);
    }
    before = count(OP_POP);
    push(&f, "t0", "1", 500, 5000);
    fixture_advance(&f, 500);
    assert_got(&many[0], "1");
    assert_int_equal(count(OP_POP), before + 1);
    delivered(&f, &many[0]);
    for (unsigned i = 1; i <= OP_SCAN_POPS_MAX; i++)
        queue_pop_cancel(&many[i].pop);
    fixture_turn(&f);
}

static void a_queue_that_stops_waits_for_the_scan(void **state)
{
    consume(&f, &a, "t", 1, 60000);
    push(&f, "t", "1", 500, 5000);
    memory_store_hold(f.ms);
    fixture_advance(&f, 500);
    fixture_stop(&f);
    fixture_turn(&f);
    assert_false(f.is_stopped);
    fixture_unhold(&f);
    assert_true(f.is_stopped);
    assert_int_equal(a.done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(a_due_job_comes_with_the_scan_that_moves_it),
        WITH_TWO(what_is_left_goes_to_the_other_node),
        WITH_ACTIVE(several_that_become_due_at_once_all_find_their_consumers),
        WITH_ACTIVE(news_during_the_scan_are_not_lost),
        WITH_ACTIVE(a_job_for_one_who_has_left_meanwhile_goes_to_the_next),
        WITH_ACTIVE(a_consumer_whose_time_ends_during_the_scan_gets_its_job),
        WITH_ACTIVE(after_a_scan_that_failed_the_store_is_asked),
        WITH_ACTIVE(who_wants_more_than_a_scan_can_bring_is_not_passed_over),
        WITH_ACTIVE(the_better_topic_comes_first_where_both_become_due),
        WITH_ACTIVE(who_comes_during_the_scan_is_served_after_it),
        WITH_ACTIVE(a_scan_that_is_fenced_asks_for_nothing),
        WITH_ACTIVE(a_bucket_with_many_topics_brings_none),
        WITH_ACTIVE(a_queue_that_stops_waits_for_the_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
