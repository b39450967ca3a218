/* A backoff in one word: what is read, what is not, and that it is written as it was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/ctl/times.h"

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

static void refuses_everything_else(void **state)
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
        cmocka_unit_test(reads_each_kind_and_writes_it_back),
        cmocka_unit_test(refuses_everything_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
