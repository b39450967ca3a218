/* The byte buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"

static void assert_holds(const struct buf *b, struct bytes expected)
{
    assert_int_equal(b->len, expected.len);
    if (expected.len)
        assert_memory_equal(b->at, expected.at, expected.len);
}

static void adds_up_bytes_texts_and_numbers(void **state)
{
    struct buf b = BUF_INIT;

    buf_add(&b, "a\0b", 3);
    buf_add_bytes(&b, BYTES("c"));
    buf_add_text(&b, "de");
    buf_add_char(&b, 'f');
    buf_printf(&b, "%d%s", 12, "g");
    buf_add(&b, NULL, 0);
    assert_holds(&b, BYTES("a\0bcdef12g"));
    buf_fini(&b);
}

static void adds_any_number_in_decimal(void **state)
{
    struct buf b = BUF_INIT;

    buf_add_number(&b, 0);
    buf_add_number(&b, -7);
    buf_add_number(&b, INT64_MAX);
    buf_add_number(&b, INT64_MIN);
    assert_holds(&b, BYTES("0-79223372036854775807-9223372036854775808"));
    buf_fini(&b);
}

static void the_text_is_terminated_and_the_terminator_is_no_content(void **state)
{
    struct buf b = BUF_INIT;

    assert_string_equal(buf_text(&b), "");
    buf_add_text(&b, "abc");
    assert_string_equal(buf_text(&b), "abc");
    buf_add_text(&b, "def");
    assert_string_equal(buf_text(&b), "abcdef");
    assert_int_equal(b.len, 6);
    buf_fini(&b);
}

static void prints_across_its_own_growth(void **state)
{
    struct buf b = BUF_INIT;

    /* 64 bytes is the first size: a text of 63, 64 and 65 bytes. */
    for (int len = 63; len <= 65; len++) {
        buf_fini(&b);
        buf_printf(&b, "%0*d", len, 7);
        assert_int_equal(b.len, len);
        assert_int_equal(b.at[len - 1], '7');
    }
    buf_fini(&b);
}

static void grows_to_any_size_and_keeps_what_it_had(void **state)
{
    struct buf b = BUF_INIT;

    for (int i = 0; i < 100000; i++)
        buf_add_char(&b, (char)(i % 251));
    assert_int_equal(b.len, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(b.at[i], (char)(i % 251));
    buf_fini(&b);
}

static void reserves_room_without_adding_to_the_length(void **state)
{
    struct buf b = BUF_INIT;

    buf_add_text(&b, "ab");
    memset(buf_reserve(&b, 1000), 'x', 1000);
    assert_int_equal(b.len, 2);
    assert_true(b.room >= 1002);
    b.len += 3;
    assert_holds(&b, BYTES("abxxx"));
    buf_fini(&b);
}

static void clear_keeps_the_memory_and_fini_gives_it_back(void **state)
{
    struct buf b = BUF_INIT;
    size_t room;

    buf_add_text(&b, "abc");
    room = b.room;
    buf_clear(&b);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.room, room);
    buf_fini(&b);
    assert_null(b.at);
    assert_int_equal(b.room, 0);
}

static void drops_from_the_front(void **state)
{
    struct buf b = BUF_INIT;

    buf_drop(&b, 1);
    buf_add_text(&b, "abcdef");
    buf_drop(&b, 0);
    assert_holds(&b, BYTES("abcdef"));
    buf_drop(&b, 2);
    assert_holds(&b, BYTES("cdef"));
    buf_drop(&b, 4);
    assert_holds(&b, BYTES(""));
    buf_add_text(&b, "x");
    buf_drop(&b, 100);
    assert_holds(&b, BYTES(""));
    buf_fini(&b);
}

static void bytes_are_equal_by_length_and_content(void **state)
{
    assert_true(bytes_equal(BYTES("a\0b"), BYTES("a\0b")));
    assert_false(bytes_equal(BYTES("a\0b"), BYTES("a\0c")));
    assert_false(bytes_equal(BYTES("ab"), BYTES("abc")));
    assert_true(bytes_equal(bytes_of(NULL, 0), BYTES("")));
    assert_true(bytes_equal(bytes_of_text("abc"), BYTES("abc")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_bytes_texts_and_numbers),
        cmocka_unit_test(adds_any_number_in_decimal),
        cmocka_unit_test(the_text_is_terminated_and_the_terminator_is_no_content),
        cmocka_unit_test(prints_across_its_own_growth),
        cmocka_unit_test(grows_to_any_size_and_keeps_what_it_had),
        cmocka_unit_test(reserves_room_without_adding_to_the_length),
        cmocka_unit_test(clear_keeps_the_memory_and_fini_gives_it_back),
        cmocka_unit_test(drops_from_the_front),
        cmocka_unit_test(bytes_are_equal_by_length_and_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
