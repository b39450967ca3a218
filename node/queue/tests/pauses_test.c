/* A paused topic looks empty, and its waiting consumers get jobs when the pause is over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/fixtures/queue_fixture.h"

static struct fixture f, other; /* two nodes on one store; `f` scans */
static struct consumer a;

static int set_up(void **state)
{
    a = (struct consumer){0};
    fixture_start_two(&f, &other, 4);
    return 0;
}

static int tear_down(void **state)
{
    fixture_end_two(&f, &other);
    return 0;
}

static void pause(const char *topic, int64_t pause_ms)
{
    struct call call = {.op.in.configure = {.has_pause = true, .pause_ms = pause_ms}};

    assert_int_equal(submit(&f, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static void pause_for_ever(const char *topic)
{
    struct call call = {
        .op.in.configure = {.has_pause = true, .settings.paused_until_ms = SETTINGS_FOREVER}};

    assert_int_equal(submit(&f, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static void resume(const char *topic)
{
    pause(topic, 0);
}

static void assert_got(const char *id)
{
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_OK);
    assert_string_equal(a.ids[0], id);
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
    pause("t", 3000);
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 2999);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_got("1");
    delivered(&f, &a);
}

static void those_who_wait_are_woken_when_it_is_resumed(void **state)
{
    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 30000);
    assert_int_equal(a.done, 0);
    resume("t");
    assert_got("1");
    delivered(&f, &a);
}

static void those_who_wait_at_another_node_are_woken_too(void **state)
{
    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    consume(&other, &a, "t", 1, 60000);
    assert_int_equal(a.done, 0);
    resume("t");
    fixture_turn(&other);
    assert_got("1");
    delivered(&other, &a);
}

static void what_becomes_due_meanwhile_waits_for_the_end(void **state)
{
    push(&f, "t", "1", 1000, 5000);
    pause("t", 3000);
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 2999);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_got("1");
    delivered(&f, &a);
}

static void does_not_hold_up_a_topic_behind_it(void **state)
{
    push(&f, "high", "h", 0, 5000);
    push(&f, "low", "l", 0, 5000);
    pause_for_ever("high");
    consume(&f, &a, "high,low", 1, 60000);
    assert_got("l");
    delivered(&f, &a);
}

static void is_not_asked_for_again_and_again(void **state)
{
    unsigned long before;

    push(&f, "t", "1", 0, 5000);
    pause_for_ever("t");
    consume(&f, &a, "t", 1, 100000);
    before = memory_store_count(f.ms, OP_POP);
    fixture_advance(&f, 50000);
    assert_int_equal(memory_store_count(f.ms, OP_POP), before);
    queue_pop_cancel(&a.pop);
    fixture_turn(&f);
}

static void what_was_handed_out_before_can_be_acknowledged(void **state)
{
    struct call call = {0};

    push(&f, "t", "1", 0, 5000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    pause_for_ever("t");
    assert_int_equal(submit(&f, &call, OP_ACK, "t", "1", a.stamps[0]), STATUS_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(looks_empty_and_takes_pushes),
        TEST(those_who_wait_are_woken_when_its_time_is_over),
        TEST(those_who_wait_are_woken_when_it_is_resumed),
        TEST(those_who_wait_at_another_node_are_woken_too),
        TEST(what_becomes_due_meanwhile_waits_for_the_end),
        TEST(does_not_hold_up_a_topic_behind_it),
        TEST(is_not_asked_for_again_and_again),
        TEST(what_was_handed_out_before_can_be_acknowledged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
