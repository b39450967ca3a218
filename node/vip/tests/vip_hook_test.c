/* The hook of the virtual address, with shell scripts in place of an operator's program. What
 * they are run with they write to `seen`; one that is to wait goes on when there is a file
 * `go`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/loop.h"
#include "node/vip/hook.h"
#include "node/tests/program_fixture.h"

#define NEVER_MS      600000
#define SEEN          "echo $1 $2 $3 $4 >>seen\n"
#define WAIT_FOR_GO   "while [ ! -e go ]; do sleep 0.01; done\n"
#define UNTIL(s, yes) /* the loop turns until it is so */ \
    while (!(yes))                                        \
    turn(s)

struct site {
    struct program_site own;
    struct vip_hook *hook;
    unsigned changes;
    pid_t group;     /* of the `take` that runs */
    int dies_after;  /* having written the group there; 0: does not */
    bool is_in_call; /* on_change() must not come from there */
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

    vip_hook_free(s->hook);
    program_site_down(&s->own);
    free(s);
    return 0;
}

static void turn(struct site *s)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    assert_true(event_base_loop(s->own.loop->base, EVLOOP_NONBLOCK) >= 0);
    nanosleep(&pause, NULL);
}

static void on_change(void *arg)
{
    struct site *s = arg;

    assert_false(s->is_in_call);
    s->changes++;
    event_base_loopbreak(s->own.loop->base); /* one at a time, so that a test sees each */
}

static void on_take(void *arg, pid_t group)
{
    struct site *s = arg;

    s->group = group;
    if (s->dies_after && write(s->dies_after, &group, sizeof(group)) == sizeof(group))
        raise(SIGKILL);
}

static void let_go_on(struct site *s)
{
    FILE *file = fopen(s->own.go, "we");

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void install(struct site *s, const char *script)
{
    program_site_install(&s->own, script);
}

static void start(struct site *s, int64_t timeout_ms, int64_t check_ms)
{
    s->hook = vip_hook_new(&(struct vip_hook_options){.loop = s->own.loop,
                                                      .program = s->own.program,
                                                      .address = "10.0.0.100,fd00::100",
                                                      .node = "node-1",
                                                      .timeout_ms = timeout_ms,
                                                      .check_ms = check_ms,
                                                      .on_change = on_change,
                                                      .on_take = on_take,
                                                      .arg = s});
}

static void take(struct site *s, const char *token)
{
    s->is_in_call = true;
    vip_hook_take(s->hook, token);
    s->is_in_call = false;
}

static void drop(struct site *s)
{
    s->is_in_call = true;
    vip_hook_drop(s->hook);
    s->is_in_call = false;
    assert_false(vip_hook_is_here(s->hook));
}

static const char *text_of(const char *path)
{
    static char text[100000];
    FILE *file = fopen(path, "re");
    size_t len = 0;

    if (file) {
        len = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    text[len] = '\0';
    return text;
}

static unsigned count_in(const char *path, const char *part)
{
    unsigned count = 0;

    for (const char *at = text_of(path); (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void until_seen(struct site *s, const char *part)
{
    UNTIL(s, count_in(s->own.seen, part) > 0);
}

static void brings_the_address_here_and_gives_it_up(void **state)
{
    struct site *s = *state;

    install(s, SEEN);
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    assert_false(vip_hook_is_idle(s->hook));
    assert_false(vip_hook_is_here(s->hook));
    UNTIL(s, vip_hook_is_idle(s->hook));
    assert_true(vip_hook_is_here(s->hook));
    assert_string_equal(vip_hook_why(s->hook), "");
    drop(s);
    UNTIL(s, vip_hook_is_idle(s->hook));
    assert_string_equal(text_of(s->own.seen), "take 10.0.0.100,fd00::100 node-1 aa:7\n"
                                              "drop 10.0.0.100,fd00::100 node-1 aa:7\n");
    assert_int_equal(s->changes, 2);
    assert_int_equal(vip_hook_counts(s->hook)->taken, 1);
    assert_int_equal(vip_hook_counts(s->hook)->failures, 0);
}

static void what_is_so_already_is_not_run(void **state)
{
    struct site *s = *state;

    install(s, SEEN);
    start(s, NEVER_MS, NEVER_MS);
    drop(s);
    assert_true(vip_hook_is_idle(s->hook));
    take(s, "aa:7");
    take(s, "aa:7");
    UNTIL(s, vip_hook_is_idle(s->hook));
    take(s, "aa:7");
    assert_true(vip_hook_is_idle(s->hook));
    assert_true(vip_hook_is_here(s->hook));
    assert_int_equal(count_in(s->own.seen, "take"), 1);
}

static void a_take_that_fails_is_tried_again_and_said_once(void **state)
{
    struct site *s = *state;

    install(s, SEEN "echo trying\n[ $(wc -l <seen) -gt 2 ]");
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    UNTIL(s, s->changes == 1);
    assert_string_equal(vip_hook_why(s->hook), "take ended with 1");
    assert_int_equal(vip_hook_failed_takes(s->hook), 1);
    assert_false(vip_hook_is_here(s->hook));
    assert_false(vip_hook_is_idle(s->hook));
    UNTIL(s, vip_hook_is_here(s->hook));
    assert_int_equal(vip_hook_failed_takes(s->hook), 0);
    assert_string_equal(vip_hook_why(s->hook), "");
    assert_int_equal(s->changes, 3);
    assert_int_equal(count_in(s->own.log, "vip.hook take: ended with 1"), 1);
    assert_int_equal(count_in(s->own.log, "vip.hook take: trying"), 1);
    assert_int_equal(count_in(s->own.log, "vip.hook take: done, after 2 that failed"), 1);
    assert_int_equal(vip_hook_counts(s->hook)->failures, 2);
    assert_int_equal(vip_hook_counts(s->hook)->taken, 1);
}

static void the_lead_that_is_lost_ends_the_tries(void **state)
{
    struct site *s = *state;

    install(s, SEEN "[ $1 = drop ]");
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    UNTIL(s, s->changes == 1);
    drop(s);
    assert_string_equal(vip_hook_why(s->hook), "");
    UNTIL(s, vip_hook_is_idle(s->hook));
    assert_int_equal(count_in(s->own.seen, "take"), 1);
    assert_int_equal(count_in(s->own.seen, "drop"), 1);
    assert_string_equal(vip_hook_why(s->hook), "");
}

static void of_take_drop_take_only_the_last_counts(void **state)
{
    struct site *s = *state;

    install(s, SEEN WAIT_FOR_GO);
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    until_seen(s, "take");
    drop(s);
    take(s, "aa:8");
    drop(s);
    take(s, "aa:9");
    let_go_on(s);
    UNTIL(s, vip_hook_is_idle(s->hook));
    assert_true(vip_hook_is_here(s->hook));
    assert_string_equal(text_of(s->own.seen), "take 10.0.0.100,fd00::100 node-1 aa:7\n"
                                              "take 10.0.0.100,fd00::100 node-1 aa:9\n");
    assert_int_equal(vip_hook_counts(s->hook)->taken, 1);
}

/* It may end well all the same, and must not be believed. */
static void a_take_that_runs_when_the_lead_is_lost_is_followed_by_a_drop(void **state)
{
    struct site *s = *state;

    install(s, SEEN "[ $1 = drop ] ||" WAIT_FOR_GO);
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    until_seen(s, "take");
    assert_true(s->group > 0 && getpgid(s->group) == s->group);
    drop(s);
    assert_int_equal(count_in(s->own.seen, "drop"), 0);
    let_go_on(s);
    UNTIL(s, s->changes == 1);
    assert_int_equal(s->group, 0);
    assert_false(vip_hook_is_here(s->hook));
    assert_false(vip_hook_is_idle(s->hook));
    UNTIL(s, vip_hook_is_idle(s->hook));
    assert_int_equal(count_in(s->own.seen, "drop"), 1);
    assert_false(vip_hook_is_here(s->hook));
    assert_int_equal(vip_hook_counts(s->hook)->taken, 0);
}

static void what_a_check_does_not_find_is_taken_again(void **state)
{
    const char *fresh = "take 10.0.0.100,fd00::100 node-1 aa:7\n"
                        "check 10.0.0.100,fd00::100 node-1 aa:7\n"
                        "check 10.0.0.100,fd00::100 node-1 aa:7\n"
                        "take 10.0.0.100,fd00::100 node-1 aa:7\n";
    struct site *s = *state;

    install(s, SEEN "[ $1 = take ] || [ $(wc -l <seen) -lt 3 ]");
    start(s, NEVER_MS, 1);
    take(s, "aa:7");
    UNTIL(s, vip_hook_counts(s->hook)->restored == 1);
    assert_true(vip_hook_is_here(s->hook));
    assert_int_equal(strncmp(text_of(s->own.seen), fresh, strlen(fresh)), 0);
    assert_int_equal(count_in(s->own.log,
                              "vip.hook: the address is not here any more (check ended "
                              "with 1): taken again"),
                     1);
    assert_int_equal(vip_hook_counts(s->hook)->taken, 1);
    assert_int_equal(vip_hook_counts(s->hook)->failures, 0);
}

static void a_check_that_finds_it_is_not_worth_a_line(void **state)
{
    struct site *s = *state;

    install(s, SEEN "echo here");
    start(s, NEVER_MS, 1);
    take(s, "aa:7");
    UNTIL(s, count_in(s->own.seen, "check") > 3);
    assert_true(vip_hook_is_here(s->hook));
    assert_int_equal(count_in(s->own.log, "check"), 0);
    assert_int_equal(count_in(s->own.log, "vip.hook take: done"), 1);
}

static void one_that_hangs_is_killed_and_tried_again(void **state)
{
    struct site *s = *state;

    install(s, SEEN "[ -e go ] || sleep 1000");
    start(s, 50, NEVER_MS);
    take(s, "aa:7");
    UNTIL(s, s->changes == 1);
    assert_string_equal(vip_hook_why(s->hook), "take not done after 50 ms, killed");
    assert_int_equal(count_in(s->own.log, "vip.hook take: not done after 50 ms, killed"), 1);
    vip_hook_free(s->hook);
    let_go_on(s);
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    UNTIL(s, vip_hook_is_here(s->hook));
}

static void a_drop_that_fails_is_not_tried_again(void **state)
{
    struct site *s = *state;

    install(s, SEEN "[ $1 = take ]");
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    UNTIL(s, vip_hook_is_here(s->hook));
    drop(s);
    UNTIL(s, vip_hook_is_idle(s->hook));
    assert_string_equal(vip_hook_why(s->hook), "drop ended with 1");
    assert_int_equal(count_in(s->own.seen, "drop"), 1);
    assert_int_equal(vip_hook_counts(s->hook)->failures, 1);
    assert_int_equal(vip_hook_failed_takes(s->hook), 0);
}

static void one_that_is_not_there_is_run_when_it_is(void **state)
{
    struct site *s = *state;

    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    UNTIL(s, s->changes == 1);
    assert_string_equal(vip_hook_why(s->hook), "take cannot be run: No such file or directory");
    install(s, SEEN);
    UNTIL(s, vip_hook_is_here(s->hook));
    assert_int_equal(count_in(s->own.log, "cannot be run"), 1);
}

/* Whoever holds the hook has gone, and the script goes on to its end. */
static void a_run_outlives_its_owner(void **state)
{
    struct site *s = *state;

    install(s, SEEN WAIT_FOR_GO "echo finished >>seen");
    start(s, NEVER_MS, NEVER_MS);
    take(s, "aa:7");
    until_seen(s, "take");
    vip_hook_free(s->hook);
    s->hook = NULL;
    let_go_on(s);
    until_seen(s, "finished");
}

/* A node that takes the address in a process of its own, and dies when it knows the group. */
static pid_t group_of_a_node_that_dies(struct site *s)
{
    int ends[2];
    pid_t node, group;

    assert_int_equal(pipe(ends), 0);
    node = fork();
    assert_true(node >= 0);
    if (node == 0) {
        event_reinit(s->own.loop->base);
        s->dies_after = ends[1];
        start(s, NEVER_MS, NEVER_MS);
        take(s, "aa:7");
        while (true)
            turn(s);
    }
    assert_int_equal(read(ends[0], &group, sizeof(group)), sizeof(group));
    assert_int_equal(waitpid(node, NULL, 0), node);
    close(ends[0]);
    close(ends[1]);
    return group;
}

/* The warden cannot end what it has not been told of: it would take the address late, from the
 * next leader. */
static void a_take_does_not_begin_when_its_node_dies_as_it_tells_of_it(void **state)
{
    struct site *s = *state;
    pid_t group;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    install(s, SEEN);
    group = group_of_a_node_that_dies(s);
    assert_int_equal(waitpid(group, NULL, 0), group);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    assert_string_equal(text_of(s->own.seen), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, site_up, site_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(brings_the_address_here_and_gives_it_up),
        TEST(what_is_so_already_is_not_run),
        TEST(a_take_that_fails_is_tried_again_and_said_once),
        TEST(the_lead_that_is_lost_ends_the_tries),
        TEST(of_take_drop_take_only_the_last_counts),
        TEST(a_take_that_runs_when_the_lead_is_lost_is_followed_by_a_drop),
        TEST(what_a_check_does_not_find_is_taken_again),
        TEST(a_check_that_finds_it_is_not_worth_a_line),
        TEST(one_that_hangs_is_killed_and_tried_again),
        TEST(a_drop_that_fails_is_not_tried_again),
        TEST(one_that_is_not_there_is_run_when_it_is),
        TEST(a_run_outlives_its_owner),
        TEST(a_take_does_not_begin_when_its_node_dies_as_it_tells_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
