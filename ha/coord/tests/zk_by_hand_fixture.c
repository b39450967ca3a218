#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/coord/tests/zk_by_hand_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#define PASSWORD_BYTES 16

/* The first words of a ConnectRequest of ZooKeeper's protocol, and the answer, big-endian. */
struct connect_request {
    uint32_t len, version, zxid[2], timeout_ms, session[2];
};

struct connect_response {
    uint32_t len, version, timeout_ms, session[2], password_bytes;
    char password[PASSWORD_BYTES];
};

void zk_by_hand_start(struct zk_by_hand *z, struct loop *loop)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);

    *z = (struct zk_by_hand){.loop = loop, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(z->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(z->fd, 4), 0);
    assert_int_equal(getsockname(z->fd, (struct sockaddr *)&address, &size), 0);
    snprintf(z->address, sizeof(z->address), "127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
}

void zk_by_hand_stop(struct zk_by_hand *z)
{
    close(z->fd);
}

void zk_by_hand_wait(struct zk_by_hand *z, int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    while (poll(&look, 1, 0) == 0)
        event_base_loop(z->loop->base, EVLOOP_ONCE);
}

static int64_t number(const uint32_t words[2])
{
    return (int64_t)((uint64_t)ntohl(words[0]) << 32 | ntohl(words[1]));
}

int zk_by_hand_accept(struct zk_by_hand *z)
{
    struct connect_request request;
    int fd;

    zk_by_hand_wait(z, z->fd);
    fd = accept(z->fd, NULL, NULL);
    zk_by_hand_wait(z, fd);
    assert_int_equal(recv(fd, &request, sizeof(request), MSG_WAITALL), sizeof(request));
    z->asked_ms = ntohl(request.timeout_ms);
    z->asked_session = number(request.session);
    return fd;
}

void zk_by_hand_grant(int client, int64_t session, uint32_t timeout_ms)
{
    struct connect_response response = {
        .len = htonl(sizeof(response) - sizeof(response.len)),
        .timeout_ms = htonl(timeout_ms),
        .session = {htonl((uint32_t)(session >> 32)), htonl((uint32_t)session)},
        .password_bytes = htonl(PASSWORD_BYTES)};

    assert_int_equal(send(client, &response, sizeof(response), 0), sizeof(response));
}
