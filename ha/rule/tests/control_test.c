#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/rule/control.h"

static struct control parsed(const char *text)
{
    struct control c;

    control_parse(&c, bytes_of_text(text));
    return c;
}

static void reads_what_it_writes(void **state)
{
    struct control c = {.is_paused = true,
                        .paused_at_wall_ms = 1600000000000,
                        .paused_by = "nc",
                        .wanted = "nb",
                        .at_wall_ms = 1700000000000,
                        .is_forced = true,
                        .by = "na"};
    struct buf text = BUF_INIT;

    control_print(&c, &text);
    assert_string_equal(buf_text(&text),
                        "paused yes\npaused_by nc\npaused_at 1600000000000\nwanted nb\nat "
                        "1700000000000\nforce yes\nby na\n");
    c = parsed(buf_text(&text));
    assert_true(c.is_paused && c.is_forced && c.at_wall_ms == 1700000000000);
    assert_string_equal(c.wanted, "nb");
    assert_string_equal(c.by, "na");
    assert_string_equal(c.paused_by, "nc");
    assert_true(c.paused_at_wall_ms == 1600000000000);
    c.is_paused = false;
    buf_clear(&text);
    control_print(&c, &text);
    assert_null(strstr(buf_text(&text), "nc"));
    buf_fini(&text);
}

static void nothing_is_wanted_of_an_empty_znode(void **state)
{
    struct control c = parsed("");

    assert_false(c.is_paused || c.is_forced || control_has_request(&c, INT64_MAX));
}

static void a_request_is_due_from_its_time_on(void **state)
{
    struct control c = parsed("wanted *\nat 100\n");

    assert_false(control_has_request(&c, 99));
    assert_true(control_has_request(&c, 100));
}

static void a_request_that_is_taken_back_leaves_the_pause(void **state)
{
    struct control c = parsed("paused yes\npaused_by nc\npaused_at 7\nwanted nb\nforce yes\n");
    struct buf text = BUF_INIT;

    control_clear_request(&c);
    control_print(&c, &text);
    assert_string_equal(buf_text(&text), "paused yes\npaused_by nc\npaused_at 7\n");
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(nothing_is_wanted_of_an_empty_znode),
        cmocka_unit_test(a_request_is_due_from_its_time_on),
        cmocka_unit_test(a_request_that_is_taken_back_leaves_the_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
