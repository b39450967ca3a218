/* Which name is suggested, and when none is near enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/nearest.h"

static const char *meant_by(const char *name)
{
    static const char *const known[] = {"delay_ms", "at_ms", "id", "store.redis", "count"};
    struct nearest nearest = nearest_to(bytes_of_text(name));

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        nearest_offer(&nearest, known[i]);
    return nearest.found ? nearest.found : "";
}

static void finds_what_differs_by_a_few_letters_or_was_not_ended(void **state)
{
    assert_string_equal(meant_by("dleay_ms"), "delay_ms");
    assert_string_equal(meant_by("Delay_ms"), "delay_ms");
    assert_string_equal(meant_by("delayms"), "delay_ms");
    assert_string_equal(meant_by("delay"), "delay_ms");
    assert_string_equal(meant_by("store"), "store.redis");
    assert_string_equal(meant_by("ids"), "id");
}

static void a_short_name_has_to_be_nearer(void **state)
{
    assert_string_equal(meant_by("xy"), "");
    assert_string_equal(meant_by("x"), "");
    assert_string_equal(meant_by(""), "");
    assert_string_equal(meant_by("timeout"), "");
    assert_string_equal(meant_by("delay_seconds"), "");
}

/* In whichever order they are offered. */
static void the_nearest_one_is_meant(void **state)
{
    static const char *const known[] = {"counts", "count", "mount"};
    struct nearest forth = nearest_to(BYTES("countt")), back = forth;

    for (unsigned i = 0; i < 3; i++) {
        nearest_offer(&forth, known[i]);
        nearest_offer(&back, known[2 - i]);
    }
    assert_string_equal(forth.found, "counts"); /* the first of two that are as near */
    assert_string_equal(back.found, "count");
    nearest_offer_at(&back, "mine", 0);
    assert_string_equal(back.found, "mine");
}

static void a_name_that_is_too_long_is_nothing_that_was_meant(void **state)
{
    char known[NEAREST_MAX_BYTES + 2] = "";

    memset(known, 'a', NEAREST_MAX_BYTES);
    for (size_t len = NEAREST_MAX_BYTES; len <= NEAREST_MAX_BYTES + 1; len++) {
        char name[NEAREST_MAX_BYTES + 1];
        struct nearest nearest = nearest_to(bytes_of(name, len));

        memset(name, 'a', sizeof(name));
        name[0] = 'b';
        nearest_offer(&nearest, known);
        assert_int_equal(nearest.found != NULL, len == NEAREST_MAX_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_differs_by_a_few_letters_or_was_not_ended),
        cmocka_unit_test(a_short_name_has_to_be_nearer),
        cmocka_unit_test(the_nearest_one_is_meant),
        cmocka_unit_test(a_name_that_is_too_long_is_nothing_that_was_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
