#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "node/channel.h"
#include "node/warden/child.h"

/* In the worker's process: says what `arg` points to, and ends without waiting to be heard. */
static int say_and_end(void *arg, int channel_fd)
{
    channel_send(channel_fd, *(enum channel_kind *)arg);
    _exit(EX_CONFIG);
}

static struct worker_child started(enum channel_kind *message)
{
    struct worker_child w;

    worker_child_init(&w, say_and_end, message);
    w.child.backoff_max_ms = 1000;
    child_start(&w.child, 0);
    assert_int_equal(w.child.state, CHILD_STARTING);
    return w;
}

static void bury(struct worker_child *w)
{
    int status;

    assert_int_equal(waitpid(w->child.pid, &status, 0), w->child.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EX_CONFIG);
    worker_child_exited(w, "test", 10);
    assert_int_equal(w->child.state, CHILD_BACKOFF);
    assert_int_equal(w->channel_fd, -1);
}

static void a_beat_is_a_sign_of_life(void **state)
{
    enum channel_kind message = CHANNEL_BEAT;
    struct worker_child w = started(&message);

    bury(&w);
    assert_int_equal(w.child.heard_mono_ms, 10);
    assert_true(w.child.was_up);
    assert_false(w.store_was_up);
}

static void its_last_words_are_heard_and_kept_for_the_next_worker(void **state)
{
    enum channel_kind message = CHANNEL_STORE_UP;
    struct worker_child w = started(&message);

    bury(&w);
    assert_true(w.store_was_up);
    message = CHANNEL_BEAT;
    child_tick(&w.child, 10000);
    assert_int_equal(w.child.state, CHILD_STARTING);
    bury(&w);
    assert_true(w.store_was_up);
}

static const struct coord_credentials some_session = {.session = 7,
                                                      .password = "fifteen letters"};

static int tell_and_end(void *arg, int channel_fd)
{
    struct channel_reported told = {.fd = channel_fd};
    bool is_told = channel_report_session(&told, &some_session) &&
                   channel_report_address(&told, 123456789012) &&
                   channel_report_no_successor(&told, true) &&
                   channel_report_program(&told, 4321);
    _exit(is_told ? EX_CONFIG : EXIT_FAILURE);
}

static void what_it_leaves_is_known_until_the_next_worker_starts(void **state)
{
    struct worker_child w;

    worker_child_init(&w, tell_and_end, NULL);
    w.child.backoff_max_ms = 1000;
    child_start(&w.child, 0);
    bury(&w);
    assert_memory_equal(&w.session, &some_session, sizeof(some_session));
    assert_int_equal(w.address_until_boot_ms, 123456789012);
    assert_true(w.has_no_successor);
    assert_int_equal(w.program, 4321);
    child_tick(&w.child, 10000);
    assert_int_equal(w.session.session, 0);
    assert_int_equal(w.address_until_boot_ms, 0);
    assert_false(w.has_no_successor);
    assert_int_equal(w.program, 0);
    bury(&w);
}

static int quiet(void **state)
{
    struct log_options options = {.level = LEVEL_ERROR};

    return log_configure(&options) == STATUS_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_beat_is_a_sign_of_life),
        cmocka_unit_test(what_it_leaves_is_known_until_the_next_worker_starts),
        cmocka_unit_test(its_last_words_are_heard_and_kept_for_the_next_worker),
    };

    return cmocka_run_group_tests(tests, quiet, NULL);
}
