/* What the warden does when its worker has ended, and in which order: nothing that another node
 * waits for before the worker has been waited for. The virtual address and the servers that end
 * a session are played here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/worker.h"
#include "node/reload.h"
#include "node/warden/private.h"

static char steps[32]; /* a letter for each thing done: see the stand-ins */
static bool is_address_here;

static void note(char step)
{
    size_t len = strlen(steps);

    assert_true(len + 1 < sizeof(steps));
    steps[len] = step;
    steps[len + 1] = '\0';
}

/* ---- in the places of the rest of the program ---- */

bool warden_vip_leave(struct warden_vip *v, int64_t now_mono_ms)
{
    note('L');
    return is_address_here;
}

void warden_vip_leave_from(struct warden_vip *v, int64_t now_mono_ms)
{
    note('F');
}

void warden_vip_remove(struct warden_vip *v)
{
    note('R');
}

bool warden_vip_is_leaving(const struct warden_vip *v)
{
    return false;
}

int64_t warden_vip_tick(struct warden_vip *v, int64_t now_mono_ms)
{
    return -1;
}

int64_t warden_vip_renew(struct warden_vip *v, const struct warden_vip_word *word,
                         int64_t now_mono_ms, int64_t now_boot_ms)
{
    return -1;
}

size_t warden_vip_fds(const struct warden_vip *v, struct pollfd fds[VIP_ADDRESSES_MAX])
{
    return 0;
}

void warden_vip_hear(struct warden_vip *v)
{
}

void warden_vip_close(struct warden_vip *v)
{
}

enum status warden_prepare(struct warden *w, int (*run_worker)(void *arg, int channel_fd))
{
    return STATUS_IO_ERROR;
}

void warden_release(struct warden *w)
{
}

void warden_close_fd(int *fd)
{
}

void warden_remove_socket(struct warden *w)
{
}

void warden_close_ports(struct warden *w)
{
}

int worker_run(const struct worker_options *options)
{
    return EXIT_FAILURE;
}

void reload_conf(struct conf *running, const struct conf_request *request, struct audit *audit,
                 bool aloud)
{
}

#include "node/warden/warden.c" /* the worker's end is not one of its calls */

/* ---- the worker, and who ends its session ---- */

#define SESSION 7

struct ended {
    int64_t session;
    bool has_worker_gone;
    char steps[sizeof(steps)]; /* done before */
};

static struct warden w;
static struct conf conf;
static pid_t worker_pid;
static int exit_code; /* of the worker; -1: it waits to be killed */
static int ended_fds[2];

static int run_for_ever(void *arg, int channel_fd)
{
    while (exit_code < 0)
        pause();
    _exit(exit_code);
}

/* In a child of the warden's. */
static int tell_ended(const char *servers, const struct coord_credentials *whose,
                      int64_t deadline_ms)
{
    struct ended ended = {.session = whose->session,
                          .has_worker_gone = kill(worker_pid, 0) != 0 && errno == ESRCH};

    memcpy(ended.steps, steps, sizeof(steps));
    return write(ended_fds[1], &ended, sizeof(ended)) != sizeof(ended);
}

static void close_nothing(void *arg)
{
}

static int setup(void **state)
{
    alarm(60);
    steps[0] = '\0';
    is_address_here = false;
    exit_code = -1;
    assert_int_equal(pipe(ended_fds), 0);
    w = (struct warden){.conf = &conf,
                        .port_fds = {[0 ... CONF_PORTS - 1] = -1},
                        .peer_fd = -1,
                        .signal_fd = -1,
                        .session_end = {.servers = "here:1",
                                        .patience_ms = 1000,
                                        .run = tell_ended,
                                        .close_all = close_nothing}};
    worker_child_init(&w.worker, run_for_ever, NULL);
    return 0;
}

static int teardown(void **state)
{
    worker_child_fini(&w.worker);
    close(ended_fds[0]);
    close(ended_fds[1]);
    alarm(0);
    return 0;
}

/* It runs, and has told its session. */
static void start(void)
{
    child_start(&w.worker.child, clock_mono_ms());
    worker_pid = w.worker.child.pid;
    w.worker.session.session = SESSION;
}

/* Until its end has been seen, and acted on. */
static void bury(void)
{
    siginfo_t info;

    if (exit_code < 0)
        assert_int_equal(kill(worker_pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)worker_pid, &info, WEXITED | WNOWAIT), 0);
    reap(&w, clock_mono_ms());
    assert_int_equal(w.worker.child.pid, 0);
}

static bool is_at_it(void)
{
    return session_end_wait_ms(&w.session_end, clock_mono_ms()) >= 0;
}

static struct ended await_ended(void)
{
    struct pollfd told = {.fd = ended_fds[0], .events = POLLIN};
    struct ended ended;

    assert_true(is_at_it() || poll(&told, 1, 0) == 1);
    assert_int_equal(read(ended_fds[0], &ended, sizeof(ended)), sizeof(ended));
    while (is_at_it())
        reap(&w, clock_mono_ms());
    return ended;
}

/* ---- the tests ---- */

static void a_dead_workers_session_is_ended_when_it_has_been_waited_for(void **state)
{
    struct ended ended;

    start();
    bury();
    ended = await_ended();
    assert_int_equal(ended.session, SESSION);
    assert_true(ended.has_worker_gone);
    assert_string_equal(ended.steps, "LRF"); /* first, though none was here */
    assert_int_equal(w.worker.session.session, 0);
}

/* No server had confirmed that it is over. */
static void so_is_what_one_left_that_ended_in_order(void **state)
{
    exit_code = EXIT_SUCCESS;
    start();
    bury();
    assert_int_equal(await_ended().session, SESSION);
    assert_string_equal(steps, "RF");
}

static void one_that_left_no_session_ends_nobodys(void **state)
{
    start();
    w.worker.session.session = 0;
    bury();
    assert_false(is_at_it());
    assert_string_equal(steps, "R");
}

static void an_address_stays_for_the_successor_and_clients_are_refused(void **state)
{
    is_address_here = true;
    start();
    bury();
    assert_string_equal(await_ended().steps, "LF");
    assert_true(w.is_refusing);
}

static void without_a_successor_it_goes_at_once_and_nobody_is_refused(void **state)
{
    is_address_here = true;
    start();
    w.worker.has_no_successor = true;
    bury();
    assert_string_equal(await_ended().steps, "RF");
    assert_false(w.is_refusing);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};
    const struct CMUnitTest tests[] = {
        TEST(a_dead_workers_session_is_ended_when_it_has_been_waited_for),
        TEST(so_is_what_one_left_that_ended_in_order),
        TEST(one_that_left_no_session_ends_nobodys),
        TEST(an_address_stays_for_the_successor_and_clients_are_refused),
        TEST(without_a_successor_it_goes_at_once_and_nobody_is_refused),
    };

    if (log_configure(&quiet) != STATUS_OK)
        return EXIT_FAILURE;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
