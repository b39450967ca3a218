/* Each status has a text, a word, and an answer to "may it have happened?". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/status.h"

static void every_status_has_a_text_and_a_word_of_its_own(void **state)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        const char *word = status_word((enum status)i);

        assert_true(strlen(status_text((enum status)i)) > 0);
        assert_int_equal(strspn(word, "abcdefghijklmnopqrstuvwxyz_"), strlen(word));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(word, status_word((enum status)k));
    }
}

static void only_two_may_have_happened(void **state)
{
    for (int i = 0; i < STATUS_COUNT; i++)
        assert_int_equal(status_is_unknown((enum status)i),
                         i == STATUS_UNKNOWN || i == STATUS_NOT_REPLICATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text_and_a_word_of_its_own),
        cmocka_unit_test(only_two_may_have_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
