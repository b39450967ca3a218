/* What clients are called, over sockets of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "protocol/conn/connection.h"
#include "protocol/conn/peer.h"

static struct connection_kind kind = {.name = "gmq"};

/* A listener on the address; its port comes back in it. -1: the machine has no such address. */
static int listen_at(struct sockaddr *address, socklen_t len)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

    if (fd < 0)
        return -1;
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, address, len)) {
        close(fd);
        return -1;
    }
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, address, &len), 0);
    return fd;
}

/* Where the next client comes from; its connection is closed already. */
static struct peer_end accept_end(int listening)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof(from);
    int fd = accept4(listening, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);

    assert_true(fd >= 0);
    close(fd);
    return peer_end_of((struct sockaddr *)&from);
}

/* The name of the client that connects to `to` must be "gmq HOST:its port". */
static void expect_name(int listening, const struct sockaddr *to, socklen_t len,
                        const char *host)
{
    struct connection c = {.kind = &kind, .state = CONNECTION_OPEN};
    int client = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 own = {.sin6_port = 0}; /* IPv4 has its port at the same place */
    socklen_t own_len = sizeof(own);
    char expected[100];

    assert_int_equal(connect(client, to, len), 0);
    assert_int_equal(getsockname(client, (struct sockaddr *)&own, &own_len), 0);
    snprintf(expected, sizeof(expected), "gmq %s:%u", host, (unsigned)ntohs(own.sin6_port));
    c.end = accept_end(listening);
    assert_string_equal(peer_name(&c).at, expected);
    peer_fini(&c);
    close(client);
}

static void a_client_is_called_by_its_address(void **state)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listening = listen_at((struct sockaddr *)&loopback, sizeof(loopback));

    assert_true(listening >= 0);
    expect_name(listening, (struct sockaddr *)&loopback, sizeof(loopback), "127.0.0.1");
    close(listening);
}

static void one_of_ipv6_has_brackets_and_one_of_ipv4_none_at_the_same_port(void **state)
{
    struct sockaddr_in6 everywhere = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listening = listen_at((struct sockaddr *)&everywhere, sizeof(everywhere));

    if (listening < 0) {
        print_message("this machine has no IPv6: passed over\n");
        skip();
    }
    v4.sin_port = everywhere.sin6_port;
    everywhere.sin6_addr = in6addr_loopback;
    expect_name(listening, (struct sockaddr *)&v4, sizeof(v4), "127.0.0.1");
    expect_name(listening, (struct sockaddr *)&everywhere, sizeof(everywhere), "[::1]");
    close(listening);
}

static void one_of_this_machine_is_called_by_its_user_and_process(void **state)
{
    struct connection c = {.kind = &kind, .state = CONNECTION_OPEN};
    char expected[100];
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    c.fd = pair[0];
    snprintf(expected, sizeof(expected), "gmq user %u, pid %d", (unsigned)getuid(),
             (int)getpid());
    assert_string_equal(peer_name(&c).at, expected);
    peer_fini(&c);
    close(pair[0]);
    close(pair[1]);
    assert_string_equal(peer_name(&c).at, "gmq unknown");
    peer_fini(&c);
}

/* Where a connection from 127.0.0.`host` comes from, whose client has reset it already. */
static struct peer_end accept_from(int listening, const struct sockaddr_in *to, unsigned host)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host)};
    struct linger at_once = {.l_onoff = 1};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(client, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(connect(client, (const struct sockaddr *)to, sizeof(*to)), 0);
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(client);
    return accept_end(listening);
}

static void those_of_one_address_are_one_whichever_port_they_have(void **state)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listening = listen_at((struct sockaddr *)&loopback, sizeof(loopback));
    struct peer_end ends[] = {accept_from(listening, &loopback, 1),
                              accept_from(listening, &loopback, 2),
                              accept_from(listening, &loopback, 1)};
    struct port_peers *peers = malloc(sizeof(*peers));
    struct peer *joined[3];

    assert_non_null(peers);
    peers_init(peers);
    for (unsigned i = 0; i < 3; i++)
        joined[i] = peers_join(peers, &ends[i], 0);
    assert_ptr_equal(joined[0], joined[2]);
    assert_ptr_not_equal(joined[0], joined[1]);
    joined[0]->connections = 7;
    peer_leave(joined[0]);
    assert_ptr_equal(peers_join(peers, &ends[0], 0), joined[2]);
    assert_int_equal(joined[2]->connections, 7);
    peer_leave(joined[2]);
    peer_leave(joined[2]);
    peer_leave(joined[1]);
    joined[0] = peers_join(peers, &ends[0], 0);
    assert_int_equal(joined[0]->connections, 0); /* forgotten */
    peer_leave(joined[0]);
    close(listening);
    free(peers);
}

/* `count` addresses of 10.0.0.0/8, each joined and left once. */
static void pass_through(struct port_peers *peers, unsigned count, int64_t now_ms)
{
    for (unsigned i = 0; i < count; i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(0x0a000000 + i)};
        struct peer_end end = peer_end_of((struct sockaddr *)&v4);
        struct peer *peer = peers_join(peers, &end, now_ms);

        (void)allowance_take(&peer->requests, 10, now_ms);
        peer_leave(peer);
    }
}

static unsigned idle_ones(const struct port_peers *peers)
{
    unsigned count = 0;

    LIST_EACH (link, &peers->idle)
        count++;
    return count;
}

static void an_address_that_connects_anew_has_the_allowance_of_before(void **state)
{
    struct port_peers *peers = malloc(sizeof(*peers));
    unsigned taken = 0;

    assert_non_null(peers);
    peers_init(peers);
    for (unsigned i = 0; i < 100; i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0b000000)};
        struct peer_end end = peer_end_of((struct sockaddr *)&v4);
        struct peer *peer = peers_join(peers, &end, 1000);

        taken += allowance_take(&peer->requests, 10, 1000);
        peer_leave(peer);
    }
    assert_int_equal(taken, 10);
    peers_fini(peers);
    free(peers);
}

static void addresses_without_clients_are_forgotten_when_they_are_whole(void **state)
{
    struct port_peers *peers = malloc(sizeof(*peers));

    assert_non_null(peers);
    peers_init(peers);
    pass_through(peers, 1000, 1000);
    assert_int_equal(idle_ones(peers), 1000);
    pass_through(peers, 1000, 5000);
    assert_in_range(idle_ones(peers), 1, 1000); /* not 2,000 */
    pass_through(peers, 600, 9000);
    pass_through(peers, 1, 20000);
    assert_in_range(idle_ones(peers), 1, 600);
    peers_fini(peers);
    free(peers);
}

static struct peer_end end_of(const char *text)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(1)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(2)};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return peer_end_of((struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return peer_end_of((struct sockaddr *)&v6);
}

/* A host of IPv6 commonly has a /64, and any of its addresses. */
static void of_ipv6_a_network_of_64_bits_is_one_client(void **state)
{
    static const struct {
        const char *a, *b;
        bool is_one;
    } pairs[] = {
        {"2001:db8::1", "2001:db8::1", true},
        {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true},
        {"2001:db8:0:0:8000::", "2001:db8::1", true},
        {"2001:db8:0:0::1", "2001:db8:0:1::1", false},
        {"2001:db8::1", "3001:db8::1", false},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"::ffff:10.0.0.1", "10.0.0.1", true},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
        {"::1", "::2", true},
        {"::1", "0.0.0.0", false},
        {"::a00:1", "10.0.0.1", false},
    };
    static const struct sockaddr none = {.sa_family = AF_UNSPEC};

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct peer_end ends[] = {end_of(pairs[i].a), end_of(pairs[i].b), peer_end_of(&none)};
        struct peer_network a = peer_network_of(&ends[0]), b = peer_network_of(&ends[1]);

        assert_int_equal(memcmp(&a, &b, sizeof(a)) == 0, pairs[i].is_one);
        b = peer_network_of(&ends[2]);
        assert_memory_not_equal(&a, &b, sizeof(a));
    }
}

static void one_that_has_gone_keeps_its_name(void **state)
{
    static const struct {
        const char *address, *name;
    } pairs[] = {{"10.0.0.7", "gmq 10.0.0.7:2"},
                 {"2001:db8::2:3:4", "gmq [2001:db8::2:3:4]:1"}};
    static const struct sockaddr none = {.sa_family = AF_UNSPEC};
    struct connection c = {.kind = &kind, .state = CONNECTION_CLOSED, .fd = -1};

    for (size_t i = 0; i < 2; i++) {
        c.end = end_of(pairs[i].address);
        assert_string_equal(peer_name(&c).at, pairs[i].name);
        peer_fini(&c);
    }
    c.end = peer_end_of(&none);
    assert_string_equal(peer_name(&c).at, "gmq unknown");
    peer_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_called_by_its_address),
        cmocka_unit_test(one_of_ipv6_has_brackets_and_one_of_ipv4_none_at_the_same_port),
        cmocka_unit_test(one_of_this_machine_is_called_by_its_user_and_process),
        cmocka_unit_test(those_of_one_address_are_one_whichever_port_they_have),
        cmocka_unit_test(an_address_that_connects_anew_has_the_allowance_of_before),
        cmocka_unit_test(addresses_without_clients_are_forgotten_when_they_are_whole),
        cmocka_unit_test(of_ipv6_a_network_of_64_bits_is_one_client),
        cmocka_unit_test(one_that_has_gone_keeps_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
