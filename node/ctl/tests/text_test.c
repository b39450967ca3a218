/* Text that is safe to show, sizes, and base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/encoding.h"
#include "node/ctl/text.h"

static void assert_escapes(struct bytes from, const char *expected)
{
    struct buf text = BUF_INIT;

    text_escape(&text, from);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void what_is_plain_stays(void **state)
{
    assert_escapes(BYTES(""), "");
    assert_escapes(BYTES("order 7: {\"a\": 'b'} ~"), "order 7: {\"a\": 'b'} ~");
    assert_escapes(BYTES("\u00e9\u20ac\u8ba2\u5355\U0001f600"),
                   "\u00e9\u20ac\u8ba2\u5355\U0001f600");
}

static void controls_are_shown_and_not_sent(void **state)
{
    assert_escapes(BYTES("a\nb\tc\rd\\e"), "a\\nb\\tc\\rd\\\\e");
    assert_escapes(BYTES("\x1b[2J\a\0\x7f"), "\\x1b[2J\\x07\\x00\\x7f");
    assert_escapes(BYTES("\xc2\x9b"
                         "31m\xc2\x80"),
                   "\\u009b31m\\u0080");
}

static void marks_that_turn_the_direction_of_writing_are_shown(void **state)
{
    assert_escapes(BYTES("a\u202e\u2066\u200f\u2028z"), "a\\u202e\\u2066\\u200f\\u2028z");
}

static void what_is_no_utf_8_is_shown_byte_by_byte(void **state)
{
    assert_escapes(BYTES("\x80\xff"), "\\x80\\xff");
    assert_escapes(BYTES("\xc3"), "\\xc3");
    assert_escapes(BYTES("\xe2\x82"), "\\xe2\\x82");
    assert_escapes(BYTES("\xe2\x82z"), "\\xe2\\x82z");
    assert_escapes(BYTES("\xc0\xaf"), "\\xc0\\xaf");                   /* a long form of '/' */
    assert_escapes(BYTES("\xed\xa0\x80"), "\\xed\\xa0\\x80");          /* half a pair */
    assert_escapes(BYTES("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); /* beyond the last one */
    assert_escapes(BYTES("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
}

static void the_width_counts_characters(void **state)
{
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("abc"), 3);
    assert_int_equal(text_width("\u00e9\u20ac\U0001f600"), 3);
}

static void assert_number(int64_t n, bool is_grouped, const char *expected)
{
    struct buf text = BUF_INIT;

    text_number(&text, n, is_grouped);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void numbers_are_grouped_for_people_only(void **state)
{
    assert_number(0, true, "0");
    assert_number(999, true, "999");
    assert_number(1000, true, "1,000");
    assert_number(-123456, true, "-123,456");
    assert_number(1234567, true, "1,234,567");
    assert_number(1234567, false, "1234567");
    assert_number(INT64_MIN, true, "-9,223,372,036,854,775,808");
}

static void only_text_without_nul_is_plain(void **state)
{
    assert_true(text_is_plain(BYTES("")));
    assert_true(text_is_plain(BYTES("\x1b\n\u20ac")));
    assert_false(text_is_plain(BYTES("a\0b")));
    assert_false(text_is_plain(BYTES("a\xff")));
    assert_false(text_is_plain(BYTES("\xc3")));
}

static const struct {
    struct bytes plain;
    struct bytes coded;
} pairs[] = {
    {BYTES(""), BYTES("")},
    {BYTES("f"), BYTES("Zg==")},
    {BYTES("fo"), BYTES("Zm8=")},
    {BYTES("foo"), BYTES("Zm9v")},
    {BYTES("foob"), BYTES("Zm9vYg==")},
    {BYTES("\xfb\xff\xbf\0"), BYTES("+/+/AA==")},
};

static void base64_there_and_back(void **state)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct buf text = BUF_INIT;

        base64_add(&text, pairs[i].plain);
        assert_true(bytes_equal(buf_bytes(&text), pairs[i].coded));
        buf_clear(&text);
        assert_true(text_from_base64(&text, pairs[i].coded));
        assert_true(bytes_equal(buf_bytes(&text), pairs[i].plain));
        buf_fini(&text);
    }
}

static void what_is_no_base64_changes_nothing(void **state)
{
    const char *const texts[] = {"Zg",   "Zg=",      "Z===", "====", "Zm9v\n",
                                 "Zm-_", "Zg==Zg==", "Zm 9", "=m9v", "Zm9vZ"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct buf text = BUF_INIT;

        buf_add_text(&text, "before");
        if (text_from_base64(&text, bytes_of_text(texts[i])))
            fail_msg("'%s' was taken", texts[i]);
        assert_string_equal(buf_text(&text), "before");
        buf_fini(&text);
    }
}

static void assert_size(const char *text, int64_t expected, const char *shown)
{
    struct buf back = BUF_INIT;
    int64_t bytes = -1;

    assert_true(size_parse(text, &bytes));
    assert_int_equal(bytes, expected);
    size_write(&back, bytes);
    assert_string_equal(buf_text(&back), shown);
    buf_fini(&back);
}

static void reads_and_writes_sizes(void **state)
{
    static const char *const wrong[] = {
        "", "KiB", "1kb", "1.5GiB", "-1", "1 KiB", "1KiB ", "0x1", "9007199254740992GiB"};
    int64_t bytes = 7;

    assert_size("0", 0, "0");
    assert_size("1000", 1000, "1000");
    assert_size("1024", 1024, "1KiB");
    assert_size("5B", 5, "5");
    assert_size("64KiB", 65536, "64KiB");
    assert_size("1536MiB", INT64_C(1536) << 20, "1536MiB");
    assert_size("131072GiB", INT64_C(1) << 47, "131072GiB");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(size_parse(wrong[i], &bytes));
    assert_int_equal(bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_plain_stays),
        cmocka_unit_test(reads_and_writes_sizes),
        cmocka_unit_test(controls_are_shown_and_not_sent),
        cmocka_unit_test(marks_that_turn_the_direction_of_writing_are_shown),
        cmocka_unit_test(what_is_no_utf_8_is_shown_byte_by_byte),
        cmocka_unit_test(the_width_counts_characters),
        cmocka_unit_test(numbers_are_grouped_for_people_only),
        cmocka_unit_test(only_text_without_nul_is_plain),
        cmocka_unit_test(base64_there_and_back),
        cmocka_unit_test(what_is_no_base64_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
