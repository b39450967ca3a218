/* Tables: columns that line up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "node/ctl/table.h"

static const struct table_column columns[] = {{"TOPIC", false}, {"JOBS", true}, {"AGE", true}};

static void assert_prints(struct table *t, const char *expected)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);

    table_print(t, to);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
    table_fini(t);
}

static void a_table_without_rows_is_its_heading(void **state)
{
    struct table t;

    table_init(&t, columns, 3, false);
    assert_prints(&t, "TOPIC  JOBS  AGE\n");
}

static void words_line_up_on_the_left_and_numbers_on_the_right(void **state)
{
    struct table t;

    table_init(&t, columns, 3, true);
    table_add(&t, BYTES("a-long-topic"));
    table_add_number(&t, 1234567);
    table_add_duration(&t, 192000);
    table_add(&t, BYTES("b"));
    table_add_number(&t, 0);
    table_add_duration(&t, -1);
    assert_prints(&t, "TOPIC              JOBS     AGE\n"
                      "a-long-topic  1,234,567  3m 12s\n"
                      "b                     0       -\n");
}

static void widths_are_characters_and_texts_from_outside_are_escaped(void **state)
{
    struct table t;

    table_init(&t, columns, 2, false);
    table_add(&t, BYTES("\u00e9\u20ac"));
    table_add_number(&t, 1);
    table_add(&t, BYTES("a\nbcde"));
    table_add_number(&t, 22);
    assert_prints(&t, "TOPIC    JOBS\n"
                      "\u00e9\u20ac          1\n"
                      "a\\nbcde    22\n");
}

static void without_a_heading_no_line_ends_with_blanks(void **state)
{
    static const struct table_column no_heading[] = {{NULL, false}, {NULL, false}};
    struct table t;

    table_init(&t, no_heading, 2, false);
    table_add_text(&t, "id");
    table_add(&t, BYTES("7"));
    table_add_text(&t, "body");
    table_add(&t, BYTES(""));
    assert_prints(&t, "id    7\n"
                      "body\n");
}

static void many_rows_are_all_there(void **state)
{
    struct table t;

    table_init(&t, columns, 1, false);
    for (int i = 0; i < 1000; i++)
        table_add_text(&t, "row");
    assert_int_equal(t.cell_count, 1000);
    table_fini(&t);
    table_fini(&t); /* twice is fine */
}

static void a_long_table_is_printed_piece_by_piece(void **state)
{
    struct table t;
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);

    table_init(&t, columns, 3, false);
    for (int i = 0; i < 3; i++) {
        table_add_text(&t, i == 1 ? "a-long-topic" : "b");
        table_add_number(&t, i);
        table_add_text(&t, "-");
        table_print(&t, to);
    }
    table_print(&t, to);
    fclose(to);
    assert_string_equal(text, "TOPIC  JOBS  AGE\n"
                              "b         0    -\n"
                              "a-long-topic     1    -\n"
                              "b                2    -\n");
    free(text);
    table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_without_rows_is_its_heading),
        cmocka_unit_test(words_line_up_on_the_left_and_numbers_on_the_right),
        cmocka_unit_test(widths_are_characters_and_texts_from_outside_are_escaped),
        cmocka_unit_test(without_a_heading_no_line_ends_with_blanks),
        cmocka_unit_test(many_rows_are_all_there),
        cmocka_unit_test(a_long_table_is_printed_piece_by_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
