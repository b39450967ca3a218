/* Points in time: read and shown, in a zone that changes its clocks twice a year. */
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

static void assert_reads(const char *text, int64_t expected)
{
    int64_t ms = -1;

    assert_true(moment_parse(text, &ms));
    assert_int_equal(ms, expected);
}

static void assert_refuses(const char *text)
{
    int64_t ms = 77;

    if (moment_parse(text, &ms))
        fail_msg("'%s' was read as %lld", text, (long long)ms);
    assert_int_equal(ms, 77);
}

static void assert_shows(int64_t ms, const char *expected)
{
    struct buf text = BUF_INIT;

    moment_print(&text, ms);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void reads_local_time_winter_and_summer(void **state)
{
    assert_reads("2026-12-01 09:00", 1796112000000);
    assert_reads("2026-12-01T09:00:30", 1796112030000);
    assert_reads("2026-12-01 09:00:30.5", 1796112030500);
    assert_reads("2026-07-01 09:00", 1782889200000);
}

static void reads_rfc_3339(void **state)
{
    assert_reads("2026-12-01T09:00:00Z", 1796115600000);
    assert_reads("2026-12-01T09:00:00.123456789Z", 1796115600123);
    assert_reads("2026-12-01t09:00:00z", 1796115600000);
    assert_reads("2026-12-01T09:00:00+08:00", 1796086800000);
    assert_reads("2026-12-01T09:00:00-00:30", 1796117400000);
    assert_reads("2000-02-29T00:00:00Z", 951782400000);
}

static void reads_milliseconds_but_not_seconds(void **state)
{
    assert_reads("1796115600123", 1796115600123);
    assert_refuses("1796115600");
    assert_true(moment_is_in_seconds("1796115600"));
    assert_false(moment_is_in_seconds("1796115600123"));
    assert_false(moment_is_in_seconds("99999999999999999999"));
    assert_false(moment_is_in_seconds("1796115600s"));
    assert_false(moment_is_in_seconds(""));
    assert_refuses("0");
    assert_refuses("99999999999999999999");
}

static void refuses_what_the_calendar_or_the_clock_does_not_have(void **state)
{
    assert_refuses("2026-02-29 09:00");
    assert_refuses("2026-13-01 09:00");
    assert_refuses("2026-04-31T09:00:00Z");
    assert_refuses("2026-12-01 24:00");
    assert_refuses("2026-12-01 09:60");
    assert_refuses("2026-12-01T09:00:60Z");
    assert_refuses("2026-03-29 02:30"); /* the clocks go from 02:00 to 03:00 */
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
        assert_refuses(texts[i]);
}

static void shows_local_time_with_milliseconds(void **state)
{
    assert_shows(1796112000007, "2026-12-01 09:00:00.007");
    assert_shows(1782889200999, "2026-07-01 09:00:00.999");
    assert_shows(-1, "1970-01-01 00:59:59.999");
    assert_shows((INT64_C(1) << 48) - 1, "10889-08-02 07:31:50.655");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_local_time_winter_and_summer),
        cmocka_unit_test(reads_rfc_3339),
        cmocka_unit_test(reads_milliseconds_but_not_seconds),
        cmocka_unit_test(refuses_what_the_calendar_or_the_clock_does_not_have),
        cmocka_unit_test(refuses_other_forms),
        cmocka_unit_test(shows_local_time_with_milliseconds),
    };

    return cmocka_run_group_tests(tests, set_zone, NULL);
}
