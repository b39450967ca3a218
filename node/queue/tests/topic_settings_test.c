/* The settings of a topic that hold here and now. */
#include "node/queue/tests/fixtures/settings_fixture.h"

/* ---- what holds ---- */

static void what_nobody_sets_is_as_built_in(void **state)
{
    struct topic_settings s = settings_at(&f, "t");

    assert_int_equal(s.set, SETTINGS_ALL);
    assert_int_equal(s.ttr_ms, 60000);
    assert_int_equal(s.priority, 1024);
    assert_int_equal(s.max_tries, 0);
    assert_int_equal(s.backoff.kind, BACKOFF_NONE);
    assert_int_equal(s.ttl_ms, 0);
    assert_int_equal(s.dead_max, 0);
    assert_int_equal(s.dead_age_ms, 0);
    assert_false(s.history);
    assert_int_equal(s.paused_until_ms, 0);
}

static void redis_comes_before_the_rules_and_of_each_setting_the_first_rule_counts(void **state)
{
    static const struct settings_rule rules[] = {
        {BYTES("mail.*"),
         {.set = SETTING_BIT(TTR) | SETTING_BIT(PRIORITY), .ttr_ms = 1000, .priority = 7}},
        {BYTES("mail.urgent"), {.set = SETTING_BIT(PRIORITY), .priority = 8}},
        {BYTES("*"),
         {.set = SETTING_BIT(MAX_TRIES) | SETTING_BIT(TTR), .max_tries = 3, .ttr_ms = 9}},
    };
    struct queue_options options = with_rules(rules, 3);
    struct topic_settings s;

    fixture_turn(&f);
    queue_reload(f.q, &options);
    set_ttr(&f, "mail.urgent", 2000);
    s = settings_at(&f, "mail.urgent");
    assert_int_equal(s.ttr_ms, 2000);
    assert_int_equal(s.priority, 7);
    assert_int_equal(s.max_tries, 3);
    assert_int_equal(s.set, SETTINGS_ALL);
    queue_configured_settings(f.q, BYTES("mail.urgent"), &s);
    assert_int_equal(s.ttr_ms, 1000);
    assert_int_equal(s.set, SETTING_BIT(TTR) | SETTING_BIT(PRIORITY) | SETTING_BIT(MAX_TRIES));
    assert_int_equal(settings_at(&f, "mail.slow").ttr_ms, 1000);
    assert_int_equal(settings_at(&f, "news").ttr_ms, 9);
    assert_int_equal(settings_at(&f, "news").priority, 1024);
}

static void after_a_reload_the_new_rules_hold(void **state)
{
    static const struct settings_rule old = {BYTES("*"),
                                             {.set = SETTING_BIT(MAX_TRIES), .max_tries = 1}};
    static const struct settings_rule new = {BYTES("*"),
                                             {.set = SETTING_BIT(MAX_TRIES), .max_tries = 2}};
    struct queue_options before = with_rules(&old, 1), after = with_rules(&new, 1);

    queue_reload(f.q, &before);
    assert_int_equal(settings_at(&f, "t").max_tries, 1);
    queue_reload(f.q, &after);
    assert_int_equal(settings_at(&f, "t").max_tries, 2);
}

static void a_pause_that_is_over_is_none(void **state)
{
    turn_both();
    pause_for(&f, "t", 5000);
    assert_int_equal(settings_at(&f, "t").paused_until_ms, memory_store_now(f.ms) + 5000);
    fixture_advance(&f, 4999);
    assert_true(settings_at(&f, "t").paused_until_ms > 0);
    fixture_advance(&f, 1);
    assert_int_equal(settings_at(&f, "t").paused_until_ms, 0);
}

static void whether_a_pause_is_over_says_the_clock_of_an_answer(void **state)
{
    int64_t until_ms = memory_store_now(f.ms) + 5000;

    turn_both();
    pause_for(&f, "t", 5000);
    assert_int_equal(queue_paused_until(f.q, BYTES("t"), until_ms - 1), until_ms);
    assert_int_equal(queue_paused_until(f.q, BYTES("t"), until_ms), 0);
    assert_int_equal(queue_paused_until(f.q, BYTES("other"), 0), 0);
}

/* ---- requests ---- */

static void refuses_settings_out_of_their_range(void **state)
{
    static const struct topic_settings wrong[] = {
        {.set = SETTING_BIT(TTR), .ttr_ms = QUEUE_TTR_MAX_MS + 1},
        {.set = SETTING_BIT(TTR), .ttr_ms = -1},
        {.set = SETTING_BIT(MAX_TRIES), .max_tries = RULES_TRIES_MAX + 1},
        {.set = SETTING_BIT(BACKOFF), .backoff = {.kind = BACKOFF_FIXED}},
        {.set = SETTING_BIT(BACKOFF), .backoff = {.kind = BACKOFF_NONE, .base_ms = 1}},
        {.set = SETTING_BIT(BACKOFF),
         .backoff = {.kind = BACKOFF_FIXED, .base_ms = 1, .jitter_percent = 101}},
        {.set = SETTING_BIT(BACKOFF),
         .backoff = {.kind = BACKOFF_FIXED, .base_ms = RULES_BACKOFF_MAX_MS + 1}},
        {.set = SETTING_BIT(TTL), .ttl_ms = QUEUE_DELAY_MAX_MS + 1},
        {.set = SETTING_BIT(DEAD_MAX), .dead_max = (int64_t)UINT32_MAX + 1},
        {.set = SETTING_BIT(DEAD_AGE), .dead_age_ms = -1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct call call = {0};

        call.op.in.configure.settings = wrong[i];
        call.op.in.configure.mask = SETTINGS_ALL;
        assert_int_equal(submit(&f, &call, OP_CONFIGURE, "t", "", 0), STATUS_OUT_OF_RANGE);
        call.op.in.configure.mask = 0; /* it means nothing then */
        assert_int_equal(submit(&f, &call, OP_CONFIGURE, "t", "", 0), STATUS_OK);
    }
}

int main(void)
{
#define DEAF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_two)
    const struct CMUnitTest tests[] = {
        DEAF(what_nobody_sets_is_as_built_in),
        DEAF(redis_comes_before_the_rules_and_of_each_setting_the_first_rule_counts),
        DEAF(after_a_reload_the_new_rules_hold),
        DEAF(a_pause_that_is_over_is_none),
        DEAF(whether_a_pause_is_over_says_the_clock_of_an_answer),
        DEAF(refuses_settings_out_of_their_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
