/* The configuration's limits reach the dead of topics at rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/fixtures/reconciler_fixture.h"

static const struct settings_rule keep_one = {
    .pattern = {"t*", 2}, .settings = {.set = SETTING_BIT(DEAD_MAX), .dead_max = 1}};

static void bury_two(const char *topic)
{
    for (const char *id = "ab"; *id; id++) {
        struct consumer c = {0};
        struct call bury = {0};

        push(&f, topic, (char[]){*id, '\0'}, 0, 60000);
        consume(&f, &c, topic, 1, 0);
        delivered(&f, &c);
        assert_int_equal(submit(&f, &bury, OP_BURY, topic, c.ids[0], c.stamps[0]), STATUS_OK);
    }
}

static int64_t dead_of(const char *topic)
{
    struct call stats = {0};

    assert_int_equal(submit(&f, &stats, OP_STATS, topic, "", 0), STATUS_OK);
    return stats.dead;
}

static void a_new_limit_reaches_the_dead_of_a_topic_at_rest(void **state)
{
    struct queue_options with_rule = fixture_options();
    unsigned long repairs;

    reconciler_set_active(&r, false);
    with_rule.audit_rate = 1000;
    queue_reload(f.q, &with_rule);
    queue_activate(f.q);
    bury_two("t");
    bury_two("other");
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(memory_store_count(f.ms, OP_REPAIR), 0);
    with_rule.rules = &keep_one;
    with_rule.rule_count = 1;
    queue_reload(f.q, &with_rule);
    assert_int_equal(dead_of("t"), 2);
    fixture_advance(&f, RECONCILER_WALK_MS + 1000);
    assert_int_equal(dead_of("t"), 1);
    assert_int_equal(dead_of("other"), 2);
    assert_int_equal(queue_stats(f.q)->pruned_jobs, 1);
    fixture_advance(&f, RECONCILER_WALK_MS);
    repairs = memory_store_count(f.ms, OP_REPAIR);
    assert_in_range(repairs, 1, 2);
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(memory_store_count(f.ms, OP_REPAIR), repairs);
}

static void whoever_becomes_active_limits_what_was_left(void **state)
{
    core.options.rules = &keep_one;
    core.options.rule_count = 1;
    bury_two("t");
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(count(OP_REPAIR), 2);
    reconciler_set_active(&r, false);
    reconciler_set_active(&r, true);
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(count(OP_REPAIR), 4);
    assert_int_equal(core.stats.repaired[DAMAGE_NONE], 0);
}

static void a_topic_that_cannot_be_limited_is_looked_at_all_the_same(void **state)
{
    core.options.rules = &keep_one;
    core.options.rule_count = 1;
    lose("t", "1");
    wait_until_it_is(RECONCILER_NAMING);
    memory_store_fail(its_store, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    memory_store_unhold(its_store);
    fixture_advance(&f, 3000);
    assert_int_equal(count(OP_REPAIR), 1);
    assert_int_equal(core.stats.suspects, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_limit_reaches_the_dead_of_a_topic_at_rest),
        TEST(whoever_becomes_active_limits_what_was_left),
        TEST(a_topic_that_cannot_be_limited_is_looked_at_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
