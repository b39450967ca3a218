#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/loop.h"
#include "node/hooks.h"
#include "node/tests/program_fixture.h"

#define NEVER_MS 600000

struct site {
    struct program_site own;
    struct hooks *hooks;
};

static int site_up(void **state)
{
    struct site *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    program_site_up(&s->own);
    *state = s;
    return 0;
}

static int site_down(void **state)
{
    struct site *s = *state;

    hooks_free(s->hooks);
    program_site_down(&s->own);
    free(s);
    return 0;
}

/* A hook that runs in the site's directory. */
static void install(struct site *s, const char *script, int64_t timeout_ms)
{
    program_site_install(&s->own, script);
    s->hooks = hooks_new(s->own.loop, s->own.program, "node-1", timeout_ms);
}

static void until_idle(struct site *s)
{
    while (!hooks_is_idle(s->hooks))
        assert_int_equal(event_base_loop(s->own.loop->base, EVLOOP_ONCE), 0);
}

static const char *text_of(const char *path)
{
    static char text[100000];
    FILE *file = fopen(path, "re");
    size_t len;

    assert_non_null(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    return text;
}

static void assert_logged(const struct site *s, const char *part)
{
    if (!strstr(text_of(s->own.log), part))
        fail_msg("'%s' is not in the log: %s", part, text_of(s->own.log));
}

static uint64_t count_of(const struct site *s, const char *what, const char *result)
{
    struct cluster_hook counts[HOOKS_COUNTS];
    uint64_t all = 0;

    hooks_count(s->hooks, counts);
    for (unsigned i = 0; i < HOOKS_COUNTS; i++)
        if (!strcmp(counts[i].what, what) && !strcmp(counts[i].result, result))
            all += counts[i].count;
    return all;
}

static void runs_them_one_by_one_and_in_order(void **state)
{
    struct site *s = *state;

    install(s, "mkdir lock || echo two at once >>seen; echo \"$@\" >>seen; rmdir lock",
            NEVER_MS);
    hooks_run(s->hooks, "promote", "aa:7", "elected");
    hooks_run(s->hooks, "demote", "aa:7", "lease_over");
    hooks_run(s->hooks, "promote", "aa:8", "resumed; rm -rf *");
    assert_false(hooks_is_idle(s->hooks));
    until_idle(s);
    assert_string_equal(text_of(s->own.seen), "promote node-1 aa:7 elected\n"
                                              "demote node-1 aa:7 lease_over\n"
                                              "promote node-1 aa:8 resumed; rm -rf *\n");
}

static void what_they_print_goes_to_the_log(void **state)
{
    struct site *s = *state;

    install(s, "echo one; echo two >&2; printf three; exit 3", NEVER_MS);
    hooks_run(s->hooks, "fenced", "", "fenced");
    until_idle(s);
    assert_logged(s, "hook fenced: one");
    assert_logged(s, "hook fenced: two");
    assert_logged(s, "hook fenced: three");
    assert_logged(s, "hook fenced: ended with 3");
    assert_int_equal(count_of(s, "fenced", "failed"), 1);
    assert_int_equal(count_of(s, "fenced", "done"), 0);
}

/* What follows it has as little time, and on a busy machine too little: it is run, in any case.
 */
static void one_that_hangs_is_killed_with_its_children(void **state)
{
    struct site *s = *state;

    install(s, "[ $1 = demote ] && exit\nsleep 1000 & sleep 1000", 50);
    hooks_run(s->hooks, "promote", "", "elected");
    hooks_run(s->hooks, "demote", "", "expired");
    until_idle(s);
    assert_logged(s, "hook promote: not done after 50 ms, killed");
    assert_int_equal(count_of(s, "promote", "timeout"), 1);
    assert_int_equal(count_of(s, "promote", "failed"), 0);
    assert_int_equal(count_of(s, "demote", "done") + count_of(s, "demote", "timeout"), 1);
}

static void one_that_dies_is_said(void **state)
{
    struct site *s = *state;

    install(s, "kill -9 $$", NEVER_MS);
    hooks_run(s->hooks, "promote", "", "elected");
    until_idle(s);
    assert_logged(s, "hook promote: killed by signal 9");
    assert_int_equal(count_of(s, "promote", "failed"), 1);
}

static void one_that_prints_without_end_leaves_the_loop_alone(void **state)
{
    struct site *s = *state;
    size_t before;

    install(s, "yes", 200);
    do { /* on a busy machine it may come to nothing */
        before = strlen(text_of(s->own.log));
        hooks_run(s->hooks, "promote", "", "elected");
        until_idle(s);
    } while (!strstr(text_of(s->own.log), "hook promote: y"));
    assert_true(strlen(text_of(s->own.log)) - before < 50000);
}

static void one_that_does_not_exist_is_said(void **state)
{
    struct site *s = *state;

    s->hooks = hooks_new(s->own.loop, "/no/such/hook", "node-1", NEVER_MS);
    hooks_run(s->hooks, "promote", "", "elected");
    assert_true(hooks_is_idle(s->hooks));
    assert_logged(s, "/no/such/hook cannot be run: No such file or directory");
    assert_int_equal(count_of(s, "promote", "not_run"), 1);
}

static void without_a_program_nothing_is_run(void **state)
{
    struct site *s = *state;

    s->hooks = hooks_new(s->own.loop, "", "node-1", NEVER_MS);
    hooks_run(s->hooks, "promote", "", "elected");
    assert_true(hooks_is_idle(s->hooks));
}

static void the_newest_are_kept_when_there_are_too_many(void **state)
{
    struct site *s = *state;
    char reason[16];

    install(s, "echo $4 >>seen", NEVER_MS);
    for (unsigned i = 0; i < HOOKS_QUEUE_MAX + 3; i++) {
        snprintf(reason, sizeof(reason), "r%u", i);
        hooks_run(s->hooks, "promote", "", reason);
    }
    until_idle(s);
    assert_logged(s, "hook promote r1: never run");
    assert_logged(s, "hook promote r2: never run");
    assert_memory_equal(text_of(s->own.seen), "r0\nr3\nr4\n", 9);
    assert_int_equal(count_of(s, "promote", "not_run"), 2);
    assert_int_equal(count_of(s, "promote", "done"), HOOKS_QUEUE_MAX + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, site_up, site_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_them_one_by_one_and_in_order),
        TEST(what_they_print_goes_to_the_log),
        TEST(one_that_hangs_is_killed_with_its_children),
        TEST(one_that_dies_is_said),
        TEST(one_that_prints_without_end_leaves_the_loop_alone),
        TEST(one_that_does_not_exist_is_said),
        TEST(without_a_program_nothing_is_run),
        TEST(the_newest_are_kept_when_there_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
