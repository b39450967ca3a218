/* The reader: a file as a flat list, and the place where reading stops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "conf/yaml.h"

/* "kind path=text@line:column" for each item, "kind row#path=..." in a list, then the problem.
 */
static void dump(const char *yaml, size_t len, struct buf *to)
{
    static const char kinds[] = {'t', 'n', 's', 'l', 'o'};
    struct yaml_items items;
    struct yaml_problem problem;
    enum status status = yaml_read(bytes_of(yaml, len), &items, &problem);

    for (size_t i = 0; i < items.count; i++) {
        const struct yaml_item *item = &items.at[i];

        buf_printf(to, "%c ", kinds[item->kind]);
        if (item->row)
            buf_printf(to, "%u#", item->row);
        buf_printf(to, "%s=%s@%u:%u\n", item->path, item->text ? item->text : "",
                   item->value.line, item->value.column);
    }
    if (status != STATUS_OK)
        buf_printf(to, "! %s@%u:%u\n", problem.message, problem.mark.line, problem.mark.column);
    yaml_items_fini(&items);
}

static void expect(const char *yaml, const char *expected)
{
    struct buf dumped = BUF_INIT;

    dump(yaml, strlen(yaml), &dumped);
    assert_string_equal(buf_text(&dumped), expected);
    buf_fini(&dumped);
}

static void expect_problem(const char *yaml, size_t len, const char *part)
{
    struct buf dumped = BUF_INIT;

    dump(yaml, len, &dumped);
    if (!strstr(buf_text(&dumped), part))
        print_error("%s\n", buf_text(&dumped));
    assert_non_null(strstr(buf_text(&dumped), part));
    buf_fini(&dumped);
}

static void gives_paths_texts_and_places(void **state)
{
    expect("a:\n  b: 1\n  c: \"two\"\nd:\n  e: 3\n",
           "s a=@2:3\nt a.b=1@2:6\nt a.c=two@3:6\ns d=@5:3\nt d.e=3@5:6\n");
    expect("a: {b: {c: d}}\n", "s a=@1:4\ns a.b=@1:8\nt a.b.c=d@1:12\n");
    expect("a.b: 1\n", "t a.b=1@1:6\n");
}

static void an_empty_file_has_nothing(void **state)
{
    expect("", "");
    expect("# only a comment\n", "");
    expect("---\n", "");
    expect("{}\n", "");
}

static void tells_nothing_from_an_empty_text(void **state)
{
    expect("a:\nb: ~\nc: null\nd: \"\"\ne: 'null'\n",
           "n a=@1:3\nn b=@2:4\nn c=@3:4\nt d=@4:4\nt e=null@5:4\n");
}

static void numbers_the_rows_of_lists(void **state)
{
    expect("a:\n  - b: 1\n    c: {d: 2}\n  - b: 3\ne: [x, ~]\nf: []\ng: 4\n",
           "l a=@2:3\n"
           "s 1#a=@2:5\nt 1#a.b=1@2:8\ns 1#a.c=@3:8\nt 1#a.c.d=2@3:12\n"
           "s 2#a=@4:5\nt 2#a.b=3@4:8\n"
           "l e=@5:4\nt 3#e=x@5:5\nn 4#e=@5:8\n"
           "l f=@6:4\nt g=4@7:4\n");
}

static void names_what_a_configuration_has_no_use_for(void **state)
{
    expect("a: [[1, {b: c}], {b: [2]}]\nd: 1\n",
           "l a=@1:4\no 1#a=a list@1:5\ns 2#a=@1:18\no 2#a.b=a list@1:22\nt d=1@2:4\n");
    expect("a: &x 1\nb: *x\n", "t a=1@1:4\no b=an alias@2:4\n");
    expect("a: !!int 1\n", "o a=a value with a tag@1:4\n");
    expect("a: \"x\\0y\"\n", "o a=a text with a NUL character in it@1:4\n");
}

static void keeps_what_came_before_a_syntax_error(void **state)
{
    expect("a: 1\nb: \"open\n",
           "t a=1@1:4\n! not valid YAML: while scanning a quoted scalar: found unexpected end "
           "of stream@3:1\n");
    expect_problem("a: 1\n\tb: 2\n", 12, "! not valid YAML");
    expect_problem("a: b: c\n", 8, "! not valid YAML");
    expect_problem("\xff\xff\xff", 3, "! not valid YAML");
    expect_problem("a: \x01\n", 5, "! not valid YAML");
}

static void refuses_what_is_no_mapping(void **state)
{
    expect("hello\n", "! expected sections with keys, such as \"store:\"@1:1\n");
    expect("- a\n", "! expected sections with keys, such as \"store:\"@1:1\n");
    expect("[a]: 1\n", "! a key must be a plain word@1:1\n");
    expect("a: 1\n---\nb: 1\n", "t a=1@1:4\n! a second document@2:1\n");
}

static void stops_at_its_limits(void **state)
{
    struct buf yaml = BUF_INIT;

    for (int i = 0; i < 100000; i++)
        buf_add_char(&yaml, '[');
    expect_problem(yaml.at, yaml.len, "expected sections");
    buf_clear(&yaml);
    buf_add_text(&yaml, "a: ");
    for (int i = 0; i < 100000; i++)
        buf_add_char(&yaml, '[');
    expect_problem(yaml.at, yaml.len, "nested too deeply");
    buf_clear(&yaml);
    for (int i = 0; i < 20; i++)
        buf_add_text(&yaml, "{a: ");
    expect_problem(yaml.at, yaml.len, "nested too deeply");
    buf_clear(&yaml);
    for (int i = 0; i <= YAML_ITEMS_MAX; i++)
        buf_printf(&yaml, "k%d: 1\n", i);
    expect_problem(yaml.at, yaml.len, "! too many keys@2001:1");
    buf_clear(&yaml);
    buf_add_text(&yaml, "a:\n");
    for (int i = 0; i < YAML_ITEMS_MAX; i++)
        buf_add_text(&yaml, "  - x\n");
    expect_problem(yaml.at, yaml.len, "! too many keys@2001:5");
    buf_clear(&yaml);
    for (int i = 0; i <= YAML_KEY_BYTES_MAX; i++)
        buf_add_char(&yaml, 'k');
    buf_add_text(&yaml, ": 1\n");
    expect_problem(yaml.at, yaml.len, "! this key is too long@1:1");
    buf_fini(&yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_paths_texts_and_places),
        cmocka_unit_test(an_empty_file_has_nothing),
        cmocka_unit_test(tells_nothing_from_an_empty_text),
        cmocka_unit_test(numbers_the_rows_of_lists),
        cmocka_unit_test(names_what_a_configuration_has_no_use_for),
        cmocka_unit_test(keeps_what_came_before_a_syntax_error),
        cmocka_unit_test(refuses_what_is_no_mapping),
        cmocka_unit_test(stops_at_its_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
