/* What the closer asks of a server, which is played by hand. With real servers it is tried in
 * zk_coordinator_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/zk_closer.h"

#define SESSION_MS 4321
#define LONG_MS    100000
#define SESSION    0x4711

/* The first words of a ConnectRequest of ZooKeeper's protocol, big-endian. */
struct connect_request {
    uint32_t len, version, zxid[2], timeout_ms, session[2];
};

static struct loop *loop;
static struct zk_closer closer;
static int listener;
static char servers[32];

static int setup(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);

    alarm(60);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    loop = loop_new();
    zk_closer_init(&closer, loop, NULL);
    return 0;
}

static int teardown(void **state)
{
    zk_closer_fini(&closer);
    loop_free(loop);
    close(listener);
    alarm(0);
    return 0;
}

static void turn_until_readable(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    while (poll(&look, 1, 0) == 0)
        event_base_loop(loop->base, EVLOOP_ONCE);
}

/* A server keeps a session for as long as the last one who attached to it has asked for. */
static void a_session_that_is_not_closed_lasts_no_longer_for_the_attempt(void **state)
{
    struct coord_credentials dead = {.session = 0x1234567890};
    struct connect_request request;
    int fd;

    zk_closer_start(&closer, servers, &dead, SESSION_MS);
    turn_until_readable(listener);
    fd = accept(listener, NULL, NULL);
    turn_until_readable(fd);
    assert_int_equal(recv(fd, &request, sizeof(request), MSG_WAITALL), sizeof(request));
    assert_int_equal(ntohl(request.session[0]), 0x12);
    assert_int_equal(ntohl(request.session[1]), 0x34567890);
    assert_int_equal(ntohl(request.timeout_ms), SESSION_MS);
    close(fd);
}

struct connect_response {
    uint32_t len, version, timeout_ms, session[2], password_bytes;
    char password[16];
};

static bool has_ended, was_ended;

static void on_idle(struct zk_closer *c, bool is_ended)
{
    has_ended = true;
    was_ended = is_ended;
}

/* Takes a client, and lets it have that session; 0: there is none. */
static int serve(uint32_t session)
{
    struct connect_response response = {.len = htonl(sizeof(response) - 4),
                                        .timeout_ms = htonl(LONG_MS),
                                        .session = {0, htonl(session)},
                                        .password_bytes = htonl(16)};
    struct connect_request request;
    int fd;

    turn_until_readable(listener);
    fd = accept(listener, NULL, NULL);
    turn_until_readable(fd);
    assert_int_equal(recv(fd, &request, sizeof(request), MSG_WAITALL), sizeof(request));
    assert_int_equal(ntohl(request.session[1]), SESSION);
    assert_int_equal(send(fd, &response, sizeof(response), 0), sizeof(response));
    return fd;
}

/* What it is asked for at the end: a good-bye of eight bytes, and what is left of the greeting.
 */
static void turn_until_told(int fd)
{
    static const char good_bye[] = {0, 0, 0, 8};
    char bytes[256];
    ssize_t got;

    do {
        turn_until_readable(fd);
        got = recv(fd, bytes, sizeof(bytes), 0);
        assert_true(got >= 12);
    } while (memcmp(bytes + got - 12, good_bye, 4) != 0);
}

static void a_server_that_goes_without_a_word_is_not_the_last_that_is_asked(void **state)
{
    struct coord_credentials dead = {.session = SESSION};
    int fd;

    zk_closer_fini(&closer);
    zk_closer_init(&closer, loop, on_idle);
    has_ended = false;
    zk_closer_start(&closer, servers, &dead, LONG_MS);
    fd = serve(SESSION);
    turn_until_told(fd);
    close(fd);
    fd = serve(0);
    while (!has_ended)
        event_base_loop(loop->base, EVLOOP_ONCE);
    assert_true(was_ended);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_session_that_is_not_closed_lasts_no_longer_for_the_attempt, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_server_that_goes_without_a_word_is_not_the_last_that_is_asked, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
