/* Followers of deliveries: they leave, are refused, and are cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/fixtures/feed_fixture.h"

static void one_who_gives_up_is_called_back_once(void **state)
{
    struct follower w = {0};

    follow(&w, 1000);
    queue_follow_cancel(f.q, &w.follow);
    assert_int_equal(w.done, 0);
    fixture_turn(&f);
    assert_int_equal(w.follow.status, STATUS_CANCELLED);
    hand_out("t", "1");
    fixture_advance(&f, 1000);
    assert_int_equal(w.done, 1);
}

static void one_may_send_another_away_who_is_about_to_be_told(void **state)
{
    struct follower a = {0}, b = {0};

    follow(&a, 1000);
    follow(&b, 1000);
    a.cancels = &b.follow;
    hand_out("t", "1");
    assert_int_equal(a.follow.status, STATUS_OK);
    assert_int_equal(b.follow.status, STATUS_CANCELLED);
    assert_int_equal(b.done, 1);
    assert_int_equal(b.count, 0);
}

static void refuses_what_makes_no_sense(void **state)
{
    struct follower w = {.follow.max = QUEUE_FOLLOW_MAX + 1};

    follow(&w, 1000);
    assert_int_equal(w.follow.status, STATUS_OUT_OF_RANGE);
    w.follow.max = 1;
    follow(&w, -1);
    assert_int_equal(w.follow.status, STATUS_OUT_OF_RANGE);
    w.follow.topic = BYTES("not a topic");
    follow(&w, 1000);
    assert_int_equal(w.follow.status, STATUS_BAD_TOPIC);
    assert_int_equal(w.count, 0);
}

static void a_hundred_may_follow_and_no_more(void **state)
{
    static struct follower many[QUEUE_FOLLOWERS_MAX + 1];

    for (unsigned i = 0; i <= QUEUE_FOLLOWERS_MAX; i++)
        follow(&many[i], 1000);
    assert_int_equal(many[QUEUE_FOLLOWERS_MAX].done, 1);
    assert_int_equal(many[QUEUE_FOLLOWERS_MAX].follow.status, STATUS_TOO_MANY_FOLLOWERS);
    assert_int_equal(many[0].done, 0);
    fixture_advance(&f, 1000);
    assert_int_equal(many[0].done, 1);
}

static void stopping_sends_all_home(void **state)
{
    struct follower w = {0}, late = {0};

    follow(&w, 1000);
    fixture_stop(&f);
    follow(&late, 1000);
    assert_int_equal(w.follow.status, STATUS_CANCELLED);
    assert_int_equal(late.follow.status, STATUS_SHUTTING_DOWN);
    assert_true(f.is_stopped);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_who_gives_up_is_called_back_once),
        TEST(one_may_send_another_away_who_is_about_to_be_told),
        TEST(refuses_what_makes_no_sense),
        TEST(a_hundred_may_follow_and_no_more),
        TEST(stopping_sends_all_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
