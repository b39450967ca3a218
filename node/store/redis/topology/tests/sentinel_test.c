/* The list of Sentinels in a configuration. */
#include "base/tests/unit.h"
#include "node/store/redis/topology/sentinel.h"

#include <string.h>

/* ---- the list ---- */

static void assert_listed(const struct redis_sentinels *s, unsigned i, const char *address)
{
    char text[REDIS_ADDRESS_CHARS];

    assert_true(i < s->count);
    redis_address_print(&s->list[i], text);
    assert_string_equal(text, address);
}

static void reads_a_list(void **state)
{
    struct redis_sentinels s;

    assert_int_equal(
        redis_sentinels_parse("sentinel://my-master_1.x@10.0.0.1,name:7,[fe80::1]:8,[::1]", &s),
        STATUS_OK);
    assert_string_equal(s.master, "my-master_1.x");
    assert_int_equal(s.count, 4);
    assert_listed(&s, 0, "10.0.0.1:26379");
    assert_listed(&s, 1, "name:7");
    assert_listed(&s, 2, "[fe80::1]:8");
    assert_listed(&s, 3, "[::1]:26379");
}

static void an_address_of_a_redis_is_no_list(void **state)
{
    static const char *const others[] = {"127.0.0.1:6379", "unix:/run/redis.sock", "sentinel",
                                         ""};
    struct redis_sentinels s;

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(redis_sentinels_parse(others[i], &s), STATUS_NOT_FOUND);
}

static void refuses_what_is_wrong(void **state)
{
    static const char *const wrong[] = {
        "sentinel:",
        "sentinel://",
        "sentinel://m",
        "sentinel://m@",
        "sentinel://@10.0.0.1",
        "sentinel:/m@10.0.0.1",
        "sentinel://m m@10.0.0.1",
        "sentinel://m/n@10.0.0.1",
        "sentinel://m@10.0.0.1,",
        "sentinel://m@,10.0.0.1",
        "sentinel://m@10.0.0.1:0",
        "sentinel://m@10.0.0.1:x",
        "sentinel://m@10.0.0.1:70000",
        "sentinel://m@1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };
    struct redis_sentinels s = {.count = 77};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (redis_sentinels_parse(wrong[i], &s) != STATUS_BAD_CONFIG)
            fail_msg("%s", wrong[i]);
    }
    assert_int_equal(s.count, 77);
}

static void the_name_of_a_master_has_a_limit(void **state)
{
    char text[256] = "sentinel://";
    struct redis_sentinels s;
    size_t start = strlen(text), longest = REDIS_MASTER_CHARS - 1;

    memset(text + start, 'n', longest);
    strcpy(text + start + longest, "@h");
    assert_int_equal(redis_sentinels_parse(text, &s), STATUS_OK);
    assert_int_equal(strlen(s.master), longest);
    strcpy(text + start + longest, "n@h");
    assert_int_equal(redis_sentinels_parse(text, &s), STATUS_BAD_CONFIG);
}

/* ---- addresses ---- */

static void addresses_are_printed_as_they_are_read(void **state)
{
    static const char *const texts[] = {"10.0.0.1:6380", "[::1]:6379", "a.b:1", "unix:/a/b"};
    struct redis_address address, again;
    char text[REDIS_ADDRESS_CHARS];

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(redis_address_parse(texts[i], &address), STATUS_OK);
        redis_address_print(&address, text);
        assert_string_equal(text, texts[i]);
        assert_int_equal(redis_address_parse(text, &again), STATUS_OK);
        assert_true(redis_address_equal(&address, &again));
    }
}

static void a_list_is_no_address(void **state)
{
    struct redis_address address;

    assert_int_equal(redis_address_parse("a,b", &address), STATUS_BAD_CONFIG);
    assert_int_equal(redis_address_parse("a:1,b:2", &address), STATUS_BAD_CONFIG);
}

/* It goes into the log, and to who looks up names. */
static void an_address_that_cannot_be_shown_is_refused(void **state)
{
    static const struct {
        const char *host;
        size_t len;
        long port;
    } wrong[] = {
        {"", 0, 1},    {"\0x", 2, 1},     {"h\0", 2, 1},   {"h\n", 2, 1},
        {"h h", 3, 1}, {"\x1b[2J", 4, 1}, {"h\x7f", 2, 1}, {"\xc3\xa4", 2, 1},
        {"h", 1, 0},   {"h", 1, -1},      {"h", 1, 65536},
    };
    struct redis_address address = {.port = 77};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (redis_address_set(&address, bytes_of(wrong[i].host, wrong[i].len), wrong[i].port) !=
            STATUS_BAD_CONFIG)
            fail_msg("%u", i);
    }
    assert_int_equal(address.port, 77);
    assert_int_equal(redis_address_set(&address, bytes_of("fe80::1-", 7), 65535), STATUS_OK);
    assert_string_equal(address.host, "fe80::1");
    assert_int_equal(address.port, 65535);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_list),
        cmocka_unit_test(an_address_of_a_redis_is_no_list),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(the_name_of_a_master_has_a_limit),
        cmocka_unit_test(addresses_are_printed_as_they_are_read),
        cmocka_unit_test(a_list_is_no_address),
        cmocka_unit_test(an_address_that_cannot_be_shown_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
