/* A history is read page after page, and told in order. */
#include "node/queue/tests/fixtures/histories_fixture.h"
#include "node/queue/history.h"

/* The scan's line is written at once, and the push's a little later. */
static void what_came_late_is_told_in_order(void **state)
{
    push(&f, "t", "1", 5, 60000);
    fixture_advance(&f, 100);
    assert_string_equal(story(), "pushed due");
}

static void touch_often(unsigned times)
{
    get_one();
    for (unsigned i = 0; i < times; i++) {
        fixture_advance(&f, 1);
        with_lease(OP_TOUCH, 0);
    }
}

static void tells_the_newest_up_to_the_limit(void **state)
{
    touch_often(20);
    trace("t", "1", 5);
    assert_int_equal(told.count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(told.items[i].time_ms, NOW - 4 + i);
}

static void turns_the_pages_until_the_end(void **state)
{
    touch_often(OP_RECORDS_MAX + 6);
    for (unsigned i = 0; i < 2500; i++) /* a page looks at so many lines at most */
        push(&f, "t", "", 0, 60000);
    trace("t", "1", QUEUE_TRACE_MAX);
    assert_int_equal(told.status, STATUS_OK);
    assert_int_equal(told.count, 2 + OP_RECORDS_MAX + 6);
    assert_int_equal(told.items[0].event, EVENT_PUSHED);
    assert_int_equal(told.items[1].event, EVENT_DELIVERED);
}

/* The first page of more takes so long, and has been answered. */
static void ask_for_more_than_a_page(int64_t ms)
{
    touch_often(150);
    fixture_advance(&f, 100);
    memory_store_hold(f.ms);
    begin_trace("t", "1", 140);
    fixture_advance(&f, ms);
    fixture_unhold(&f);
    assert_int_equal(told.done, 0);
    assert_int_equal(memory_store_count(f.ms, OP_TRACE), 1);
}

static void rests_behind_a_page_for_as_long_as_that_took(void **state)
{
    ask_for_more_than_a_page(60);
    fixture_advance(&f, 59);
    assert_int_equal(memory_store_count(f.ms, OP_TRACE), 1);
    fixture_advance(&f, 1);
    assert_true(memory_store_count(f.ms, OP_TRACE) > 1);
    fixture_advance(&f, 1000);
    assert_int_equal(told.count, 140);
}

static void who_leaves_while_it_rests_is_told_so_once(void **state)
{
    ask_for_more_than_a_page(500);
    queue_trace_cancel(&told.trace);
    fixture_advance(&f, 100);
    assert_int_equal(told.done, 1);
    assert_int_equal(told.status, STATUS_CANCELLED);
    assert_int_equal(memory_store_count(f.ms, OP_TRACE), 1);
}

static void what_is_wrong_with_a_question_is_said(void **state)
{
    trace("-t", "1", 1);
    assert_int_equal(told.status, STATUS_BAD_TOPIC);
    trace("t", "", 1);
    assert_int_equal(told.status, STATUS_BAD_ID);
    trace("t", "1", 0);
    assert_int_equal(told.status, STATUS_OUT_OF_RANGE);
    trace("t", "1", QUEUE_TRACE_MAX + 1);
    assert_int_equal(told.status, STATUS_OUT_OF_RANGE);
}

static void a_page_that_fails_ends_the_answer(void **state)
{
    push(&f, "t", "1", 0, 60000);
    fixture_advance(&f, 20);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    trace("t", "1", 10);
    assert_int_equal(told.status, STATUS_UNAVAILABLE);
    assert_int_equal(told.count, 0);
}

static void who_has_left_is_told_so_once(void **state)
{
    push(&f, "t", "1", 0, 60000);
    begin_trace("t", "1", 10);
    queue_trace_cancel(&told.trace);
    assert_int_equal(told.done, 0);
    fixture_turn(&f);
    assert_int_equal(told.done, 1);
    assert_int_equal(told.status, STATUS_CANCELLED);
    assert_int_equal(told.count, 0);
}

static void only_some_may_ask_at_once(void **state)
{
    static struct notifier asking[TRACES_MAX];

    memset(asking, 0, sizeof(asking));
    for (unsigned i = 0; i < TRACES_MAX; i++) {
        asking[i].trace = (struct trace){
            .topic = BYTES("t"), .id = BYTES("1"), .limit = 10, .on_done = on_traced};
        queue_trace(f.q, &asking[i].trace);
    }
    trace("t", "1", 10);
    assert_int_equal(told.status, STATUS_TOO_MANY_TRACES);
    for (unsigned i = 0; i < TRACES_MAX; i++)
        assert_int_equal(asking[i].status, STATUS_OK);
    trace("t", "1", 10);
    assert_int_equal(told.status, STATUS_OK);
}

static void the_stop_ends_a_question(void **state)
{
    begin_trace("t", "1", 10);
    fixture_end(&f);
    assert_int_equal(told.done, 1);
    assert_int_equal(told.status, STATUS_CANCELLED);
    fixture_start(&f, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_came_late_is_told_in_order),
        TEST(tells_the_newest_up_to_the_limit),
        TEST(turns_the_pages_until_the_end),
        TEST(rests_behind_a_page_for_as_long_as_that_took),
        TEST(who_leaves_while_it_rests_is_told_so_once),
        TEST(what_is_wrong_with_a_question_is_said),
        TEST(a_page_that_fails_ends_the_answer),
        TEST(who_has_left_is_told_so_once),
        TEST(only_some_may_ask_at_once),
        TEST(the_stop_ends_a_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
