/* Durations: read and shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/ctl/times.h"

static void assert_reads(const char *text, int64_t expected)
{
    int64_t ms = -1;

    assert_true(duration_parse(text, &ms));
    assert_int_equal(ms, expected);
}

static void assert_refuses(const char *text)
{
    int64_t ms = 77;

    if (duration_parse(text, &ms))
        fail_msg("'%s' was read as %lld", text, (long long)ms);
    assert_int_equal(ms, 77);
}

static void assert_shows(int64_t ms, const char *expected)
{
    struct buf text = BUF_INIT;

    duration_print(&text, ms);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void reads_every_unit_and_several_in_a_row(void **state)
{
    assert_reads("500ms", 500);
    assert_reads("30s", 30000);
    assert_reads("10m", 600000);
    assert_reads("2h", 7200000);
    assert_reads("7d", 604800000);
    assert_reads("1h30m", 5400000);
    assert_reads("1d2h3m4s5ms", 93784005);
    assert_reads("90s", 90000);
    assert_reads("0s", 0);
}

static void a_number_alone_is_refused_unless_it_is_zero(void **state)
{
    assert_reads("0", 0);
    assert_refuses("10");
    assert_refuses("00");
    assert_refuses("1h30");
}

static void refuses_what_is_no_duration(void **state)
{
    const char *const texts[] = {"",     "s",     "-1s",   "+1s",       "1.5h", " 1s",
                                 "1s ",  "1 s",   "1y",    "1sm",       "1S",   "30m1h",
                                 "1m1m", "1ms2s", "1h,1m", "1\xc2\xb5s"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refuses(texts[i]);
}

static void refuses_what_does_not_fit(void **state)
{
    assert_reads("9223372036854775807ms", INT64_MAX);
    assert_refuses("9223372036854775808ms");
    assert_refuses("9223372036854775807s");
    assert_refuses("106751991167d7h12m56s");
}

static void shows_two_units_at_most_and_none_that_is_zero(void **state)
{
    assert_shows(0, "0");
    assert_shows(1, "1ms");
    assert_shows(999, "999ms");
    assert_shows(1000, "1s");
    assert_shows(1099, "1s");
    assert_shows(1100, "1.1s");
    assert_shows(60099, "1m");
    assert_shows(12399, "12.3s");
    assert_shows(59999, "59.9s");
    assert_shows(60000, "1m");
    assert_shows(192000, "3m 12s");
    assert_shows(3599999, "59m 59s");
    assert_shows(3600000 + 59999, "1h");
    assert_shows(93784005, "1d 2h");
    assert_shows(-192000, "-3m 12s");
    assert_shows(INT64_MIN, "-106751991167d 7h");
}

static void writes_what_it_reads_back(void **state)
{
    static const char *const texts[] = {"0", "1ms", "1m30s", "1d1h1m1s1ms", "30d", "2h500ms"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct buf written = BUF_INIT;
        int64_t ms = -1;

        assert_true(duration_parse(texts[i], &ms));
        duration_write(&written, ms);
        assert_string_equal(buf_text(&written), texts[i]);
        buf_fini(&written);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_unit_and_several_in_a_row),
        cmocka_unit_test(a_number_alone_is_refused_unless_it_is_zero),
        cmocka_unit_test(refuses_what_is_no_duration),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(shows_two_units_at_most_and_none_that_is_zero),
        cmocka_unit_test(writes_what_it_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
