#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/http/message.h"

static void assert_is(struct bytes bytes, const char *text)
{
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.at, text, bytes.len);
}

/* In memory of exactly its size. */
static void unescapes_to(const char *escaped, const char *plain)
{
    struct bytes text = {malloc(strlen(escaped)), strlen(escaped)};
    char *memory = (char *)text.at;

    assert_non_null(memory);
    memcpy(memory, escaped, text.len);
    if (plain) {
        assert_true(url_unescape(&text));
        assert_is(text, plain);
    } else if (url_unescape(&text)) {
        fail_msg("'%s' was taken for right", escaped);
    }
    free(memory);
}

static void unescapes_in_place(void **state)
{
    unescapes_to("orders", "orders");
    unescapes_to("%2Fa%2fb", "/a/b");
    unescapes_to("a%20b", "a b");
    unescapes_to("%25%32%35", "%25");
    unescapes_to("a+b", "a+b");
    unescapes_to("%C3%A4", "\xc3\xa4");
}

static void unescapes_what_ends_no_text_and_nothing(void **state)
{
    struct bytes nothing = {NULL, 0};
    char zero[] = "a%00b";
    struct bytes text = bytes_of(zero, 5);

    assert_true(url_unescape(&nothing));
    assert_true(url_unescape(&text));
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.at, "a\0b", 3);
}

static void refuses_an_escape_that_is_none(void **state)
{
    static const char *const wrong[] = {"%", "a%", "%2", "%2g", "%g2", "%%41", "a%4", "% 1"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        unescapes_to(wrong[i], NULL);
}

static void takes_a_query_apart(void **state)
{
    struct bytes rest = BYTES("&count=2&&wait_ms=&flag&a=b=c&=x"), name, value;
    static const char *const expected[][2] = {
        {"count", "2"}, {"wait_ms", ""}, {"flag", ""}, {"a", "b=c"}, {"", "x"}};

    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        assert_true(url_query_next(&rest, &name, &value));
        assert_is(name, expected[i][0]);
        assert_is(value, expected[i][1]);
        assert_non_null(value.at);
    }
    assert_false(url_query_next(&rest, &name, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unescapes_in_place),
        cmocka_unit_test(unescapes_what_ends_no_text_and_nothing),
        cmocka_unit_test(refuses_an_escape_that_is_none),
        cmocka_unit_test(takes_a_query_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
