/* Text to value and back: which texts are read and which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "conf/value.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static void reads_true_and_false_and_no_other_spelling(void **state)
{
    static const char *const wrong[] = {"", "yes", "on", "True", "TRUE", "1", "true ", "t"};
    bool value = false;

    assert_true(value_parse_bool("true", &value));
    assert_true(value);
    assert_true(value_parse_bool("false", &value));
    assert_false(value);
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(value_parse_bool(wrong[i], &value));
}

static void reads_numbers_that_fit_and_nothing_around_them(void **state)
{
    static const char *const wrong[] = {"",
                                        "-1",
                                        "+1",
                                        "1.5",
                                        " 1",
                                        "1 ",
                                        "0x10",
                                        "1e3",
                                        "１",
                                        "9223372036854775808",
                                        "999999999999999999999999"};
    int64_t value = 7;

    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_false(value_parse_count(wrong[i], &value));
        assert_int_equal(value, 7);
    }
    assert_true(value_parse_count("9223372036854775807", &value));
    assert_true(value == INT64_MAX);
    assert_true(value_parse_count("007", &value));
    assert_int_equal(value, 7);
}

static void reads_shares_with_their_sign(void **state)
{
    static const char *const wrong[] = {"", "%", "10", "10 %", "-1%", "1.5%", "10%%"};
    int64_t percent = 7;

    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(value_parse_percent(wrong[i], &percent));
    assert_int_equal(percent, 7);
    assert_true(value_parse_percent("100%", &percent));
    assert_int_equal(percent, 100);
}

static void tells_topics_from_other_texts(void **state)
{
    static const char *const right[] = {"a", "*", "a*", "mail.urgent", "a-_.:/+;$()1*"};
    static const char *const wrong[] = {"", "-a", "a b", "**", "*a", "a*b", "a,b", "\xc3\xa4"};

    for (size_t i = 0; i < LENGTH(right); i++)
        assert_true(value_is_topics(right[i]));
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(value_is_topics(wrong[i]));
}

static void reads_sizes_with_binary_units(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } right[] = {{"0", 0},       {"17", 17},        {"1B", 1},
                 {"3KiB", 3072}, {"1MiB", 1 << 20}, {"2GiB", INT64_C(2) << 30}};
    static const char *const wrong[] = {"MiB", "1MB",   "1mib",   "1 MiB",
                                        "1M",  "-1KiB", "1.5MiB", "9999999999999GiB"};
    int64_t value;

    for (size_t i = 0; i < LENGTH(right); i++) {
        assert_true(value_parse_size(right[i].text, &value));
        assert_true(value == right[i].bytes);
    }
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(value_parse_size(wrong[i], &value));
}

static void reads_durations_only_with_a_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } right[] = {{"0s", 0},       {"500ms", 500},  {"2s", 2000},
                 {"10m", 600000}, {"1h", 3600000}, {"7d", INT64_C(7) * 86400000}};
    static const char *const wrong[] = {
        "0", "10", "s", "1.5s", "1 s", "1S", "1m30s", "-1s", "9999999999999999d"};
    int64_t value;

    for (size_t i = 0; i < LENGTH(right); i++) {
        assert_true(value_parse_duration(right[i].text, &value));
        assert_true(value == right[i].ms);
    }
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(value_parse_duration(wrong[i], &value));
}

static void reads_hosts_and_ports(void **state)
{
    static const struct {
        const char *text, *host;
        unsigned port;
    } right[] = {{"127.0.0.1:9503", "127.0.0.1", 9503},
                 {"localhost:0", "localhost", 0},
                 {"[::1]:65535", "::1", 65535},
                 {"a-b.example:1", "a-b.example", 1}};
    static const char *const wrong[] = {
        "",         "host",       ":80",     "host:",       "host:65536", "host:-1", "host:80x",
        "::1:80",   "[::1]",      "[]:80",   "[::1:80",     "a b:80",     "a/b:80",  "unix:/x",
        "host:80 ", "[[::1]]:80", "\xff:80", "http://h:80", "a@b:80",     "a,b:80"};
    struct bytes host;
    unsigned port;

    for (size_t i = 0; i < LENGTH(right); i++) {
        assert_true(value_parse_host_port(right[i].text, &host, &port));
        assert_true(bytes_equal(host, bytes_of_text(right[i].host)));
        assert_int_equal(port, right[i].port);
    }
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(value_parse_host_port(wrong[i], &host, &port));
}

static void knows_what_a_name_is_made_of(void **state)
{
    assert_true(value_is_name("Az09_.:-"));
    assert_false(value_is_name("a b"));
    assert_false(value_is_name("{a}"));
    assert_false(value_is_name("\xc3\xa4"));
    assert_true(value_is_hosts(""));
    assert_true(value_is_hosts("*"));
    assert_true(value_is_hosts("dueq"));
    assert_true(value_is_hosts("dueq,a-b.example.com"));
    assert_false(value_is_hosts("dueq,*"));
    assert_false(value_is_hosts("dueq:8000"));
    assert_false(value_is_hosts("dueq, other"));
    assert_false(value_is_hosts("dueq,"));
    assert_false(value_is_hosts(",dueq"));
}

static void prints_what_it_reads_in_the_largest_unit(void **state)
{
    static const struct {
        int64_t value;
        const char *size, *duration;
    } cases[] = {{0, "0B", "0s"},         {1, "1B", "1ms"},
                 {1000, "1000B", "1s"},   {1024, "1KiB", "1024ms"},
                 {60000, "60000B", "1m"}, {1 << 20, "1MiB", "1048576ms"},
                 {90000, "90000B", "90s"}};
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < LENGTH(cases); i++) {
        value_print_size(&text, cases[i].value);
        assert_string_equal(buf_text(&text), cases[i].size);
        buf_clear(&text);
        value_print_duration(&text, cases[i].value);
        assert_string_equal(buf_text(&text), cases[i].duration);
        buf_clear(&text);
    }
    buf_fini(&text);
}

static void quotes_so_that_nothing_is_special(void **state)
{
    struct buf text = BUF_INIT;

    value_print_quoted(&text, "a\"b\\c\n${d} $e $${");
    assert_string_equal(buf_text(&text), "\"a\\\"b\\\\c\\x0a$${d} $e $$${\"");
    buf_fini(&text);
}

static void reads_names_of_masters_and_their_sentinels(void **state)
{
    static const char *const right[] = {
        "sentinel://m@10.0.0.1:26379",
        "sentinel://my-master.1@a,b:1,[fd00::1],[fd00::1]:2",
        "sentinel://m@1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
    };
    static const char *const wrong[] = {
        "sentinel://m",
        "sentinel://@a:1",
        "sentinel://m@",
        "sentinel://m@a,",
        "sentinel://m@,a",
        "sentinel://m@a:0",
        "sentinel://m@a:x",
        "sentinel://m@a:65536",
        "sentinel://m@::1",
        "sentinel://m m@a",
        "sentinel:/m@a:1",
        "Sentinel://m@a:1",
        "sentinel://m@[a",
        "sentinel://m@a b",
        "sentinel://m@a@b:1",
        " sentinel://m@a:1",
        "sentinel://m@a/0",
        "sentinel://m@a:1 ",
        "sentinel://m@1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };

    for (size_t i = 0; i < LENGTH(right); i++)
        assert_true(value_is_sentinels(right[i]));
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (value_is_sentinels(wrong[i]))
            fail_msg("%s", wrong[i]);
}

static void reads_lists_of_nodes_of_a_redis_cluster(void **state)
{
    static const char *const right[] = {
        "cluster://10.0.0.1:7001",
        "cluster://a,b:1,[fd00::1],[fd00::1]:2",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
    };
    static const char *const wrong[] = {
        "cluster://",
        "cluster:a",
        "cluster:/a",
        "cluster://a,",
        "cluster://,a",
        "cluster://a:0",
        "cluster://a:x",
        "cluster://::1",
        "cluster://[a",
        "cluster://a b",
        "cluster://m@a:1",
        "cluster://a/0",
        " cluster://a",
        "cluster://a ",
        "Cluster://a",
        "cluster://unix:/run/r.sock",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };

    for (size_t i = 0; i < LENGTH(right); i++)
        assert_true(value_is_cluster(right[i]));
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (value_is_cluster(wrong[i]))
            fail_msg("%s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names_of_masters_and_their_sentinels),
        cmocka_unit_test(reads_lists_of_nodes_of_a_redis_cluster),
        cmocka_unit_test(reads_true_and_false_and_no_other_spelling),
        cmocka_unit_test(reads_numbers_that_fit_and_nothing_around_them),
        cmocka_unit_test(reads_shares_with_their_sign),
        cmocka_unit_test(tells_topics_from_other_texts),
        cmocka_unit_test(reads_sizes_with_binary_units),
        cmocka_unit_test(reads_durations_only_with_a_unit),
        cmocka_unit_test(reads_hosts_and_ports),
        cmocka_unit_test(knows_what_a_name_is_made_of),
        cmocka_unit_test(prints_what_it_reads_in_the_largest_unit),
        cmocka_unit_test(quotes_so_that_nothing_is_special),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
