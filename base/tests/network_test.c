/* Networks as operators write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/network.h"

static void has_the_addresses_of_its_prefixes(void **state)
{
    static const struct {
        const char *networks, *address;
        bool is_in;
    } cases[] = {
        {"", "10.0.0.1", false},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.0/8", "10.255.1.2", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.0.0.128/25", "10.0.0.128", true},
        {"10.0.0.128/25", "10.0.0.127", false},
        {"10.0.0.4/30", "10.0.0.7", true},
        {"10.0.0.4/30", "10.0.0.8", false},
        {"0.0.0.0/0", "255.1.2.3", true},
        {"0.0.0.0/0", "::1", false},
        {"::/0", "::1", true},
        {"::/0", "10.0.0.1", true}, /* ::ffff:10.0.0.1 */
        {"fd00::/8", "fdff::1", true},
        {"fd00::/8", "fe00::1", false},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
        {"::1,10.0.0.0/24", "10.0.0.9", true},
        {"::1,10.0.0.0/24", "::1", true},
        {"::1,10.0.0.0/24", "::2", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct networks networks;
        struct in6_addr address;

        assert_true(networks_read(bytes_of_text(cases[i].networks), &networks));
        assert_true(address_read(bytes_of_text(cases[i].address), &address));
        if (networks_have(&networks, &address) != cases[i].is_in)
            fail_msg("%s in %s", cases[i].address, cases[i].networks);
    }
}

static void refuses_what_is_no_network(void **state)
{
    static const char *const texts[] = {",",
                                        "10.0.0.1,",
                                        ",10.0.0.1",
                                        "10.0.0.1,,::1",
                                        "10.0.0",
                                        "10.0.0.01",
                                        "10.0.0.0/33",
                                        "10.0.0.0/",
                                        "10.0.0.0/08",
                                        "10.0.0.0/8x",
                                        "10.0.0.1/8",
                                        "fd00::1/64",
                                        "::/129",
                                        "[::1]",
                                        "fe80::1%eth0",
                                        " 10.0.0.1",
                                        "10.0.0.0/-1",
                                        "10.0.0.0/+8",
                                        "localhost",
                                        "10.0.0.0/8/8",
                                        "10.0.0.0/99999999999999999999",
                                        "10.0.0.255/31"};
    struct networks networks;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (networks_read(bytes_of_text(texts[i]), &networks))
            fail_msg("%s is taken", texts[i]);
    assert_false(networks_read(BYTES("10.0.0.1\0"), &networks));
}

static void bounds_how_many_there_are(void **state)
{
    struct networks networks;
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < NETWORKS_MAX; i++)
        buf_printf(&text, "%s10.0.0.%u", i ? "," : "", i);
    assert_true(networks_read(buf_bytes(&text), &networks));
    assert_int_equal(networks.count, NETWORKS_MAX);
    buf_add_text(&text, ",::1");
    assert_false(networks_read(buf_bytes(&text), &networks));
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_addresses_of_its_prefixes),
        cmocka_unit_test(refuses_what_is_no_network),
        cmocka_unit_test(bounds_how_many_there_are),
    };

    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
