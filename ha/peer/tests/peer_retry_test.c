#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "ha/peer/dialer.h"

static void waits_longer_each_time_up_to_a_second(void **state)
{
    static const struct {
        unsigned attempts;
        int64_t most_ms;
    } rows[] = {{0, 20}, {1, 40}, {4, 320}, {5, 640}, {6, 1000}, {7, 1000}, {UINT32_MAX, 1000}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (int round = 0; round < 100; round++) {
            int64_t ms = peer_retry_ms(rows[i].attempts);

            assert_true(ms >= rows[i].most_ms / 2 && ms <= rows[i].most_ms);
        }
    }
}

static unsigned port_of(const char *servers, unsigned attempts)
{
    struct sockaddr_storage at;
    int len;

    assert_true(peer_retry_address(servers, attempts, &at, &len));
    if (at.ss_family == AF_INET6) {
        assert_int_equal(len, sizeof(struct sockaddr_in6));
        return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
    }
    assert_int_equal(at.ss_family, AF_INET);
    assert_int_equal(len, sizeof(struct sockaddr_in));
    return ntohs(((struct sockaddr_in *)&at)->sin_port);
}

static void takes_one_address_after_the_other(void **state)
{
    const char *servers = "10.0.0.1:1,[fd00::2]:2,10.0.0.3:3";

    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(port_of(servers, i), i % 3 + 1);
    assert_int_equal(port_of("10.0.0.1:65535", 9), 65535);
}

static void no_address_is_none(void **state)
{
    struct sockaddr_storage at;
    int len;

    assert_false(peer_retry_address("", 0, &at, &len));
    assert_false(peer_retry_address("", 5, &at, &len));
    assert_false(peer_retry_address("name:1", 0, &at, &len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_longer_each_time_up_to_a_second),
        cmocka_unit_test(takes_one_address_after_the_other),
        cmocka_unit_test(no_address_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
