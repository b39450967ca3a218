/* When the probe says that a session is over: a server played by hand serves it, or does not.
 * The session timeout is that of each question, so no time needs to pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include <event2/event.h>

#include "ha/zk_by_hand_fixture.h"
#include "ha/zk_probe.h"

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
    while (!is_unrecoverable(probe.pump.handle))
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

#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_HAND(without_a_server_that_serves_nothing_is_known),
        BY_HAND(a_session_that_is_served_for_two_timeouts_says_that_the_other_is_over),
        BY_HAND(one_that_is_lost_meanwhile_says_nothing),
        BY_HAND(one_that_is_over_itself_begins_anew),
        BY_HAND(one_that_was_stopped_knows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
