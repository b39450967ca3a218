#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "ha/vip/address.h"

static void reads_one_address_or_several(void **state)
{
    struct vip_addresses these;

    assert_int_equal(vip_addresses_parse(&these, "10.0.0.100"), STATUS_OK);
    assert_int_equal(these.count, 1);
    assert_int_equal(these.at[0].family, AF_INET);
    assert_memory_equal(these.at[0].bytes, ((unsigned char[]){10, 0, 0, 100}), 4);
    assert_int_equal(vip_address_len(&these.at[0]), 4);
    assert_int_equal(
        vip_addresses_parse(&these, "192.168.1.1,FD00:0::0064,10.0.0.1,2001:db8::1"),
        STATUS_OK);
    assert_int_equal(these.count, 4);
    assert_int_equal(these.at[1].family, AF_INET6);
    assert_string_equal(these.at[1].text, "fd00::64");
    assert_int_equal(these.at[1].bytes[15], 0x64);
    assert_int_equal(vip_address_len(&these.at[1]), 16);
}

static void refuses_what_is_no_list_of_addresses_and_leaves_the_old_one(void **state)
{
    static const char *const wrong[] = {
        "",
        ",",
        "10.0.0.1,",
        ",10.0.0.1",
        "10.0.0.1,,10.0.0.2",
        "10.0.0.1/32",
        "10.0.0",
        "10.0.0.256",
        "010.0.0.1",
        "host",
        "10.0.0.1 ",
        "10.0.0.1, 10.0.0.2",
        "[fd00::1]",
        "fd00::1%eth0",
        "fd00:::1",
        "fd00::1,10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4",
        "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111",
    };
    struct vip_addresses these;

    assert_int_equal(vip_addresses_parse(&these, "10.0.0.100"), STATUS_OK);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(vip_addresses_parse(&these, wrong[i]), STATUS_BAD_REQUEST);
        assert_int_equal(these.count, 1);
        assert_string_equal(these.at[0].text, "10.0.0.100");
    }
}

static void refuses_an_address_twice_however_it_is_written(void **state)
{
    struct vip_addresses these;

    assert_int_equal(vip_addresses_parse(&these, "10.0.0.1,10.0.0.1"), STATUS_BAD_REQUEST);
    assert_int_equal(vip_addresses_parse(&these, "fd00::1,fd00:0:0::1"), STATUS_BAD_REQUEST);
}

static void refuses_what_no_interface_of_a_cluster_can_have(void **state)
{
    static const char *const wrong[] = {
        "0.0.0.0",         "0.1.2.3", "127.0.0.1", "169.254.1.1", "224.0.0.1", "239.1.1.1",
        "255.255.255.255", "::",      "::1",       "fe80::1",     "febf::1",   "ff02::1",
        "::ffff:10.0.0.1",
    };
    struct vip_addresses these;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(vip_addresses_parse(&these, wrong[i]), STATUS_BAD_REQUEST);
    assert_int_equal(vip_addresses_parse(&these, "169.253.1.1,223.255.255.254,fec0::1"),
                     STATUS_OK);
}

static bool have(const struct vip_addresses *these, const char *text)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {.any.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET};

    if (at.any.sa_family == AF_INET)
        assert_int_equal(inet_pton(AF_INET, text, &at.v4.sin_addr), 1);
    else
        assert_int_equal(inet_pton(AF_INET6, text, &at.v6.sin6_addr), 1);
    return vip_addresses_have(these, &at.any);
}

static void knows_its_own_also_over_an_ipv6_socket(void **state)
{
    struct vip_addresses these;
    const struct sockaddr local = {.sa_family = AF_UNIX};

    assert_int_equal(vip_addresses_parse(&these, "10.0.0.100,fd00::100"), STATUS_OK);
    assert_true(have(&these, "10.0.0.100"));
    assert_true(have(&these, "::ffff:10.0.0.100"));
    assert_true(have(&these, "fd00::100"));
    assert_false(have(&these, "10.0.0.101"));
    assert_false(have(&these, "::ffff:10.0.0.101"));
    assert_false(have(&these, "fd00::101"));
    assert_false(vip_addresses_have(&these, &local));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_address_or_several),
        cmocka_unit_test(refuses_what_is_no_list_of_addresses_and_leaves_the_old_one),
        cmocka_unit_test(refuses_an_address_twice_however_it_is_written),
        cmocka_unit_test(refuses_what_no_interface_of_a_cluster_can_have),
        cmocka_unit_test(knows_its_own_also_over_an_ipv6_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
