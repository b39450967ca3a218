/* The nodes of a Redis Cluster in a configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/store/redis/topology/cluster_map.h"

static void assert_listed(const struct redis_seeds *s, unsigned i, const char *address)
{
    char text[REDIS_ADDRESS_CHARS];

    assert_true(i < s->count);
    redis_address_print(&s->list[i], text);
    assert_string_equal(text, address);
}

static void reads_a_list(void **state)
{
    struct redis_seeds s;

    assert_int_equal(redis_seeds_parse("cluster://10.0.0.1,name:7,[fe80::1]:8,[::1]", &s),
                     STATUS_OK);
    assert_int_equal(s.count, 4);
    assert_listed(&s, 0, "10.0.0.1:6379");
    assert_listed(&s, 1, "name:7");
    assert_listed(&s, 2, "[fe80::1]:8");
    assert_listed(&s, 3, "[::1]:6379");
}

static void sixteen_are_enough(void **state)
{
    struct redis_seeds s;

    assert_int_equal(redis_seeds_parse("cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &s),
                     STATUS_OK);
    assert_int_equal(s.count, REDIS_SEEDS_MAX);
    assert_listed(&s, 15, "16:6379");
}

static void other_addresses_are_no_list(void **state)
{
    static const char *const others[] = {"127.0.0.1:6379", "unix:/run/redis.sock",
                                         "sentinel://m@h", "cluster",
                                         "clusters://h",   ""};
    struct redis_seeds s;

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(redis_seeds_parse(others[i], &s), STATUS_NOT_FOUND);
}

static void refuses_what_is_wrong(void **state)
{
    static const char *const wrong[] = {
        "cluster:",
        "cluster://",
        "cluster:/h",
        "cluster://h,",
        "cluster://,h",
        "cluster://h,,h",
        "cluster://m@h",
        "cluster://h:0",
        "cluster://h:x",
        "cluster://h:70000",
        "cluster://::1",
        "cluster://unix:/run/redis.sock",
        "cluster://h,unix:/run/redis.sock",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };
    struct redis_seeds s = {.count = 77};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (redis_seeds_parse(wrong[i], &s) != STATUS_BAD_CONFIG)
            fail_msg("%s", wrong[i]);
    }
    assert_int_equal(s.count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_list),
        cmocka_unit_test(sixteen_are_enough),
        cmocka_unit_test(other_addresses_are_no_list),
        cmocka_unit_test(refuses_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
