/* A dead worker's session: who ends it, when, and on a real ZooKeeper how soon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "ha/coord/zk_client.h"
#include "ha/coord/zk_closer.h"
#include "ha/coord/tests/zk_fixture.h"
#include "node/channel.h"
#include "node/warden/session_end.h"
#include "node/warden/child.h"

#define T 4000

static const struct coord_credentials some_session = {.session = 7,
                                                      .password = "fifteen letters"};
static int warden_fd = -1;

static void close_it(void *arg)
{
    close(warden_fd);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int ends_with_all_closed(const char *servers, const struct coord_credentials *whose,
                                int64_t deadline_ms)
{
    bool is_right = !strcmp(servers, "here:1") && deadline_ms == T && !is_open(warden_fd) &&
                    !memcmp(whose, &some_session, sizeof(*whose));

    return is_right ? 0 : 1;
}

static struct session_end fake_end(void)
{
    return (struct session_end){.servers = "here:1",
                                .patience_ms = T,
                                .run = ends_with_all_closed,
                                .close_all = close_it};
}

static int wait_for(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void a_child_ends_it_with_all_of_the_wardens_closed(void **state)
{
    struct session_end e = fake_end();
    pid_t pid;
    int status;

    warden_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    session_end_start(&e, &some_session, 100);
    pid = e.endings[0].pid;
    assert_true(pid > 0);
    status = wait_for(pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    assert_true(is_open(warden_fd));
    assert_false(session_end_exited(&e, pid + 1, status, 105));
    assert_int_equal(e.endings[0].pid, pid);
    assert_true(session_end_exited(&e, pid, status, 105));
    assert_int_equal(e.endings[0].pid, 0);
    assert_false(session_end_exited(&e, pid, status, 105));
    close(warden_fd);
}

static void several_at_once_are_all_known(void **state)
{
    struct session_end e = fake_end();
    pid_t pids[SESSION_ENDINGS];

    warden_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < SESSION_ENDINGS; i++) {
        session_end_start(&e, &some_session, 100);
        pids[i] = e.endings[i].pid;
    }
    session_end_start(&e, &some_session, 100); /* one too many: none is started */
    for (unsigned i = 0; i < SESSION_ENDINGS; i++) {
        assert_true(session_end_wait_ms(&e, 100) >= 0);
        assert_true(session_end_exited(&e, pids[i], wait_for(pids[i]), 105));
    }
    assert_int_equal(session_end_wait_ms(&e, 100), -1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    close(warden_fd);
}

static void a_stop_waits_a_second_for_the_newest_of_them(void **state)
{
    struct session_end e = fake_end();

    assert_int_equal(session_end_wait_ms(&e, 100), -1);
    e.endings[1].pid = 11;
    e.endings[1].since_mono_ms = 100;
    e.endings[2].pid = 12;
    e.endings[2].since_mono_ms = 700;
    assert_int_equal(session_end_wait_ms(&e, 700), SESSION_END_WAIT_MS);
    assert_int_equal(session_end_wait_ms(&e, 1699), 1);
    assert_int_equal(session_end_wait_ms(&e, 5000), 0);
    e.endings[2].pid = 0;
    assert_int_equal(session_end_wait_ms(&e, 700), 400);
}

static void without_a_session_nothing_is_started(void **state)
{
    struct session_end e = fake_end();
    struct coord_credentials none = {0};

    session_end_start(&e, &none, 100);
    assert_int_equal(e.endings[0].pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- with a real server ---- */

static struct zk_fixture *zk;

static void on_session(struct coordinator *c)
{
}

static void on_change(struct coordinator *c, const char *path)
{
}

static struct coordinator *connect_to(struct loop *loop)
{
    struct zk_options options = {.servers = zk->addresses, .auth = "", .session_ms = T};
    struct coordinator *c = zk_coordinator_new(&options, loop);

    c->on_session = on_session;
    c->on_change = on_change;
    coordinator_open(c);
    while (c->session != COORD_SESSION_CONNECTED)
        event_base_loop(loop->base, EVLOOP_ONCE);
    return c;
}

struct read {
    struct coord_call call;
    bool is_done;
};

static void on_read(struct coord_call *call)
{
    CONTAINER_OF(call, struct read, call)->is_done = true;
}

static void on_written(struct coord_call *call)
{
}

static enum coord_status read_leader(struct loop *loop, struct coordinator *c)
{
    struct read r = {.call = {.path = "/leader", .on_done = on_read}};

    coordinator_read(c, &r.call);
    while (!r.is_done)
        event_base_loop(loop->base, EVLOOP_ONCE);
    return r.call.status;
}

/* In the worker's process: has a session and a znode, says so, and beats for ever. */
static int lead(void *arg, int channel_fd)
{
    struct loop *loop = loop_new();
    struct coordinator *c = connect_to(loop);
    struct coord_change change = {.kind = COORD_CREATE_EPHEMERAL, .path = "/leader"};
    struct coord_call call = {.changes = &change, .change_count = 1, .on_done = on_written};
    struct channel_reported told = {.fd = channel_fd};

    coordinator_write(c, &call);
    channel_report_session(&told, &c->credentials);
    while (getppid() > 0)
        event_base_loop(loop->base, EVLOOP_ONCE);
    return EXIT_FAILURE;
}

static void the_znode_of_a_killed_worker_goes_at_once(void **state)
{
    struct session_end e = {
        .servers = zk->addresses, .patience_ms = T, .run = zk_end_session_run};
    struct loop *loop = loop_new();
    struct coordinator *other = connect_to(loop);
    struct worker_child w;
    int64_t start_us;
    pid_t pid;
    int status;

    e.close_all = close_it;
    worker_child_init(&w, lead, NULL);
    child_start(&w.child, 0);
    while (read_leader(loop, other) != COORD_OK)
        ;
    worker_child_read_channel(&w, 1);
    start_us = clock_mono_us();
    pid = w.child.pid;
    kill(pid, SIGKILL);
    status = wait_for(pid);
    assert_true(WIFSIGNALED(status));
    worker_child_exited(&w, "killed", 2);
    assert_true(w.session.session != 0);
    session_end_start(&e, &w.session, 2);
    while (read_leader(loop, other) == COORD_OK)
        ;
    print_message("the znode of a killed worker was gone after %" PRId64 " us\n",
                  clock_mono_us() - start_us);
    status = wait_for(e.endings[0].pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    coordinator_close(other);
    zk_coordinator_free(other);
    loop_free(loop);
    worker_child_fini(&w);
}

static int setup(void **state)
{
    struct log_options options = {.level = LEVEL_ERROR};

    zk = zk_fixture_new(1);
    return log_configure(&options) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    zk_fixture_free(zk);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_ends_it_with_all_of_the_wardens_closed),
        cmocka_unit_test_setup_teardown(the_znode_of_a_killed_worker_goes_at_once, setup,
                                        teardown),
        cmocka_unit_test(several_at_once_are_all_known),
        cmocka_unit_test(a_stop_waits_a_second_for_the_newest_of_them),
        cmocka_unit_test(without_a_session_nothing_is_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
