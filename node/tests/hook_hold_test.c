#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "node/hook_hold.h"
#include "node/hooks.h"

#define HOLD_MS 2000

static struct timers timers;
static struct hook_hold hold;
static struct buf told;
static int64_t now;

/* Instead of a program. */
void hooks_run(struct hooks *h, const char *what, const char *token, const char *reason)
{
    buf_printf(&told, "%s %s %s\n", what, token, reason);
}

static int set_up(void **state)
{
    now = 1000;
    timers_init(&timers, now);
    buf_init(&told);
    hook_hold_init(&hold, NULL, &timers, HOLD_MS);
    return 0;
}

static int tear_down(void **state)
{
    hook_hold_fini(&hold);
    timers_fini(&timers);
    buf_fini(&told);
    return 0;
}

static void run(int64_t ms)
{
    now += ms;
    timers_run(&timers, now);
}

static void assert_told(const char *lines)
{
    assert_string_equal(buf_text(&told), lines);
    buf_clear(&told);
}

static void lead_and_be_fenced(const char *token)
{
    hook_hold_run(&hold, "promote", token, "resumed");
    run(10);
    hook_hold_run(&hold, "fenced", token, "fenced");
    run(5000);
}

static void a_fence_that_stands_is_told_once(void **state)
{
    for (unsigned i = 0; i < 10; i++)
        lead_and_be_fenced("aa:1");
    assert_told("promote aa:1 resumed\nfenced aa:1 fenced\n");
}

static void a_lead_that_lasts_after_a_fence_is_told(void **state)
{
    lead_and_be_fenced("aa:1");
    buf_clear(&told);
    hook_hold_run(&hold, "promote", "aa:1", "resumed");
    run(HOLD_MS - 1);
    assert_told("");
    run(1);
    assert_told("promote aa:1 resumed\n");
    hook_hold_run(&hold, "demote", "aa:1", "handed_over");
    assert_told("demote aa:1 handed_over\n");
}

static void one_that_ends_before_was_none(void **state)
{
    lead_and_be_fenced("aa:1");
    buf_clear(&told);
    hook_hold_run(&hold, "promote", "aa:1", "resumed");
    hook_hold_run(&hold, "demote", "aa:1", "handed_over");
    run(10 * HOLD_MS);
    assert_told("");
}

static void what_was_not_fenced_is_told_at_once(void **state)
{
    lead_and_be_fenced("aa:1");
    buf_clear(&told);
    hook_hold_run(&hold, "promote", "aa:2", "elected");
    hook_hold_run(&hold, "demote", "aa:2", "lease_over");
    hook_hold_run(&hold, "promote", "aa:2", "resumed");
    assert_told("promote aa:2 elected\ndemote aa:2 lease_over\npromote aa:2 resumed\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fence_that_stands_is_told_once),
        TEST(a_lead_that_lasts_after_a_fence_is_told),
        TEST(one_that_ends_before_was_none),
        TEST(what_was_not_fenced_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
