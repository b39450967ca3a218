/* conf/check_vip.c says what is wrong with an address, ha/vip/address.c reads it: they must
 * agree on which are good, because whoever has checked is not asked again.
 */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <string.h>

#include "ha/vip/address.h"

static bool conf_takes(const char *address)
{
    char yaml[1000];
    struct conf_errors errors;
    struct conf *conf;
    bool is_taken;

    snprintf(yaml, sizeof(yaml),
             "store: {redis: \"r:1\"}\n"
             "ha: {mode: standby, zookeeper: \"z:2181\", secret: 0123456789abcdef,\n"
             "     peer.listen: \"10.0.0.7:9504\", advertise: a}\n"
             "gmq.listen: \"[::]:9503\"\nhttp.listen: \"[::]:8000\"\n"
             "vip.address: \"%s\"\n",
             address);
    conf = fixture_load(yaml, NULL, &errors);
    is_taken = conf;
    conf_errors_fini(&errors);
    conf_free(conf);
    return is_taken;
}

static void what_the_configuration_takes_can_be_read(void **state)
{
    static const char *const addresses[] = {
        "10.0.0.1",
        "192.168.1.255",
        "223.255.255.255",
        "1.0.0.0",
        "100.64.0.1",
        "172.16.0.0",
        "fd00::1",
        "2001:db8::1",
        "fec0::1",
        "100::1",
        "64:ff9b::10.0.0.1",
        "1::",
        "10.0.0.1,fd00::1",
        "fd00::1,10.0.0.1,10.0.0.2,fd00::2",
        /* and what neither takes */
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::1:2",
        "::10.0.0.1",
        "::ffff:10.0.0.1",
        "::2:0:1",
        "fe80::1",
        "febf::1",
        "ff02::1",
        "ff00::",
        "fe80::1%lo",
        "10.0.0.1,",
        ",10.0.0.1",
        ",",
        "10.0.0.1,,10.0.0.2",
        "10.0.0.1 ",
        " 10.0.0.1",
        "10.0.0.1,10.0.0.1",
        "fd00::1,fd00:0::1",
        "10.0.0.1/24",
        "10.0.0",
        "10.0.0.256",
        "010.0.0.1",
        "[fd00::1]",
        "fd00::1::2",
        "fd00:1",
        "a.example",
        "10.0.0.1;10.0.0.2",
        "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5",
        "1111:2222:3333:4444:5555:6666:255.255.255.255.255.255",
    };
    unsigned taken = 0;

    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        struct vip_addresses read;
        bool is_read = vip_addresses_parse(&read, addresses[i]) == STATUS_OK;

        if (conf_takes(addresses[i]) != is_read)
            fail_msg("'%s' is %s", addresses[i], is_read ? "read" : "not read");
        taken += is_read;
    }
    assert_int_equal(taken, 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(what_the_configuration_takes_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
