#include "node/store/job.h"
#include "base/tests/unit.h"

#include <limits.h>
#include <string.h>

/* The stamp whose jitter is none: k = 1000 of 2001. */
#define STAMP_MIDDLE stamp_of_step(1000)

#define DAY_MS INT64_C(86400000)

static const struct job_rules example = {
    .priority = 0x01020304,
    .max_tries = 0x0506,
    .backoff = {BACKOFF_EXPONENTIAL, 8, 0x090a0b0c, 0x0d0e0f10},
    .expires_ms = 0x111213141516,
};

/* A stamp for which the jitter draws this step; 7919 has no divisor with 2001 in common. */
static int64_t stamp_of_step(int64_t step)
{
    for (int64_t stamp = 0; stamp < 2001; stamp++) {
        if (stamp * 7919 % 2001 == step)
            return stamp;
    }
    fail();
    return 0;
}

static void every_rule_has_its_place(void **state)
{
    static const char expected[] = "\x01\x02\x03\x04\x05\x06\x02\x08\x09\x0a\x0b\x0c"
                                   "\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16";
    char packed[RULES_BYTES];

    rules_pack(&example, packed);
    assert_memory_equal(packed, expected, sizeof(packed));
}

static void assert_survives(const struct job_rules *rules)
{
    char packed[RULES_BYTES];
    struct job_rules back;

    rules_pack(rules, packed);
    assert_true(rules_unpack(packed, &back));
    assert_int_equal(back.priority, rules->priority);
    assert_int_equal(back.max_tries, rules->max_tries);
    assert_int_equal(back.backoff.kind, rules->backoff.kind);
    assert_int_equal(back.backoff.jitter_percent, rules->backoff.jitter_percent);
    assert_int_equal(back.backoff.base_ms, rules->backoff.base_ms);
    assert_int_equal(back.backoff.cap_ms, rules->backoff.cap_ms);
    assert_int_equal(back.expires_ms, rules->expires_ms);
}

static void smallest_and_largest_rules_survive(void **state)
{
    struct job_rules smallest = {0}, largest = {
                                         .priority = RULES_PRIORITY_MAX,
                                         .max_tries = RULES_TRIES_MAX,
                                         .backoff = {BACKOFF_FIXED, 100, RULES_BACKOFF_MAX_MS,
                                                     RULES_BACKOFF_MAX_MS},
                                         .expires_ms = (INT64_C(1) << 48) - 1,
                                     };

    assert_survives(&smallest);
    assert_survives(&largest);
    assert_survives(&example);
    assert_survives(&rules_default);
}

static void refuses_rules_that_nobody_wrote(void **state)
{
    static const struct {
        unsigned at, bytes;
        const char *value;
    } wrong[] = {
        {4, 2, "\xff\xff"},          /* tries that no header counts to */
        {6, 1, "\x03"},              /* a kind */
        {7, 1, "\x65"},              /* 101 percent */
        {8, 4, "\x9a\x7e\xc8\x01"},  /* a base of 30 days and 1 ms */
        {12, 4, "\x9a\x7e\xc8\x01"}, /* and such a cap */
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct job_rules back = {.max_tries = 77};
        char packed[RULES_BYTES];

        rules_pack(&example, packed);
        memcpy(packed + wrong[i].at, wrong[i].value, wrong[i].bytes);
        assert_false(rules_unpack(packed, &back));
        assert_int_equal(back.max_tries, 77);
    }
}

static void every_single_rule_is_seen(void **state)
{
    struct job_rules priority = rules_default, tries = rules_default, backoff = rules_default,
                     expires = rules_default, idle = rules_default;

    priority.priority = 0;
    tries.max_tries = 1;
    backoff.backoff = (struct backoff){.kind = BACKOFF_FIXED, .base_ms = 1};
    expires.expires_ms = 1;
    idle.backoff.cap_ms = 5; /* of no backoff */
    assert_false(rules_are_default(&priority));
    assert_false(rules_are_default(&tries));
    assert_false(rules_are_default(&backoff));
    assert_false(rules_are_default(&expires));
    assert_true(rules_are_default(&idle));
    assert_true(rules_are_default(&rules_default));
}

static void what_has_no_kind_or_no_base_is_written_as_nothing(void **state)
{
    struct backoff idle[] = {{BACKOFF_NONE, 50, 60, 70}, {BACKOFF_EXPONENTIAL, 50, 0, 70}};
    char packed[BACKOFF_BYTES], nothing[BACKOFF_BYTES] = {0};

    for (size_t i = 0; i < 2; i++) {
        memset(packed, 1, sizeof(packed));
        backoff_pack(&idle[i], packed);
        assert_memory_equal(packed, nothing, sizeof(packed));
    }
}

/* ---- how long a job rests ---- */

static int64_t rest(struct backoff backoff, unsigned tries)
{
    return backoff_rest_ms(&backoff, tries, STAMP_MIDDLE);
}

static void without_a_backoff_there_is_no_rest(void **state)
{
    struct backoff none = {BACKOFF_NONE, 100, 1000, 0};

    assert_int_equal(rest(none, 1), 0);
    assert_int_equal(rest(none, 9), 0);
}

static void a_fixed_rest_stays_the_same(void **state)
{
    struct backoff fixed = {BACKOFF_FIXED, 0, 250, 0};

    assert_int_equal(rest(fixed, 1), 250);
    assert_int_equal(rest(fixed, 2), 250);
    assert_int_equal(rest(fixed, 65535), 250);
}

static void an_exponential_rest_doubles(void **state)
{
    struct backoff doubling = {BACKOFF_EXPONENTIAL, 0, 250, 0};

    assert_int_equal(rest(doubling, 1), 250);
    assert_int_equal(rest(doubling, 2), 500);
    assert_int_equal(rest(doubling, 3), 1000);
    assert_int_equal(rest(doubling, 11), 256000);
}

static void a_rest_ends_at_its_cap(void **state)
{
    struct backoff doubling = {BACKOFF_EXPONENTIAL, 0, 250, 900};
    struct backoff fixed = {BACKOFF_FIXED, 0, 1000, 900};

    assert_int_equal(rest(doubling, 2), 500);
    assert_int_equal(rest(doubling, 3), 900);
    assert_int_equal(rest(doubling, 4), 900);
    assert_int_equal(rest(fixed, 1), 900);
}

static void without_a_cap_a_rest_ends_at_thirty_days(void **state)
{
    struct backoff doubling = {BACKOFF_EXPONENTIAL, 0, 1, 0};

    assert_int_equal(rest(doubling, 32), INT64_C(1) << 31);
    assert_int_equal(rest(doubling, 33), 30 * DAY_MS);
}

static void no_number_of_tries_is_too_large(void **state)
{
    struct backoff doubling = {BACKOFF_EXPONENTIAL, 100, 1, 0};
    struct backoff longest = {BACKOFF_EXPONENTIAL, 100, RULES_BACKOFF_MAX_MS,
                              RULES_BACKOFF_MAX_MS};

    assert_int_equal(rest(doubling, RULES_TRIES_MAX), 30 * DAY_MS);
    assert_int_equal(rest(doubling, UINT_MAX), 30 * DAY_MS);
    assert_int_equal(backoff_rest_ms(&longest, UINT_MAX, stamp_of_step(2000)), 60 * DAY_MS);
    assert_true(backoff_rest_ms(&longest, UINT_MAX, (INT64_C(1) << 47) - 1) >= 0);
}

static void a_rest_of_nothing_ends(void **state)
{
    struct backoff nothing = {BACKOFF_EXPONENTIAL, 100, 0, 0};

    assert_int_equal(rest(nothing, UINT_MAX), 0);
}

static void the_jitter_stays_within_its_share(void **state)
{
    struct backoff tenth = {BACKOFF_FIXED, 10, 1000, 0};
    int64_t least = INT64_MAX, most = 0;

    for (int64_t stamp = 0; stamp < 2001; stamp++) {
        int64_t rest_ms = backoff_rest_ms(&tenth, 1, stamp);

        least = rest_ms < least ? rest_ms : least;
        most = rest_ms > most ? rest_ms : most;
    }
    assert_int_equal(least, 900);
    assert_int_equal(most, 1100);
    assert_int_equal(rest(tenth, 1), 1000);
}

/* Neighbours in the bucket's counter do not come back together. */
static void neighbouring_stamps_draw_far_apart(void **state)
{
    struct backoff half = {BACKOFF_FIXED, 50, 100000, 0};

    for (int64_t stamp = 0; stamp < 3000; stamp++) {
        int64_t apart = backoff_rest_ms(&half, 1, stamp + 1) - backoff_rest_ms(&half, 1, stamp);

        assert_true(apart > 1000 || apart < -1000);
    }
}

/* The same that the scripts draw, in doubles: rounded down, after the cap. */
static void the_jitter_is_rounded_down(void **state)
{
    struct backoff backoff = {BACKOFF_EXPONENTIAL, 33, 700, 1001};

    assert_int_equal(backoff_rest_ms(&backoff, 1, 5), 833);
    assert_int_equal(backoff_rest_ms(&backoff, 2, 5), 1191);
    assert_int_equal(backoff_rest_ms(&backoff, 2, 123456789), 1075);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_has_its_place),
        cmocka_unit_test(smallest_and_largest_rules_survive),
        cmocka_unit_test(refuses_rules_that_nobody_wrote),
        cmocka_unit_test(every_single_rule_is_seen),
        cmocka_unit_test(what_has_no_kind_or_no_base_is_written_as_nothing),
        cmocka_unit_test(without_a_backoff_there_is_no_rest),
        cmocka_unit_test(a_fixed_rest_stays_the_same),
        cmocka_unit_test(an_exponential_rest_doubles),
        cmocka_unit_test(a_rest_ends_at_its_cap),
        cmocka_unit_test(without_a_cap_a_rest_ends_at_thirty_days),
        cmocka_unit_test(no_number_of_tries_is_too_large),
        cmocka_unit_test(a_rest_of_nothing_ends),
        cmocka_unit_test(the_jitter_stays_within_its_share),
        cmocka_unit_test(neighbouring_stamps_draw_far_apart),
        cmocka_unit_test(the_jitter_is_rounded_down),
    };

    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
