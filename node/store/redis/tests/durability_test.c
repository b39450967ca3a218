/* Each weakness, from the set-up that has it; and what INFO says of a set-up. */
#include "node/store/redis/durability.h"
#include "node/store/redis/wire/link.h"
#include "base/tests/unit.h"

#include <stdio.h>

#define BIT(name) (1u << WEAKNESS_##name)

#define GOOD_INFO .has_aof = true
#define SETUP(...)                           \
    {                                        \
        .appendfsync = "always", __VA_ARGS__ \
    }
#define INFO(...) .info = {GOOD_INFO, __VA_ARGS__}
#define BARE      .info = {GOOD_INFO}

static const struct {
    struct redis_setup setup;
    unsigned weak;
} set_ups[] = {
    {SETUP(BARE), 0},
    {SETUP(INFO(.replicas = 2, .good_replicas = 2), .may_be_replaced = true,
           .min_replicas_to_write = 1, .min_replicas = 2),
     0},
    /* the append-only file; how it is written is no matter where there is none */
    {{BARE, .appendfsync = "everysec"}, BIT(FSYNC)},
    {{BARE, .appendfsync = "no"}, BIT(FSYNC)},
    {{.appendfsync = "no"}, BIT(NO_AOF)},
    {SETUP(BARE, .aof_cut_bytes = 35), BIT(AOF_CUT)},
    {SETUP(INFO(.may_evict = true)), BIT(MAY_EVICT)},
    /* replicas, where some are asked for */
    {SETUP(INFO(.replicas = 1), .min_replicas = 1), 0},
    {SETUP(INFO(.replicas = 1), .min_replicas = 2), BIT(FEW_REPLICAS)},
    /* masters are to stop without replicas where there are Sentinels */
    {SETUP(BARE, .may_be_replaced = true), BIT(STALE_WRITES)},
    {SETUP(INFO(.good_replicas = 1), .may_be_replaced = true, .min_replicas_to_write = 1), 0},
    /* but not those whose answers wait for replicas */
    {SETUP(INFO(.replicas = 1), .may_be_replaced = true, .min_replicas = 1), 0},
    {SETUP(BARE, .may_be_replaced = true, .min_replicas = 1), BIT(FEW_REPLICAS)},
    /* memory from nine tenths until eight, for its numbers go to and fro; without a limit
     * nothing is much */
    {SETUP(INFO(.used_memory = 1000000)), 0},
    {SETUP(INFO(.used_memory = 1000000, .maxmemory = 1000000)), BIT(MEMORY)},
    {SETUP(INFO(.used_memory = 899999, .maxmemory = 1000000)), 0},
    {SETUP(INFO(.used_memory = 899999, .maxmemory = 1000000), .was_nearly_full = true),
     BIT(MEMORY)},
    {SETUP(INFO(.used_memory = 799999, .maxmemory = 1000000), .was_nearly_full = true), 0},
    /* all writes are refused */
    {SETUP(BARE, .is_disk_wrong = true), BIT(MISCONF)},
    {SETUP(INFO(.good_replicas = 1), .min_replicas_to_write = 2), BIT(NOREPLICAS)},
    {SETUP(INFO(.good_replicas = 2), .min_replicas_to_write = 2), 0},
    /* it cannot tell, but for what INFO has told */
    {{BARE}, BIT(UNKNOWN)},
    {SETUP(BARE, .may_be_replaced = true, .min_replicas_to_write = -1), BIT(UNKNOWN)},
    {SETUP(.may_be_replaced = true, .min_replicas_to_write = -1), BIT(UNKNOWN) | BIT(NO_AOF)},
};

static void finds_the_weakness_of_each_set_up_and_no_other(void **state)
{
    for (size_t i = 0; i < sizeof(set_ups) / sizeof(*set_ups); i++) {
        if (redis_weaknesses(&set_ups[i].setup) != set_ups[i].weak)
            fail_msg("set-up %zu: %x", i, redis_weaknesses(&set_ups[i].setup));
    }
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

/* ---- INFO, and addresses ---- */

static void reads_what_matters(void **state)
{
    struct redis_info info = redis_info_read(BYTES("# Server\r\n"
                                                   "redis_version:7.0.15\r\n"
                                                   "loading:1\r\n"
                                                   "role:slave\r\n"
                                                   "aof_enabled:1\r\n"
                                                   "used_memory:1048576\r\n"
                                                   "used_memory_peak:3\r\n"
                                                   "maxmemory:18446744073709551615\r\n"
                                                   "maxmemory_policy:allkeys-lru\r\n"));

    assert_int_equal(info.version, 70015);
    assert_string_equal(info.version_text, "7.0.15");
    assert_int_equal(info.used_memory, 1048576);
    assert_int_equal(info.maxmemory, UINT64_MAX);
    assert_true(info.is_loading && info.is_replica && info.has_aof && info.may_evict);
}

#define RUN   "1111111111111111111111111111111111111111"
#define A     "2222222222222222222222222222222222222222"
#define B     "3333333333333333333333333333333333333333"
#define NEVER "0000000000000000000000000000000000000000"

static struct redis_incarnation of(const char *run_id, const char *history, const char *former)
{
    char text[256];
    int len =
        snprintf(text, sizeof(text), "run_id:%s\r\nmaster_replid:%s\r\nmaster_replid2:%s\r\n",
                 run_id, history, former);

    return redis_info_read(bytes_of(text, (size_t)len)).incarnation;
}

static void knows_whether_an_incarnation_goes_on(void **state)
{
    struct redis_incarnation at_first = of(RUN, A, NEVER);
    const struct {
        struct redis_incarnation now;
        bool goes_on;
    } rows[] = {
        {of(RUN, A, NEVER), true},  {of(RUN, B, NEVER), true}, /* its first replica came */
        {of(RUN, B, A), false},     {of(A, A, NEVER), false},
        {of(RUN "1", A, A), false}, {of("", B, NEVER), false},
    };

    assert_string_equal(at_first.run_id, RUN);
    assert_string_equal(at_first.history, A);
    assert_string_equal(at_first.former, NEVER);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (redis_incarnation_goes_on(&at_first, &rows[i].now) != rows[i].goes_on)
            fail_msg("row %zu", i);
    }
}

static void counts_the_replicas_that_are_in_step(void **state)
{
    struct redis_info info =
        redis_info_read(BYTES("role:master\r\nconnected_slaves:3\r\n"
                              "slave0:ip=::1,port=1,state=online,offset=14,lag=0\r\n"
                              "slave1:ip=::1,port=2,state=wait_bgsave,offset=0,lag=0\r\n"
                              "slave2:ip=::1,port=3,state=online,offset=14,lag=1\r\n"
                              "master_failover_state:no-failover\r\n"));

    assert_int_equal(info.replicas, 2);
    assert_int_equal(info.good_replicas, 0);
    assert_int_equal(redis_info_read(BYTES("min_slaves_good_slaves:3\r\n")).good_replicas, 3);
    assert_int_equal(redis_info_read(BYTES("connected_slaves:0\r\n")).replicas, 0);
}

static void takes_a_missing_line_for_no(void **state)
{
    struct redis_info info = redis_info_read(BYTES("loading:0\r\nxrole:slave\r\nrole"));

    assert_int_equal(info.version, 0);
    assert_false(info.is_loading || info.is_replica || info.has_aof || info.may_evict);
    info = redis_info_read(BYTES(""));
    assert_int_equal(info.version, 0);
}

static void knows_a_sentinel(void **state)
{
    assert_true(redis_info_read(BYTES("redis_mode:sentinel\r\n")).is_sentinel);
    assert_false(redis_info_read(BYTES("redis_mode:standalone\r\n")).is_sentinel);
}

static void is_not_confused_by_a_strange_version(void **state)
{
    assert_int_equal(redis_info_read(BYTES("redis_version:6.2")).version, 60200);
    assert_int_equal(redis_info_read(BYTES("redis_version:unstable")).version, 0);
    assert_int_equal(redis_info_read(BYTES("redis_version:1234567890123456789012345")).version,
                     0);
}

static void assert_address(const char *text, const char *host, int port)
{
    struct redis_address address;

    assert_int_equal(redis_address_parse(text, &address), STATUS_OK);
    assert_string_equal(address.host, host);
    assert_int_equal(address.port, port);
}

static void knows_addresses_of_every_kind(void **state)
{
    assert_address("127.0.0.1:6380", "127.0.0.1", 6380);
    assert_address("redis.example", "redis.example", 6379);
    assert_address("[::1]:6380", "::1", 6380);
    assert_address("[::1]", "::1", 6379);
    assert_address("unix:/run/redis.sock", "/run/redis.sock", 0);
}

static void refuses_what_is_no_address(void **state)
{
    static const char *const texts[] = {
        "",     ":6379",    "host:", "host:0",  "host:65536", "host:1x", "::1",
        "[::1", "[::1]x:1", "unix:", "host:-1", "host: 1",    "a:1:2",
    };
    struct redis_address address = {.port = 5};
    char path[256] = "unix:/";

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (redis_address_parse(texts[i], &address) != STATUS_BAD_CONFIG)
            fail_msg("took '%s'", texts[i]);
    }
    memset(path + 6, 'x', 107);
    assert_int_equal(redis_address_parse(path, &address), STATUS_BAD_CONFIG);
    assert_int_equal(address.port, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_weakness_of_each_set_up_and_no_other),
        cmocka_unit_test(has_a_word_and_advice_for_each_and_waits_for_replicas_only),
        cmocka_unit_test(reads_what_matters),
        cmocka_unit_test(knows_whether_an_incarnation_goes_on),
        cmocka_unit_test(counts_the_replicas_that_are_in_step),
        cmocka_unit_test(takes_a_missing_line_for_no),
        cmocka_unit_test(knows_a_sentinel),
        cmocka_unit_test(is_not_confused_by_a_strange_version),
        cmocka_unit_test(knows_addresses_of_every_kind),
        cmocka_unit_test(refuses_what_is_no_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
