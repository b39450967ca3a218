/* Option tables, parsing. Complaints go to stderr; here only their exit code counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "node/ctl/options.h"

enum { NAME, COUNT, WAIT, AT, LOUD, SINCE, MODE, STATES, BACKOFF };

static const char *const colours[] = {"red", "green", "blue", NULL};

static const struct option_row rows[] = {
    [NAME] = {"name", 'n', OPTION_TEXT, "NAME", .text = "a name"},
    [COUNT] = {"count", 'c', OPTION_COUNT, "N", "a number", 1, .max = 64},
    [WAIT] = {"wait", 0, OPTION_DURATION, "DURATION", "a duration", .max = 60000},
    [AT] = {"at", 'a', OPTION_MOMENT, "TIME", .text = "a time"},
    [LOUD] = {"loud", 'l', OPTION_FLAG, NULL, .text = "a flag"},
    [SINCE] = {"since", 0, OPTION_PAST, "TIME", .text = "a time"},
    [MODE] = {"mode", 'm', OPTION_CHOICE, "MODE", "a word", .choices = colours},
    [STATES] = {"states", 's', OPTION_CHOICES, "STATES", "words", .choices = colours},
    [BACKOFF] = {"backoff", 0, OPTION_BACKOFF, "BACKOFF", .text = "a backoff"},
    {0},
};

static struct arguments arguments;

#define PARSE(is_front, ...) parse(is_front, (const char *[]){"command", __VA_ARGS__, NULL})

static enum ctl_exit parse(bool is_front, const char **argv)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    arguments = (struct arguments){0};
    return options_parse(rows, "command", is_front, argc, (char **)argv, &arguments);
}

static void takes_long_and_short_ones_between_words(void **state)
{
    assert_int_equal(PARSE(false, "one", "--name=x", "-c", "7", "two", "-l", "--wait", "30s",
                           "--at", "1796115600123", "-j", "--", "-three"),
                     CTL_DONE);
    assert_string_equal(arguments.own[NAME].text, "x");
    assert_int_equal(arguments.own[COUNT].number, 7);
    assert_int_equal(arguments.own[WAIT].number, 30000);
    assert_int_equal(arguments.own[AT].number, 1796115600123);
    assert_true(arguments.own[LOUD].is_given);
    assert_true(arguments.common[COMMON_JSON].is_given);
    assert_false(arguments.common[COMMON_URL].is_given);
    assert_int_equal(arguments.word_count, 3);
    assert_string_equal(arguments.words[2], "-three");
}

static void takes_words_out_of_a_few(void **state)
{
    assert_int_equal(
        PARSE(false, "--mode", "blue", "--states=blue,red", "--backoff", "fixed:1s"), CTL_DONE);
    assert_int_equal(arguments.own[MODE].number, 2);
    assert_int_equal(arguments.own[STATES].number, 1 << 2 | 1 << 0);
    assert_string_equal(arguments.own[BACKOFF].text, "fixed:1s");
    assert_int_equal(PARSE(false, "--mode", "purple"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--mode", "red,green"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--states", ""), CTL_USAGE);
    assert_int_equal(PARSE(false, "--states", "red,"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--states", "red,,green"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--backoff", "fixed"), CTL_USAGE);
}

static void a_past_is_a_time_or_so_long_ago(void **state)
{
    int64_t before_ms = clock_wall_ms();

    assert_int_equal(PARSE(false, "--since", "1796115600123"), CTL_DONE);
    assert_int_equal(arguments.own[SINCE].number, 1796115600123);
    assert_int_equal(PARSE(false, "--since", "1h30m"), CTL_DONE);
    assert_in_range(arguments.own[SINCE].number + 5400000, before_ms, clock_wall_ms());
    assert_int_equal(PARSE(false, "--since", "yesterday"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--since", "99999d"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--since", "20000d"), CTL_USAGE); /* as ms it looks like s */
}

static void in_front_it_stops_at_the_first_word(void **state)
{
    assert_int_equal(PARSE(true, "--url", "u", "word", "--loud"), CTL_DONE);
    assert_string_equal(arguments.common[COMMON_URL].text, "u");
    assert_false(arguments.own[LOUD].is_given);
    assert_int_equal(arguments.word_count, 2);
}

static void the_last_one_wins_and_a_dash_is_a_word(void **state)
{
    assert_int_equal(PARSE(false, "-n", "a", "-", "-n", "-"), CTL_DONE);
    assert_string_equal(arguments.own[NAME].text, "-");
    assert_int_equal(arguments.word_count, 1);
}

static void refuses_what_is_not_in_the_table(void **state)
{
    assert_int_equal(PARSE(false, "--nam3"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-x"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--name"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-n"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--loud=1"), CTL_USAGE);
}

static void refuses_values_of_another_form_or_out_of_range(void **state)
{
    assert_int_equal(PARSE(false, "-c", "0"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-c", "65"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-c", "-1"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-c", "1x"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-c", ""), CTL_USAGE);
    assert_int_equal(PARSE(false, "-c", "99999999999999999999"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--wait", "61s"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--wait", "10"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--at", "soon"), CTL_USAGE);
    assert_int_equal(PARSE(false, "--timeout", "0"), CTL_USAGE);
    assert_int_equal(PARSE(false, "-c", "64", "--wait", "60s", "--timeout", "1ms"), CTL_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_long_and_short_ones_between_words),
        cmocka_unit_test(takes_words_out_of_a_few),
        cmocka_unit_test(a_past_is_a_time_or_so_long_ago),
        cmocka_unit_test(in_front_it_stops_at_the_first_word),
        cmocka_unit_test(the_last_one_wins_and_a_dash_is_a_word),
        cmocka_unit_test(refuses_what_is_not_in_the_table),
        cmocka_unit_test(refuses_values_of_another_form_or_out_of_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
