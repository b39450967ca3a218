/* When the probe says that a session is over: a server played by hand serves the probe, or does
 * not. Each question brings its session timeout, so no time needs to pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/coord/tests/zk_by_hand_fixture.h"
#include "ha/coord/zk_client.h"
#include "ha/coord/zk_probe.h"

#define LONG_MS 54321

static struct loop *loop;
static struct zk_by_hand server;
static struct zk_probe probe;

static int setup(void **state)
{
    alarm(60);
    loop = loop_new();
    zk_by_hand_start(&server, loop);
    zk_probe_init(&probe, loop);
    return 0;
}

static int teardown(void **state)
{
    zk_probe_fini(&probe);
    loop_free(loop);
    zk_by_hand_stop(&server);
    alarm(0);
    return 0;
}

static bool is_over(int64_t session_ms)
{
    return zk_probe_tick(&probe, server.address, session_ms);
}

static void turn(void)
{
    event_base_loop(loop->base, EVLOOP_ONCE);
}

static int be_served(void)
{
    int fd = zk_by_hand_accept(&server);

    zk_by_hand_grant(fd, 0x4711, LONG_MS);
    while (!probe.served_mono_ms)
        turn();
    return fd;
}

static void without_a_server_that_serves_nothing_is_known(void **state)
{
    int fd;

    assert_false(is_over(LONG_MS));
    fd = zk_by_hand_accept(&server); /* it listens, as one without a quorum does */
    assert_int_equal(server.asked_session, 0);
    assert_false(is_over(0));
    close(fd);
    fd = zk_by_hand_accept(&server); /* it hangs up, and so does the next one */
    assert_false(is_over(0));
    close(fd);
}

static void a_session_that_is_served_for_two_timeouts_says_that_the_other_is_over(void **state)
{
    int fd;

    assert_false(is_over(LONG_MS));
    fd = be_served();
    assert_false(is_over(LONG_MS));
    assert_true(is_over(0));
    close(fd);
}

static void one_that_is_lost_meanwhile_says_nothing(void **state)
{
    int fd;

    assert_false(is_over(LONG_MS));
    fd = be_served();
    close(fd);
    while (probe.served_mono_ms)
        turn();
    assert_false(is_over(0));
    fd = be_served(); /* from then on it counts anew */
    assert_false(is_over(LONG_MS));
    assert_true(is_over(0));
    close(fd);
}

/* The servers went once more, and do not know that one either. */
static void one_that_is_over_itself_begins_anew(void **state)
{
    int fd;

    assert_false(is_over(LONG_MS));
    fd = be_served();
    close(fd);
    fd = zk_by_hand_accept(&server);
    zk_by_hand_grant(fd, 0, 0);
    while (!is_unrecoverable(probe.io.handle))
        turn();
    close(fd);
    assert_false(is_over(LONG_MS));
    fd = zk_by_hand_accept(&server);
    assert_int_equal(server.asked_session, 0);
    close(fd);
}

static void one_that_was_stopped_knows_nothing(void **state)
{
    int fd;

    assert_false(is_over(LONG_MS));
    fd = be_served();
    zk_probe_stop(&probe);
    assert_false(is_over(0));
    close(fd);
}

/* ---- tickTime ---- */

static int64_t tick_ms;

static void on_tick(struct zk_conf *c, int64_t ms)
{
    assert_false(zk_conf_is_asking(c));
    tick_ms = ms;
}

/* The tickTime from a server that answers `conf` with these pieces, and hangs up or not, within
 * the patience. */
static int64_t tick_of(const char *const *pieces, bool hangs_up, int64_t patience_ms)
{
    struct zk_conf conf;
    struct sockaddr_storage at;
    socklen_t size = sizeof(at);
    char asked[4];
    int fd;

    tick_ms = -1;
    zk_conf_init(&conf, loop, on_tick);
    assert_int_equal(getsockname(server.fd, (struct sockaddr *)&at, &size), 0);
    zk_conf_start(&conf, (struct sockaddr *)&at, size, patience_ms);
    zk_by_hand_wait(&server, server.fd);
    fd = accept(server.fd, NULL, NULL);
    zk_by_hand_wait(&server, fd);
    assert_int_equal(recv(fd, asked, sizeof(asked), MSG_WAITALL), sizeof(asked));
    assert_memory_equal(asked, "conf", sizeof(asked));
    for (; *pieces; pieces++) {
        assert_int_equal(send(fd, *pieces, strlen(*pieces), 0), strlen(*pieces));
        turn();
    }
    if (hangs_up)
        close(fd);
    while (tick_ms < 0)
        turn();
    if (!hangs_up)
        close(fd);
    return tick_ms;
}

static void a_server_tells_its_tick(void **state)
{
    static const char *const whole[] = {"clientPort=2181\ntickTime=2000\nserverId=1\n", NULL};
    static const char *const pieces[] = {"clientPort=2181\ntick", "Time=5", "00\n", NULL};
    static const char *const like_it[] = {"x.tickTime=7\ntickTime=300\n", NULL};

    assert_int_equal(tick_of(whole, true, LONG_MS), 2000);
    assert_int_equal(tick_of(pieces, true, LONG_MS), 500);
    assert_int_equal(tick_of(like_it, true, LONG_MS), 300);
}

static void a_server_that_does_not_tell_is_not_waited_for(void **state)
{
    static const char *const refused[] = {
        "conf is not executed because it is not in the whitelist.\n", NULL};
    static const char *const absurd[] = {"tickTime=99999999999999999999\n", NULL};
    static const char *const below[] = {"tickTime=-1\n", NULL};
    static const char *const nothing[] = {NULL};

    assert_int_equal(tick_of(refused, true, LONG_MS), 0);
    assert_int_equal(tick_of(absurd, true, LONG_MS), 0);
    assert_int_equal(tick_of(below, true, LONG_MS), 0);
    assert_int_equal(tick_of(nothing, true, LONG_MS), 0);
    assert_int_equal(tick_of(nothing, false, 50), 0);
}

static void ignore_session(struct coordinator *c)
{
}

static void ignore_change(struct coordinator *c, const char *path)
{
}

/* Is asked for its tick, and says this. */
static void be_asked(const char *answer)
{
    char asked[4];
    int fd;

    zk_by_hand_wait(&server, server.fd);
    fd = accept(server.fd, NULL, NULL);
    zk_by_hand_wait(&server, fd);
    assert_int_equal(recv(fd, asked, sizeof(asked), MSG_WAITALL), sizeof(asked));
    assert_memory_equal(asked, "conf", sizeof(asked));
    assert_int_equal(send(fd, answer, strlen(answer), 0), strlen(answer));
    close(fd);
}

static int begin_connection(void)
{
    int fd = zk_by_hand_accept(&server);

    zk_by_hand_grant(fd, 0x4711, LONG_MS);
    return fd;
}

static void await_session(const struct coordinator *c, enum coord_session session)
{
    while (c->session != session)
        turn();
}

static bool is_somebody_here(void)
{
    struct pollfd look = {.fd = server.fd, .events = POLLIN};

    return poll(&look, 1, 0) == 1;
}

/* An operator may put the word into its whitelist, and start it again. */
static void a_session_that_goes_on_asks_until_a_server_tells(void **state)
{
    struct coordinator *c = zk_coordinator_new(
        &(struct zk_options){.servers = server.address, .auth = "", .session_ms = LONG_MS},
        loop);
    int fd;

    c->on_session = ignore_session;
    c->on_change = ignore_change;
    coordinator_open(c);
    fd = begin_connection();
    be_asked("conf is not executed because it is not in the whitelist.\n");
    await_session(c, COORD_SESSION_CONNECTED);
    assert_int_equal(c->tick_ms, 0);

    close(fd);
    await_session(c, COORD_SESSION_CONNECTING);
    fd = begin_connection();
    await_session(c, COORD_SESSION_CONNECTED); /* nobody waits for what is only shown */
    assert_int_equal(c->tick_ms, 0);
    be_asked("tickTime=2000\n");
    while (!c->tick_ms)
        turn();
    assert_int_equal(c->tick_ms, 2000);
    assert_int_equal(c->session, COORD_SESSION_CONNECTED);

    close(fd);
    await_session(c, COORD_SESSION_CONNECTING);
    fd = begin_connection();
    await_session(c, COORD_SESSION_CONNECTED);
    assert_false(is_somebody_here()); /* it has been told */

    coordinator_close(c);
    close(fd);
    for (unsigned i = 0; i < 3; i++)
        event_base_loop(loop->base, EVLOOP_NONBLOCK);
    zk_coordinator_free(c);
}

#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_HAND(without_a_server_that_serves_nothing_is_known),
        BY_HAND(a_session_that_is_served_for_two_timeouts_says_that_the_other_is_over),
        BY_HAND(one_that_is_lost_meanwhile_says_nothing),
        BY_HAND(one_that_is_over_itself_begins_anew),
        BY_HAND(one_that_was_stopped_knows_nothing),
        BY_HAND(a_server_tells_its_tick),
        BY_HAND(a_server_that_does_not_tell_is_not_waited_for),
        BY_HAND(a_session_that_goes_on_asks_until_a_server_tells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
