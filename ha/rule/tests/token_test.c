#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/rule/token.h"

#define UUID "0123456789abcdef0123456789abcdef"

static void prints_what_it_reads(void **state)
{
    const char *text = UUID ":00000000000000ff";
    char printed[TOKEN_TEXT_LEN + 1];
    struct token t;

    assert_int_equal(token_parse(&t, bytes_of_text(text)), STATUS_OK);
    assert_string_equal(t.ensemble, UUID);
    assert_int_equal(t.epoch, 255);
    token_print(&t, printed);
    assert_string_equal(printed, text);
    t.epoch = UINT64_MAX;
    token_print(&t, printed);
    assert_string_equal(printed, UUID ":ffffffffffffffff");
}

static void none_is_the_empty_text(void **state)
{
    char printed[TOKEN_TEXT_LEN + 1] = "x";
    struct token t = {.ensemble = UUID, .epoch = 1};

    assert_false(token_is_none(&t));
    assert_int_equal(token_parse(&t, bytes_of_text("")), STATUS_OK);
    assert_true(token_is_none(&t));
    token_print(&t, printed);
    assert_string_equal(printed, "");
}

static void standalone_is_what_a_fence_says_and_no_token(void **state)
{
    char printed[TOKEN_TEXT_LEN + 1];
    struct token t;

    assert_int_equal(token_parse(&t, BYTES("standalone")), STATUS_BAD_REQUEST);
    assert_int_equal(token_parse_fence(&t, BYTES("standalone")), STATUS_OK);
    assert_true(token_is_standalone(&t) && !token_is_none(&t));
    token_print(&t, printed);
    assert_string_equal(printed, "standalone");
    assert_int_equal(token_parse_fence(&t, BYTES(UUID ":00000000000000ff")), STATUS_OK);
    assert_false(token_is_standalone(&t));
    assert_int_equal(token_parse_fence(&t, BYTES("standalon")), STATUS_BAD_REQUEST);
}

static void as_text_a_higher_epoch_is_higher(void **state)
{
    struct token low = {.ensemble = UUID, .epoch = 0xff},
                 high = {.ensemble = UUID, .epoch = 0x100};
    char a[TOKEN_TEXT_LEN + 1], b[TOKEN_TEXT_LEN + 1];

    token_print(&low, a);
    token_print(&high, b);
    assert_true(strcmp(a, b) < 0);
    assert_false(token_equal(&low, &high));
    high.epoch = 0xff;
    assert_true(token_equal(&low, &high));
}

static void refuses_all_that_it_does_not_print(void **state)
{
    const char *wrong[] = {
        UUID,
        UUID ":",
        UUID ":00000000000000f",
        UUID ":00000000000000ff0",
        UUID ":00000000000000FF",
        UUID ".00000000000000ff",
        UUID ":0x000000000000ff",
        "0123456789ABCDEF0123456789abcdef:00000000000000ff",
        " 123456789abcdef0123456789abcdef:00000000000000ff",
    };
    struct token t = {.ensemble = UUID, .epoch = 7};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(token_parse(&t, bytes_of_text(wrong[i])), STATUS_BAD_REQUEST);
    assert_int_equal(t.epoch, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_it_reads),
        cmocka_unit_test(none_is_the_empty_text),
        cmocka_unit_test(standalone_is_what_a_fence_says_and_no_token),
        cmocka_unit_test(as_text_a_higher_epoch_is_higher),
        cmocka_unit_test(refuses_all_that_it_does_not_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
