/* Each weakness, from the set-up that has it. */
#include "node/store/redis/durability.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define BIT(name) (1u << WEAKNESS_##name)

static struct redis_setup good(void)
{
    return (struct redis_setup){.info = {.has_aof = true}, .appendfsync = "always"};
}

static void finds_nothing_where_nothing_is_lost(void **state)
{
    struct redis_setup setup = good();

    assert_int_equal(redis_weaknesses(&setup), 0);
    setup.may_be_replaced = true;
    setup.min_replicas_to_write = 1;
    setup.min_replicas = setup.info.replicas = setup.info.good_replicas = 2;
    assert_int_equal(redis_weaknesses(&setup), 0);
}

static void looks_at_the_append_only_file(void **state)
{
    struct redis_setup setup = good();

    setup.appendfsync = "everysec";
    assert_int_equal(redis_weaknesses(&setup), BIT(FSYNC));
    setup.appendfsync = "no";
    assert_int_equal(redis_weaknesses(&setup), BIT(FSYNC));
    setup.info.has_aof = false; /* how a file is written that is not there is no matter */
    assert_int_equal(redis_weaknesses(&setup), BIT(NO_AOF));
}

static void looks_at_what_happens_when_memory_is_full(void **state)
{
    struct redis_setup setup = good();

    setup.info.may_evict = true;
    assert_int_equal(redis_weaknesses(&setup), BIT(MAY_EVICT));
}

static void counts_replicas_where_some_are_asked_for(void **state)
{
    struct redis_setup setup = good();

    setup.info.replicas = 1;
    setup.min_replicas = 1;
    assert_int_equal(redis_weaknesses(&setup), 0);
    setup.min_replicas = 2;
    assert_int_equal(redis_weaknesses(&setup), BIT(FEW_REPLICAS));
}

static void wants_masters_that_stop_without_replicas_where_there_are_sentinels(void **state)
{
    struct redis_setup setup = good();

    setup.may_be_replaced = true;
    assert_int_equal(redis_weaknesses(&setup), BIT(STALE_WRITES));
    setup.min_replicas_to_write = setup.info.good_replicas = 1;
    assert_int_equal(redis_weaknesses(&setup), 0);
}

static void leaves_masters_alone_whose_answers_wait_for_replicas(void **state)
{
    struct redis_setup setup = good();

    setup.may_be_replaced = true;
    setup.min_replicas = setup.info.replicas = 1;
    assert_int_equal(redis_weaknesses(&setup), 0);
    setup.info.replicas = 0;
    assert_int_equal(redis_weaknesses(&setup), BIT(FEW_REPLICAS));
}

static void looks_at_what_was_cut_off_its_file(void **state)
{
    struct redis_setup setup = good();

    setup.aof_cut_bytes = 35;
    assert_int_equal(redis_weaknesses(&setup), BIT(AOF_CUT));
}

/* The numbers go to and fro a little all the time. */
static void warns_of_memory_from_nine_tenths_until_eight(void **state)
{
    struct redis_setup setup = good();

    setup.info.used_memory = 1000000; /* without a limit, nothing is much */
    assert_int_equal(redis_weaknesses(&setup), 0);
    setup.info.maxmemory = 1000000;
    assert_int_equal(redis_weaknesses(&setup), BIT(MEMORY));
    setup.info.used_memory = 899999;
    assert_int_equal(redis_weaknesses(&setup), 0);
    setup.was_nearly_full = true;
    assert_int_equal(redis_weaknesses(&setup), BIT(MEMORY));
    setup.info.used_memory = 799999;
    assert_int_equal(redis_weaknesses(&setup), 0);
}

static void says_that_all_writes_are_refused(void **state)
{
    struct redis_setup setup = good();

    setup.is_disk_wrong = true;
    assert_int_equal(redis_weaknesses(&setup), BIT(MISCONF));
    setup = good();
    setup.min_replicas_to_write = 2;
    setup.info.good_replicas = 1;
    assert_int_equal(redis_weaknesses(&setup), BIT(NOREPLICAS));
    setup.info.good_replicas = 2;
    assert_int_equal(redis_weaknesses(&setup), 0);
}

static void says_when_it_cannot_tell(void **state)
{
    struct redis_setup setup = good();

    setup.appendfsync = NULL;
    assert_int_equal(redis_weaknesses(&setup), BIT(UNKNOWN));
    setup = good();
    setup.may_be_replaced = true;
    setup.min_replicas_to_write = -1;
    assert_int_equal(redis_weaknesses(&setup), BIT(UNKNOWN));
    setup.info.has_aof = false; /* INFO has told that */
    assert_int_equal(redis_weaknesses(&setup), BIT(UNKNOWN) | BIT(NO_AOF));
}

static void has_a_word_and_advice_for_each_and_waits_for_replicas_only(void **state)
{
    for (unsigned w = 0; w < WEAKNESS_COUNT; w++) {
        assert_true(*weakness_word((enum weakness)w));
        assert_true(*weakness_what((enum weakness)w));
        assert_true(*weakness_advice((enum weakness)w));
        assert_int_equal(weakness_loses_jobs((enum weakness)w),
                         w != WEAKNESS_FEW_REPLICAS && w != WEAKNESS_MEMORY &&
                             w != WEAKNESS_MISCONF && w != WEAKNESS_NOREPLICAS);
        assert_int_equal(weakness_stops_writes((enum weakness)w),
                         w == WEAKNESS_MISCONF || w == WEAKNESS_NOREPLICAS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_where_nothing_is_lost),
        cmocka_unit_test(looks_at_the_append_only_file),
        cmocka_unit_test(looks_at_what_happens_when_memory_is_full),
        cmocka_unit_test(counts_replicas_where_some_are_asked_for),
        cmocka_unit_test(wants_masters_that_stop_without_replicas_where_there_are_sentinels),
        cmocka_unit_test(leaves_masters_alone_whose_answers_wait_for_replicas),
        cmocka_unit_test(looks_at_what_was_cut_off_its_file),
        cmocka_unit_test(warns_of_memory_from_nine_tenths_until_eight),
        cmocka_unit_test(says_that_all_writes_are_refused),
        cmocka_unit_test(says_when_it_cannot_tell),
        cmocka_unit_test(has_a_word_and_advice_for_each_and_waits_for_replicas_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
