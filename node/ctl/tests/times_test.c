/* Times in words: spans, points in time in a zone that changes its clocks twice a year, and
 * backoffs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "node/ctl/times.h"

static int set_zone(void **state)
{
    /* A rule of its own: the machine may have no zone files. */
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return 0;
}

static void assert_reads(bool (*parse)(const char *text, int64_t *ms), const char *text,
                         int64_t expected)
{
    int64_t ms = -1;

    assert_true(parse(text, &ms));
    assert_int_equal(ms, expected);
}

static void assert_refuses(bool (*parse)(const char *text, int64_t *ms), const char *text)
{
    int64_t ms = 77;

    if (parse(text, &ms))
        fail_msg("'%s' was read as %lld", text, (long long)ms);
    assert_int_equal(ms, 77);
}

static void assert_shows(void (*print)(struct buf *to, int64_t ms), int64_t ms,
                         const char *expected)
{
    struct buf text = BUF_INIT;

    print(&text, ms);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

/* ---- spans ---- */

static void reads_every_unit_and_several_in_a_row(void **state)
{
    assert_reads(duration_parse, "500ms", 500);
    assert_reads(duration_parse, "30s", 30000);
    assert_reads(duration_parse, "10m", 600000);
    assert_reads(duration_parse, "2h", 7200000);
    assert_reads(duration_parse, "7d", 604800000);
    assert_reads(duration_parse, "1h30m", 5400000);
    assert_reads(duration_parse, "1d2h3m4s5ms", 93784005);
    assert_reads(duration_parse, "90s", 90000);
    assert_reads(duration_parse, "0s", 0);
}

static void a_number_alone_is_refused_unless_it_is_zero(void **state)
{
    assert_reads(duration_parse, "0", 0);
    assert_refuses(duration_parse, "10");
    assert_refuses(duration_parse, "00");
    assert_refuses(duration_parse, "1h30");
}

static void refuses_what_is_no_duration(void **state)
{
    const char *const texts[] = {"",     "s",     "-1s",   "+1s",       "1.5h", " 1s",
                                 "1s ",  "1 s",   "1y",    "1sm",       "1S",   "30m1h",
                                 "1m1m", "1ms2s", "1h,1m", "1\xc2\xb5s"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refuses(duration_parse, texts[i]);
}

static void refuses_what_does_not_fit(void **state)
{
    assert_reads(duration_parse, "9223372036854775807ms", INT64_MAX);
    assert_refuses(duration_parse, "9223372036854775808ms");
    assert_refuses(duration_parse, "9223372036854775807s");
    assert_refuses(duration_parse, "106751991167d7h12m56s");
}

static void shows_two_units_at_most_and_none_that_is_zero(void **state)
{
    assert_shows(duration_print, 0, "0");
    assert_shows(duration_print, 1, "1ms");
    assert_shows(duration_print, 999, "999ms");
    assert_shows(duration_print, 1000, "1s");
    assert_shows(duration_print, 1099, "1s");
    assert_shows(duration_print, 1100, "1.1s");
    assert_shows(duration_print, 60099, "1m");
    assert_shows(duration_print, 12399, "12.3s");
    assert_shows(duration_print, 59999, "59.9s");
    assert_shows(duration_print, 60000, "1m");
    assert_shows(duration_print, 192000, "3m 12s");
    assert_shows(duration_print, 3599999, "59m 59s");
    assert_shows(duration_print, 3600000 + 59999, "1h");
    assert_shows(duration_print, 93784005, "1d 2h");
    assert_shows(duration_print, -192000, "-3m 12s");
    assert_shows(duration_print, INT64_MIN, "-106751991167d 7h");
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

/* ---- points in time ---- */

static void reads_local_time_winter_and_summer(void **state)
{
    assert_reads(moment_parse, "2026-12-01 09:00", 1796112000000);
    assert_reads(moment_parse, "2026-12-01T09:00:30", 1796112030000);
    assert_reads(moment_parse, "2026-12-01 09:00:30.5", 1796112030500);
    assert_reads(moment_parse, "2026-07-01 09:00", 1782889200000);
}

static void reads_rfc_3339(void **state)
{
    assert_reads(moment_parse, "2026-12-01T09:00:00Z", 1796115600000);
    assert_reads(moment_parse, "2026-12-01T09:00:00.123456789Z", 1796115600123);
    assert_reads(moment_parse, "2026-12-01t09:00:00z", 1796115600000);
    assert_reads(moment_parse, "2026-12-01T09:00:00+08:00", 1796086800000);
    assert_reads(moment_parse, "2026-12-01T09:00:00-00:30", 1796117400000);
    assert_reads(moment_parse, "2000-02-29T00:00:00Z", 951782400000);
}

static void reads_milliseconds_but_not_seconds(void **state)
{
    assert_reads(moment_parse, "1796115600123", 1796115600123);
    assert_refuses(moment_parse, "1796115600");
    assert_true(moment_is_in_seconds("1796115600"));
    assert_false(moment_is_in_seconds("1796115600123"));
    assert_false(moment_is_in_seconds("99999999999999999999"));
    assert_false(moment_is_in_seconds("1796115600s"));
    assert_false(moment_is_in_seconds(""));
    assert_refuses(moment_parse, "0");
    assert_refuses(moment_parse, "99999999999999999999");
}

static void refuses_what_the_calendar_or_the_clock_does_not_have(void **state)
{
    assert_refuses(moment_parse, "2026-02-29 09:00");
    assert_refuses(moment_parse, "2026-13-01 09:00");
    assert_refuses(moment_parse, "2026-04-31T09:00:00Z");
    assert_refuses(moment_parse, "2026-12-01 24:00");
    assert_refuses(moment_parse, "2026-12-01 09:60");
    assert_refuses(moment_parse, "2026-12-01T09:00:60Z");
    assert_refuses(moment_parse, "2026-03-29 02:30"); /* the clocks go from 02:00 to 03:00 */
}

static void refuses_other_forms(void **state)
{
    const char *const texts[] = {"",
                                 "tomorrow",
                                 "2026-12-01",
                                 "09:00",
                                 "2026-12-1 09:00",
                                 "2026-12-01  09:00",
                                 "2026-12-01 09:00 ",
                                 "2026-12-01 9:00",
                                 "2026-12-01 09:00:",
                                 "2026-12-01 09:00:00.",
                                 "2026-12-01 09:00:00.1234567890",
                                 "2026-12-01T09:00:00+0800",
                                 "2026-12-01T09:00:00+24:00",
                                 "2026-12-01T09:00:00ZZ",
                                 "-1796115600123",
                                 "1796115600123 "};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refuses(moment_parse, texts[i]);
}

static void shows_local_time_with_milliseconds(void **state)
{
    assert_shows(moment_print, 1796112000007, "2026-12-01 09:00:00.007");
    assert_shows(moment_print, 1782889200999, "2026-07-01 09:00:00.999");
    assert_shows(moment_print, -1, "1970-01-01 00:59:59.999");
    assert_shows(moment_print, (INT64_C(1) << 48) - 1, "10889-08-02 07:31:50.655");
}

/* ---- backoffs ---- */

static void assert_backoff(const char *text, struct backoff expected)
{
    struct backoff b = {0};
    struct buf written = BUF_INIT;

    assert_true(backoff_parse(text, &b));
    assert_string_equal(b.kind, expected.kind);
    assert_int_equal(b.base_ms, expected.base_ms);
    assert_int_equal(b.cap_ms, expected.cap_ms);
    assert_int_equal(b.jitter_percent, expected.jitter_percent);
    backoff_print(&written, &b);
    assert_string_equal(buf_text(&written), text);
    buf_fini(&written);
}

static void reads_each_kind_and_writes_it_back(void **state)
{
    assert_backoff("none", (struct backoff){"none", 0, 0, 0});
    assert_backoff("fixed:30s", (struct backoff){"fixed", 30000, 0, 0});
    assert_backoff("fixed:1m30s~5%", (struct backoff){"fixed", 90000, 0, 5});
    assert_backoff("exponential:1s", (struct backoff){"exponential", 1000, 0, 0});
    assert_backoff("exponential:1s..5m", (struct backoff){"exponential", 1000, 300000, 0});
    assert_backoff("exponential:1ms..30d~100%",
                   (struct backoff){"exponential", 1, BACKOFF_MAX_MS, 100});
}

static void refuses_every_other_backoff(void **state)
{
    static const char *const wrong[] = {
        "",
        "linear:1s",
        "none:1s",
        "none~1%",
        "fixed",
        "fixed:",
        "fixed:10",
        "fixed:0",
        "fixed:1s..2s",
        "fixed:31d",
        "exponential",
        "exponential:..5m",
        "exponential:1s..",
        "exponential:2s..1s",
        "exponential:1s...5m",
        "exponential:1s..5m..6m",
        "exponential:1s~",
        "exponential:1s~10",
        "exponential:1s~101%",
        "exponential:1s~-1%",
        "exponential:1s~10%x",
        "exponential:1s~1%..5m",
        "Exponential:1s",
        "fixed:1s2s3s4s5s6s7s8s9s1s2s3s4s5s6s7s8s9s",
    };
    struct backoff b = {.kind = "as it was"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (backoff_parse(wrong[i], &b))
            fail_msg("'%s' was read", wrong[i]);
    }
    assert_string_equal(b.kind, "as it was");
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
        cmocka_unit_test(reads_local_time_winter_and_summer),
        cmocka_unit_test(reads_rfc_3339),
        cmocka_unit_test(reads_milliseconds_but_not_seconds),
        cmocka_unit_test(refuses_what_the_calendar_or_the_clock_does_not_have),
        cmocka_unit_test(refuses_other_forms),
        cmocka_unit_test(shows_local_time_with_milliseconds),
        cmocka_unit_test(reads_each_kind_and_writes_it_back),
        cmocka_unit_test(refuses_every_other_backoff),
    };

    return cmocka_run_group_tests(tests, set_zone, NULL);
}
