/* The reason why a link is down: fit to be shown, and not logged over and over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/store/redis/why.h"

#define MINUTE_MS 60000

static struct redis_why why;
static char log_path[] = "/tmp/redis_why_test.XXXXXX";

static void log_to(const char *path)
{
    struct log_options options = {.level = LEVEL_INFO, .modules = "", .file = path};

    assert_int_equal(log_configure(&options), STATUS_OK);
}

static int begin(void **state)
{
    int fd = mkstemp(log_path);

    assert_true(fd >= 0);
    close(fd);
    log_to(log_path);
    return 0;
}

static int end(void **state)
{
    log_to(NULL);
    return unlink(log_path);
}

static int set_up(void **state)
{
    why = (struct redis_why){0};
    return truncate(log_path, 0);
}

static unsigned lines_logged(void)
{
    FILE *file = fopen(log_path, "r");
    unsigned lines = 0;

    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static void set(const char *text, int64_t now_mono_ms)
{
    redis_why_set(&why, LEVEL_WARN, "link", text, now_mono_ms);
}

static void a_strangers_text_is_made_printable(void **state)
{
    set("-ERR \x1b[31m\xc3\xa4\r\n", 0);
    assert_string_equal(why.text, "-ERR ?[31m????");
}

static void a_text_that_is_too_long_is_cut(void **state)
{
    char text[1000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    set(text, 0);
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
}

static void a_reason_is_logged_when_it_is_new_and_once_a_minute(void **state)
{
    set("refused", 1000);
    set("refused", 1000 + MINUTE_MS - 1);
    assert_int_equal(lines_logged(), 1);
    set("refused", 1000 + MINUTE_MS);
    assert_int_equal(lines_logged(), 2);
    set("lost", 1000 + MINUTE_MS + 1);
    set("refused", 1000 + MINUTE_MS + 2);
    assert_int_equal(lines_logged(), 4);
}

/* As when a node stops: its level is low. */
static void a_reason_that_is_no_trouble_is_not_logged(void **state)
{
    redis_why_set(&why, LEVEL_DEBUG, "link", "stopped", 0);
    assert_int_equal(lines_logged(), 0);
    assert_string_equal(why.text, "stopped");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(a_strangers_text_is_made_printable),
        TEST(a_text_that_is_too_long_is_cut),
        TEST(a_reason_is_logged_when_it_is_new_and_once_a_minute),
        TEST(a_reason_that_is_no_trouble_is_not_logged),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
