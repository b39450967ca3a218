/* Lines from a pipe, as they come. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "node/ctl/input.h"

struct pipe {
    int in, out;
    struct lines lines;
};

static void open_pipe(struct pipe *p)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    p->out = fds[0];
    p->in = fds[1];
    lines_init(&p->lines, p->out);
}

static void put(struct pipe *p, const char *text)
{
    assert_int_equal(write(p->in, text, strlen(text)), strlen(text));
}

static void close_pipe(struct pipe *p)
{
    lines_fini(&p->lines);
    close(p->out);
}

static void assert_line(struct pipe *p, const char *expected)
{
    struct bytes line;

    assert_int_equal(lines_next(&p->lines, true, &line), INPUT_LINE);
    assert_true(bytes_equal(line, bytes_of_text(expected)));
}

static void assert_next(struct pipe *p, bool may_wait, enum input_next expected)
{
    struct bytes line;

    assert_int_equal(lines_next(&p->lines, may_wait, &line), expected);
}

static void empty_lines_are_lines_and_the_last_one_needs_no_end(void **state)
{
    struct pipe p;

    open_pipe(&p);
    put(&p, "one\n\nthree\r\nfour");
    close(p.in);
    assert_line(&p, "one");
    assert_line(&p, "");
    assert_line(&p, "three\r");
    assert_line(&p, "four");
    assert_next(&p, true, INPUT_END);
    assert_next(&p, true, INPUT_END);
    close_pipe(&p);
}

static void nothing_at_all_is_no_line(void **state)
{
    struct pipe p;

    open_pipe(&p);
    close(p.in);
    assert_next(&p, false, INPUT_END);
    close_pipe(&p);
}

static void a_line_that_is_not_there_yet_comes_later(void **state)
{
    struct pipe p;

    open_pipe(&p);
    assert_next(&p, false, INPUT_LATER);
    put(&p, "whole\nha");
    assert_line(&p, "whole");
    assert_next(&p, false, INPUT_LATER);
    put(&p, "lf\n");
    assert_line(&p, "half");
    close(p.in);
    assert_next(&p, false, INPUT_END);
    close_pipe(&p);
}

static void reads_everything_to_the_end(void **state)
{
    struct buf text = BUF_INIT;
    struct pipe p;

    open_pipe(&p);
    put(&p, "a\nb");
    close(p.in);
    assert_int_equal(input_read_all(p.out, &text), CTL_DONE);
    assert_string_equal(buf_text(&text), "a\nb");
    buf_fini(&text);
    close_pipe(&p);
}

/* The last one: there is no way back. */
static void an_interrupt_leaves_what_was_read(void **state)
{
    struct pipe p;

    open_pipe(&p);
    put(&p, "one\ntwo\n");
    assert_line(&p, "one");
    interrupt_catch();
    assert_line(&p, "two");
    raise(SIGTERM);
    assert_next(&p, true, INPUT_INTERRUPTED);
    put(&p, "three\n");
    assert_next(&p, false, INPUT_INTERRUPTED);
    close(p.in);
    close_pipe(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_lines_are_lines_and_the_last_one_needs_no_end),
        cmocka_unit_test(nothing_at_all_is_no_line),
        cmocka_unit_test(a_line_that_is_not_there_yet_comes_later),
        cmocka_unit_test(reads_everything_to_the_end),
        cmocka_unit_test(an_interrupt_leaves_what_was_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
