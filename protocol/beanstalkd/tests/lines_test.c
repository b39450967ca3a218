#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/beanstalkd/codec.h"

/* Feeds `stream` in pieces of `step` bytes, and writes down its lines: each between '<' and
 * '>', "!" for one that was too long, "..." for what has not ended. */
static void scan_all(struct bytes stream, size_t step, struct buf *story)
{
    struct beanstalkd_lines lines = {0};
    size_t from = 0, to = 0;

    while (to < stream.len) {
        enum beanstalkd_line got;

        to = to + step < stream.len ? to + step : stream.len;
        do {
            struct bytes line;
            size_t used;
            /* A copy of exactly these bytes, so that a sanitizer sees every step beyond. */
            char *copy = malloc(to - from + 1);

            memcpy(copy, stream.at + from, to - from);
            got = beanstalkd_next_line(&lines, bytes_of(copy, to - from), &line, &used);
            if (got == BEANSTALKD_LINE_WHOLE)
                buf_printf(story, "<%.*s>", BYTES_ARG(line));
            if (got == BEANSTALKD_LINE_LONG)
                buf_add_char(story, '!');
            free(copy);
            from += used;
        } while (got != BEANSTALKD_LINE_MORE && from < to);
    }
    buf_add_text(story, lines.is_dropping || from < to ? "..." : "");
}

#define X50  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X200 X50 X50 X50 X50
#define X222 X200 "xxxxxxxxxxxxxxxxxxxxxx"

static const struct {
    const char *stream;
    const char *story;
} cases[] = {
    {"", ""},
    {"\r\n", "<>"},
    {"stats\r\n", "<stats>"},
    {"a\r\nb\r\n\r\nc", "<a><b><>..."},
    {"a\nb\r\n", "<a\nb>"},
    {"a\rb\r\n", "<a\rb>"},
    {"a\r\r\n", "<a\r>"},
    {"a\r", "..."},
    {X222 "\r\nb\r\n", "<" X222 "><b>"},
    {X222 "x\r\nb\r\n", "!<b>"},
    {X222 "xx\r\nb\r\n", "!<b>"},
    {X222 X222 X222 "\r\nb\r\n", "!<b>"},
    {X222 X222 "\rx\n\r\r\nb\r\n", "!<b>"},
    {X222 "xx", "..."},
};

static void finds_the_lines_however_the_stream_is_cut(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes stream = bytes_of_text(cases[i].stream);

        for (size_t step = 1; step <= stream.len + 1; step++) {
            struct buf story = BUF_INIT;

            scan_all(stream, step, &story);
            assert_string_equal(buf_text(&story), cases[i].story);
            buf_fini(&story);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_lines_however_the_stream_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
