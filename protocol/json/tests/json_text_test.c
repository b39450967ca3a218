#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/json/text.h"

static void escapes_what_json_must_escape_and_replaces_what_is_not_utf8(void **state)
{
    static const struct {
        struct bytes text;
        const char *json;
        bool is_utf8;
    } cases[] = {
        {BYTES(""), "\"\"", true},
        {{NULL, 0}, "\"\"", true},
        {BYTES("plain"), "\"plain\"", true},
        {BYTES("\"\\/"), "\"\\\"\\\\/\"", true},
        {BYTES("\n\r\t\b\f"), "\"\\n\\r\\t\\b\\f\"", true},
        {BYTES("a\0b\x1f\x7f"), "\"a\\u0000b\\u001f\x7f\"", true},
        {BYTES("\xe4\xb8\xad\xc3\xa9\xf0\x9f\x98\x80"),
         "\"\xe4\xb8\xad\xc3\xa9\xf0\x9f\x98\x80\"", true},
        {BYTES("a\xff"
               "b"),
         "\"a\xef\xbf\xbd"
         "b\"",
         false},
        {BYTES("\xe4\xb8"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false},         /* cut off */
        {BYTES("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false},         /* overlong */
        {BYTES("\xe0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false},         /* overlong */
        {BYTES("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", /* surrogate */
         false},
        {BYTES("\xf4\x90\x80\x80"), /* above U+10FFFF */
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = BUF_INIT;

        assert_int_equal(json_add_text(&out, cases[i].text), cases[i].is_utf8);
        assert_string_equal(buf_text(&out), cases[i].json);
        buf_fini(&out);
    }
}

static void writes_base64_with_padding(void **state)
{
    static const struct {
        struct bytes bytes;
        const char *json;
    } cases[] = {
        {BYTES(""), "\"\""},
        {BYTES("f"), "\"Zg==\""},
        {BYTES("fo"), "\"Zm8=\""},
        {BYTES("foo"), "\"Zm9v\""},
        {BYTES("\xff\x00\xfe\x80"), "\"/wD+gA==\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = BUF_INIT;

        json_add_base64(&out, cases[i].bytes);
        assert_string_equal(buf_text(&out), cases[i].json);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_what_json_must_escape_and_replaces_what_is_not_utf8),
        cmocka_unit_test(writes_base64_with_padding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
