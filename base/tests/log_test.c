/* The form of a log line, the levels of modules, and the output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/log.h"

static char written[65536];

static int enter_directory(void **state)
{
    static char directory[32];

    snprintf(directory, sizeof(directory), "/tmp/log_test.XXXXXX");
    *state = mkdtemp(directory);
    return !*state || chdir(*state) < 0;
}

static int leave_directory(void **state)
{
    static const char *const files[] = {"log", "log.1", "other"};
    struct log_options quiet = {.level = LEVEL_INFO};

    if (log_configure(&quiet) != STATUS_OK)
        return 1;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        unlink(files[i]);
    return chdir("/") < 0 || rmdir(*state) < 0;
}

static void configure(enum log_level level, const char *modules, bool json)
{
    struct log_options options = {level, modules, json, "log"};

    assert_int_equal(log_configure(&options), STATUS_OK);
}

static const char *contents(const char *file)
{
    FILE *from = fopen(file, "r");
    size_t len;

    assert_non_null(from);
    len = fread(written, 1, sizeof(written) - 1, from);
    fclose(from);
    written[len] = '\0';
    return written;
}

/* The log is one line, and this is its end. */
static void assert_ends(const char *end)
{
    const char *all = contents("log");
    size_t len = strlen(all), end_len = strlen(end);

    assert_ptr_equal(strchr(all, '\n'), all + len - 1);
    assert_true(len > end_len);
    assert_string_equal(all + len - end_len, end);
}

static void a_line_for_people_has_time_level_module_process_and_message(void **state)
{
    char expected[64];
    int year, month, day, hour, minute, second, ms, end = 0;

    configure(LEVEL_INFO, "", false);
    LOG_WARN("queue", "took %d jobs", 3);
    snprintf(expected, sizeof(expected), " warn  queue    [%d] took 3 jobs\n", (int)getpid());
    assert_ends(expected);
    assert_int_equal(sscanf(written, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day,
                            &hour, &minute, &second, &ms, &end),
                     7);
    assert_int_equal(end, 24);
}

static void a_line_for_programs_is_an_object(void **state)
{
    char expected[100];

    configure(LEVEL_INFO, NULL, true);
    LOG_ERROR("store", "lost \"it\" \\ \t\x7f");
    snprintf(expected, sizeof(expected),
             "\"level\":\"error\",\"module\":\"store\",\"pid\":%d,"
             "\"message\":\"lost \\\"it\\\" \\\\ \\u0009\\u007f\"}\n",
             (int)getpid());
    assert_ends(expected);
    assert_int_equal(strncmp(written, "{\"time\":\"2", 10), 0);
}

static void control_characters_and_broken_utf8_never_come_out_raw(void **state)
{
    configure(LEVEL_INFO, "", false);
    LOG_INFO("x", "%s", "a\nb\x1b[2J\r\xff\xc3(\xc2\x9b\xe0\x80\x80\xed\xa0\x80 \xf5");
    assert_ends("] a\\x0ab\\x1b[2J\\x0d\\xff\\xc3(\\xc2\\x9b\\xe0\\x80\\x80\\xed\\xa0\\x80 "
                "\\xf5\n");
}

static void other_languages_come_out_as_they_are(void **state)
{
    static const char text[] = "K\xc3\xb6ln \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80";
    char expected[64];

    configure(LEVEL_INFO, "", true);
    LOG_INFO("x", "%s", text);
    snprintf(expected, sizeof(expected), "\"message\":\"%s\"}\n", text);
    assert_ends(expected);
}

static void in_json_a_stray_byte_is_escaped(void **state)
{
    configure(LEVEL_INFO, "", true);
    LOG_INFO("x", "%s",
             "a\xff"
             "b");
    assert_ends("\"message\":\"a\\u00ffb\"}\n");
}

static void a_line_is_never_longer_than_a_pipe_takes_in_one_piece(void **state)
{
    static char text[10000];

    memset(text, '\1', sizeof(text) - 1);
    configure(LEVEL_INFO, "", true);
    LOG_INFO("x", "%s", text);
    assert_ends("\\u0001\"}\n");
    assert_true(strlen(written) <= 4096);
    assert_true(strlen(written) > 3000);
}

static void levels_below_the_configured_one_are_not_written(void **state)
{
    configure(LEVEL_WARN, "", false);
    LOG_DEBUG("x", "no");
    LOG_INFO("x", "no");
    LOG_ERROR("x", "yes");
    assert_ends("] yes\n");
}

static void a_module_can_have_its_own_level(void **state)
{
    configure(LEVEL_WARN, "scanner=debug,gmq=error", false);
    assert_true(log_is_on(LEVEL_DEBUG, "scanner"));
    assert_false(log_is_on(LEVEL_WARN, "gmq"));
    assert_true(log_is_on(LEVEL_WARN, "scann"));
    assert_false(log_is_on(LEVEL_INFO, "scanners"));
}

static void knows_which_module_levels_are_valid(void **state)
{
    static const char *const wrong[] = {"gmq",
                                        "gmq=",
                                        "=info",
                                        "gmq=loud",
                                        "gmq=info,app",
                                        ",gmq",
                                        "gmq=info,,app=info",
                                        "gm=info",
                                        "gmqq=info",
                                        "Gmq=info",
                                        "gmq=debugdebug"};
    struct buf many = BUF_INIT;

    assert_true(log_modules_are_valid(""));
    assert_true(log_modules_are_valid("gmq=info"));
    assert_true(log_modules_are_valid("redis-server=info,app=error"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(log_modules_are_valid(wrong[i]));
    for (int i = 0; i < 33; i++)
        buf_add_text(&many, "gmq=info,");
    assert_false(log_modules_are_valid(buf_text(&many)));
    buf_fini(&many);
}

static void reads_the_words_of_levels(void **state)
{
    enum log_level level = LEVEL_INFO;

    assert_true(log_level_parse("error", &level));
    assert_int_equal(level, LEVEL_ERROR);
    assert_false(log_level_parse("Error", &level));
    assert_false(log_level_parse("", &level));
    assert_int_equal(level, LEVEL_ERROR);
}

static void after_a_rotation_the_new_file_is_written(void **state)
{
    configure(LEVEL_INFO, "", false);
    LOG_INFO("x", "before");
    assert_int_equal(rename("log", "log.1"), 0);
    LOG_INFO("x", "between");
    log_reopen();
    LOG_INFO("x", "after");
    assert_non_null(strstr(contents("log.1"), "between"));
    assert_null(strstr(written, "after"));
    assert_non_null(strstr(contents("log"), "after"));
}

static void when_the_new_file_cannot_be_opened_the_old_one_stays(void **state)
{
    struct log_options options = {LEVEL_INFO, "", false, "/nowhere/log"};

    configure(LEVEL_INFO, "", false);
    assert_int_equal(log_configure(&options), STATUS_IO_ERROR);
    assert_int_equal(errno, ENOENT);
    options = (struct log_options){LEVEL_INFO, "a=b", false, "other"};
    assert_int_equal(log_configure(&options), STATUS_BAD_CONFIG);
    LOG_INFO("x", "still here");
    assert_ends("] still here\n");
    assert_int_not_equal(access("other", F_OK), 0);
}

static void a_pipe_that_nobody_reads_holds_nobody_up(void **state)
{
    struct log_options options = {LEVEL_INFO, "", false, "pipe"};

    configure(LEVEL_INFO, "", false);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(log_configure(&options), STATUS_IO_ERROR);
    assert_int_equal(errno, ENXIO);
    LOG_INFO("x", "still here");
    assert_ends("] still here\n");
    assert_int_equal(unlink("pipe"), 0);
}

#define MANY_LINES 3000 /* more than a pipe holds */
#define FULL_BYTES 60000

/* Reads nothing before the pipe is full; then to its end. True: all lines came. */
static bool read_late(void)
{
    FILE *end = fopen("pipe", "re");
    unsigned lines = 0;
    int waiting = 0, c;

    while (waiting < FULL_BYTES)
        ioctl(fileno(end), FIONREAD, &waiting);
    while ((c = fgetc(end)) != EOF)
        lines += c == '\n';
    fclose(end);
    return lines == MANY_LINES;
}

static void a_pipe_whose_reader_is_slow_loses_no_line(void **state)
{
    struct log_options options = {LEVEL_INFO, "", false, "pipe"};
    int status;
    pid_t reader;

    assert_int_equal(mkfifo("pipe", 0600), 0);
    reader = fork();
    if (reader == 0)
        _exit(read_late() ? 0 : 1);
    while (log_configure(&options) != STATUS_OK)
        continue; /* the reader has not opened it */
    for (unsigned i = 0; i < MANY_LINES; i++)
        LOG_INFO("x", "one of many lines");
    configure(LEVEL_INFO, "", false);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(unlink("pipe"), 0);
}

static void root_follows_its_own_links_and_no_others(void **state)
{
    struct log_options options = {LEVEL_INFO, "", false, "log"};

    if (geteuid() != 0 && getenv("CI"))
        fail_msg("not root");
    if (geteuid() != 0)
        skip();
    assert_int_equal(symlink("other", "log"), 0);
    configure(LEVEL_INFO, "", false);
    LOG_INFO("x", "through a link");
    assert_non_null(strstr(contents("other"), "through a link"));
    assert_int_equal(lchown("log", 65534, 65534), 0);
    assert_int_equal(log_configure(&options), STATUS_IO_ERROR);
    assert_int_equal(errno, ELOOP);
}

static void logging_does_not_touch_errno(void **state)
{
    configure(LEVEL_INFO, "", false);
    errno = ENOTDIR;
    LOG_INFO("x", "something");
    assert_int_equal(errno, ENOTDIR);
}

#define IN_DIRECTORY(test) \
    cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(a_line_for_people_has_time_level_module_process_and_message),
        IN_DIRECTORY(a_line_for_programs_is_an_object),
        IN_DIRECTORY(control_characters_and_broken_utf8_never_come_out_raw),
        IN_DIRECTORY(other_languages_come_out_as_they_are),
        IN_DIRECTORY(in_json_a_stray_byte_is_escaped),
        IN_DIRECTORY(a_line_is_never_longer_than_a_pipe_takes_in_one_piece),
        IN_DIRECTORY(levels_below_the_configured_one_are_not_written),
        IN_DIRECTORY(a_module_can_have_its_own_level),
        IN_DIRECTORY(knows_which_module_levels_are_valid),
        IN_DIRECTORY(reads_the_words_of_levels),
        IN_DIRECTORY(after_a_rotation_the_new_file_is_written),
        IN_DIRECTORY(when_the_new_file_cannot_be_opened_the_old_one_stays),
        IN_DIRECTORY(a_pipe_that_nobody_reads_holds_nobody_up),
        IN_DIRECTORY(a_pipe_whose_reader_is_slow_loses_no_line),
        IN_DIRECTORY(root_follows_its_own_links_and_no_others),
        IN_DIRECTORY(logging_does_not_touch_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
