/* A job in the wrong place is mended after two looks, and a healthy one is left alone. */
#include "base/crc16.h"
#include "node/queue/tests/fixtures/reconciler_fixture.h"

#include <stdio.h>

/* ---- two looks, and a repair ---- */

static void looks_twice_before_it_mends(void **state)
{
    lose("t", "1");
    fixture_advance(&f, LOOKED);
    assert_int_equal(core.stats.suspects, 1);
    assert_int_equal(count(OP_REPAIR), 0);
    fixture_advance(&f, SUSPECTS_REST_MS);
    assert_int_equal(count(OP_REPAIR), 1);
    assert_int_equal(repaired(), 1);
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(core.stats.suspects, 1);
    assert_int_equal(count(OP_REPAIR), 1);
}

static void what_heals_in_between_is_left_alone(void **state)
{
    lose("t", "1");
    fixture_advance(&f, LOOKED);
    assert_int_equal(core.stats.suspects, 1);
    memory_store_repair(f.ms, crc16(BYTES("t")) % BUCKETS, BYTES("t"), BYTES("1"));
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(count(OP_REPAIR), 0);
    assert_false(list_is_empty(&r.suspects.faint)); /* not forgotten: a later walk may see it */
}

static void what_heals_before_it_is_mended_is_not_counted(void **state)
{
    lose("t", "1");
    wait_until_it_is(RECONCILER_LOOKING_AGAIN);
    memory_store_repair(f.ms, crc16(BYTES("t")) % BUCKETS, BYTES("t"), BYTES("1"));
    memory_store_unhold(its_store);
    fixture_advance(&f, 1000);
    assert_int_equal(count(OP_REPAIR), 1);
    assert_int_equal(repaired(), 0);
    assert_int_equal(core.stats.repaired[DAMAGE_NONE], 0);
}

static void a_healthy_store_stays_as_it_is(void **state)
{
    struct consumer a = {0};

    push_one("t", "1");
    push(&f, "t", "2", 0, 3600000);
    push(&f, "t", "3", 0, 3600000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_in_range(core.stats.audit_walks, 9, 10);
    assert_true(core.stats.audited >= 3 * core.stats.audit_walks);
    assert_int_equal(core.stats.suspects, 0);
    assert_int_equal(count(OP_REPAIR), 0);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    assert_int_equal(state_of(&f, "t", "2"), JOB_RESERVED);
    assert_int_equal(state_of(&f, "t", "3"), JOB_READY);
}

static void mends_all_there_is(void **state)
{
    char topic[16], id[16];

    for (unsigned i = 0; i < 10; i++) {
        snprintf(topic, sizeof(topic), "t%u", i);
        for (unsigned n = 0; n < 3 * OP_LIST_MAX / 2; n++) { /* more than a page */
            snprintf(id, sizeof(id), "%u", n);
            lose(topic, id);
        }
    }
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(core.stats.suspects, 15 * OP_LIST_MAX);
    assert_int_equal(repaired(), 15 * OP_LIST_MAX);
}

/* ---- how fast ---- */

static void push_topics(unsigned topics, unsigned jobs)
{
    char topic[16];

    for (unsigned i = 0; i < topics; i++) {
        snprintf(topic, sizeof(topic), "t%u", i);
        for (unsigned n = 0; n < jobs; n++)
            push_one(topic, "");
    }
}

static void looks_at_no_more_than_it_may(void **state)
{
    core.options.audit_rate = 100;
    push_topics(20, 50);
    fixture_advance(&f, RECONCILER_START_MS);
    for (unsigned s = 0; s < 5; s++) {
        uint64_t before = core.stats.audited;

        fixture_advance(&f, 1000);
        assert_in_range(core.stats.audited - before, 1, 150); /* 100, and one step more */
    }
}

static void a_busy_store_is_left_alone_for_longer(void **state)
{
    push_topics(20, 1);
    wait_until_it_is(RECONCILER_LOOKING);
    fixture_advance(&f, 500);
    memory_store_unhold(its_store);
    fixture_turn(&f);
    assert_int_equal(r.state, RECONCILER_RESTING);
    fixture_advance(&f, 1999);
    assert_int_equal(r.state, RECONCILER_RESTING);
}

static void a_small_store_is_not_looked_at_all_the_time(void **state)
{
    push_one("t", "1");
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_in_range(count(OP_AUDIT), 9, 10);
    assert_in_range(count(OP_PLACES), 9, 10);
}

/* ---- in an engine ---- */

static void an_engine_mends_while_it_is_active(void **state)
{
    static const struct settings_rule with_history = {
        .pattern = {"*", 1}, .settings = {.set = SETTING_BIT(HISTORY), .history = true}};
    struct queue_options with_all = fixture_options();

    reconciler_set_active(&r, false);
    with_all.audit_rate = 1000;
    with_all.rules = &with_history;
    with_all.rule_count = 1;
    with_all.history_bytes = 1 << 20;
    queue_reload(f.q, &with_all);
    lose("t", "1");
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(memory_store_count(f.ms, OP_AUDIT), 0);
    queue_activate(f.q);
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(queue_stats(f.q)->repaired[DAMAGE_NO_JOB], 1);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 2); /* pushed, repaired */
    queue_deactivate(f.q);
    lose("t", "2");
    fixture_advance(&f, 60000);
    assert_int_equal(queue_stats(f.q)->suspects, 1);
}

/* ---- the log ---- */

static void the_lines_of_a_minute_are_counted_through_many_walks(void **state)
{
    uint64_t walks;

    lose("t", "1");
    fixture_advance(&f, 30000);
    assert_int_equal(repaired(), 1);
    walks = core.stats.audit_walks;
    fixture_advance(&f, 20000);
    assert_true(core.stats.audit_walks > walks);
    assert_int_equal(r.log.said, 1);
}

/* ---- the configuration's limits reach the dead of topics at rest ---- */

static const struct settings_rule keep_one = {
    .pattern = {"t*", 2}, .settings = {.set = SETTING_BIT(DEAD_MAX), .dead_max = 1}};

static void a_new_limit_reaches_the_dead_of_a_topic_at_rest(void **state)
{
    struct queue_options with_rule = fixture_options();
    unsigned long repairs;

    reconciler_set_active(&r, false);
    with_rule.audit_rate = 1000;
    queue_reload(f.q, &with_rule);
    queue_activate(f.q);
    bury_one(&f, "t", "a");
    bury_one(&f, "t", "b");
    bury_one(&f, "other", "a");
    bury_one(&f, "other", "b");
    fixture_advance(&f, 10 * RECONCILER_WALK_MS);
    assert_int_equal(memory_store_count(f.ms, OP_REPAIR), 0);
    with_rule.rules = &keep_one;
    with_rule.rule_count = 1;
    queue_reload(f.q, &with_rule);
    assert_int_equal(stats_of(&f, "t").dead, 2);
    fixture_advance(&f, RECONCILER_WALK_MS + 1000);
    assert_int_equal(stats_of(&f, "t").dead, 1);
    assert_int_equal(stats_of(&f, "other").dead, 2);
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
    bury_one(&f, "t", "a");
    bury_one(&f, "t", "b");
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
    const struct CMUnitTest tests[] = {
        TEST(looks_twice_before_it_mends),
        TEST(what_heals_in_between_is_left_alone),
        TEST(what_heals_before_it_is_mended_is_not_counted),
        TEST(a_healthy_store_stays_as_it_is),
        TEST(mends_all_there_is),
        TEST(looks_at_no_more_than_it_may),
        TEST(a_busy_store_is_left_alone_for_longer),
        TEST(a_small_store_is_not_looked_at_all_the_time),
        TEST(an_engine_mends_while_it_is_active),
        TEST(the_lines_of_a_minute_are_counted_through_many_walks),
        TEST(a_new_limit_reaches_the_dead_of_a_topic_at_rest),
        TEST(whoever_becomes_active_limits_what_was_left),
        TEST(a_topic_that_cannot_be_limited_is_looked_at_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
