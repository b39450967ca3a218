#include "node/store/settings.h"
#include "base/tests/unit.h"

#include <string.h>

/* Those of the first version; later ones get their largest value. */
static struct topic_settings example = {
    .set = SETTINGS_ALL,
    .paused_until_ms = 0x010203040506,
    .ttr_ms = 0x090a0b0c,
    .priority = 0x0d0e0f10,
    .max_tries = 0x1112,
    .backoff = {BACKOFF_FIXED, 0x14, 0x15161718, 0x191a1b1c},
    .ttl_ms = 0x1e1f202122,
    .dead_max = 0x23242526,
    .dead_age_ms = 0x28292a2b2c,
    .history = true,
};

static int set_later_ones(void **state)
{
    for (unsigned i = SETTING_HISTORY + 1; i < SETTING_COUNT; i++)
        setting_set_number(&example, i, setting_max(i));
    return 0;
}

static void assert_same(const struct topic_settings *a, const struct topic_settings *b)
{
    assert_int_equal(a->set, b->set);
    assert_int_equal(a->paused_until_ms, b->paused_until_ms);
    assert_memory_equal(&a->backoff, &b->backoff, sizeof(a->backoff));
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        assert_true(setting_kind(i) == SETTING_BACKOFFS ||
                    setting_number(a, i) == setting_number(b, i));
}

static struct topic_settings through_the_codec(const struct topic_settings *settings)
{
    char packed[SETTINGS_BYTES];
    struct topic_settings back;

    settings_pack(settings, packed);
    assert_true(settings_unpack(bytes_of(packed, sizeof(packed)), &back));
    return back;
}

/* Those of the first version never move, and the others come behind them. */
static void every_setting_has_its_place(void **state)
{
    static const char expected[] = "\x01\x02\x03\x04\x05\x06\x00\xff\x09\x0a\x0b\x0c"
                                   "\x0d\x0e\x0f\x10\x11\x12\x01\x14\x15\x16\x17\x18"
                                   "\x19\x1a\x1b\x1c\x00\x1e\x1f\x20\x21\x22\x23\x24"
                                   "\x25\x26\x00\x28\x29\x2a\x2b\x2c\x01";
    struct topic_settings first = example, later = example;
    char packed[SETTINGS_BYTES];

    first.set = SETTING_BIT(HISTORY) * 2 - 1;
    settings_pack(&first, packed);
    assert_memory_equal(packed, expected, SETTINGS_LEAST);
    for (size_t i = SETTINGS_LEAST; i < sizeof(packed); i++)
        assert_int_equal(packed[i], 0);
    later.set &= ~first.set;
    settings_pack(&later, packed);
    for (size_t i = 8; i < SETTINGS_LEAST; i++)
        assert_int_equal(packed[i], 0);
}

static void what_was_packed_is_read_back(void **state)
{
    struct topic_settings back = through_the_codec(&example), none = {0};

    assert_same(&back, &example);
    back = through_the_codec(&none);
    assert_same(&back, &none);
}

static void the_largest_settings_survive(void **state)
{
    struct topic_settings largest = {
        .set = SETTINGS_ALL,
        .paused_until_ms = SETTINGS_FOREVER,
        .backoff = {BACKOFF_EXPONENTIAL, 100, RULES_BACKOFF_MAX_MS, RULES_BACKOFF_MAX_MS},
    };
    struct topic_settings back;

    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (setting_kind(i) != SETTING_BACKOFFS)
            setting_set_number(&largest, i, setting_max(i));
    }
    back = through_the_codec(&largest);
    assert_same(&back, &largest);
}

/* So a topic for which nothing is set any more is one that never had a setting. */
static void what_is_not_set_is_written_as_nothing(void **state)
{
    struct topic_settings some = example, none = {0};
    char packed[SETTINGS_BYTES], expected[SETTINGS_BYTES];

    some.set = 0;
    some.paused_until_ms = 0;
    settings_pack(&some, packed);
    settings_pack(&none, expected);
    assert_memory_equal(packed, expected, sizeof(packed));
}

static void refuses_what_nobody_wrote(void **state)
{
    static const struct {
        unsigned at;
        char value;
    } wrong[] = {
        {18, 3},          /* a kind of backoff */
        {19, 101},        /* percent */
        {20, (char)0xff}, /* a base of more than 30 days */
    };
    struct topic_settings back = {.max_tries = 77};
    char packed[SETTINGS_BYTES + 1] = {0};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        settings_pack(&example, packed);
        packed[wrong[i].at] = wrong[i].value;
        assert_false(settings_unpack(bytes_of(packed, SETTINGS_BYTES), &back));
    }
    settings_pack(&example, packed);
    memset(packed + 16, 0xff, 2); /* tries */
    assert_false(settings_unpack(bytes_of(packed, SETTINGS_BYTES), &back));
    settings_pack(&example, packed);
    assert_false(settings_unpack(bytes_of(packed, SETTINGS_LEAST - 1), &back));
    assert_false(settings_unpack(bytes_of(NULL, 0), &back));
    assert_int_equal(back.max_tries, 77);
}

/* Redis may have been written to by hand: "expires" of a job was beyond what its place holds.
 */
static void a_number_beyond_its_limit_counts_as_the_limit(void **state)
{
    struct topic_settings back;
    char packed[SETTINGS_BYTES];

    settings_pack(&example, packed);
    memset(packed + SETTING_AT_TTR, 0xff, 4);
    memset(packed + SETTING_AT_TTL, 0xff, 6);
    memset(packed + SETTING_AT_DEAD_AGE, 0xff, 6);
    memset(packed + SETTING_AT_HISTORY, 0xff, 1);
    assert_true(settings_unpack(bytes_of(packed, SETTINGS_BYTES), &back));
    assert_int_equal(back.ttr_ms, setting_max(SETTING_TTR));
    assert_int_equal(back.ttl_ms, setting_max(SETTING_TTL));
    assert_int_equal(back.dead_age_ms, setting_max(SETTING_DEAD_AGE));
    assert_int_equal(back.history, 1);
    assert_int_equal(back.priority, example.priority);
}

/* Nodes of two versions work side by side during an upgrade. */
static void of_a_newer_version_what_is_known_is_read(void **state)
{
    struct topic_settings back;
    char packed[SETTINGS_BYTES + 3];

    settings_pack(&example, packed);
    packed[6] |= 0x40; /* one more setting */
    memset(packed + SETTINGS_BYTES, 0xff, 3);
    assert_true(settings_unpack(bytes_of(packed, sizeof(packed)), &back));
    assert_same(&back, &example);
}

/* ---- one over the other ---- */

static void each_setting_is_copied_by_its_bit_alone(void **state)
{
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        struct topic_settings to = {0}, copy;

        settings_copy(&to, &example, 1u << i);
        assert_int_equal(to.set, 1u << i);
        assert_int_equal(to.paused_until_ms, 0);
        /* Its own bytes are there, and none of another. */
        copy = through_the_codec(&to);
        assert_same(&copy, &to);
        settings_copy(&to, &example, SETTINGS_ALL & ~(1u << i));
        to.paused_until_ms = example.paused_until_ms;
        assert_same(&to, &example);
    }
}

static void a_setting_is_taken_away_by_one_that_is_not_set(void **state)
{
    struct topic_settings to = example, from = {.set = SETTING_BIT(TTL), .ttl_ms = 5};

    settings_copy(&to, &from, SETTING_BIT(TTL) | SETTING_BIT(HISTORY));
    assert_int_equal(to.set, SETTINGS_ALL & ~SETTING_BIT(HISTORY));
    assert_int_equal(to.ttl_ms, 5);
    assert_int_equal(to.ttr_ms, example.ttr_ms);
}

static void only_gaps_are_filled(void **state)
{
    struct topic_settings to = {.set = SETTING_BIT(TTR) | SETTING_BIT(HISTORY), .ttr_ms = 7};

    settings_fill(&to, &example);
    assert_int_equal(to.set, SETTINGS_ALL);
    assert_int_equal(to.ttr_ms, 7);
    assert_false(to.history);
    assert_int_equal(to.dead_max, example.dead_max);
    assert_int_equal(to.backoff.base_ms, example.backoff.base_ms);
    assert_int_equal(to.paused_until_ms, 0);
}

static void nothing_is_filled_in_from_what_is_not_set(void **state)
{
    struct topic_settings to = {0}, from = example;

    from.set = SETTING_BIT(PRIORITY);
    settings_fill(&to, &from);
    assert_int_equal(to.set, SETTING_BIT(PRIORITY));
    assert_int_equal(to.priority, example.priority);
    assert_int_equal(to.ttr_ms, 0);
}

/* ---- rules of the configuration ---- */

static bool matches(const char *pattern, const char *topic)
{
    struct settings_rule rule = {.pattern = bytes_of_text(pattern)};

    return settings_rule_matches(&rule, bytes_of_text(topic));
}

static void a_rule_matches_one_topic_or_all_that_begin_so(void **state)
{
    assert_true(matches("mail", "mail"));
    assert_false(matches("mail", "mails"));
    assert_false(matches("mail", "mai"));
    assert_true(matches("mail.*", "mail.out"));
    assert_true(matches("mail.*", "mail."));
    assert_false(matches("mail.*", "mail"));
    assert_false(matches("mail.*", "nail.out"));
    assert_true(matches("*", "mail"));
    assert_true(matches("*", "x"));
    assert_false(matches("", "mail"));
    assert_false(matches("*.out", "mail.out"));
}

static void settings_have_words(void **state)
{
    assert_string_equal(setting_word(SETTING_TTR), "ttr_ms");
    assert_string_equal(setting_word(SETTING_DEAD_AGE), "dead_age_ms");
    assert_string_equal(setting_word(SETTING_HISTORY), "history");
    assert_string_equal(setting_word(SETTING_COUNT), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_has_its_place),
        cmocka_unit_test(what_was_packed_is_read_back),
        cmocka_unit_test(the_largest_settings_survive),
        cmocka_unit_test(what_is_not_set_is_written_as_nothing),
        cmocka_unit_test(refuses_what_nobody_wrote),
        cmocka_unit_test(a_number_beyond_its_limit_counts_as_the_limit),
        cmocka_unit_test(of_a_newer_version_what_is_known_is_read),
        cmocka_unit_test(each_setting_is_copied_by_its_bit_alone),
        cmocka_unit_test(a_setting_is_taken_away_by_one_that_is_not_set),
        cmocka_unit_test(only_gaps_are_filled),
        cmocka_unit_test(nothing_is_filled_in_from_what_is_not_set),
        cmocka_unit_test(a_rule_matches_one_topic_or_all_that_begin_so),
        cmocka_unit_test(settings_have_words),
    };

    return cmocka_run_group_tests_name("settings", tests, set_later_ones, NULL);
}
