/* Hints: other nodes are told of events that they do not know of. */
#include "base/tests/unit.h"
#include "node/queue/core.h"
#include "node/queue/scanner.h"

#define SAFE_MS 1000

static struct timers timers;
static struct core core;
static struct hints hints;
static unsigned told, last_bucket, last_share;
static int64_t last_wait_ms;

static void on_hint(struct store *store, unsigned bucket, unsigned share, int64_t wait_ms)
{
    told++;
    last_bucket = bucket;
    last_share = share;
    last_wait_ms = wait_ms;
}

static struct store store = {.ops = &(const struct store_ops){.hint = on_hint}, .buckets = 4};

static int set_up(void **state)
{
    told = 0;
    timers_init(&timers, 5000);
    core_init(&core, &(struct queue_options){.scan_interval_ms = SAFE_MS}, &store, &timers);
    hints_init(&hints, &core);
    return 0;
}

static int tear_down(void **state)
{
    hints_fini(&hints);
    core_fini(&core);
    timers_fini(&timers);
    return 0;
}

static void an_event_is_told(void **state)
{
    hints_tell(&hints, 3, 255, 0);
    assert_int_equal(told, 1);
    assert_int_equal(last_bucket, 3);
    assert_int_equal(last_share, 255);
    assert_int_equal(last_wait_ms, 0);
}

static void what_a_safety_scan_finds_first_is_not(void **state)
{
    hints_tell(&hints, 3, 0, SAFE_MS);
    assert_int_equal(told, 0);
    hints_tell(&hints, 3, 0, SAFE_MS - 1);
    assert_int_equal(told, 1);
}

static void who_scans_then_anyway_needs_no_word(void **state)
{
    hints_tell(&hints, 3, 0, 100);
    hints_tell(&hints, 3, 7, 100);
    hints_tell(&hints, 3, 0, 500);
    assert_int_equal(told, 1);
    hints_tell(&hints, 3, 0, 99);
    assert_int_equal(told, 2);
    hints_tell(&hints, 2, 0, 100);
    assert_int_equal(told, 3);
}

static void when_that_time_has_come_it_does_again(void **state)
{
    hints_tell(&hints, 3, 0, 100);
    timers_run(&timers, 5099);
    hints_tell(&hints, 3, 0, 500);
    assert_int_equal(told, 1);
    timers_run(&timers, 5100);
    hints_tell(&hints, 3, 0, 500);
    assert_int_equal(told, 2);
}

static void of_each_share_somebody_else_is_told(void **state)
{
    hints_share(&hints);
    hints_tell(&hints, 3, 0, 100);
    hints_tell(&hints, 3, 1, 200);
    assert_int_equal(told, 2);
    hints_tell(&hints, 3, 1, 300);
    assert_int_equal(told, 2);
}

static void with_a_new_view_somebody_else_is_told(void **state)
{
    hints_share(&hints);
    hints_tell(&hints, 3, 0, 100);
    hints_share(&hints);
    hints_tell(&hints, 3, 0, 200);
    assert_int_equal(told, 2);
}

/* Each node's interval may be another. */
static void with_shares_its_own_interval_does_not_matter(void **state)
{
    core.options.scan_interval_ms = 100;
    hints_share(&hints);
    hints_tell(&hints, 3, 0, 999);
    assert_int_equal(told, 1);
    core.options.scan_interval_ms = 60000;
    hints_tell(&hints, 3, 1, 1000);
    assert_int_equal(told, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_event_is_told),
        TEST(what_a_safety_scan_finds_first_is_not),
        TEST(who_scans_then_anyway_needs_no_word),
        TEST(when_that_time_has_come_it_does_again),
        TEST(of_each_share_somebody_else_is_told),
        TEST(with_a_new_view_somebody_else_is_told),
        TEST(with_shares_its_own_interval_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
