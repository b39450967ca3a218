/* Consumers that wait: nobody is forgotten, and all are served in their turn. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

static void one_that_does_not_wait_is_answered_while_others_pop(void **state)
{
    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 5000);
    consume(&f, &b, "t", 1, 0);
    fixture_unhold(&f);
    assert_int_equal(a.done, 0);
    assert_int_equal(b.status, STATUS_NOT_FOUND);
}

static void hands_over_what_is_ready(void **state)
{
    assert_int_equal(push(&f, "t", "1", 0, 5000), STATUS_OK);
    consume(&f, &a, "t", 1, 0);
    assert_got(&a, "1");
    assert_string_equal(a.topic, "t");
    delivered(&f, &a);
}

static void answers_at_once_when_it_may_not_wait(void **state)
{
    consume(&f, &a, "t,u", 1, 0);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
}

static void waits_until_a_job_is_pushed(void **state)
{
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 1000);
    assert_int_equal(a.done, 0);
    push(&f, "t", "1", 0, 5000);
    fixture_turn(&f);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void waits_no_longer_than_it_was_told(void **state)
{
    consume(&f, &a, "t", 1, 2000);
    fixture_advance(&f, 1999);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
}

static void prefers_the_topic_named_first(void **state)
{
    push(&f, "low", "l", 0, 5000);
    push(&f, "high", "h", 0, 5000);
    consume(&f, &a, "high,low", 1, 0);
    assert_got(&a, "h");
    consume(&f, &b, "high,low", 1, 0);
    assert_got(&b, "l");
    delivered(&f, &a);
    delivered(&f, &b);
}

/* What is in flight for another consumer tells whether the better topic has something. */
static void does_not_settle_for_less_while_the_better_topic_is_in_doubt(void **state)
{
    unsigned long before = count(OP_POP);

    push(&f, "low", "l", 0, 5000);
    push(&f, "high", "h1", 0, 5000);
    push(&f, "high", "h2", 0, 5000);
    memory_store_hold(f.ms);
    consume(&f, &a, "high", 1, 5000);
    consume(&f, &b, "high,low", 1, 5000);
    assert_int_equal(count(OP_POP), before + 1);
    fixture_unhold(&f);
    assert_got(&a, "h1");
    assert_got(&b, "h2");
    delivered(&f, &a);
    delivered(&f, &b);
}

static void settles_for_less_once_the_better_topic_is_known_to_be_empty(void **state)
{
    unsigned long before = count(OP_POP);

    push(&f, "low", "l", 0, 5000);
    memory_store_hold(f.ms);
    consume(&f, &a, "high", 1, 5000);
    consume(&f, &b, "high,low", 1, 5000);
    fixture_unhold(&f);
    assert_got(&b, "l");
    assert_int_equal(count(OP_POP), before + 2);
    delivered(&f, &b);
    queue_pop_cancel(&a.pop);
}

static void takes_a_topic_named_twice_for_one(void **state)
{
    consume(&f, &a, "t,t,u,t", 1, 5000);
    push(&f, "t", "1", 0, 5000);
    fixture_turn(&f);
    assert_got(&a, "1");
    delivered(&f, &a);
    consume(&f, &b, "t,t", 1, 0);
    assert_int_equal(b.status, STATUS_NOT_FOUND);
}

static void serves_in_the_order_of_arrival(void **state)
{
    consume(&f, &a, "t", 1, 5000);
    consume(&f, &b, "t", 1, 5000);
    push(&f, "t", "1", 0, 5000);
    push(&f, "t", "2", 0, 5000);
    fixture_turn(&f);
    assert_got(&a, "1");
    assert_got(&b, "2");
    delivered(&f, &a);
    delivered(&f, &b);
}

static void makes_few_pops_for_many_consumers(void **state)
{
    static struct consumer many[40];
    unsigned long before;

    for (unsigned i = 0; i < 40; i++)
        push(&f, "t", "", 0, 5000);
    before = count(OP_POP);
    memory_store_hold(f.ms);
    for (unsigned i = 0; i < 40; i++)
        consume(&f, &many[i], "t", 1, 5000);
    fixture_unhold(&f);
    assert_int_equal(count(OP_POP) - before, 5); /* 1, 4, 8, .. */
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(many[i].status, STATUS_OK);
        delivered(&f, &many[i]);
    }
}

static void one_job_for_several_that_wait_costs_one_pop(void **state)
{
    unsigned long before;

    consume(&f, &a, "t", 1, 5000);
    consume(&f, &b, "t", 1, 5000);
    before = count(OP_POP);
    push(&f, "t", "1", 0, 5000);
    fixture_turn(&f);
    assert_got(&a, "1");
    assert_int_equal(count(OP_POP), before + 1);
    delivered(&f, &a);
    queue_pop_cancel(&b.pop);
}

/* The answer in flight tells whether there is something for the second. */
static void asks_once_for_two_that_come_one_behind_the_other(void **state)
{
    unsigned long before = count(OP_POP);

    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 5000);
    consume(&f, &b, "t", 1, 5000);
    fixture_unhold(&f);
    assert_int_equal(count(OP_POP), before + 1);
    push(&f, "t", "1", 0, 5000);
    push(&f, "t", "2", 0, 5000);
    fixture_turn(&f);
    assert_got(&a, "1");
    assert_got(&b, "2");
    delivered(&f, &a);
    delivered(&f, &b);
}

static void does_not_ask_a_topic_that_is_known_to_be_empty(void **state)
{
    unsigned long before;

    consume(&f, &a, "t", 1, 60000);
    before = count(OP_POP);
    consume(&f, &b, "t", 1, 60000);
    assert_int_equal(count(OP_POP), before);
    queue_pop_cancel(&b.pop);
    fixture_advance(&f, 1000);
    consume(&f, &b, "t", 1, 60000); /* it is not trusted for ever */
    assert_int_equal(count(OP_POP), before + 1);
}

static void gives_as_many_as_were_asked_for(void **state)
{
    for (unsigned i = 0; i < 5; i++)
        push(&f, "t", "", 0, 5000);
    consume(&f, &a, "t", 3, 0);
    assert_int_equal(a.count, 3);
    consume(&f, &b, "t", 3, 0);
    assert_int_equal(b.count, 2);
    delivered(&f, &a);
    delivered(&f, &b);
}

static void refuses_what_it_does_not_understand(void **state)
{
    consume(&f, &a, "t,-bad", 1, 0);
    assert_int_equal(a.status, STATUS_BAD_TOPIC);
    consume(&f, &a, "t", 0, 0);
    assert_int_equal(a.status, STATUS_OUT_OF_RANGE);
    consume(&f, &a, "t", OP_ITEMS_MAX + 1, 0);
    assert_int_equal(a.status, STATUS_OUT_OF_RANGE);
    consume(&f, &a, "", 1, 0);
    assert_int_equal(a.status, STATUS_OUT_OF_RANGE);
    consume(&f, &a, "t", 1, -1);
    assert_int_equal(a.status, STATUS_OUT_OF_RANGE);
}

static void stopping_answers_everybody(void **state)
{
    struct fixture own;

    fixture_start(&own, 2);
    consume(&own, &a, "t", 1, 60000);
    consume(&own, &b, "t,u", 1, 60000);
    fixture_end(&own);
    assert_int_equal(a.status, STATUS_CANCELLED);
    assert_int_equal(b.status, STATUS_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ONE(hands_over_what_is_ready),
        WITH_ONE(answers_at_once_when_it_may_not_wait),
        WITH_ONE(waits_until_a_job_is_pushed),
        WITH_ONE(waits_no_longer_than_it_was_told),
        WITH_ONE(prefers_the_topic_named_first),
        WITH_ONE(does_not_settle_for_less_while_the_better_topic_is_in_doubt),
        WITH_ONE(settles_for_less_once_the_better_topic_is_known_to_be_empty),
        WITH_ONE(one_that_does_not_wait_is_answered_while_others_pop),
        WITH_ONE(takes_a_topic_named_twice_for_one),
        WITH_ONE(serves_in_the_order_of_arrival),
        WITH_ONE(makes_few_pops_for_many_consumers),
        WITH_ONE(one_job_for_several_that_wait_costs_one_pop),
        WITH_ONE(asks_once_for_two_that_come_one_behind_the_other),
        WITH_ONE(does_not_ask_a_topic_that_is_known_to_be_empty),
        WITH_ONE(gives_as_many_as_were_asked_for),
        WITH_ONE(refuses_what_it_does_not_understand),
        cmocka_unit_test(stopping_answers_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
