#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/rule/record.h"

static struct bytes text_of(const char *text)
{
    return bytes_of_text(text);
}

static void reads_what_it_writes(void **state)
{
    struct buf b = BUF_INIT;
    char text[16];
    int64_t number;

    record_add(&b, "node", "n 1");
    record_add(&b, "http", "");
    record_add_number(&b, "epoch", 999999999999999999);
    record_add(&b, "paused", "yes");
    assert_true(record_get_text(buf_bytes(&b), "node", text, sizeof(text)));
    assert_string_equal(text, "n 1");
    assert_true(record_get_text(buf_bytes(&b), "http", text, sizeof(text)));
    assert_string_equal(text, "");
    assert_true(record_get_number(buf_bytes(&b), "epoch", &number));
    assert_true(number == 999999999999999999);
    assert_true(record_get_flag(buf_bytes(&b), "paused"));
    assert_false(record_get_flag(buf_bytes(&b), "epoch"));
    buf_fini(&b);
}

static void a_value_cannot_forge_a_line(void **state)
{
    struct buf b = BUF_INIT;

    record_add(&b, "node", "a\nepoch 9\x7f");
    assert_string_equal(buf_text(&b), "node a?epoch 9?\n");
    buf_fini(&b);
}

static void what_is_missing_or_malformed_leaves_the_output_alone(void **state)
{
    const char *wrong[] = {"",
                           "\n\n",
                           "epoch",
                           "epoch ",
                           "epoch -1",
                           "epoch 1x",
                           "epoch 1000000000000000000",
                           "epochs 3",
                           " epoch 3",
                           "Epoch 3"};
    char small[3] = "ab";
    int64_t number = 7;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(record_get_number(text_of(wrong[i]), "epoch", &number));
    assert_int_equal(number, 7);
    assert_false(record_get_text(text_of("node abc\n"), "node", small, sizeof(small)));
    assert_false(record_get_text(bytes_of("node a\0b", 8), "node", small, sizeof(small)));
    assert_string_equal(small, "ab");
}

static void skips_keys_that_it_does_not_know_and_takes_the_first(void **state)
{
    int64_t number;

    assert_true(record_get_number(text_of("new thing\nepoch 3\nepoch 4"), "epoch", &number));
    assert_int_equal(number, 3);
}

static void walks_lines_and_words(void **state)
{
    struct bytes text = text_of("member a\nmember b c"), key, value, word;

    assert_true(record_next(&text, &key, &value));
    assert_true(bytes_equal(key, BYTES("member")) && bytes_equal(value, BYTES("a")));
    assert_true(record_next(&text, &key, &value));
    assert_true(bytes_equal(value, BYTES("b c")));
    assert_true(record_word(&value, &word) && bytes_equal(word, BYTES("b")));
    assert_true(record_word(&value, &word) && bytes_equal(word, BYTES("c")));
    assert_false(record_word(&value, &word));
    assert_false(record_next(&text, &key, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(a_value_cannot_forge_a_line),
        cmocka_unit_test(what_is_missing_or_malformed_leaves_the_output_alone),
        cmocka_unit_test(skips_keys_that_it_does_not_know_and_takes_the_first),
        cmocka_unit_test(walks_lines_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
