/* A paused topic looks empty, and its waiting consumers get jobs when the pause is over.
 */
#include "node/queue/tests/fixtures/nodes_fixture.h"

static void pause_for_ever(const char *topic)
{
    struct call call = {
        .op.in.configure = {.has_pause = true, .settings.paused_until_ms = SETTINGS_FOREVER}};

    assert_int_equal(submit(&f, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static void looks_empty_and_takes_pushes(void **state)
{
    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    assert_int_equal(push(&f, "t", "2", 0, 5000), STATUS_OK);
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
}

static void those_who_wait_are_woken_when_its_time_is_over(void **state)
{
    push(&f, "t", "1", 0, 5000);
    pause_for(&f, "t", 3000);
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 2999);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void those_who_wait_are_woken_when_it_is_resumed(void **state)
{
    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 30000);
    assert_int_equal(a.done, 0);
    pause_for(&f, "t", 0);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void those_who_wait_at_another_node_are_woken_too(void **state)
{
    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    consume(&other, &a, "t", 1, 60000);
    assert_int_equal(a.done, 0);
    pause_for(&f, "t", 0);
    fixture_turn(&other);
    assert_got(&a, "1");
    delivered(&other, &a);
}

static void what_becomes_due_meanwhile_waits_for_the_end(void **state)
{
    push(&f, "t", "1", 1000, 5000);
    pause_for(&f, "t", 3000);
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 2999);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void does_not_hold_up_a_topic_behind_it(void **state)
{
    push(&f, "high", "h", 0, 5000);
    push(&f, "low", "l", 0, 5000);
    pause_for_ever("high");
    consume(&f, &a, "high,low", 1, 60000);
    assert_got(&a, "l");
    delivered(&f, &a);
}

static void is_not_asked_for_again_and_again(void **state)
{
    unsigned long before;

    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    consume(&f, &a, "t", 1, 100000);
    before = count(OP_POP);
    fixture_advance(&f, 50000);
    assert_int_equal(count(OP_POP), before);
    queue_pop_cancel(&a.pop);
    fixture_turn(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TWO(looks_empty_and_takes_pushes),
        WITH_TWO(those_who_wait_are_woken_when_its_time_is_over),
        WITH_TWO(those_who_wait_are_woken_when_it_is_resumed),
        WITH_TWO(those_who_wait_at_another_node_are_woken_too),
        WITH_TWO(what_becomes_due_meanwhile_waits_for_the_end),
        WITH_TWO(does_not_hold_up_a_topic_behind_it),
        WITH_TWO(is_not_asked_for_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
