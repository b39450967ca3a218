/* The closer's requests, to a server played by hand. zk_coordinator_test.c has real servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/coord/tests/zk_by_hand_fixture.h"
#include "ha/coord/zk_closer.h"

#define SESSION_MS 54321
#define SESSION    0x1234567890

static const struct coord_credentials dead = {.session = SESSION};

static struct loop *loop;
static struct zk_by_hand server;
static struct zk_closer closer;
static bool has_ended, was_ended;

static void on_idle(struct zk_closer *c, bool is_ended)
{
    has_ended = true;
    was_ended = is_ended;
}

static int setup(void **state)
{
    alarm(60);
    loop = loop_new();
    zk_by_hand_start(&server, loop);
    zk_closer_init(&closer, loop, on_idle);
    has_ended = false;
    return 0;
}

static int teardown(void **state)
{
    zk_closer_fini(&closer);
    loop_free(loop);
    zk_by_hand_stop(&server);
    alarm(0);
    return 0;
}

/* A server keeps a session for the timeout that the last client attached to it has asked for.
 */
static void a_session_that_is_not_closed_lasts_no_longer_for_the_attempt(void **state)
{
    int fd;

    zk_closer_start(&closer, server.address, &dead, SESSION_MS);
    fd = zk_by_hand_accept(&server);
    assert_int_equal(server.asked_session, SESSION);
    assert_int_equal(server.asked_ms, SESSION_MS);
    close(fd);
}

/* Eight bytes, behind what may be left of the greeting. */
static void wait_for_the_good_bye(int fd)
{
    static const char length[] = {0, 0, 0, 8};
    char bytes[256];
    ssize_t got;

    do {
        zk_by_hand_wait(&server, fd);
        got = recv(fd, bytes, sizeof(bytes), 0);
        assert_true(got >= 12);
    } while (memcmp(bytes + got - 12, length, sizeof(length)) != 0);
}

static void a_server_that_goes_without_a_word_is_not_the_last_that_is_asked(void **state)
{
    int fd;

    zk_closer_start(&closer, server.address, &dead, SESSION_MS);
    fd = zk_by_hand_accept(&server);
    zk_by_hand_grant(fd, SESSION, SESSION_MS);
    wait_for_the_good_bye(fd);
    close(fd);
    fd = zk_by_hand_accept(&server);
    assert_int_equal(server.asked_session, SESSION);
    zk_by_hand_grant(fd, 0, 0);
    while (!has_ended)
        event_base_loop(loop->base, EVLOOP_ONCE);
    assert_true(was_ended);
    close(fd);
}

#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_HAND(a_session_that_is_not_closed_lasts_no_longer_for_the_attempt),
        BY_HAND(a_server_that_goes_without_a_word_is_not_the_last_that_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
